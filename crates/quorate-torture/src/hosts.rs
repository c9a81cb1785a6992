//! Hosts that are network namespaces, each with its own address, all connected to one switch.
//!
//! Everything is in namespaces of this run, including the switch: the machine's own network is not changed. A link is cut
//! by an entry in the sender's neighbour table with an unused hardware address. Packets leave and no host accepts them, in
//! that direction only, and neither side gets an error. This needs neither a firewall nor its kernel modules.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Prefix of namespace names. The id of the process that created the namespace follows.
const PREFIX: &str = "quorate-";

/// Directory in which iproute2 keeps the names of namespaces.
const NAMES: &str = "/run/netns";

/// A hardware address that no host has.
const NOWHERE: &str = "02:00:00:00:00:ff";

/// The hosts of a run.
#[derive(Debug)]
pub(crate) enum Hosts {
    /// Namespaces, which are removed when this is dropped.
    Namespaces(Namespaces),
    /// All hosts are this machine, so that no link can be cut. Each still has its own address, so that no other process
    /// takes its ports while it is down.
    Loopback,
}

/// The namespaces of a run: first the switch, then the hosts.
#[derive(Debug)]
pub(crate) struct Namespaces {
    prefix: String,
    made: Vec<String>,
}

impl Hosts {
    /// Creates `count` hosts in namespaces, or returns the reason why that is impossible.
    pub(crate) fn in_namespaces(count: usize) -> Result<Self, String> {
        remove_stale();
        let prefix = format!("{PREFIX}{}", std::process::id());
        let mut hosts = Namespaces { prefix, made: Vec::new() };
        hosts.make(count).map_err(|error| error.to_string())?;
        Ok(Self::Namespaces(hosts))
    }

    /// Address of a host.
    pub(crate) fn address(&self, host: usize) -> String {
        match self {
            Self::Namespaces(_) => format!("10.77.{}.{}", host / 250, host % 250 + 1),
            Self::Loopback => {
                let process = std::process::id() as usize;
                format!("127.{}.{}.{}", 64 + process % 128, process / 128 % 256, host + 1)
            }
        }
    }

    /// Whether links can be cut.
    pub(crate) fn can_cut(&self) -> bool {
        matches!(self, Self::Namespaces(_))
    }

    /// A command that runs on a host. The process keeps the pid of the started command.
    pub(crate) fn command(&self, host: usize, program: &std::path::Path) -> Command {
        match self {
            Self::Namespaces(hosts) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &hosts.name(host)]).arg(program);
                command
            }
            Self::Loopback => Command::new(program),
        }
    }

    /// Drops all packets from `from` to any of `to`.
    pub(crate) fn cut(&self, from: usize, to: &[usize]) -> io::Result<()> {
        let Self::Namespaces(hosts) = self else { return Ok(()) };
        let lines = to.iter().map(|to| {
            let address = self.address(*to);
            format!("neigh replace {address} lladdr {NOWHERE} dev eth0 nud permanent\n")
        });
        hosts.batch(&hosts.name(from), &lines.collect::<String>())
    }

    /// Undoes all cuts of packets that a host sends.
    pub(crate) fn heal(&self, from: usize) -> io::Result<()> {
        let Self::Namespaces(hosts) = self else { return Ok(()) };
        hosts.batch(&hosts.name(from), "neigh flush dev eth0 nud permanent\n")
    }
}

impl Namespaces {
    fn name(&self, host: usize) -> String {
        format!("{}-{host}", self.prefix)
    }

    fn make(&mut self, count: usize) -> io::Result<()> {
        let switch = format!("{}-switch", self.prefix);
        self.add(&switch)?;
        self.batch(&switch, "link add switch type bridge\nlink set switch up\n")?;
        for host in 0..count {
            let name = self.name(host);
            self.add(&name)?;
            let plug = format!(
                "link add port{host} type veth peer name eth0 netns {name}\nlink set port{host} master switch up\n"
            );
            self.batch(&switch, &plug)?;
            let address = format!("10.77.{}.{}/16", host / 250, host % 250 + 1);
            let own = format!("addr add {address} dev eth0\nlink set lo up\nlink set eth0 up\n");
            self.batch(&name, &own)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str) -> io::Result<()> {
        run(Command::new("ip").args(["netns", "add", name]), "")?;
        self.made.push(name.to_owned());
        Ok(())
    }

    fn batch(&self, namespace: &str, lines: &str) -> io::Result<()> {
        run(Command::new("ip").args(["-n", namespace, "-batch", "-"]), lines)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.made {
            let _ = run(Command::new("ip").args(["netns", "delete", name]), "");
        }
    }
}

/// Removes namespaces of runs that were killed before they could remove them.
fn remove_stale() {
    for entry in std::fs::read_dir(NAMES).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_stale(&name, PREFIX) {
            let _ = run(Command::new("ip").args(["netns", "delete", &name]), "");
        }
    }
}

/// Whether an object with this name was created by a run that no longer exists. The prefix is followed by the process id of
/// the run.
pub(crate) fn is_stale(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next());
    let process = number.and_then(|number| number.parse::<u32>().ok());
    process.is_some_and(|process| !std::path::Path::new(&format!("/proc/{process}")).exists())
}

/// Runs a command with `input` on its stdin. On failure, returns its stderr as the error.
fn run(command: &mut Command, input: &str) -> io::Result<()> {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let shown = format!("{command:?}").replace('"', "");
    let mut child =
        command.spawn().map_err(|error| io::Error::other(format!("{shown}: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(io::Error::other(format!("{shown}: {stderr}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_run_has_made_is_stale() {
        // Process ids are smaller than 2^22.
        assert!(is_stale("quorate-4194305-3", PREFIX) && is_stale("quorate-4194305", PREFIX));
        assert!(!is_stale(&format!("quorate-{}-switch", std::process::id()), PREFIX));
        assert!(!is_stale("quorate-lab-3", PREFIX) && !is_stale("other-4194305-3", PREFIX));
    }
}
