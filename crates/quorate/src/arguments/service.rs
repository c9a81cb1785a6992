//! Flags of the commands that run a cluster or use one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use quorate_client::{Backend, BackendKind};
use quorate_sim::notation::{NotationError, parse_span};

/// Parses a duration of the real world. It needs a unit: a plain number would be nanoseconds in a scenario, and seconds to most
/// readers.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let error = || NotationError::new("a time with a unit, such as 500ms, 2s, 5m or 1h", text);
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - unit.len()];
    let (unit, factor) = match unit {
        "" if number != "0" => return Err(error().to_string()),
        "m" => ("s", 60),
        "h" => ("s", 3_600),
        unit => (unit, 1),
    };
    let span = parse_span(&format!("{number}{unit}")).ok();
    let nanoseconds = span.and_then(|span| span.0.checked_mul(factor));
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| error().to_string())
}

/// Parses the address of one node, as `HOST:PORT` or as the URL that a node prints.
pub(crate) fn endpoint(text: &str) -> Result<String, String> {
    let error = || {
        format!("expected HOST:PORT, as in 127.0.0.1:7480 or http://127.0.0.1:7480, found `{text}`")
    };
    let backend: Backend = text.parse().map_err(|_| error())?;
    match (backend.kind, backend.endpoints.as_slice()) {
        (BackendKind::Quorate, [one]) => Ok(one.clone()),
        (_, _) => Err(error()),
    }
}

/// Address of the cluster, and credentials.
#[derive(Debug, Args)]
pub(crate) struct ClusterFlags {
    /// Cluster that provides the locks: quorate://HOST:PORT, etcd://HOST:PORT, or etcds://HOST:PORT for TLS; several
    /// HOST:PORT are separated by commas [env: QUORATE_BACKEND] [default: the cluster at --endpoint]
    #[arg(long, value_name = "URL", conflicts_with = "endpoint")]
    pub(crate) backend: Option<Backend>,
    /// Node of the cluster, as HOST:PORT or http://HOST:PORT; several are separated by commas and tried in turn
    /// [env: QUORATE_ENDPOINT] [default: 127.0.0.1:7480]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', value_parser = endpoint)]
    pub(crate) endpoint: Vec<String>,
    /// Certificate of the cluster's authority; enables TLS [env: QUORATE_CA]
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub(crate) ca: Option<PathBuf>,
    /// Certificate of the client [env: QUORATE_CERT]
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Authentication")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the client certificate [env: QUORATE_KEY]
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Authentication")]
    pub(crate) key: Option<PathBuf>,
    /// File with the token of the client, or with USER:PASSWORD for etcd [env: QUORATE_TOKEN_FILE]
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub(crate) token_file: Option<PathBuf>,
}

/// Flags of `quorate up`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate up                     Start five nodes in one process
  quorate up -n 3 --port 7490 --open

The printed address serves a page with the cluster, its locks and the lab, and the HTTP API:
  curl -s http://127.0.0.1:7480/v1/status
  curl -s http://127.0.0.1:7480/openapi.json

The cluster keeps its state in memory and loses it when it stops. Press Ctrl-C to stop it.")]
pub(crate) struct UpFlags {
    /// Number of nodes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = RangedU64ValueParser::<u32>::new().range(1..=64))]
    pub(crate) nodes: u32,
    /// Client port of the first node; the other nodes use free ports
    #[arg(long, value_name = "P", default_value_t = 7480)]
    pub(crate) port: u16,
    /// Open the page in a browser
    #[arg(long)]
    pub(crate) open: bool,
}

/// Flags of `quorate node`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  quorate node --config node.toml --new-cluster

Example of a configuration file:
  cluster = \"9f2b1c0d5e6f7a8b9c0d1e2f3a4b5c6d\"   # any number, the same on all nodes
  id = 0
  clients = \"127.0.0.1:7480\"
  data = \"data\"                # directory for votes and reserved numbers
  [peers]
  0 = \"10.0.0.1:7481\"
  1 = \"10.0.0.2:7481\"
  2 = \"10.0.0.3:7481\"
  [tls]                        # files from `quorate certs`
  authority = \"certs/ca.pem\"
  certificate = \"certs/node-0.pem\"
  key = \"certs/node-0.key\"

A node that joins a running cluster has a number of its own, `listen = \"HOST:PORT\"` and no [peers]. Start it with \
--join, and add it with `quorate members add`.

Use --new-cluster only for the very first start of all nodes, and --join only for the very first start of a node. A node that restarts without its data \
abstains from voting for a while, and then asks the other nodes. SIGHUP reloads the certificates. \
SIGTERM moves the sessions of clients to another node, and then stops this one.

Clients on other machines must use TLS and authenticate:
  clients = \"10.0.0.1:7480\"
  [[client]]
  name = \"ci\"
  token_sha256 = \"..\"          # printf %s TOKEN | sha256sum
  certificate = true           # or a certificate from `quorate certs --clients ci`
  acquire = [\"deploy/\"]        # prefixes of names
  observe = [\"\"]

The client port also serves HTTP. /openapi.json describes the API; /livez, /readyz and /metrics are \
for monitoring. With Type=notify, systemd is notified of readiness, shutdown and liveness.")]
pub(crate) struct NodeFlags {
    /// Configuration file of the node
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Start a new cluster, in which no node has voted before
    #[arg(long)]
    pub(crate) new_cluster: bool,
    /// Start a new node, which then joins a cluster with `quorate members add`
    #[arg(long, conflicts_with = "new_cluster")]
    pub(crate) join: bool,
    /// Format of the log on stderr
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) log: LogFormat,
    /// Log level: error, warn, info or debug, also per module, as in info,quorate_net=debug
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: String,
    /// Append OpenTelemetry traces to this file as OTLP JSON, for the collector's otlpjsonfile receiver
    #[arg(long, value_name = "FILE")]
    pub(crate) spans: Option<PathBuf>,
}

/// Format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Examples and explanation of `quorate lock`.
pub(super) const LOCK_HELP: &str = "\
Examples:
  quorate lock deploy -- ./deploy.sh
  quorate lock deploy --timeout 2s -- make install
  quorate lock nightly --timeout 0s --on-lost 'logger lost the lock' -- ./nightly.sh
  quorate lock deploy --backend etcd://127.0.0.1:2379 -- ./deploy.sh

The command gets the name of the lock in QUORATE_LOCK. QUORATE_TOKEN is a fencing token, greater \
than that of every earlier holder: pass it to the resource that the lock protects, so that it can \
reject smaller tokens. QUORATE_DEADLINE is the time until which the lock is valid when the command \
starts, in microseconds of CLOCK_BOOTTIME.

If the lock is lost, the processes of the command receive TERM, and KILL after --grace, before any \
other client can acquire the lock.

Exit codes: that of the command, or 128 + n after signal n; 64 invalid arguments; 69 cluster \
unreachable or without a quorum; 75 not acquired in time; 76 lock lost; 77 not allowed; 126 command \
cannot be executed; 127 command not found.";

/// Examples and explanation of `quorate elect`.
pub(super) const ELECT_HELP: &str = "\
Examples:
  quorate elect scheduler -- ./scheduler
  quorate elect scheduler --timeout 2s -- ./scheduler
  quorate elect scheduler --why http://10.0.0.1:8080 -- ./scheduler
  quorate elect scheduler --backend etcd://127.0.0.1:2379 -- ./scheduler

The command gets the name of the election in QUORATE_LOCK. QUORATE_TOKEN is a fencing token, greater \
than that of every earlier leader: pass it to the resources that the leader uses, so that they can \
reject smaller tokens. QUORATE_DEADLINE is the time until which the leadership is valid when the \
command starts, in microseconds of CLOCK_BOOTTIME.

If the leadership is lost, the processes of the command receive TERM, and KILL after --grace, before \
any other client can become the leader.

Exit codes: that of the command, or 128 + n after signal n; 64 invalid arguments; 69 cluster \
unreachable or without a quorum; 75 not elected in time; 76 leadership lost; 77 not allowed; 126 \
command cannot be executed; 127 command not found.";

/// Flags of `quorate lock` and `quorate elect`.
#[derive(Debug, Args)]
pub(crate) struct LockFlags {
    /// Name of the lock or election
    pub(crate) name: String,
    /// Command to run, with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Maximum time to wait, including the time to connect; with 0s the command runs only if the lock is free [default:
    /// wait forever]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Release the lock if the client is silent for this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) ttl: Duration,
    /// Time between TERM and KILL if the lock is lost
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(crate) grace: Duration,
    /// Reason that other clients see; a leader proclaims it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) why: String,
    /// Shell command to run after the lock was lost and the command has ended
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_lost: Option<OsString>,
    /// Append OpenTelemetry traces to this file as OTLP JSON; nodes with --spans write spans of the same traces
    #[arg(long, value_name = "FILE")]
    pub(crate) spans: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// Flags of `quorate become-command`, which executes the command of a lock and is killed with its parent.
#[derive(Debug, Args)]
pub(crate) struct BecomeCommandFlags {
    /// Command to execute, with its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// Flags of `quorate status`.
#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// Flags of `quorate locks`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate locks                  List all locks and elections
  quorate locks deploy/ --json")]
pub(crate) struct LocksFlags {
    /// Prefix of the names to list [default: all names]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,
    /// Maximum number of requests to list [default: all]
    #[arg(long, value_name = "K")]
    pub(crate) most: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// Flags of `quorate release`.
#[derive(Debug, Args)]
#[command(after_help = "Example: quorate release deploy --force --reason 'the host is gone'")]
pub(crate) struct ReleaseFlags {
    /// Name of the lock or election
    pub(crate) name: String,
    /// Confirm that the holder loses the lock
    #[arg(long, required = true)]
    pub(crate) force: bool,
    /// Reason, which the nodes write to their log
    #[arg(long, value_name = "TEXT", required = true)]
    pub(crate) reason: String,
    /// Release an election in place of a lock
    #[arg(long)]
    pub(crate) election: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_may_be_urls() {
        for text in ["a.example:7480", "http://a.example:7480/", "quorate://a.example:7480"] {
            assert_eq!(endpoint(text), Ok("a.example:7480".to_owned()));
        }
        for text in ["a.example", "http://a.example", "etcd://a:1", "a:1,b:2", "a:99999", ""] {
            let error = endpoint(text).expect_err("no endpoint");
            assert!(error.contains("HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        let seconds = |text| duration(text).map(|duration| duration.as_secs_f64());
        assert_eq!(seconds("500ms"), Ok(0.5));
        assert_eq!(seconds("1.5m"), Ok(90.0));
        assert_eq!(seconds("2h"), Ok(7_200.0));
        assert_eq!(seconds("0"), Ok(0.0), "zero is the same in every unit");
        for text in ["2", "", "s", "-1s", "1 s", "1d", "99999999999h", "1.2.3s"] {
            let error = duration(text).expect_err("no duration");
            assert!(error.contains("500ms, 2s, 5m or 1h"), "{error}");
        }
    }
}
