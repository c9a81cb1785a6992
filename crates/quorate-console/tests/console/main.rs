//! Tests of the lab server over HTTP, and of the texts of its page.

mod answers;
mod pseudo_code;
mod safety;
mod support;
mod texts;
