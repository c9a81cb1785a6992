//! The server of the lab, asked over HTTP, and what its page says.

mod answers;
mod safety;
mod support;
mod texts;
