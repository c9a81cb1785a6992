//! The flags of `quorate lab`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use quorate_console::FrameOrigin;

/// Flags of `quorate lab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate lab                    Use a free port, and open a browser
  quorate lab --port 7400 --no-open
  quorate lab --listen 0.0.0.0 --port 7400 --name lab.example
                                 Serve a classroom: anyone who can reach the port can run scenarios
  quorate lab --port 7400 --framed-by https://course.example
                                 Pages of that site may frame http://localhost:7400/embed#...
  quorate lab --lessons monday   Show the lessons of the folder `monday` before the course

The lab accepts connections from this machine only, unless --listen is given. It does not connect \
to any other machine.")]
pub(crate) struct LabFlags {
    /// Port to listen on [default: a free port]
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) listen: IpAddr,
    /// Additional host name that browsers may use for this machine (repeatable)
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Let pages of this origin show runs in a frame: the read-only view at /embed (repeatable)
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) framed_by: Vec<FrameOrigin>,
    /// Folder with lessons of your own, pairs of NAME.toml and NAME.md, shown before the course
    #[arg(long, value_name = "DIR")]
    pub(crate) lessons: Option<PathBuf>,
}
