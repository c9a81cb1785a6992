//! Checks the history of a run against the properties that the service promises.

use std::collections::BTreeSet;

use crate::history::{LockClaim, RecordedGrant, RegisterWrite, RunHistory};
use crate::linear;

/// A property and its violations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PropertyVerdict {
    pub(crate) property: &'static str,
    pub(crate) broken: Vec<String>,
}

/// Checks all properties. The last fault was undone at `healed`. Each of the `workers` has to get the lock after that.
pub(crate) fn judge(history: &RunHistory, workers: usize, healed: u64) -> Vec<PropertyVerdict> {
    let verdict = |property, broken| PropertyVerdict { property, broken };
    vec![
        verdict("no two rely on the lock at once, by their own logs", overlapping_claims(history)),
        verdict("no node grants the lock while another client relies on it", early_grants(history)),
        verdict("tokens increase with every grant", tokens(history)),
        verdict(
            "the lock's history is one of a lock (stateright)",
            linear::problems(&history.claims),
        ),
        verdict("no increment of the guarded register is lost", increments(history)),
        verdict("no client takes a lock for held beyond its deadline", history.overstayed.clone()),
        verdict("a client that waits gives up in time", history.overdue.clone()),
        verdict(
            "everybody gets the lock after the last healing",
            progress(history, workers, healed),
        ),
    ]
}

fn overlapping_claims(history: &RunHistory) -> Vec<String> {
    // The earlier claim that ends last, in case one claim lies within another.
    let (mut broken, mut furthest) = (Vec::new(), None::<crate::history::LockClaim>);
    for claim in &history.claims {
        if let Some(before) = furthest.filter(|before| claim.start < before.end) {
            broken.push(format!(
                "{} relied on token {} from {} to {}, and {} on token {} from {} on",
                history.name_of(before.worker),
                before.token,
                before.start,
                before.end,
                history.name_of(claim.worker),
                claim.token,
                claim.start
            ));
        }
        if furthest.is_none_or(|before| before.end < claim.end) {
            furthest = Some(*claim);
        }
    }
    broken
}

/// Grants in the nodes' records made while a worker relied on another token. Claims and grants are ordered by time.
fn early_grants(history: &RunHistory) -> Vec<String> {
    let (mut broken, mut claims) = (Vec::new(), history.claims.iter().peekable());
    // Claims that began before the grant and may end after it.
    let mut open = Vec::<&LockClaim>::new();
    for grant in &history.grants {
        while let Some(claim) = claims.next_if(|claim| claim.start < grant.at) {
            open.push(claim);
        }
        open.retain(|claim| grant.at < claim.end);
        let relied = open.iter().filter(|it| !it.owns_token(grant.token) && grant.written < it.end);
        broken.extend(relied.map(|claim| {
            format!(
                "node {} granted token {} at {}, and {} relied on token {} from {} to {}",
                grant.node,
                grant.token,
                grant.at,
                history.name_of(claim.worker),
                claim.token,
                claim.start,
                claim.end
            )
        }));
    }
    broken
}

/// A token that a client received or a node recorded, with a time: when it was known, or when it was requested.
#[derive(Clone, Debug)]
struct ObservedToken {
    time: u64,
    token: u64,
    text: String,
}

/// Tokens that clients received. `of` selects the time and the token of a claim.
fn client_tokens(
    claims: &[LockClaim],
    of: impl Fn(&LockClaim) -> (u64, u64),
    name: impl Fn(&LockClaim) -> String,
) -> Vec<ObservedToken> {
    let observed = |claim: &LockClaim| {
        let (time, token) = of(claim);
        let text = format!("{} got token {token}, granted at {}", name(claim), claim.start);
        ObservedToken { time, token, text }
    };
    claims.iter().map(observed).collect()
}

/// Tokens in the nodes' records.
fn node_tokens(
    grants: &[RecordedGrant],
    time: impl Fn(&RecordedGrant) -> u64,
) -> Vec<ObservedToken> {
    let observed = |grant: &RecordedGrant| {
        let RecordedGrant { node, token, at, .. } = *grant;
        let text = format!("node {node} granted token {token} at {at}");
        ObservedToken { time: time(grant), token, text }
    };
    grants.iter().map(observed).collect()
}

/// Later tokens that are smaller than the greatest of all tokens known before they were requested, or equal to it unless
/// `equal` permits that.
fn decreases(
    mut earlier: Vec<ObservedToken>,
    mut later: Vec<ObservedToken>,
    equal: bool,
) -> Vec<String> {
    earlier.sort_by_key(|it| it.time);
    later.sort_by_key(|it| it.time);
    let (mut earlier, mut greatest) = (earlier.into_iter().peekable(), None::<ObservedToken>);
    let mut broken = Vec::new();
    for it in later {
        while let Some(known) = earlier.next_if(|known| known.time < it.time) {
            if greatest.as_ref().is_none_or(|greatest| greatest.token < known.token) {
                greatest = Some(known);
            }
        }
        let is_wrong =
            |known: &&ObservedToken| known.token > it.token || !equal && known.token == it.token;
        if let Some(known) = greatest.as_ref().filter(is_wrong) {
            broken.push(format!("{}, and later {}", known.text, it.text));
        }
    }
    broken
}

/// Checks that every later holder has a greater token than any that an earlier one received.
fn tokens(history: &RunHistory) -> Vec<String> {
    let (claims, late, grants) = (&history.claims, &history.late, &history.grants);
    let name = |claim: &LockClaim| history.name_of(claim.worker);
    let all = [claims.as_slice(), late.as_slice()].concat();
    let heard = || client_tokens(&all, |it| (it.start, it.greatest), name);
    let written = || node_tokens(grants, |it| it.written);
    let mut broken = Vec::new();
    // Clients that relied on the lock did so one after the other. A grant that a client received too late to rely on is only
    // known to have been made before it was received: voters and relays keep a session for longer than its client knows.
    let starts = client_tokens(claims, |it| (it.start, it.token), name);
    broken.extend(decreases(heard(), starts, false));
    // A request that was made when a token was known is granted after that token.
    let asked = client_tokens(&all, |it| (it.asked, it.token), name);
    broken.extend(decreases([heard(), written()].concat(), asked, false));
    // The time of a record is an interval: only intervals that do not overlap have an order. Two nodes may record the same
    // token, if a client continues through another node before it has received its grant.
    let granted = node_tokens(grants, |it| it.at);
    broken.extend(decreases([heard(), written()].concat(), granted, true));
    for (kind, claims) in &history.long {
        let late = history.late_long.get(kind).map_or(&[][..], Vec::as_slice);
        let all = [claims.as_slice(), late].concat();
        let name = |_: &LockClaim| format!("the {kind} holder");
        let earlier = client_tokens(&all, |it| (it.start, it.greatest), name);
        broken.extend(decreases(
            earlier,
            client_tokens(&all, |it| (it.start, it.token), name),
            false,
        ));
    }
    broken
}

/// Each write has the previous value plus one, and a token that is not smaller. All acknowledged writes exist.
fn increments(history: &RunHistory) -> Vec<String> {
    let (mut broken, mut last) = (Vec::new(), RegisterWrite { token: 0, value: 0 });
    for write in &history.writes {
        if write.value != last.value + 1 || write.token < last.token {
            broken.push(format!(
                "token {} wrote {}, and before that token {} had written {}",
                write.token, write.value, last.token, last.value
            ));
        }
        last = *write;
    }
    let written: BTreeSet<&RegisterWrite> = history.writes.iter().collect();
    let missing = history.acknowledged.iter().filter(|write| !written.contains(write));
    broken.extend(missing.map(|write| {
        format!(
            "the holder of token {} was answered that it had written {}, but the register has no such write",
            write.token, write.value
        )
    }));
    broken
}

fn progress(history: &RunHistory, workers: usize, healed: u64) -> Vec<String> {
    let served = |worker: &usize| {
        history.claims.iter().any(|claim| claim.worker == *worker && claim.start > healed)
    };
    let starving = (0..workers).filter(|worker| !served(worker));
    starving
        .map(|worker| format!("{} has not had the lock since", history.name_of(worker)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{ClientKind, ClientKinds};

    fn words(text: &str) -> Vec<Vec<String>> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        text.lines().map(words).collect()
    }

    /// Two workers, one after the other, and the records of one node.
    fn sound() -> RunHistory {
        let mut history = RunHistory::default();
        history.read_worker(
            0,
            &words("want 1\ngranted 10 5 90 90 0\nheld 20 95 95\nwrote 25 5 1\nfreeing 30"),
        );
        history.read_worker(1, &words("want 2\ngranted 40 7 99 99 0\nwrote 45 7 2"));
        history.read_node(
            0,
            &words(
                "granted lock=torture token=5 at=9000 written=9500\ngranted lock=x token=1 at=1 written=1",
            ),
            0,
        );
        let shifted = "granted lock=torture token=7 at=2000035000 written=2000035100";
        history.read_node(1, &words(shifted), 2);
        history.read_register(&words("wrote 25 5 1\nrefused 41 5 7\nwrote 45 7 2"));
        history
    }

    fn broken(history: &RunHistory) -> Vec<&'static str> {
        let verdicts = judge(history, 2, 9);
        verdicts
            .iter()
            .filter(|verdict| !verdict.broken.is_empty())
            .map(|verdict| verdict.property)
            .collect()
    }

    #[test]
    fn a_sound_history_is_accepted() {
        let history = sound();
        assert_eq!(broken(&history), Vec::<&str>::new());
        assert_eq!((history.refused, history.hand_offs(), history.claims[1].end), (1, 1, 99));
    }

    #[test]
    fn two_at_once_are_found_in_logs_and_records() {
        let mut history = sound();
        history.claims[0].end = 41;
        let found = broken(&history);
        assert!(found[0].contains("own logs") && found[1].contains("no node grants"), "{found:?}");
        assert!(found[2].contains("stateright"), "{found:?}");
    }

    #[test]
    fn every_claim_that_reaches_beyond_a_grant_is_found() {
        let mut history = RunHistory::default();
        history.read_worker(0, &words("granted 10 1 100 100 0\nfreeing 90"));
        history.read_worker(1, &words("granted 20 2 30 30 0\nfreeing 25"));
        history.read_worker(2, &words("granted 40 3 60 60 0\nfreeing 55"));
        let grant = |token, at| RecordedGrant { node: 0, token, at, written: at + 1 };
        history.grants = vec![grant(9, 5), grant(1, 22), grant(9, 50), grant(9, 54), grant(9, 89)];
        // The second grant overlaps with worker 1, the third with workers 0 and 2, the fourth with worker 0. The last only
        // touches.
        assert_eq!(early_grants(&history).len(), 1 + 2 + 1);
    }

    #[test]
    fn a_killed_worker_is_believed_until_its_deadline() {
        let mut history = RunHistory::default();
        history.read_worker(0, &words("granted 10 5 90 90 0"));
        history.read_worker(1, &words("granted 40 7 99 99 0\nfreeing 50"));
        assert_eq!(overlapping_claims(&history).len(), 1);
    }

    #[test]
    fn a_worker_is_believed_until_the_deadline_that_it_was_told_before_the_loss() {
        let mut history = RunHistory::default();
        history.read_worker(0, &words("granted 10 5 90 90 0\nlost 200 150 160 deadline"));
        assert_eq!((history.claims[0].end, history.claims[0].assumed), (150, 160));
        history.read_worker(1, &words("granted 120 7 190 190 0\nfreeing 130"));
        assert_eq!(overlapping_claims(&history).len(), 1);
    }

    #[test]
    fn clients_that_overstay_or_do_not_give_up_are_found() {
        let mut history = sound();
        history
            .read_worker(0, &words("want 50\ngranted 60 9 90 90 0\nheld 90 90 90 9\nfreeing 91"));
        history.read_worker(0, &words("want 100\noverdue 200"));
        history.read_worker(
            1,
            &words("want 200\ngranted 210 11 220 220 0\nlost 220 220 220 x\nrevived 221"),
        );
        // Go's client checks once per second.
        history.kinds = ClientKinds::only(ClientKind::Go);
        history.read_worker(
            0,
            &words("want 300\ngranted 310 12 320 330 0\nheld 325 320 330 12\nfreeing 326"),
        );
        let found = broken(&history);
        assert!(found.iter().any(|it| it.contains("beyond its deadline")), "{found:?}");
        assert!(found.iter().any(|it| it.contains("gives up")), "{found:?}");
        assert_eq!((history.overstayed.len(), history.overdue.len()), (2, 1));
    }

    #[test]
    fn tokens_that_do_not_increase_and_lost_increments_are_found() {
        let mut history = sound();
        history.claims[1].token = 5;
        history.grants[1].token = 5;
        history.writes[1] = RegisterWrite { token: 7, value: 1 };
        let found = broken(&history);
        assert!(found.iter().any(|property| property.contains("tokens increase")), "{found:?}");
        assert!(found.iter().any(|property| property.contains("increment")), "{found:?}");
    }

    #[test]
    fn a_token_has_to_exceed_those_that_have_grown() {
        let mut history = RunHistory::default();
        history.read_worker(0, &words("granted 10 5 90 90 0\nheld 20 95 95 8\nfreeing 30"));
        history.read_worker(1, &words("granted 40 7 99 99 0\nfreeing 45"));
        assert_eq!((history.claims[0].token, history.claims[0].greatest), (5, 8));
        assert_eq!(tokens(&history).len(), 1);
        // A record of the token that has grown does not belong to another client.
        history.grants = vec![RecordedGrant { node: 0, token: 7, at: 25, written: 26 }];
        assert_eq!(early_grants(&history).len(), 0);
    }

    #[test]
    fn a_token_that_was_heard_too_late_counts() {
        let mut history = RunHistory::default();
        history.read_worker(0, &words("want 5\ngranted 50 9 30 30 0\nlost 51 30 30 deadline"));
        assert_eq!((history.claims.len(), history.late.len()), (0, 1));
        let (mut soon, mut later) = (history.clone(), history.clone());
        soon.read_worker(1, &words("want 3\ngranted 40 8 90 90 0\nfreeing 60"));
        assert_eq!(
            tokens(&soon),
            [""; 0],
            "after the deadline of the late one, before it was received"
        );
        soon.read_worker(1, &words("want 3\ngranted 55 8 90 90 0\nfreeing 60"));
        assert_eq!(tokens(&soon).len(), 1, "after the late one was received");
        later.read_worker(1, &words("want 55\ngranted 60 8 90 90 0\nfreeing 70"));
        assert!(!tokens(&later).is_empty(), "asked after the late one was known");
        history.read_worker(1, &words("want 3\ngranted 20 8 90 90 0\nfreeing 60"));
        assert_eq!(tokens(&history), [""; 0], "it may have been before");
    }

    #[test]
    fn a_record_is_compared_with_all_earlier_ones() {
        let grant = |token, at| RecordedGrant { node: 0, token, at, written: at + 1 };
        let grants = vec![grant(9, 10), grant(5, 20), grant(6, 30), grant(9, 40)];
        let mut history = RunHistory { grants, ..RunHistory::default() };
        assert_eq!(tokens(&history).len(), 2, "5 and 6 are not; 9 may come again");
        history.read_worker(0, &words("want 31\ngranted 35 9 90 90 0\nfreeing 36"));
        assert_eq!(tokens(&history).len(), 3, "asked when 9 was on record");
    }

    #[test]
    fn a_token_that_the_same_worker_gets_again_is_found() {
        let mut history = sound();
        history.read_worker(1, &words("granted 60 7 120 120 0\nfreeing 70"));
        history.claims[1].end = 50;
        assert!(broken(&history).iter().any(|property| property.contains("tokens increase")));
    }

    #[test]
    fn workers_that_starve_after_the_last_fault_are_named() {
        assert_eq!(
            progress(&sound(), 3, 20),
            [
                "worker 0 (direct) has not had the lock since",
                "worker 2 (http) has not had the lock since"
            ]
        );
    }
}
