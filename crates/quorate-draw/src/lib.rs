//! Pictures as SVG, one look for all of them: text stays text, each has a title and a description, and
//! colour is never the only carrier of meaning.

pub mod chart;
mod look;
#[cfg(feature = "png")]
mod png;
pub mod spacetime;
mod svg;
mod text;
pub mod topology;
mod vocabulary;

pub use look::Theme;
#[cfg(feature = "png")]
pub use png::{PngError, png};
pub use vocabulary::{Phrase, Saying, Vocabulary};
