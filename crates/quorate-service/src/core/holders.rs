//! Finding the holder of a lock from the votes of several voters.

use quorate_algorithms::mutex::leased_quorum::{Electorate, RequestId};
use quorate_core::{ProcessId, ProcessSet, SortedMap};

use crate::peer::{BallotSeen, VoteSeen};

/// The request of a holder, and its token.
pub(super) type Holder = (RequestId, u64);

/// Returns the request that has the votes of a quorum, with its token. `records` tells whether the token of a
/// request is recorded at the voters before its client learns it. Other requests are inside as soon as a quorum
/// has confirmed their token.
pub(super) fn holder<'a>(
    electorate: &Electorate,
    ballots: impl Iterator<Item = (ProcessId, &'a BallotSeen)>,
    records: impl Fn(RequestId) -> bool,
) -> Option<Holder> {
    let mut by_request: SortedMap<RequestId, Vec<(u64, ProcessId, VoteSeen)>> = SortedMap::new();
    for (voter, ballot) in ballots {
        if let Some(vote) = ballot.vote.filter(|vote| !vote.frozen) {
            by_request.entry(vote.request).or_default().push((ballot.last, voter, vote));
        }
    }
    by_request.into_iter().find_map(|(request, mut votes)| {
        let all: ProcessSet = votes.iter().map(|(_, voter, _)| *voter).collect();
        if !electorate.is_quorum(&all) {
            return None;
        }
        let entered = votes.iter().filter_map(|(_, voter, vote)| Some((vote.entered?, *voter)));
        if records(request) {
            return Some((request, recorded(electorate, entered.collect())?));
        }
        // A direct client has reported the token itself.
        if let Some((token, _)) = entered.max() {
            return Some((request, token));
        }
        // The request entered with the voters whose `last` is smallest. Spare votes may have greater numbers.
        votes.sort_unstable_by_key(|(last, voter, _)| (*last, *voter));
        let mut voters = ProcessSet::new();
        votes.into_iter().find_map(|(last, voter, _)| {
            voters.insert(voter);
            electorate.is_quorum(&voters).then_some((request, last))
        })
    })
}

/// Returns the greatest token for which a quorum has recorded that token or a greater one. Without such a token, the client
/// may not have received any.
pub(super) fn recorded(electorate: &Electorate, mut entered: Vec<(u64, ProcessId)>) -> Option<u64> {
    entered.sort_unstable_by(|a, b| b.cmp(a));
    let mut voters = ProcessSet::new();
    entered.into_iter().find_map(|(token, voter)| {
        voters.insert(voter);
        electorate.is_quorum(&voters).then_some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::quorum::AnyCoterie;
    use quorate_protocol::Name;

    fn ballot(last: u64, session: u128, entered: Option<u64>) -> BallotSeen {
        let request = RequestId { session, incarnation: 0, number: 1 };
        let vote = VoteSeen { request, stamp: 1, number: last, entered, frozen: false };
        let name = Name::lock("a").expect("a name");
        BallotSeen { name, last, vote: Some(vote), queue: Vec::new() }
    }

    #[test]
    fn a_quorum_of_votes_makes_a_holder() {
        let electorate = Electorate::new(AnyCoterie::by_name("majority", 3).expect("a coterie"));
        let held = |ballots: &[BallotSeen], records: bool| {
            let ballots = ballots.iter().enumerate();
            let ballots = ballots.map(|(voter, ballot)| (ProcessId::from_index(voter), ballot));
            holder(&electorate, ballots, |_| records)
                .map(|(request, token)| (request.session, token))
        };
        assert_eq!(held(&[ballot(5, 1, None), ballot(5, 2, None)], false), None);
        assert_eq!(held(&[ballot(5, 1, None), ballot(5, 1, None)], false), Some((1, 5)));
        let spare = [ballot(5, 1, None), ballot(5, 1, None), ballot(9, 1, None)];
        assert_eq!(held(&spare, false), Some((1, 5)));
        assert_eq!(held(&[ballot(5, 1, None), ballot(5, 1, None)], true), None, "not told yet");
        assert_eq!(held(&[ballot(7, 1, Some(5)), ballot(8, 1, None)], true), None, "not told yet");
        assert_eq!(held(&[ballot(7, 1, Some(5)), ballot(8, 1, None)], false), Some((1, 5)));
        let grows = [ballot(7, 1, Some(5)), ballot(8, 1, Some(8)), ballot(8, 1, Some(5))];
        assert_eq!(held(&grows, true), Some((1, 5)), "8 is on record at one voter only");
        let mut forced = [ballot(5, 1, None), ballot(5, 1, None)];
        forced[0].vote.as_mut().expect("a vote").frozen = true;
        assert_eq!(held(&forced, false), None);
    }
}
