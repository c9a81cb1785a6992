//! Bad input: exit code 2, one clear line on stderr, nothing on stdout, and no file created or changed.

#[cfg(target_os = "linux")]
mod bounded;
mod files;
mod flags;
mod outputs;
mod refusal;
#[path = "../support/mod.rs"]
mod support;
