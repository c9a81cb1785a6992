//! Abstraction of the processes over fixed coteries to the model of `proofs/fixed_coteries.py`.

use alloc::format;
use alloc::string::{String, ToString};

use quorate_core::abstraction::{
    AbstractState, Abstraction, Element, ElementOrder, Elements, MessageInFlight, Rows,
};
use quorate_core::quorum::{AnyCoterie, AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet};

use super::phase_rows::add_phase_rows;
use super::{Message, Quorum};
use crate::mutex::voting::Ticket;

/// Kinds of messages whose order matters, in the upper half of the first word of a key.
const REQUEST: u64 = 0;
const REJOIN: u64 = 1 << 32;
const WELCOME: u64 = 2 << 32;

/// Maps `quorum` over a fixed coterie to the model of fixed coteries with recoveries.
#[derive(Clone, Debug)]
pub struct OverCoteries {
    coterie: AnyCoterie,
}

impl OverCoteries {
    /// Creates the abstraction over this system, if it is a fixed coterie of at most 256 processes.
    pub fn new(system: &AnySystem) -> Option<Self> {
        let fits = system.processes() <= Element::PROCESSES_MOST;
        system.fixed().filter(|_| fits).map(|coterie| Self { coterie: coterie.clone() })
    }
}

fn process(id: ProcessId) -> Element {
    Element::process(id)
}

/// A message of the sort `Message`. It occurs first when it is sent, so that the order of occurrence is that of sending.
fn message(kind: u64, sender: ProcessId, rest: [u64; 3]) -> Element {
    let [first, second, third] = rest;
    Element::new("Message", [kind | u64::from(sender.number()), first, second, third])
}

/// REQUEST of `owner` to `voter`, which is identified with its ticket.
fn request(owner: ProcessId, voter: ProcessId, ticket: Ticket) -> Element {
    message(REQUEST, owner, [u64::from(voter.number()), ticket.time, u64::from(ticket.attempt)])
}

fn rejoin(sent: &MessageInFlight<'_, Message>) -> Element {
    message(REJOIN, sent.from, [sent.event, 0, 0])
}

fn welcome(sent: &MessageInFlight<'_, Message>) -> Element {
    message(WELCOME, sent.from, [u64::from(sent.to.number()), sent.event, 0])
}

impl Abstraction for OverCoteries {
    type Process = Quorum;

    const MODEL: &'static str = include_str!("fixed_coteries.model");

    const ORDERS: &'static [(&'static str, ElementOrder)] =
        &[("at_most", ElementOrder::ByOccurrence)];

    fn state(&self, voting: &Quorum, is_up: bool) -> AbstractState {
        let (id, mut state) = (process(voting.id), AbstractState::default());
        // A process enters with the quorum that the coterie assigns now, or with that of an earlier state.
        if let Some(quorum) = self.coterie.quorum(voting.id, &voting.crashed) {
            state.mention(Element::of_set("Quorum", &quorum));
        }
        let others = |set: &ProcessSet| -> alloc::vec::Vec<_> {
            set.iter().map(|other| [id, process(other)]).collect()
        };
        state.exactly("down", (!is_up).then_some([id]));
        state.exactly("awaiting", others(&voting.awaiting_welcome));
        state.exactly("owed", others(&voting.welcomes_owed));
        add_phase_rows(&mut state, voting, request);
        state
    }

    fn in_flight(&self, sent: &MessageInFlight<'_, Message>, rows: &mut Rows) {
        let (from, to) = (sent.from, sent.to);
        match sent.message {
            Message::Request(its) => {
                rows.add("request", [request(from, to, *its), process(to)]);
            }
            Message::Reply(its) => rows.add("reply", [request(to, from, *its)]),
            Message::Yield(its) => rows.add("yielded", [request(from, to, *its)]),
            Message::Release(its) | Message::Cancel(its) => {
                rows.add("ended", [request(from, to, *its)]);
            }
            Message::Rejoin => rows.add("rejoin", [rejoin(sent)]),
            Message::Welcome => rows.add("welcome", [welcome(sent), process(to)]),
            Message::Inquire(_) | Message::Acknowledge(_) | Message::Round(_) => {}
        }
    }

    fn handled(&self, sent: &MessageInFlight<'_, Message>, rows: &mut Rows) {
        let passed = match sent.message {
            Message::Request(its) => request(sent.from, sent.to, *its),
            Message::Rejoin => rejoin(sent),
            Message::Welcome => welcome(sent),
            _ => return,
        };
        rows.add("passed", [passed, process(sent.to)]);
    }
}

impl Elements for OverCoteries {
    fn describe(&self, element: &Element, rows: &mut Rows) {
        match element.sort {
            "Message" => {
                let sender = ProcessId::new(element.key[0] as u32);
                rows.add("sender", [*element, process(sender)]);
            }
            "Quorum" => {
                let members = element.members();
                members.iter().for_each(|n| rows.add("member", [process(n), *element]));
            }
            _ => {}
        }
    }

    fn name(&self, element: &Element) -> String {
        let [first, second, third, fourth] = element.key;
        let sender = first as u32;
        match element.sort {
            "Process" => first.to_string(),
            "Message" if first < REJOIN => format!("{sender}->{second}@{third}.{fourth}"),
            "Message" if first < WELCOME => format!("REJOIN of {sender} in event {second}"),
            "Message" => format!("WELCOME of {sender} to {second} in event {third}"),
            _ => format!("{:?}", element.members()),
        }
    }
}
