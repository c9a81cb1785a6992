//! The lab in a browser: serves the console, which is embedded, and runs what it asks for.
//!
//! ```text
//! request -> guard (Host, Origin) -> assets | api -> Runs: a few at once, bounded, cancelled when nobody waits
//! ```
//!
//! Whatever arrives is hostile until parsed: bodies, runs and films have bounds, a run that panics is an answer, and
//! the page may load nothing from elsewhere.

mod api;
mod assets;
mod camera;
mod earlier;
mod film;
mod jobs;
mod lessons;
mod refusal;
mod runs;
mod server;
mod timetable;
mod words;

pub use film::FilmBounds;
pub use lessons::{Lesson, lessons};
pub use runs::{Bounds, Runner};
pub use server::{Server, Settings, page};
