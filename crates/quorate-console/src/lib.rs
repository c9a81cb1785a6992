#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! ```text
//! request -> guard (Host, Origin) -> assets | api -> Runs: a few at a time, bounded, cancelled on disconnect
//! ```
//!
//! All input is untrusted until parsed. Bodies, runs and recordings are bounded, a panic in a run becomes an error
//! response, and the page may load nothing from other sites. [`LabServer`] is the server of the lab, and [`router`] is the
//! page for a node of a cluster.

mod api;
mod api_error;
mod assets;
mod frame_origin;
mod jobs;
mod lab_state;
mod language;
mod lessons;
mod prefix;
mod recorder;
mod recording;
mod runs;
mod server;
mod step_index;

pub use frame_origin::FrameOrigin;
pub use lessons::{
    Block, ChoiceOption, Lesson, LessonError, NamedLesson, Question, Texts, Unit, expected_value,
    lessons, read_lesson_folder, solved_scenario,
};
pub use recording::RecordingBounds;
pub use runs::{RunBounds, Runner};
pub use server::{LabServer, LabSettings, router};
