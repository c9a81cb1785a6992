//! Whether what happened may happen.

use crate::history::{History, Write};
use crate::linear;

/// A property and what speaks against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) property: &'static str,
    pub(crate) broken: Vec<String>,
}

/// All properties. `healed` is when the last fault was over; by then `workers` workers have to come to the lock again.
pub(crate) fn judge(history: &History, workers: usize, healed: u64) -> Vec<Verdict> {
    let verdict = |property, broken| Verdict { property, broken };
    vec![
        verdict("no two rely on the lock at once, by their own logs", overlapping_claims(history)),
        verdict("no node grants the lock while another client relies on it", early_grants(history)),
        verdict("tokens increase with every grant", tokens(history)),
        verdict(
            "the lock's history is one of a lock (stateright)",
            linear::problems(&history.claims),
        ),
        verdict("no increment of the guarded register is lost", increments(history)),
        verdict(
            "everybody gets the lock after the last healing",
            progress(history, workers, healed),
        ),
    ]
}

/// A worker with its kind.
fn named(history: &History, worker: usize) -> String {
    format!("worker {worker} ({})", history.kinds.of_worker(worker))
}

fn overlapping_claims(history: &History) -> Vec<String> {
    // Whoever reaches furthest of those before, in case one lies inside another.
    let (mut broken, mut furthest) = (Vec::new(), None::<crate::history::Claim>);
    for claim in &history.claims {
        if let Some(before) = furthest.filter(|before| claim.start < before.end) {
            broken.push(format!(
                "{} relied on token {} from {} to {}, and {} on token {} from {} on",
                named(history, before.worker),
                before.token,
                before.start,
                before.end,
                named(history, claim.worker),
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

/// Grants by the nodes' records while a worker relied on another token.
fn early_grants(history: &History) -> Vec<String> {
    let mut broken = Vec::new();
    for grant in &history.grants {
        let relied = history.claims.iter().filter(|claim| {
            claim.token != grant.token && claim.start < grant.at && grant.written < claim.end
        });
        broken.extend(relied.map(|claim| {
            format!(
                "node {} granted token {} at {}, and {} relied on token {} from {} to {}",
                grant.node,
                grant.token,
                grant.at,
                named(history, claim.worker),
                claim.token,
                claim.start,
                claim.end
            )
        }));
    }
    broken
}

fn tokens(history: &History) -> Vec<String> {
    let claims = history.claims.windows(2).filter(|pair| pair[0].token >= pair[1].token);
    let claims = claims.map(|pair| {
        format!(
            "{} got token {} at {}, and later {} got {} at {}",
            named(history, pair[0].worker),
            pair[0].token,
            pair[0].start,
            named(history, pair[1].worker),
            pair[1].token,
            pair[1].start
        )
    });
    // The time of a grant is an interval: only grants that do not overlap have an order. Two nodes may record the same token,
    // if a client goes on through another node before it has heard of its grant.
    let pairs = history.grants.windows(2);
    let grants = pairs.filter(|pair| pair[0].written < pair[1].at && pair[0].token > pair[1].token);
    let grants = grants.map(|pair| {
        format!(
            "node {} gave token {} at {}, and later node {} gave {} at {}",
            pair[0].node, pair[0].token, pair[0].at, pair[1].node, pair[1].token, pair[1].at
        )
    });
    let long = history.long.iter().flat_map(|(kind, claims)| {
        let pairs = claims.windows(2).filter(|pair| pair[0].token >= pair[1].token);
        pairs.map(move |pair| {
            format!("the {kind} holder got token {}, and later {}", pair[0].token, pair[1].token)
        })
    });
    claims.chain(grants).chain(long).collect()
}

/// Each write is one more than the one before, with a token that is not smaller, and what a worker was told is there.
fn increments(history: &History) -> Vec<String> {
    let (mut broken, mut last) = (Vec::new(), Write { token: 0, value: 0 });
    for write in &history.writes {
        if write.value != last.value + 1 || write.token < last.token {
            broken.push(format!(
                "token {} wrote {}, and before that token {} had written {}",
                write.token, write.value, last.token, last.value
            ));
        }
        last = *write;
    }
    let missing = history.acknowledged.iter().filter(|write| !history.writes.contains(write));
    broken.extend(missing.map(|write| {
        format!(
            "token {} was told that it had written {}, and nobody knows",
            write.token, write.value
        )
    }));
    broken
}

fn progress(history: &History, workers: usize, healed: u64) -> Vec<String> {
    let served = |worker: &usize| {
        history.claims.iter().any(|claim| claim.worker == *worker && claim.start > healed)
    };
    let starving = (0..workers).filter(|worker| !served(worker));
    starving
        .map(|worker| format!("{} has not had the lock since", named(history, worker)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        text.lines().map(words).collect()
    }

    /// Two workers, one after the other, and the records of one node.
    fn sound() -> History {
        let mut history = History::default();
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

    fn broken(history: &History) -> Vec<&'static str> {
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
    fn a_killed_worker_is_believed_until_its_deadline() {
        let mut history = History::default();
        history.read_worker(0, &words("granted 10 5 90 90 0"));
        history.read_worker(1, &words("granted 40 7 99 99 0\nfreeing 50"));
        assert_eq!(overlapping_claims(&history).len(), 1);
    }

    #[test]
    fn a_worker_is_believed_until_the_deadline_that_it_was_told_before_the_loss() {
        let mut history = History::default();
        history.read_worker(0, &words("granted 10 5 90 90 0\nlost 200 150 160 deadline"));
        assert_eq!((history.claims[0].end, history.claims[0].acted), (150, 160));
        history.read_worker(1, &words("granted 120 7 190 190 0\nfreeing 130"));
        assert_eq!(overlapping_claims(&history).len(), 1);
    }

    #[test]
    fn tokens_that_do_not_increase_and_lost_increments_are_found() {
        let mut history = sound();
        history.claims[1].token = 5;
        history.grants[1].token = 5;
        history.writes[1] = Write { token: 7, value: 1 };
        let found = broken(&history);
        assert!(found.iter().any(|property| property.contains("tokens increase")), "{found:?}");
        assert!(found.iter().any(|property| property.contains("increment")), "{found:?}");
    }

    #[test]
    fn a_token_that_the_same_worker_gets_again_is_found() {
        let mut history = sound();
        history.read_worker(1, &words("granted 60 7 120 120 0\nfreeing 70"));
        history.claims[1].end = 50;
        assert!(broken(&history).iter().any(|property| property.contains("tokens increase")));
    }

    #[test]
    fn whoever_gets_nothing_after_the_healing_is_named() {
        assert_eq!(
            progress(&sound(), 3, 20),
            [
                "worker 0 (direct) has not had the lock since",
                "worker 2 (http) has not had the lock since"
            ]
        );
    }
}
