//! The lab in a browser: serves the console, which is embedded, and runs what it asks for.
//!
//! ```text
//! request -> guard (Host, Origin) -> assets | api -> Runs: a few at once, bounded, cancelled when nobody waits
//! ```
//!
//! Whatever arrives is hostile until parsed: bodies, runs and films have bounds, a run that panics is an answer, and
//! the page may load nothing from elsewhere.

mod api;
mod api_error;
mod assets;
mod jobs;
mod language;
mod lessons;
mod prefix;
mod recorder;
mod recording;
mod runs;
mod server;
mod step_index;

pub use lessons::{Lesson, lessons};
pub use recording::RecordingBounds;
pub use runs::{RunBounds, Runner};
pub use server::{LabServer, LabSettings, router};
