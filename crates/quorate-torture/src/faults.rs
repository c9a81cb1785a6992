//! Faults of processes and links: how they are injected and undone.

use std::fmt;
use std::io;
use std::process::{Command, Stdio};

use quorate_client::Moment;

use crate::fleet::Fleet;
use crate::outages::OutageCause;
use crate::rng::Rng;
use crate::wait::{self, pause};

/// Maximum time that a rolling restart waits for a node to become ready, in milliseconds.
const READY_MS: u64 = 10_000;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    KillHolder,
    KillHoldersNode,
    KillVoter,
    KillMinority,
    StopHolder,
    StopHoldersNode,
    StopMinority,
    Stutter,
    CutBothWays,
    CutMinority,
    CutDeaf,
    CutMute,
    CutFromClients,
    CutNoQuorum,
    Forget,
    ShiftClock,
    Vanish,
    RollingRestart,
    KillAndStart,
    KillAndStartLate,
    FullDisk,
    Replace,
    Upgrade,
}

/// Action that undoes a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    StartNode(usize),
    /// Starts a node with a clock that is wrong by this many seconds.
    StartShifted(usize, i64),
    StartWorker(usize),
    ContinueNode(usize),
    ContinueWorker(usize),
    Heal(usize),
    /// Frees space on the disk of a node.
    Empty(usize),
}

/// Result of injecting a fault.
#[derive(Debug, Default)]
pub(crate) struct Injection {
    pub(crate) remedies: Vec<Remedy>,
    /// Violations found while the fault was injected.
    pub(crate) broken: Vec<String>,
}

impl Fault {
    /// All kinds from which a seed chooses. An upgrade comes when it is due.
    const ALL: [Self; 22] = [
        Self::KillHolder,
        Self::KillHoldersNode,
        Self::KillVoter,
        Self::KillMinority,
        Self::StopHolder,
        Self::StopHoldersNode,
        Self::StopMinority,
        Self::Stutter,
        Self::CutBothWays,
        Self::CutMinority,
        Self::CutDeaf,
        Self::CutMute,
        Self::CutFromClients,
        Self::CutNoQuorum,
        Self::Forget,
        Self::ShiftClock,
        Self::Vanish,
        Self::RollingRestart,
        Self::KillAndStart,
        Self::KillAndStartLate,
        Self::FullDisk,
        Self::Replace,
    ];

    /// Whether the fault leaves the cluster in need of all other nodes. It comes alone, and once all nodes are healthy: a majority
    /// that has forgotten its votes never votes again.
    pub(crate) fn comes_alone(self) -> bool {
        matches!(self, Self::Forget | Self::Replace)
    }

    /// Faults that are possible on this machine and contain `only` in their names.
    pub(crate) fn possible(fleet: &Fleet, only: &str) -> Vec<Self> {
        let clocks = clocks_can_be_shifted();
        let possible = |fault: &Self| match fault {
            Self::CutBothWays | Self::CutMinority | Self::CutDeaf | Self::CutMute => {
                fleet.hosts.can_cut()
            }
            Self::CutFromClients | Self::CutNoQuorum | Self::Vanish => fleet.hosts.can_cut(),
            Self::ShiftClock => clocks,
            Self::FullDisk => fleet.can_fill(),
            Self::Replace => fleet.can_replace(),
            _ => true,
        };
        let wanted = |fault: &Self| fault.to_string().contains(only);
        Self::ALL.into_iter().filter(possible).filter(wanted).collect()
    }

    /// Injects the fault into the fleet.
    pub(crate) fn inject(self, fleet: &mut Fleet, rng: &mut Rng) -> io::Result<Injection> {
        fleet.outages.set_current_fault(self.to_string());
        let n = fleet.node_count();
        let minority = (n - 1) / 2;
        let node = rng.index(n);
        let of_holder = [
            Self::KillHolder,
            Self::KillHoldersNode,
            Self::KillVoter,
            Self::StopHolder,
            Self::StopHoldersNode,
            Self::Vanish,
        ];
        let caught = if of_holder.contains(&self) { catch_holder(fleet)? } else { None };
        // If no worker gets the lock in time, the seed chooses one.
        let (holder, holders_node) =
            caught.unwrap_or_else(|| (rng.index(fleet.worker_count()), node));
        let others: Vec<usize> = (0..n).filter(|other| *other != node).collect();
        let mut broken = Vec::new();
        let remedies = match self {
            Self::KillHolder => {
                fleet.kill_worker(holder);
                vec![Remedy::StartWorker(holder)]
            }
            Self::KillHoldersNode => kill_nodes(fleet, &[holders_node]),
            Self::KillVoter => {
                let other = (holders_node + 1 + rng.index(n - 1)) % n;
                kill_nodes(fleet, &[other])
            }
            Self::KillMinority => kill_nodes(fleet, &rng.sample(minority, n)),
            Self::StopHolder => {
                fleet.stop_worker(holder);
                vec![Remedy::ContinueWorker(holder)]
            }
            Self::StopHoldersNode => stop_nodes(fleet, &[holders_node]),
            Self::StopMinority => stop_nodes(fleet, &rng.sample(minority, n)),
            Self::Stutter => {
                stutter(fleet, rng, node);
                Vec::new()
            }
            Self::CutBothWays => cut_links(fleet, &[node], &others)?,
            Self::CutMinority => {
                let these = rng.sample(minority, n);
                let rest: Vec<usize> = (0..n).filter(|other| !these.contains(other)).collect();
                cut_links(fleet, &these, &rest)?
            }
            Self::CutDeaf => {
                fleet.begin(&[node], OutageCause::CutOff);
                others.iter().try_for_each(|other| fleet.hosts.cut(*other, &[node]))?;
                others.into_iter().map(Remedy::Heal).collect()
            }
            Self::CutMute => {
                fleet.begin(&[node], OutageCause::CutOff);
                fleet.hosts.cut(node, &others)?;
                vec![Remedy::Heal(node)]
            }
            Self::CutFromClients => {
                let clients = fleet.client_hosts();
                cut_links(fleet, &[node], &clients)?
            }
            Self::CutNoQuorum => {
                fleet.begin(&(0..n).collect::<Vec<_>>(), OutageCause::CutOff);
                for node in 0..n {
                    let rest: Vec<usize> = (0..n).filter(|other| *other != node).collect();
                    fleet.hosts.cut(node, &rest)?;
                }
                (0..n).map(Remedy::Heal).collect()
            }
            Self::Forget => {
                fleet.kill_node(node);
                fleet.forget(node)?;
                vec![Remedy::StartNode(node)]
            }
            Self::ShiftClock => {
                fleet.kill_node(node);
                let seconds = rng.in_range(600..7_200) as i64;
                // A clock cannot show a time before the machine was started.
                let back = rng.index(2) == 0 && uptime_s() > seconds + 60;
                vec![Remedy::StartShifted(node, if back { -seconds } else { seconds })]
            }
            Self::Vanish => {
                let host = fleet.worker_host(holder);
                let nodes: Vec<usize> = (0..n).collect();
                fleet.hosts.cut(host, &nodes)?;
                fleet.kill_worker(holder);
                vec![Remedy::Heal(host), Remedy::StartWorker(holder)]
            }
            Self::RollingRestart => {
                for node in 0..n {
                    broken.extend(restart(fleet, node)?);
                }
                Vec::new()
            }
            Self::KillAndStart | Self::KillAndStartLate => {
                fleet.kill_node(node);
                pause(if self == Self::KillAndStartLate { 3_000 } else { 0 });
                fleet.start_node(node, 0)?;
                Vec::new()
            }
            Self::FullDisk => {
                fleet.fill(node)?;
                vec![Remedy::Empty(node)]
            }
            Self::Replace => {
                fleet.kill_node(node);
                broken.extend(fleet.replace_node(node)?);
                Vec::new()
            }
            Self::Upgrade => {
                if let Some(node) = fleet.next_upgrade() {
                    fleet.upgrade(node);
                    broken.extend(restart(fleet, node)?);
                }
                Vec::new()
            }
        };
        if self != Self::StopHolder && caught.is_some() {
            fleet.continue_worker(holder);
        }
        Ok(Injection { remedies, broken })
    }
}

impl Remedy {
    pub(crate) fn apply(self, fleet: &mut Fleet) -> io::Result<()> {
        match self {
            Self::StartNode(node) => fleet.start_node(node, 0),
            Self::StartShifted(node, shift) => fleet.start_node(node, shift),
            Self::StartWorker(worker) => fleet.start_worker(worker),
            Self::ContinueNode(node) => {
                fleet.continue_node(node);
                Ok(())
            }
            Self::ContinueWorker(worker) => {
                fleet.continue_worker(worker);
                Ok(())
            }
            Self::Heal(host) => fleet.hosts.heal(host),
            Self::Empty(node) => fleet.empty(node),
        }
    }
}

fn kill_nodes(fleet: &mut Fleet, nodes: &[usize]) -> Vec<Remedy> {
    nodes.iter().for_each(|node| fleet.kill_node(*node));
    nodes.iter().copied().map(Remedy::StartNode).collect()
}

fn stop_nodes(fleet: &mut Fleet, nodes: &[usize]) -> Vec<Remedy> {
    nodes.iter().for_each(|node| fleet.stop_node(*node));
    nodes.iter().copied().map(Remedy::ContinueNode).collect()
}

/// Cuts all links between some nodes and other hosts. Only the former count as affected.
fn cut_links(fleet: &mut Fleet, these: &[usize], those: &[usize]) -> io::Result<Vec<Remedy>> {
    fleet.begin(these, OutageCause::CutOff);
    these.iter().try_for_each(|host| fleet.hosts.cut(*host, those))?;
    those.iter().try_for_each(|host| fleet.hosts.cut(*host, these))?;
    Ok(these.iter().chain(those).copied().map(Remedy::Heal).collect())
}

/// Has a node leave, starts it again and waits until it is ready. Returns the violation if it does not leave as it should.
fn restart(fleet: &mut Fleet, node: usize) -> io::Result<Option<String>> {
    // A node that another fault has stopped would not handle the signal.
    fleet.continue_node(node);
    let broken = fleet.terminate_node(node).err();
    fleet.start_node(node, 0)?;
    fleet.await_ready(node, READY_MS)?;
    Ok(broken)
}

/// Stops and continues a node alternately, so that everything it sends and receives is delayed by a varying time.
fn stutter(fleet: &mut Fleet, rng: &mut Rng, node: usize) {
    fleet.begin(&[node], OutageCause::Stutters);
    for _ in 0..10 {
        fleet.stop_node(node);
        pause(rng.in_range(20..150));
        fleet.continue_node(node);
        pause(rng.in_range(5..60));
    }
    fleet.end(node, OutageCause::Stutters);
}

/// Waits a short time until a worker holds the lock, and stops the worker while it holds the lock.
fn catch_holder(fleet: &mut Fleet) -> io::Result<Option<(usize, usize)>> {
    for _ in 0..200 {
        wait::check()?;
        if let Some(caught) = fleet.catch_holder()? {
            return Ok(Some(caught));
        }
        pause(2);
    }
    Ok(None)
}

fn uptime_s() -> i64 {
    (Moment::now().0 / 1_000_000) as i64
}

fn clocks_can_be_shifted() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["--time", "--boottime", "1", "true"]);
    unshare
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::KillHolder => "kill -9 of the holder",
            Self::KillHoldersNode => "kill -9 of the holder's node",
            Self::KillVoter => "kill -9 of another node",
            Self::KillMinority => "kill -9 of a majority less one",
            Self::StopHolder => "SIGSTOP of the holder",
            Self::StopHoldersNode => "SIGSTOP of the holder's node",
            Self::StopMinority => "SIGSTOP of a majority less one",
            Self::Stutter => "a node that stutters",
            Self::CutBothWays => "a node cut off",
            Self::CutMinority => "a minority cut off",
            Self::CutDeaf => "a node that hears nobody",
            Self::CutMute => "a node that nobody hears",
            Self::CutFromClients => "a node cut off from clients",
            Self::CutNoQuorum => "all nodes cut off",
            Self::Forget => "a restart without memory",
            Self::ShiftClock => "a restart with another clock",
            Self::Vanish => "a client that vanishes",
            Self::RollingRestart => "a rolling restart",
            Self::KillAndStart => "kill -9 of a node, started at once",
            Self::KillAndStartLate => "kill -9 of a node, started after 3 s",
            Self::FullDisk => "a node with a full disk",
            Self::Replace => "a machine replaced by another",
            Self::Upgrade => "an upgrade of a node",
        })
    }
}
