//! Agreement, validity and termination, judged from one record of proposals and decisions.
//!
//! A process is correct if it has not crashed in the whole run and is not a traitor. A process that has recovered is not
//! correct. If the algorithm counts on its memory, it is bound like a correct one all the same: it has to decide, and to
//! decide the same. Nothing is expected of other processes, and their decisions violate nothing. All three properties
//! are judged at the end of the run, because only then these sets are known. Cost: O(log n) for each proposal and each
//! decision, O(n) comparisons of decisions at the end.

use quorate_core::agreement::{AgreementKind, Decision, Value};
use quorate_core::definition::agreement::{
    Invalidity, Participant, disagreement, invalidity, owes_decision,
};
use quorate_core::{ProcessId, ProcessSet, Property, SortedMap, Span, Time};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::Ending;
use crate::engine::observer::Moment;

/// Monitor of the decisions of n processes.
#[derive(Clone, Debug)]
pub(crate) struct Decisions {
    n: usize,
    agreement_kind: AgreementKind,
    proposals: SortedMap<ProcessId, (Moment, Value)>,
    decided: SortedMap<ProcessId, (Moment, Decision)>,
    /// Later decisions of processes that had already decided something else.
    changed: Vec<(Moment, Decision)>,
    blocked: ProcessSet,
    traitors: ProcessSet,
    /// Processes that have crashed, and may have recovered.
    crashed: ProcessSet,
    /// Processes of which nothing is expected, because they are down or were.
    lost: ProcessSet,
    agreement: Option<Violation>,
    validity: Option<Violation>,
    termination: Option<Violation>,
    /// Whether the run was stopped before termination could be judged.
    open: bool,
}

impl Decisions {
    pub(crate) fn new(n: usize, agreement_kind: AgreementKind, traitors: ProcessSet) -> Self {
        Self {
            n,
            agreement_kind,
            proposals: SortedMap::new(),
            decided: SortedMap::new(),
            changed: Vec::new(),
            blocked: ProcessSet::new(),
            traitors,
            crashed: ProcessSet::new(),
            lost: ProcessSet::new(),
            agreement: None,
            validity: None,
            termination: None,
            open: false,
        }
    }

    pub(crate) fn proposed(&mut self, at: Moment, value: Value) {
        self.proposals.insert(at.process, (at, value));
    }

    pub(crate) fn decided(&mut self, at: Moment, decision: &Decision) {
        self.blocked.remove(at.process);
        let first = self.decided.entry(at.process).or_insert_with(|| (at, decision.clone()));
        if first.1 != *decision {
            self.changed.push((at, decision.clone()));
        }
    }

    pub(crate) fn blocked(&mut self, process: ProcessId) {
        if !self.decided.contains_key(&process) {
            self.blocked.insert(process);
        }
    }

    pub(crate) fn crashed(&mut self, process: ProcessId) {
        self.crashed.insert(process);
        self.lost.insert(process);
        // A crashed process does not wait for other processes.
        self.blocked.remove(process);
    }

    /// The process has recovered with its memory, and is bound again.
    pub(crate) fn recovered(&mut self, process: ProcessId) {
        self.lost.remove(process);
    }

    /// Processes that have not crashed so far and are not traitors.
    pub(crate) fn correct(&self) -> ProcessSet {
        &(&ProcessSet::all(self.n) - &self.crashed) - &self.traitors
    }

    /// Processes that have to decide, and to decide the same: the correct ones, and those that have recovered.
    pub(crate) fn bound(&self) -> ProcessSet {
        &(&ProcessSet::all(self.n) - &self.lost) - &self.traitors
    }

    /// Judges the end of a run. If the first proposal is older than `patience`, all correct processes should have
    /// decided even if the run was stopped.
    pub(crate) fn end(&mut self, now: Time, ending: Ending, patience: Option<Span>) {
        let (correct, bound) = (self.correct(), self.bound());
        self.agreement = self.disagreement(&bound);
        let decided = self.decided.iter().filter(|(process, _)| bound.contains(**process));
        self.validity =
            decided.filter_map(|(_, (at, decision))| self.invalid(&correct, *at, decision)).next();
        let begun = self.begun();
        let owes = |process: &ProcessId| {
            owes_decision(
                begun.is_some(),
                bound.contains(*process),
                self.decided.contains_key(process),
            )
        };
        let missing: ProcessSet = ProcessId::all(self.n).filter(owes).collect();
        if missing.is_empty() {
            return;
        }
        let complete = matches!(ending, Ending::Quiescent | Ending::Content);
        if !complete && patience.is_none_or(|patience| now - begun.unwrap_or(now) <= patience) {
            self.open = true;
            return;
        }
        let (blocked, silent) = (&missing & &self.blocked, &missing - &self.blocked);
        let is = if blocked.len() == 1 { "is" } else { "are" };
        let blocked = (!blocked.is_empty()).then(|| {
            format!("{} {is} blocked until one who has crashed comes back", name_all(&blocked))
        });
        let silent = (!silent.is_empty()).then(|| format!("{} decided nothing", name_all(&silent)));
        let names = blocked.into_iter().chain(silent).collect::<Vec<_>>().join(", ");
        let detail = format!("{names}, and the run ended at {now}");
        let of_missing = self.proposals.values().filter(|(at, _)| missing.contains(at.process));
        let events = of_missing.map(|(at, value)| self.proposal(*at, *value)).collect();
        let property = Property::Termination;
        self.termination = Some(Violation { property, time: now, detail, events });
    }

    /// Two bound processes that decided differently, or a bound process that changed its decision.
    fn disagreement(&self, bound: &ProcessSet) -> Option<Violation> {
        let property = Property::Agreement;
        let text = |decision: &Decision| self.agreement_kind.display_decision(decision).to_string();
        if let Some((at, again)) = self.changed.iter().find(|(at, _)| bound.contains(at.process)) {
            let (first_at, first) = &self.decided[&at.process];
            let detail =
                format!("{} decided {}, and then {}", at.process, text(first), text(again));
            let events = vec![self.decision(*first_at, first), self.decision(*at, again)];
            return Some(Violation { property, time: at.time, detail, events });
        }
        let mut of_bound =
            self.decided.values().filter(|(at, _)| bound.contains(at.process)).collect::<Vec<_>>();
        of_bound.sort_by_key(|(at, _)| at.event);
        let decisions = of_bound.iter().map(|(_, decision)| decision);
        let (_, other) = disagreement(decisions)?;
        let (at, _) = of_bound.iter().find(|(_, decision)| decision == other)?;
        let mut sides: Vec<(&Decision, Vec<ProcessId>)> = Vec::new();
        for (at, decision) in &of_bound {
            match sides.iter_mut().find(|(side, _)| *side == decision) {
                Some((_, processes)) => processes.push(at.process),
                None => sides.push((decision, vec![at.process])),
            }
        }
        let side = |(decision, processes): &(&Decision, Vec<ProcessId>)| {
            format!("{} decided {}", name_all(processes.iter().copied()), text(decision))
        };
        let detail = sides.iter().map(side).collect::<Vec<_>>().join(", ");
        let events = of_bound.iter().map(|(at, decision)| self.decision(*at, decision)).collect();
        Some(Violation { property, time: at.time, detail, events })
    }

    /// Returns why the decision of a bound process is invalid, or none if it is valid.
    fn invalid(&self, correct: &ProcessSet, at: Moment, decision: &Decision) -> Option<Violation> {
        let participant = |process| Participant {
            proposal: self.proposal_of(process),
            correct: correct.contains(process),
            honest: !self.traitors.contains(process),
        };
        let participants = (0..self.n).map(ProcessId::from_index).map(participant);
        let reason = invalidity(self.agreement_kind, decision, participants)?;
        let (because, mut events) = self.explain(reason);
        events.push(self.decision(at, decision));
        let detail = format!(
            "{} decided {}, but {because}",
            at.process,
            self.agreement_kind.display_decision(decision)
        );
        Some(Violation { property: Property::Validity, time: at.time, detail, events })
    }

    /// The reason in words, and the proposals that show it.
    fn explain(&self, reason: Invalidity) -> (String, Vec<Evidence>) {
        let of = |number: usize| {
            let (at, value) = self.proposals[&ProcessId::new(number as u32)];
            (at, value, vec![self.proposal(at, value)])
        };
        match reason {
            Invalidity::Contradicts(number) => {
                let (from, value, events) = of(number);
                let verb = match self.agreement_kind {
                    AgreementKind::Order => "ordered to",
                    _ => "proposed",
                };
                let value = self.agreement_kind.display_value(value);
                (format!("{} {verb} {value}", from.process), events)
            }
            Invalidity::VotedAgainst(number) => {
                let (from, _, events) = of(number);
                (format!("{} voted to abort", from.process), events)
            }
            Invalidity::VoteMissing => ("not everybody had voted".to_owned(), Vec::new()),
            Invalidity::NeedlessAbort => ("everybody voted to commit".to_owned(), Vec::new()),
            Invalidity::NotProposed => ("nobody proposed it".to_owned(), Vec::new()),
            Invalidity::NotUnanimous(value) => {
                let of_honest = self
                    .proposals
                    .values()
                    .filter(|(from, _)| !self.traitors.contains(from.process));
                let events = of_honest.map(|(at, value)| self.proposal(*at, *value)).collect();
                let value = self.agreement_kind.display_value(value);
                (format!("all who are honest proposed {value}"), events)
            }
            Invalidity::WrongKind => {
                ("that is not what they were to agree on".to_owned(), Vec::new())
            }
        }
    }

    fn proposal(&self, at: Moment, value: Value) -> Evidence {
        let word = match self.agreement_kind {
            AgreementKind::Proposal | AgreementKind::Bit | AgreementKind::Vector => "proposed",
            AgreementKind::Order => "ordered to",
            AgreementKind::Vote => "voted to",
        };
        Evidence::new(at, format!("{word} {}", self.agreement_kind.display_value(value)))
    }

    fn decision(&self, at: Moment, decision: &Decision) -> Evidence {
        Evidence::new(at, format!("decided {}", self.agreement_kind.display_decision(decision)))
    }

    pub(crate) fn agreement(&self) -> Option<&Violation> {
        self.agreement.as_ref()
    }

    pub(crate) fn validity(&self) -> Option<&Violation> {
        self.validity.as_ref()
    }

    pub(crate) fn termination(&self) -> Option<&Violation> {
        self.termination.as_ref()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Time of the first proposal.
    pub(crate) fn begun(&self) -> Option<Time> {
        self.proposals.values().map(|(at, _)| at.time).min()
    }

    /// The proposal of a process, if it has made one.
    pub(crate) fn proposal_of(&self, process: ProcessId) -> Option<Value> {
        self.proposals.get(&process).map(|(_, value)| *value)
    }

    /// The decision of a process, if it has made one. Decisions of traitors are left out.
    pub(crate) fn decision_of(&self, process: ProcessId) -> Option<&Decision> {
        let decided = self.decided.get(&process).filter(|_| !self.traitors.contains(process));
        decided.map(|(_, decision)| decision)
    }

    /// Processes that have reported that they cannot decide.
    pub(crate) fn blocked_processes(&self) -> &ProcessSet {
        &self.blocked
    }
}
