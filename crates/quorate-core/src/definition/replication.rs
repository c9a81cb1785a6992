//! Replicated logs: the five safety properties of Raft, integrity and liveness of commands.

use alloc::vec::Vec;

use crate::agreement::Value;
use crate::replication::{Entry, Output};

/// A replica as its outputs show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplicaView {
    /// The greatest term that it has entered.
    pub term: u64,
    /// Whether it leads this term.
    pub leads: bool,
    /// All terms that it has led, in order.
    pub led: Vec<u64>,
    /// The log. The entry with index 1 comes first.
    pub log: Vec<Entry>,
    /// The applied commands in order, each with the term in which the replica was.
    pub applied: Vec<Application>,
}

/// A command that a replica has applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Application {
    /// The applied command. `None` is a no-op.
    pub command: Option<Value>,
    /// The term of the replica when it applied the command. The entry was committed in this term or an earlier one.
    pub known_in: u64,
    /// The entry of its log at this index, if it had one.
    pub entry: Option<Entry>,
}

/// The way in which one output alone contradicts the earlier outputs of the same replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misstep {
    /// Leader append-only: a leader deleted or skipped entries of its log.
    LeaderRewrites,
    /// State machine safety: a replica applied an index twice, or left one out.
    OutOfOrder,
}

impl ReplicaView {
    /// Takes an output of the replica into account. Returns how it contradicts earlier ones.
    pub fn on_output(&mut self, output: &Output) -> Option<Misstep> {
        match *output {
            Output::Leads { term } => {
                (self.term, self.leads) = (self.term.max(term), true);
                self.led.push(term);
                None
            }
            Output::Follows { term } => {
                (self.term, self.leads) = (self.term.max(term), false);
                None
            }
            Output::Appended { index, entry } => {
                let rewrites = self.leads && index != self.log.len() as u64 + 1;
                self.log.truncate(position(index));
                self.log.push(entry);
                rewrites.then_some(Misstep::LeaderRewrites)
            }
            Output::Truncated { from } => {
                let rewrites = self.leads && from <= self.log.len() as u64;
                self.log.truncate(position(from));
                rewrites.then_some(Misstep::LeaderRewrites)
            }
            Output::Applied { index, command } => {
                let in_order = index == self.applied.len() as u64 + 1;
                let entry = self.log.get(position(index)).copied();
                self.applied.push(Application { command, known_in: self.term, entry });
                (!in_order).then_some(Misstep::OutOfOrder)
            }
        }
    }
}

fn position(index: u64) -> usize {
    usize::try_from(index.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// Election safety: at most one leader can be elected in a given term. Returns a term that both replicas have led.
pub fn shared_term(one: &ReplicaView, other: &ReplicaView) -> Option<u64> {
    one.led.iter().copied().find(|term| other.led.contains(term))
}

/// Log matching: if two logs contain an entry with the same index and term, then the logs are identical in all entries up to
/// that index. Looks at the entries at this position, counted from 0. Returns the first position that differs.
pub fn mismatch(one: &[Entry], other: &[Entry], at: usize) -> Option<usize> {
    if one.get(at)?.term != other.get(at)?.term {
        return None;
    }
    (0..=at).find(|position| one[*position] != other[*position])
}

/// Leader completeness: an entry that is committed in a term is present in the logs of the leaders of all later terms. A replica
/// applies only committed entries. Tells whether a leader lacks the entry that another replica has applied at this
/// position, counted from 0.
pub fn lacks(leader: &ReplicaView, applied: &Application, at: usize) -> bool {
    // The term in which the entry was committed is unknown. It is not later than that of the replica that applied it.
    let later = leader.leads && leader.term > applied.known_in;
    later && applied.entry.is_some_and(|entry| leader.log.get(at) != Some(&entry))
}

/// State machine safety: no two replicas apply different commands at the same index. Returns the first position, counted from
/// 0, at which they did.
pub fn divergence(one: &[Application], other: &[Application]) -> Option<usize> {
    one.iter().zip(other).position(|(one, other)| one.command != other.command)
}

/// Integrity: the ways in which the application of a command can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandBreach {
    /// No client has submitted the command.
    NotSubmitted,
    /// The replica has applied the command before.
    Repeated,
}

/// Integrity: a replica applies a command at most once, and only if a client has submitted it. A Byzantine replica may
/// pretend that its client has submitted any command, so that only repetitions count if there is one.
pub fn command_breach(submitted: bool, all_honest: bool, repeated: bool) -> Option<CommandBreach> {
    match (submitted || !all_honest, repeated) {
        (false, _) => Some(CommandBreach::NotSubmitted),
        (true, true) => Some(CommandBreach::Repeated),
        (true, false) => None,
    }
}

/// Liveness: a command that was submitted at a live replica, or applied by one, is applied by every live replica. Tells whether a
/// replica owes this.
pub fn owes_application(known_to_live: bool, live: bool, applied: bool) -> bool {
    known_to_live && live && !applied
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn entry(term: u64, value: u64) -> Entry {
        Entry { term, command: Some(Value(value)) }
    }

    fn seen(outputs: &[Output]) -> (ReplicaView, Vec<Misstep>) {
        let mut view = ReplicaView::default();
        let missteps = outputs.iter().filter_map(|output| view.on_output(output)).collect();
        (view, missteps)
    }

    fn appended(index: u64, term: u64, value: u64) -> Output {
        Output::Appended { index, entry: entry(term, value) }
    }

    fn applied(index: u64, value: u64) -> Output {
        Output::Applied { index, command: Some(Value(value)) }
    }

    #[test]
    fn a_leader_only_appends() {
        let leads = Output::Leads { term: 1 };
        assert_eq!(seen(&[leads, appended(1, 1, 5), appended(2, 1, 6)]).1, []);
        let rewritten = [leads, appended(1, 1, 5), appended(1, 1, 6)];
        assert_eq!(seen(&rewritten).1, [Misstep::LeaderRewrites]);
        let deleted = [leads, appended(1, 1, 5), Output::Truncated { from: 1 }];
        assert_eq!(seen(&deleted).1, [Misstep::LeaderRewrites]);
        let follower = [appended(1, 1, 5), Output::Truncated { from: 1 }, appended(1, 2, 6)];
        let (view, missteps) = seen(&follower);
        assert_eq!((view.log, missteps), (vec![entry(2, 6)], vec![]));
    }

    #[test]
    fn a_term_has_one_leader() {
        let (one, _) = seen(&[Output::Leads { term: 1 }, Output::Follows { term: 2 }]);
        let (other, _) = seen(&[Output::Leads { term: 2 }]);
        assert_eq!(shared_term(&one, &other), None);
        let (rival, _) = seen(&[Output::Leads { term: 1 }]);
        assert_eq!(shared_term(&one, &rival), Some(1));
    }

    #[test]
    fn equal_terms_at_an_index_mean_equal_logs_up_to_it() {
        let one = [entry(1, 5), entry(2, 6)];
        assert_eq!(mismatch(&one, &one, 1), None);
        assert_eq!(mismatch(&one, &[entry(1, 5), entry(2, 7)], 1), Some(1));
        assert_eq!(mismatch(&one, &[entry(1, 7), entry(2, 6)], 1), Some(0));
        assert_eq!(mismatch(&one, &[entry(1, 7), entry(3, 6)], 1), None, "terms differ");
        assert_eq!(mismatch(&one, &one[..1], 1), None, "the other log is shorter");
    }

    #[test]
    fn a_later_leader_has_the_committed_entries() {
        let (old, _) = seen(&[Output::Leads { term: 1 }, appended(1, 1, 5), applied(1, 5)]);
        let (complete, _) = seen(&[appended(1, 1, 5), Output::Leads { term: 2 }]);
        let (lacking, _) = seen(&[Output::Leads { term: 2 }]);
        let (other, _) = seen(&[appended(1, 2, 6), Output::Leads { term: 3 }]);
        assert!(!lacks(&complete, &old.applied[0], 0));
        assert!(lacks(&lacking, &old.applied[0], 0));
        assert!(lacks(&other, &old.applied[0], 0));
        let (earlier, _) = seen(&[Output::Leads { term: 1 }]);
        assert!(!lacks(&earlier, &old.applied[0], 0), "only later leaders must have it");
    }

    #[test]
    fn replicas_apply_the_same_in_order() {
        let (one, _) = seen(&[applied(1, 5), applied(2, 6)]);
        let (other, _) = seen(&[applied(1, 5), applied(2, 7)]);
        assert_eq!(divergence(&one.applied, &other.applied), Some(1));
        assert_eq!(divergence(&one.applied, &other.applied[..1]), None);
        assert_eq!(seen(&[applied(2, 6)]).1, [Misstep::OutOfOrder]);
    }

    #[test]
    fn a_command_is_submitted_and_applied_once() {
        assert_eq!(command_breach(true, true, false), None);
        assert_eq!(command_breach(false, true, false), Some(CommandBreach::NotSubmitted));
        assert_eq!(command_breach(false, false, false), None, "a liar may have submitted it");
        assert_eq!(command_breach(true, false, true), Some(CommandBreach::Repeated));
    }

    #[test]
    fn live_replicas_apply_what_live_replicas_know() {
        assert!(owes_application(true, true, false));
        assert!(!owes_application(false, true, false));
        assert!(!owes_application(true, false, false));
        assert!(!owes_application(true, true, true));
    }
}
