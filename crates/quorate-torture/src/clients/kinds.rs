//! The kinds of clients that take part in a run: requested by the user, and with their programs installed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ClientKind;

/// The kinds of a run. They are assigned to workers in turn, and there is one long holder of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientKinds(Vec<ClientKind>);

impl Default for ClientKinds {
    /// The kinds that need no other program.
    fn default() -> Self {
        Self(vec![ClientKind::Direct, ClientKind::Relayed, ClientKind::Http, ClientKind::Etcd])
    }
}

impl ClientKinds {
    /// Determines which kinds can run here, and prepares them in a folder. Kinds that are requested by name must be
    /// available. If none is requested, missing kinds are reported to `progress`; `required` makes a missing etcdctl an
    /// error.
    pub(crate) fn prepare(
        wanted: &[ClientKind],
        required: bool,
        folder: &Path,
        mut progress: impl FnMut(&str),
    ) -> io::Result<Self> {
        let mut kinds = Vec::new();
        for kind in ClientKind::ALL {
            if !wanted.is_empty() && !wanted.contains(&kind) {
                continue;
            }
            match prepare(kind, folder) {
                Ok(()) => kinds.push(kind),
                Err(why) if wanted.is_empty() && !(required && kind == ClientKind::Etcdctl) => {
                    progress(&format!("WITHOUT CLIENTS OF KIND {kind}: {why}"));
                }
                Err(why) => {
                    return Err(io::Error::other(format!("no clients of kind {kind}: {why}")));
                }
            }
        }
        Ok(Self(kinds))
    }

    #[cfg(test)]
    pub(crate) fn only(kind: ClientKind) -> Self {
        Self(vec![kind])
    }

    /// The kind of a worker.
    pub(crate) fn of_worker(&self, number: usize) -> ClientKind {
        self.0[number % self.0.len()]
    }

    /// Kinds in the order of their long holders.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = ClientKind> {
        self.0.iter().copied()
    }
}

/// Path of the locker in the folder of a run.
pub(crate) fn locker(folder: &Path) -> PathBuf {
    folder.join("locker")
}

fn prepare(kind: ClientKind, folder: &Path) -> Result<(), String> {
    match kind {
        ClientKind::Etcdctl => {
            succeeds(Command::new("setpriv").arg("--version"))?;
            succeeds(Command::new("etcdctl").env("ETCDCTL_API", "3").arg("version"))
        }
        ClientKind::Go => build_locker(folder),
        _ => Ok(()),
    }
}

/// Directory in which Debian installs the sources of Go packages.
const DEBIAN_GOPATH: &str = "/usr/share/gocode";

/// Compiles the locker. Its dependencies are in Debian's `golang-go` and `golang-etcd-server-dev`.
fn build_locker(folder: &Path) -> Result<(), String> {
    let source = folder.join("locker.go");
    fs::write(&source, include_str!("../../go/locker.go")).map_err(|error| error.to_string())?;
    let mut go = Command::new("go");
    go.env("GO111MODULE", "off").env("GOFLAGS", "");
    if std::env::var_os("GOPATH").is_none() {
        go.env("GOPATH", DEBIAN_GOPATH);
    }
    succeeds(go.arg("build").arg("-o").arg(locker(folder)).arg(source))
}

/// Runs a command. On failure, returns the reason in one line.
fn succeeds(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let first = errors.lines().next().unwrap_or("no error message");
    Err(format!("{name}: {}: {first}", output.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_have_the_kinds_in_turn() {
        let kinds = ClientKinds(vec![ClientKind::Http, ClientKind::Go]);
        let of = |number| kinds.of_worker(number);
        assert_eq!([of(0), of(1), of(2)], [ClientKind::Http, ClientKind::Go, ClientKind::Http]);
    }

    #[test]
    fn kinds_that_are_asked_for_come_once_and_in_order() {
        let wanted = [ClientKind::Etcd, ClientKind::Direct, ClientKind::Etcd];
        let kinds =
            ClientKinds::prepare(&wanted, true, Path::new("nowhere"), |line| panic!("{line}"));
        assert_eq!(
            kinds.expect("they need nothing"),
            ClientKinds(vec![ClientKind::Direct, ClientKind::Etcd])
        );
    }

    #[test]
    fn a_program_that_is_missing_is_named_in_one_line() {
        let missing = succeeds(&mut Command::new("there-is-no-such-program")).expect_err("missing");
        assert!(missing.starts_with("there-is-no-such-program: "), "{missing}");
        let failed =
            succeeds(Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 3"]));
        assert_eq!(failed, Err("sh: exit status: 3: one".to_owned()));
    }
}
