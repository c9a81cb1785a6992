//! Pictures as SVG, one look for all of them: text stays text, each has a title and a description, and
//! colour is never the only carrier of meaning.

pub mod chart;
mod look;
pub mod spacetime;
mod svg;
mod text;

pub use look::Theme;
