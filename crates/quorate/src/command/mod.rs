//! Implementations of the commands.

pub(crate) mod admin;
pub(crate) mod bench;
pub(crate) mod campaign;
pub(crate) mod certs;
pub(crate) mod check;
pub(crate) mod cluster;
pub(crate) mod draw;
pub(crate) mod experiment;
pub(crate) mod findings;
pub(crate) mod generate;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod locked_command;
pub(crate) mod log;
pub(crate) mod merge;
pub(crate) mod node;
pub(crate) mod quorum;
pub(crate) mod replay;
pub(crate) mod shrink;
pub(crate) mod sim;
pub(crate) mod up;
