//! Tests of the lab server over HTTP, of its lessons, and of the texts of its page.

mod answers;
mod lesson_folder;
mod lessons;
mod pseudo_code;
mod safety;
mod support;
mod texts;
