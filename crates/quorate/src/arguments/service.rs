//! The flags of what runs a cluster and of what uses one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use quorate_client::Backend;
use quorate_sim::notation::parse_span;

/// A time as everywhere else: 5ms, 2s.
fn duration(text: &str) -> Result<Duration, String> {
    let span = parse_span(text).map_err(|error| error.to_string())?;
    Ok(Duration::from_nanos(span.0))
}

/// Where the cluster is.
#[derive(Debug, Args)]
pub(crate) struct ClusterFlags {
    /// Who gives the locks, and where: quorate://HOST:PORT, etcd://HOST:PORT, or etcds://HOST:PORT for TLS; several
    /// HOST:PORT with commas between them. Without, QUORATE_BACKEND says, or --endpoint
    #[arg(long, value_name = "URL", conflicts_with = "endpoint")]
    pub(crate) backend: Option<Backend>,
    /// A node of the cluster; several with commas between them, which are tried in turn. Without, QUORATE_ENDPOINT
    /// says, or else 127.0.0.1:7480
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) endpoint: Vec<String>,
    /// The certificate of the cluster's authority: speak TLS. Without, QUORATE_CA says
    #[arg(long, value_name = "FILE", help_heading = "Who you are")]
    pub(crate) ca: Option<PathBuf>,
    /// Your own certificate, if you are known by one. Without, QUORATE_CERT says
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Who you are")]
    pub(crate) cert: Option<PathBuf>,
    /// The key of your certificate. Without, QUORATE_KEY says
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Who you are")]
    pub(crate) key: Option<PathBuf>,
    /// A file with the token by which you are known, or with USER:PASSWORD for etcd. Without, QUORATE_TOKEN_FILE says
    #[arg(long, value_name = "FILE", help_heading = "Who you are")]
    pub(crate) token_file: Option<PathBuf>,
}

/// `quorate up`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate up                     five nodes in one process, on this machine
  quorate up -n 3 --port 7490 --open

The address that it prints has the cluster, its locks and the lab in one page, and the HTTP API:
  curl -s http://127.0.0.1:7480/v1/status
  curl -s http://127.0.0.1:7480/openapi.json

The cluster forgets everything when it ends. Ctrl-C ends it.")]
pub(crate) struct UpFlags {
    /// How many nodes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = RangedU64ValueParser::<u32>::new().range(1..=64))]
    pub(crate) nodes: u32,
    /// The port for clients of the first node; the others' are free ones
    #[arg(long, value_name = "P", default_value_t = 7480)]
    pub(crate) port: u16,
    /// Open the page in a browser
    #[arg(long)]
    pub(crate) open: bool,
}

/// `quorate node`
#[derive(Debug, Args)]
#[command(after_help = "\
Example of a file:
  cluster = \"9f2b1c0d5e6f7a8b9c0d1e2f3a4b5c6d\"   # any number, the same on all nodes
  id = 0
  clients = \"127.0.0.1:7480\"
  data = \"data\"                # where to remember which numbers were used
  [peers]
  0 = \"10.0.0.1:7481\"
  1 = \"10.0.0.2:7481\"
  2 = \"10.0.0.3:7481\"
  [tls]                        # made by quorate certs
  authority = \"certs/ca.pem\"
  certificate = \"certs/node-0.pem\"
  key = \"certs/node-0.key\"

The very first start of all nodes of a cluster is with --new-cluster. A node that starts again without
having its data does not vote for a while and then asks the others. SIGHUP loads the certificates anew;
SIGTERM hands what clients have to another node, tells them where to go, and ends it.

Clients that are not on this machine must say who they are, and speak TLS:
  clients = \"10.0.0.1:7480\"
  [[client]]
  name = \"ci\"
  token_sha256 = \"..\"         # printf %s TOKEN | sha256sum
  certificate = true           # or a certificate: quorate certs --clients ci
  acquire = [\"deploy/\"]       # names that begin so
  observe = [\"\"]

The port of clients also speaks HTTP: /openapi.json describes it; /livez, /readyz and /metrics are for
whoever looks after it, and systemd is told when it is ready, stops, and lives (Type=notify).")]
pub(crate) struct NodeFlags {
    /// The node's file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The cluster begins: nobody can have a vote of before
    #[arg(long)]
    pub(crate) new_cluster: bool,
    /// What is written to stderr about what happens: lines for people, or JSON for programs
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) log: LogFormat,
    /// How much of it: error, warn, info, debug, or per part, as in info,quorate_net=debug
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: String,
    /// Append traces for OpenTelemetry to this file, as OTLP in JSON: the collector's otlpjsonfile receiver reads them
    #[arg(long, value_name = "FILE")]
    pub(crate) spans: Option<PathBuf>,
}

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// `quorate lock` and `quorate elect`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate lock deploy -- ./deploy.sh
  quorate lock deploy --timeout 2s -- make install
  quorate lock nightly --timeout 0s --on-lost 'logger lost the lock' -- ./nightly.sh
  quorate lock deploy --backend etcd://127.0.0.1:2379 -- ./deploy.sh

The command gets QUORATE_TOKEN, a number greater than that of any holder before: tell it to whatever
the lock guards, so that it can refuse smaller ones. QUORATE_LOCK is the name, and QUORATE_DEADLINE
until when the lock is sure as it starts, in microseconds of the clock that counts since the machine
was started. If the lock is lost, the command's processes get TERM, and after --grace KILL, before
anybody else can have it.

Exit codes: the command's own, 128 + n for a signal; 64 wrong arguments; 69 no cluster, or one without
a quorum; 75 not acquired in time; 76 lost; 77 not allowed; 126 and 127 if the command cannot be run or
found.")]
pub(crate) struct LockFlags {
    /// What the lock, or the election, is called
    pub(crate) name: String,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// How long to wait; 0s takes it only if it is free. Without, as long as it takes
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// After how long without a word the lock is free for others
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) ttl: Duration,
    /// How long the command has to end when the lock is lost
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(crate) grace: Duration,
    /// Why, for others to see; a leader proclaims it
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) why: String,
    /// A command for the shell when the lock was lost and the command has ended
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_lost: Option<OsString>,
    /// Append traces for OpenTelemetry to this file, as OTLP in JSON; nodes write theirs of the same traces
    #[arg(long, value_name = "FILE")]
    pub(crate) spans: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// What becomes the command under a lock: it dies with whoever started it.
#[derive(Debug, Args)]
pub(crate) struct BecomeCommandFlags {
    /// The command
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// `quorate status` and `quorate members`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  quorate status\n  quorate members --json")]
pub(crate) struct StatusFlags {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// `quorate locks`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate locks                  who has what, and who waits
  quorate locks deploy/ --json")]
pub(crate) struct LocksFlags {
    /// What the names begin with
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,
    /// Maximum number of requests; default: all
    #[arg(long, value_name = "K")]
    pub(crate) most: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// `quorate release`
#[derive(Debug, Args)]
#[command(after_help = "Example: quorate release deploy --force --reason 'the host is gone'")]
pub(crate) struct ReleaseFlags {
    /// Which lock
    pub(crate) name: String,
    /// Yes, take it away from whoever has it
    #[arg(long, required = true)]
    pub(crate) force: bool,
    /// Why; it is written down
    #[arg(long, value_name = "TEXT", required = true)]
    pub(crate) reason: String,
    /// It is an election
    #[arg(long)]
    pub(crate) election: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}
