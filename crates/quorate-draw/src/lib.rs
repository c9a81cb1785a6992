//! SVG pictures with a common style. Text stays text, each picture has a title and a description, and colour is
//! never the only carrier of meaning.

pub mod chart;
#[cfg(feature = "png")]
mod png;
pub mod spacetime;
mod svg;
mod text;
mod theme;
pub mod topology;
mod vocabulary;

#[cfg(feature = "png")]
pub use png::{PngError, png};
pub use theme::Theme;
pub use vocabulary::{LocalizedText, Phrase, Vocabulary};
