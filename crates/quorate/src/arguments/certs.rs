//! `quorate certs`: names and flags.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

/// `quorate certs`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate certs --nodes 3 --dir certs
  quorate certs --nodes 3 --dir certs --addresses a.example.org,b.example.org,10.0.0.3
  quorate certs --nodes 3 --dir certs --clients ci,ops
  quorate certs --nodes 5 --dir certs --json
  quorate certs --nodes 5 --dir certs --renew --days 90

The directory gets ca.pem and ca.key, and node-0.pem and node-0.key and so on. What is there stays:
a second run adds what is missing, and only --renew replaces certificates of nodes, never the
authority. A node needs ca.pem and its own two files; keep ca.key away from all of them. Nodes know
each other by the name in the certificate, node-0.quorate.internal, wherever they are.")]
pub(crate) struct CertsFlags {
    /// How many nodes
    #[arg(short = 'n', long, value_name = "N", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1024))]
    pub(crate) nodes: u32,
    /// Where the files are, or will be
    #[arg(long, value_name = "DIRECTORY", default_value = "certs")]
    pub(crate) dir: PathBuf,
    /// A name or address for each node, from node 0 on, where clients reach it
    #[arg(long, value_name = "A,A,..", value_delimiter = ',')]
    pub(crate) addresses: Vec<String>,
    /// Clients that get a certificate: client-ci.pem and client-ci.key
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) clients: Vec<String>,
    /// For how many days the certificates of nodes are good
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = RangedU64ValueParser::<u32>::new().range(1..=3650))]
    pub(crate) days: u32,
    /// Make new certificates for nodes that have one; nodes that run can load them without a restart
    #[arg(long)]
    pub(crate) renew: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
