//! Elements of the model. A process opens one session, whose key is the number of the process.

use alloc::format;
use alloc::string::{String, ToString};

use quorate_core::abstraction::Element;
use quorate_core::{ProcessId, ProcessSet};

use crate::mutex::leased_quorum::id::{Beat, Claim, RequestId, VoteId};

/// Half of a word, for two numbers in one word of a key.
const HALF: u32 = 32;

pub(super) fn voter(id: ProcessId) -> Element {
    Element::new("Voter", [id.number().into(), 0, 0, 0])
}

pub(super) fn quorum(voters: &ProcessSet) -> Element {
    Element::of_set("Quorum", voters)
}

/// A client process: what lapses together at a voter.
pub(super) fn client(session: u128, incarnation: u64) -> Element {
    client_of(session as u64, incarnation)
}

pub(super) fn client_of(session: u64, incarnation: u64) -> Element {
    Element::new("Client", [session, incarnation, 0, 0])
}

pub(super) fn request(id: RequestId) -> Element {
    Element::new("Request", [id.session as u64, id.incarnation, id.number, 0])
}

pub(super) fn claim(of: Claim) -> Element {
    let RequestId { session, incarnation, number } = of.request;
    Element::new("Claim", [session as u64, incarnation, number, of.attempt])
}

pub(super) fn request_of_claim(of: &Element) -> Element {
    let [session, incarnation, number, _] = of.key;
    Element::new("Request", [session, incarnation, number, 0])
}

pub(super) fn attempt(number: u64) -> Element {
    Element::new("Attempt", [number, 0, 0, 0])
}

pub(super) fn number(value: u64) -> Element {
    Element::new("Number", [value, 0, 0, 0])
}

/// A vote of a voter for a request. Voters of the simulator do not forget their votes, so the incarnation of an epoch is 0.
pub(super) fn vote(voter: ProcessId, request: RequestId, id: VoteId) -> Element {
    let RequestId { session, incarnation, number } = request;
    let by = u64::from(voter.number()) << HALF | session as u64;
    Element::new("Vote", [by, incarnation << HALF | number, id.epoch.number, id.number])
}

pub(super) fn voter_of(vote: &Element) -> ProcessId {
    ProcessId::new((vote.key[0] >> HALF) as u32)
}

pub(super) fn request_of_vote(vote: &Element) -> Element {
    let low = |word: u64| word & u64::from(u32::MAX);
    let [by, request, ..] = vote.key;
    Element::new("Request", [low(by), request >> HALF, low(request), 0])
}

/// The end of the validity of a beat.
pub(super) fn instant(beat: Beat, session: u128) -> Element {
    Element::new("Instant", [session as u64, beat.incarnation, beat.number, 0])
}

/// Clients are named by process and incarnation, requests and beats of a client are numbered, and so are attempts of a request.
pub(super) fn name(element: &Element) -> String {
    let [first, second, third, fourth] = element.key;
    match element.sort {
        "Quorum" => format!("{:?}", element.members()),
        "Client" => format!("c{first}.{second}"),
        "Request" => format!("c{first}.{second}#{third}"),
        "Claim" => format!("c{first}.{second}#{third}/{fourth}"),
        "Vote" => {
            let of = name(&request_of_vote(element));
            format!("v{}:{of}@{third}:{fourth}", voter_of(element).number())
        }
        "Instant" => format!("end of c{first}.{second}!{third}"),
        "Voter" => format!("v{first}"),
        _ => first.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::leased_quorum::id::{CandidateId, Epoch};

    #[test]
    fn a_divergence_names_elements_by_their_numbers() {
        let id = RequestId { session: 3, incarnation: 7, number: 2 };
        let of = Claim { request: id, attempt: 4, candidate: CandidateId(9) };
        let epoch = Epoch { incarnation: 0, number: 5 };
        let given = vote(ProcessId::new(1), id, VoteId { epoch, number: 6 });
        let end = instant(Beat { incarnation: 7, number: 8 }, 3);
        let elements = [
            (voter(ProcessId::new(1)), "v1"),
            (client(3, 7), "c3.7"),
            (request(id), "c3.7#2"),
            (claim(of), "c3.7#2/4"),
            (given, "v1:c3.7#2@5:6"),
            (end, "end of c3.7!8"),
            (number(6), "6"),
            (quorum(&ProcessSet::all(2)), "{0, 1}"),
        ];
        for (element, expected) in elements {
            assert_eq!(name(&element), expected);
        }
        assert_eq!(request_of_claim(&claim(of)), request(id));
        assert_eq!((request_of_vote(&given), voter_of(&given)), (request(id), ProcessId::new(1)));
    }
}
