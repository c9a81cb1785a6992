//! Abstraction of the processes over view-dependent systems to the model of `proofs/settled_quorums.py`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use quorate_core::abstraction::{
    AbstractState, Abstraction, Element, ElementOrder, Elements, MessageInFlight, Rows,
};
use quorate_core::quorum::{AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet};

use super::phase_rows::add_phase_rows;
use super::{Message, Quorum, RoundMessage};
use crate::mutex::voting::{Agreement, Basis, Ticket};

/// Maps `quorum` over a view-dependent system to the model of settled quorums.
#[derive(Clone, Debug)]
pub struct OverViews {
    system: AnySystem,
}

impl OverViews {
    /// Creates the abstraction over this system, if it is view-dependent and has at most 256 processes.
    pub fn new(system: &AnySystem) -> Option<Self> {
        let fits = system.fixed().is_none() && system.processes() <= Element::PROCESSES_MOST;
        fits.then(|| Self { system: system.clone() })
    }
}

fn process(id: ProcessId) -> Element {
    Element::process(id)
}

/// The ticket of a request of `owner` at `voter`.
fn ticket(owner: ProcessId, voter: ProcessId, ticket: Ticket) -> Element {
    let (owner, voter) = (u64::from(owner.number()), u64::from(voter.number()));
    Element::new("Ticket", [owner, voter, ticket.time, u64::from(ticket.attempt)])
}

fn view(crashed: &ProcessSet) -> Element {
    Element::of_set("View", crashed)
}

impl Abstraction for OverViews {
    type Process = Quorum;

    const MODEL: &'static str = include_str!("settled_quorums.model");

    const ORDERS: &'static [(&'static str, ElementOrder)] = &[("at_most", ElementOrder::ByKey)];

    fn state(&self, voting: &Quorum, is_up: bool) -> AbstractState {
        let (id, mut state) = (process(voting.id), AbstractState::default());
        let of = |set: &ProcessSet| set.iter().map(|other| [id, process(other)]).collect();
        let pairs: [(_, Vec<_>); 3] = match &voting.basis {
            Basis::Agreed { agreement, .. } => {
                state.mention(view(agreement.settled()));
                let acknowledged = match agreement {
                    Agreement::ToAll(views) => views.acknowledged_by(voting.id),
                    Agreement::Gathered(gathering) => gathering.acknowledged().clone(),
                };
                [
                    ("acknowledged", of(&acknowledged)),
                    ("settled", of(agreement.settled())),
                    ("knows", of(&voting.crashed)),
                ]
            }
            Basis::Fixed(_) | Basis::Refused { .. } => {
                let none = || of(&ProcessSet::new());
                [("acknowledged", none()), ("settled", none()), ("knows", of(&voting.crashed))]
            }
        };
        pairs.into_iter().for_each(|(relation, rows)| state.exactly(relation, rows));
        state.exactly("dead", (!is_up).then_some([id]));
        add_phase_rows(&mut state, voting, ticket);
        state
    }

    fn in_flight(&self, sent: &MessageInFlight<'_, Message>, rows: &mut Rows) {
        let (from, to) = (sent.from, sent.to);
        let mut acknowledge = |crashed: &ProcessSet| {
            crashed.iter().for_each(|n| rows.add("acknowledged", [process(from), process(n)]));
        };
        match sent.message {
            Message::Request(its) => rows.add("requested", [ticket(from, to, *its)]),
            Message::Reply(its) => rows.add("reply", [ticket(to, from, *its)]),
            Message::Yield(its) => rows.add("yielded", [ticket(from, to, *its)]),
            Message::Release(its) | Message::Cancel(its) => {
                rows.add("ended", [ticket(from, to, *its)]);
            }
            // The sender has acknowledged these crashes, even if the model has no such message.
            Message::Acknowledge(crashed) | Message::Round(RoundMessage::Gathered(crashed)) => {
                acknowledge(crashed)
            }
            Message::Round(RoundMessage::Settled(crashed)) => {
                rows.add("settled_by_all", [view(crashed)]);
            }
            Message::Inquire(_)
            | Message::Round(RoundMessage::Gather(_))
            | Message::Rejoin
            | Message::Welcome => {}
        }
    }
}

impl Elements for OverViews {
    fn describe(&self, element: &Element, rows: &mut Rows) {
        let id = |word: u64| process(ProcessId::new(word as u32));
        match element.sort {
            "Ticket" => {
                rows.add("owner", [*element, id(element.key[0])]);
                rows.add("voter", [*element, id(element.key[1])]);
            }
            "Quorum" => {
                element
                    .members()
                    .iter()
                    .for_each(|n| rows.add("in_quorum", [process(n), *element]));
            }
            "View" => {
                let crashed = element.members();
                crashed.iter().for_each(|n| rows.add("in_view", [process(n), *element]));
                let n = self.system.processes();
                for id in &(&ProcessSet::all(n) - &crashed) {
                    if let Some(quorum) = self.system.quorum(id, &crashed) {
                        let quorum = Element::of_set("Quorum", &quorum);
                        rows.add("is_quorum", [process(id), *element, quorum]);
                    }
                }
            }
            _ => {}
        }
    }

    fn name(&self, element: &Element) -> String {
        let [first, second, third, fourth] = element.key;
        match element.sort {
            "Process" => first.to_string(),
            "Ticket" => format!("{first}->{second}@{third}.{fourth}"),
            _ => format!("{:?}", element.members()),
        }
    }
}
