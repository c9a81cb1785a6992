//! The history of a run, read from the files of workers, nodes and the register. Times are in microseconds.

use std::collections::BTreeMap;
use std::io;

use crate::clients::{ClientKind, ClientKinds};
use crate::fleet::Fleet;
use crate::log::lines;
use crate::worker::LOCK;

/// A period in which a worker relied on the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockClaim {
    pub(crate) worker: usize,
    /// Token of the grant.
    pub(crate) token: u64,
    /// The greatest token that the worker received while it held the lock: a token may grow.
    pub(crate) greatest: u64,
    /// When the worker requested the lock.
    pub(crate) asked: u64,
    /// When the worker learned that it held the lock.
    pub(crate) start: u64,
    /// When the worker released the lock or could no longer rely on it. For a killed worker, the deadline.
    pub(crate) end: u64,
    /// Like `end`, by the deadline that the client assumes. It is later if the client counts from a late answer.
    pub(crate) assumed: u64,
    pub(crate) ending: ClaimEnding,
}

impl LockClaim {
    /// Applies a new deadline of the client.
    fn set_deadline(&mut self, promised: u64, assumed: u64) {
        (self.end, self.assumed) = (promised, assumed);
    }

    /// Whether a token belongs to this claim.
    pub(crate) fn owns_token(&self, token: u64) -> bool {
        (self.token..=self.greatest).contains(&token)
    }
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimEnding {
    Freed,
    /// The client noticed that it could no longer rely on the lock.
    Lost,
    /// The client was killed.
    Killed,
}

/// A grant to a relayed session, by the record of the relaying node. Nodes do not know grants to direct sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedGrant {
    pub(crate) node: usize,
    pub(crate) token: u64,
    /// The node granted the lock between `at`, when its event loop read the clock, and `written`, when it wrote the record.
    pub(crate) at: u64,
    pub(crate) written: u64,
}

/// A write that the guarded register accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RegisterWrite {
    pub(crate) token: u64,
    pub(crate) value: u64,
}

/// A keep-alive of a client that is not ours, or its call that creates a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeepAlive {
    /// The node that was called.
    pub(crate) node: usize,
    pub(crate) sent: u64,
    /// When the answer arrived, and its TTL in seconds.
    pub(crate) answered: Option<(u64, u64)>,
}

/// The history of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunHistory {
    /// Kinds of clients that took part.
    pub(crate) kinds: ClientKinds,
    /// Claims of the workers, ordered by start.
    pub(crate) claims: Vec<LockClaim>,
    /// Claims of the long holders, each kind on a lock of its own.
    pub(crate) long: BTreeMap<ClientKind, Vec<LockClaim>>,
    /// Grants that the long holders received too late to rely on them.
    pub(crate) late_long: BTreeMap<ClientKind, Vec<LockClaim>>,
    /// Periods in which a long holder's process did not run.
    pub(crate) stalls: BTreeMap<ClientKind, Vec<(u64, u64)>>,
    /// Keep-alives of the long holders that are not our clients.
    pub(crate) keep_alives: BTreeMap<ClientKind, Vec<KeepAlive>>,
    /// Number of opened sessions, by kind and by the way in which their votes are collected.
    pub(crate) sessions: BTreeMap<(ClientKind, String), usize>,
    /// Grants that workers received too late to rely on them. Their tokens count nevertheless.
    pub(crate) late: Vec<LockClaim>,
    /// Grants in the records of the nodes, ordered by time.
    pub(crate) grants: Vec<RecordedGrant>,
    /// Writes that the register accepted, in order.
    pub(crate) writes: Vec<RegisterWrite>,
    /// Writes that were acknowledged to workers.
    pub(crate) acknowledged: Vec<RegisterWrite>,
    /// Number of tokens that the register refused.
    pub(crate) refused: usize,
    /// Values written to the plain counter, in order.
    pub(crate) plain: Vec<u64>,
    /// Clients that did not give up although their timeout had passed.
    pub(crate) overdue: Vec<String>,
    /// Clients that considered a lock held when they could no longer rely on it.
    pub(crate) overstayed: Vec<String>,
    /// Times of the monitor's polls that found a node ready, in order.
    pub(crate) ready: Vec<(u64, usize)>,
}

impl RunHistory {
    /// Reads all files of a run. Fails if one is missing, or if they lack the evidence on which every judgement is based.
    pub(crate) fn read(fleet: &Fleet) -> io::Result<Self> {
        let mut history = Self { kinds: fleet.kinds.clone(), ..Self::default() };
        for worker in 0..fleet.worker_count() {
            for log in fleet.logs(worker) {
                history.read_worker(worker, &lines(&log)?);
            }
        }
        for (holder, kind) in fleet.kinds.iter().enumerate().take(fleet.holder_count()) {
            let lines = lines(&fleet.holder_log(holder))?;
            let mut own = Self { kinds: fleet.kinds.clone(), ..Self::default() };
            own.read_client(&format!("the {kind} holder"), holder, &lines);
            history.overdue.append(&mut own.overdue);
            history.overstayed.append(&mut own.overstayed);
            own.sessions.into_iter().for_each(|(of, count)| {
                *history.sessions.entry(of).or_insert(0) += count;
            });
            own.claims.sort_by_key(|claim| claim.start);
            history.long.insert(kind, own.claims);
            history.late_long.insert(kind, own.late);
            let stalls = lines.iter().filter(|words| words[0] == "stalled");
            let stalls = stalls.map(|words| (number(words.get(1)), number(words.get(2))));
            history.stalls.insert(kind, stalls.collect());
            history.keep_alives.insert(kind, keep_alives(&lines));
        }
        for node in 0..fleet.node_count() {
            for (records, shift) in fleet.records(node) {
                history.read_node(node, &lines(&records)?, shift);
            }
        }
        history.read_register(&lines(&fleet.register_log())?);
        history.ready = fleet.ready_times()?;
        history.claims.sort_by_key(|claim| (claim.start, claim.token));
        history.grants.sort_by_key(|grant| (grant.at, grant.token));
        match history.missing_evidence(fleet.node_count()) {
            Some(missing) => Err(io::Error::other(missing)),
            None => Ok(history),
        }
    }

    /// Evidence that should exist and does not. Without it, properties would hold only because nothing was checked.
    fn missing_evidence(&self, nodes: usize) -> Option<String> {
        let relayed =
            self.claims.iter().filter(|it| self.kinds.of_worker(it.worker) != ClientKind::Direct);
        let silent = (0..nodes).find(|node| !self.ready.iter().any(|(_, ready)| ready == node));
        let unheard = self.long.iter().find(|(kind, claims)| {
            kind.is_proxied()
                && !claims.is_empty()
                && self.keep_alives.get(kind).is_none_or(Vec::is_empty)
        });
        if self.claims.is_empty() {
            return Some("no worker has logged that it held the lock".to_owned());
        }
        if self.grants.is_empty() && relayed.count() > 0 {
            return Some("no node has recorded a grant, although clients were relayed".to_owned());
        }
        if self.writes.is_empty() {
            return Some(
                "the register has logged no write, although workers held the lock".to_owned(),
            );
        }
        if let Some(node) = silent {
            return Some(format!("the monitor has never logged that node {node} was ready"));
        }
        unheard.map(|(kind, _)| format!("the {kind} holder has logged no keep-alive"))
    }

    /// Name of a worker, with its kind.
    pub(crate) fn name_of(&self, worker: usize) -> String {
        format!("worker {worker} ({})", self.kinds.of_worker(worker))
    }

    pub(crate) fn read_worker(&mut self, worker: usize, lines: &[Vec<String>]) {
        self.read_client(&self.name_of(worker), worker, lines);
    }

    fn read_client(&mut self, name: &str, worker: usize, lines: &[Vec<String>]) {
        let (mut asked, mut open) = (0, None::<LockClaim>);
        let kind = self.kinds.of_worker(worker);
        for words in lines {
            let number = |index: usize| number(words.get(index));
            match words[0].as_str() {
                "session" => {
                    let route = words.get(3).cloned().unwrap_or_default();
                    *self.sessions.entry((kind, route)).or_insert(0) += 1;
                }
                "want" => asked = number(1),
                "granted" => {
                    self.close(open.take(), ClaimEnding::Killed);
                    let (start, token, end, assumed) = (number(1), number(2), number(3), number(4));
                    let (greatest, ending) = (token, ClaimEnding::Killed);
                    open = Some(LockClaim {
                        worker,
                        token,
                        greatest,
                        asked,
                        start,
                        end,
                        assumed,
                        ending,
                    });
                }
                "held" => {
                    if let Some(claim) = &mut open {
                        claim.set_deadline(number(2), number(3));
                        claim.greatest = claim.greatest.max(number(4));
                    }
                    // Clients of etcd's API count differently; see `Deadline`.
                    if kind.is_exact() && number(1) >= number(2) {
                        let (now, until) = (number(1), number(2));
                        let what = format!(
                            "{name} regarded its lock as held at {now}, but it was valid until {until}"
                        );
                        self.overstayed.push(what);
                    }
                }
                "revived" => {
                    let now = number(1);
                    self.overstayed.push(format!("{name} regarded a lost lock as held at {now}"));
                }
                "overdue" => {
                    let now = number(1);
                    self.overdue.push(format!("{name} asked at {asked} and still waited at {now}"));
                }
                "freeing" | "lost" => {
                    if let Some(claim) = &mut open {
                        // The deadline may have changed since it was last logged.
                        if words[0] == "lost" {
                            claim.set_deadline(number(2), number(3));
                        }
                        claim.end = claim.end.min(number(1));
                        claim.assumed = claim.assumed.min(number(1));
                    }
                    let ending =
                        if words[0] == "lost" { ClaimEnding::Lost } else { ClaimEnding::Freed };
                    self.close(open.take(), ending);
                }
                "wrote" => {
                    self.acknowledged.push(RegisterWrite { token: number(2), value: number(3) })
                }
                _ => {}
            }
        }
        self.close(open, ClaimEnding::Killed);
    }

    fn close(&mut self, claim: Option<LockClaim>, ending: ClaimEnding) {
        match claim {
            Some(claim) if claim.start < claim.end => {
                self.claims.push(LockClaim { ending, ..claim })
            }
            Some(claim) => self.late.push(LockClaim { ending, ..claim }),
            None => {}
        }
    }

    /// Reads the grants of the workers' lock. The node's clock is wrong by `shift` seconds.
    pub(crate) fn read_node(&mut self, node: usize, lines: &[Vec<String>], shift: i64) {
        for words in lines {
            let value = |name: &str| {
                words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            };
            let time = |name: &str| {
                let nanos: u64 = value(name).and_then(|value| value.parse().ok()).unwrap_or(0);
                ((nanos / 1_000) as i64 - shift * 1_000_000) as u64
            };
            let granted = words.first().is_some_and(|word| word == "granted");
            if granted && value("lock") == Some(LOCK) {
                let token = value("token").and_then(|token| token.parse().ok()).unwrap_or(0);
                self.grants.push(RecordedGrant {
                    node,
                    token,
                    at: time("at"),
                    written: time("written"),
                });
            }
        }
    }

    pub(crate) fn read_register(&mut self, lines: &[Vec<String>]) {
        for words in lines {
            let number = |index: usize| number(words.get(index));
            match words[0].as_str() {
                "wrote" => self.writes.push(RegisterWrite { token: number(2), value: number(3) }),
                "refused" => self.refused += 1,
                "plain" => self.plain.push(number(2)),
                _ => {}
            }
        }
    }

    /// Number of lost increments of the plain counter.
    pub(crate) fn plain_lost(&self) -> usize {
        self.plain.len() - (self.plain.last().copied().unwrap_or(0) as usize).min(self.plain.len())
    }

    /// Number of grants to another worker than the previous one.
    pub(crate) fn hand_offs(&self) -> usize {
        self.claims.windows(2).filter(|pair| pair[0].worker != pair[1].worker).count()
    }

    /// Number of claims with this ending.
    pub(crate) fn count_ended(&self, ending: ClaimEnding) -> usize {
        self.claims.iter().filter(|claim| claim.ending == ending).count()
    }

    /// Claims of the workers of one kind.
    pub(crate) fn of_kind(&self, kind: ClientKind) -> impl Iterator<Item = &LockClaim> {
        self.claims.iter().filter(move |claim| self.kinds.of_worker(claim.worker) == kind)
    }

    /// Number of claims that began while a worker of these kinds relied on the lock beyond its promised deadline. Only
    /// tokens protect against that. A killed client relies on nothing.
    pub(crate) fn overlaps_beyond_promises(&self, kinds: &[ClientKind]) -> usize {
        let mut furthest = 0;
        let overlaps = self.claims.iter().filter(|claim| {
            let overlaps = claim.start < furthest;
            let alive = claim.ending != ClaimEnding::Killed;
            if alive && kinds.contains(&self.kinds.of_worker(claim.worker)) {
                furthest = furthest.max(claim.assumed);
            }
            overlaps
        });
        overlaps.count()
    }
}

/// Reads keep-alives from the log of their client.
fn keep_alives(lines: &[Vec<String>]) -> Vec<KeepAlive> {
    let mut keep_alives = Vec::<KeepAlive>::new();
    for words in lines {
        let number = |index: usize| number(words.get(index));
        match words[0].as_str() {
            "asked" => {
                keep_alives.push(KeepAlive {
                    sent: number(1),
                    node: number(2) as usize,
                    answered: None,
                });
            }
            "told" => {
                let (sent, node) = (number(2), number(3) as usize);
                let keep_alive =
                    keep_alives.iter_mut().rfind(|it| (it.sent, it.node) == (sent, node));
                keep_alive
                    .into_iter()
                    .for_each(|keep_alive| keep_alive.answered = Some((number(1), number(4))));
            }
            _ => {}
        }
    }
    keep_alives
}

fn number(word: Option<&String>) -> u64 {
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_without_evidence_is_an_error() {
        let line = |text: &str| vec![text.split_whitespace().map(str::to_owned).collect()];
        let whole = || {
            let mut history = RunHistory { ready: vec![(1, 0), (2, 1)], ..RunHistory::default() };
            history.read_worker(1, &line("granted 10 5 90 90 0"));
            history.read_node(0, &line("granted lock=torture token=5 at=9000 written=9500"), 0);
            history.read_register(&line("wrote 25 5 1"));
            history
        };
        assert_eq!(whole().missing_evidence(2), None);
        let without = |take: fn(&mut RunHistory)| {
            let mut history = whole();
            take(&mut history);
            history.missing_evidence(2).expect("something is missing")
        };
        assert!(without(|it| it.claims.clear()).contains("no worker"));
        assert!(without(|it| it.grants.clear()).contains("no node"));
        assert!(without(|it| it.writes.clear()).contains("no write"));
        assert!(without(|it| it.ready.truncate(1)).contains("node 1"));
        let unheard = without(|it| {
            it.long.insert(ClientKind::Go, it.claims.clone());
        });
        assert!(unheard.contains("go holder"), "{unheard}");
        let mut direct = whole();
        direct.grants.clear();
        direct.claims[0].worker = 0;
        assert_eq!(direct.missing_evidence(2), None, "nodes know nothing of direct sessions");
    }
}
