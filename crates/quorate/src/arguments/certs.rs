//! `quorate certs`: names and flags.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

/// Flags of `quorate certs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate certs --nodes 3 --dir certs
  quorate certs --nodes 3 --dir certs --addresses a.example.org,b.example.org,10.0.0.3
  quorate certs --nodes 3 --dir certs --clients ci,ops
  quorate certs --nodes 5 --dir certs --json
  quorate certs --nodes 5 --dir certs --renew --days 90

The command writes ca.pem and ca.key for the authority, node-0.pem and node-0.key for node 0, and so \
on. Existing files are kept: a second run adds missing files. --renew replaces the certificates of \
nodes and clients, but never the authority.

A node needs ca.pem and its own two files. Do not copy ca.key to any node. Nodes identify each \
other by the name in the certificate, such as node-0.quorate.internal, and not by their address.")]
pub(crate) struct CertsFlags {
    /// Number of nodes
    #[arg(short = 'n', long, value_name = "N", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1024))]
    pub(crate) nodes: u32,
    /// Directory of the files
    #[arg(long, value_name = "DIRECTORY", default_value = "certs")]
    pub(crate) dir: PathBuf,
    /// Host name or IP address of each node for clients, starting with node 0
    #[arg(long, value_name = "A,A,..", value_delimiter = ',')]
    pub(crate) addresses: Vec<String>,
    /// Clients to create certificates for: `ci` gets client-ci.pem and client-ci.key
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) clients: Vec<String>,
    /// Validity of the certificates of nodes and clients, in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = RangedU64ValueParser::<u32>::new().range(1..=3650))]
    pub(crate) days: u32,
    /// Replace existing certificates of nodes and clients; SIGHUP makes a running node load its new one
    #[arg(long)]
    pub(crate) renew: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
