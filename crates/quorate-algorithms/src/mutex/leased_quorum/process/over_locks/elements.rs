//! Elements of the model.

use alloc::format;
use alloc::string::{String, ToString};

use quorate_core::abstraction::Element;
use quorate_core::{ProcessId, ProcessSet};

use crate::mutex::leased_quorum::id::{CandidateId, VoteId};

/// Half of a word, for two numbers in one word of a key.
const HALF: u32 = 32;

/// The name of a client process in the model: what lapses together at a voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientName {
    /// Number of the machine on which the client runs.
    pub machine: u32,
    /// Number of the process on this machine.
    pub process: u32,
}

impl ClientName {
    /// The client of an element of any sort that has one.
    pub(super) fn of(element: &Element) -> Self {
        let [first, second, ..] = element.key;
        let (machine, process) = match element.sort {
            "Claim" => (first >> HALF, low(first)),
            "Vote" => (low(first), second >> HALF),
            _ => (first, second),
        };
        Self { machine: machine as u32, process: process as u32 }
    }

    fn words(self) -> (u64, u64) {
        (self.machine.into(), self.process.into())
    }
}

fn low(word: u64) -> u64 {
    word & u64::from(u32::MAX)
}

pub(super) fn voter(id: ProcessId) -> Element {
    Element::new("Voter", [id.number().into(), 0, 0, 0])
}

pub(super) fn quorum(voters: &ProcessSet) -> Element {
    Element::of_set("Quorum", voters)
}

pub(super) fn client(of: ClientName) -> Element {
    let (machine, process) = of.words();
    Element::new("Client", [machine, process, 0, 0])
}

pub(super) fn request(of: ClientName, number: u64) -> Element {
    let (machine, process) = of.words();
    Element::new("Request", [machine, process, number, 0])
}

pub(super) fn claim(of: ClientName, number: u64, attempt: u64, candidate: CandidateId) -> Element {
    let (machine, process) = of.words();
    Element::new("Claim", [machine << HALF | process, number, attempt, candidate.0])
}

pub(super) fn request_of_claim(of: &Element) -> Element {
    request(ClientName::of(of), of.key[1])
}

pub(super) fn attempt(number: u64) -> Element {
    Element::new("Attempt", [number, 0, 0, 0])
}

pub(super) fn number(value: u64) -> Element {
    Element::new("Number", [value, 0, 0, 0])
}

/// A vote of a voter for a request of this number.
pub(super) fn vote(voter: ProcessId, of: ClientName, number: u64, id: VoteId) -> Element {
    let (machine, process) = of.words();
    let by = u64::from(voter.number()) << HALF | machine;
    let epoch = id.epoch.incarnation << HALF | id.epoch.number;
    Element::new("Vote", [by, process << HALF | number, epoch, id.number])
}

pub(super) fn voter_of(vote: &Element) -> ProcessId {
    ProcessId::new((vote.key[0] >> HALF) as u32)
}

pub(super) fn request_of_vote(vote: &Element) -> Element {
    request(ClientName::of(vote), low(vote.key[1]))
}

/// The end of the validity of a beat.
pub(super) fn instant(of: ClientName, beat: u64) -> Element {
    let (machine, process) = of.words();
    Element::new("Instant", [machine, process, beat, 0])
}

/// Clients are named by machine and process, requests and beats of a client are numbered, and so are attempts of a request.
pub(super) fn name(element: &Element) -> String {
    let [first, _, third, fourth] = element.key;
    let ClientName { machine, process } = ClientName::of(element);
    match element.sort {
        "Quorum" => format!("{:?}", element.members()),
        "Client" => format!("c{machine}.{process}"),
        "Request" => format!("c{machine}.{process}#{third}"),
        "Claim" if fourth == u64::from(machine) => {
            format!("{}/{third}", name(&request_of_claim(element)))
        }
        "Claim" => format!("{}/{third}@{fourth:x}", name(&request_of_claim(element))),
        "Vote" => {
            let of = name(&request_of_vote(element));
            let (incarnation, epoch) = (third >> HALF, low(third));
            let epoch = if incarnation == 0 {
                format!("{epoch}")
            } else {
                format!("{incarnation}.{epoch}")
            };
            format!("v{}:{of}@{epoch}:{fourth}", voter_of(element).number())
        }
        "Instant" => format!("end of c{machine}.{process}!{third}"),
        "Voter" => format!("v{first}"),
        _ => first.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::leased_quorum::id::Epoch;

    #[test]
    fn a_divergence_names_elements_by_their_numbers() {
        let of = ClientName { machine: 3, process: 7 };
        let id = |incarnation| VoteId { epoch: Epoch { incarnation, number: 5 }, number: 6 };
        let given = vote(ProcessId::new(1), of, 2, id(0));
        let elements = [
            (voter(ProcessId::new(1)), "v1"),
            (client(of), "c3.7"),
            (request(of, 2), "c3.7#2"),
            (claim(of, 2, 4, CandidateId(3)), "c3.7#2/4"),
            (claim(of, 2, 4, CandidateId(26)), "c3.7#2/4@1a"),
            (given, "v1:c3.7#2@5:6"),
            (vote(ProcessId::new(1), of, 2, id(8)), "v1:c3.7#2@8.5:6"),
            (instant(of, 8), "end of c3.7!8"),
            (number(6), "6"),
            (quorum(&ProcessSet::all(2)), "{0, 1}"),
        ];
        for (element, expected) in elements {
            assert_eq!(name(&element), expected);
        }
        assert_eq!(request_of_claim(&claim(of, 2, 4, CandidateId(9))), request(of, 2));
        assert_eq!(
            (request_of_vote(&given), voter_of(&given)),
            (request(of, 2), ProcessId::new(1))
        );
    }
}
