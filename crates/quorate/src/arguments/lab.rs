//! The flags of `quorate lab`.

use std::net::IpAddr;

use clap::Args;

/// `quorate lab`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate lab                    a free port, and the browser opens
  quorate lab --port 7400 --no-open
  quorate lab --listen 0.0.0.0 --port 7400 --name lab.example
                                 for a classroom: anybody who reaches the port can run things here

The lab listens on this machine only unless --listen says otherwise. It asks nothing of any other machine.")]
pub(crate) struct LabFlags {
    /// The port; a free one if not said
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) listen: IpAddr,
    /// A name by which browsers may call this machine; repeat it for more
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
}
