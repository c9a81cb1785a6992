#![doc = include_str!("../README.md")]
//!
//! # Main types
//!
//! - [`spacetime::Diagram`] draws a trace, [`topology::Topology`] draws processes and quorums, and [`chart::Chart`] draws
//!   measurements.
//! - [`Theme`] selects the colours and [`Vocabulary`] the language.
//!
//! # Features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `png` | no | the function `png`, which renders a picture with the fonts of the system |

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
