//! Cost of an entry according to the literature, and reasons why a measured figure may differ from it.

use quorate_algorithms::Setup;
use quorate_core::quorum::QuorumSystem;
use quorate_core::{Cost, ProcessId, ProcessSet};

use super::super::prediction::{Comparison, PredictedValue, Prediction};
use super::super::series::Series;

/// Figures that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// Messages per entry, with one requester at a time.
    Light,
    /// Messages per entry, when every process always wants to enter.
    Saturated,
    /// Delay from request to entry into a free section.
    Client,
    /// Delay from exit to the next entry, while a process waits.
    Synchronisation,
}

impl Figure {
    pub(super) const ALL: [Self; 4] =
        [Self::Light, Self::Saturated, Self::Client, Self::Synchronisation];
}

/// Predicted cost of an algorithm: the formula of textbooks if there is one for the figure, otherwise the algorithm's own
/// statement. `request_order` holds the requesters of each run in order.
pub(super) fn predict(
    series: &Series,
    figure: Figure,
    cost: &Cost,
    setup: &Setup,
    request_order: &[Vec<ProcessId>],
) -> Prediction {
    use Figure::{Client, Light, Saturated, Synchronisation};
    let n = setup.n as f64;
    match (series.algorithm, figure) {
        ("central", Saturated) if setup.hand_over => Prediction::between("3 to 4", 3.0, 4.0),
        ("central", Synchronisation) if setup.hand_over => Prediction::exact("1", 1.0),
        ("central", Light | Saturated) => Prediction::exact("3", 3.0),
        ("central", Client | Synchronisation) => Prediction::exact("2", 2.0),
        ("maekawa", Light | Saturated) | ("agrawal-el-abbadi", Light) => {
            Prediction::exact("3K", 3.0 * mean_quorum(setup, request_order))
        }
        ("maekawa", Client | Synchronisation) => Prediction::exact("2", 2.0),
        ("singhal", Light) => Prediction {
            formula: "n - 1".to_owned(),
            value: PredictedValue::Expected(
                n - 1.0,
                Some(2.0 * mean_recency(setup, request_order)),
            ),
        },
        ("singhal", Saturated) => Prediction::expected("3(n - 1)/2", 1.5 * (n - 1.0)),
        ("raymond", Light | Client) => {
            Prediction::exact("2d", 2.0 * mean_distance(setup, request_order))
        }
        ("raymond", Saturated) => Prediction::expected("about 4", 4.0),
        ("token-ring", Light) => Prediction::between("1 to infinity", 1.0, f64::INFINITY),
        ("token-ring", Saturated) => Prediction::between("1 to n", 1.0, n),
        ("token-ring", Client) => Prediction::expected("n/2", n / 2.0),
        ("leased-quorum", Saturated) => {
            Prediction::between("3K to infinity", *cost.messages.start() as f64, f64::INFINITY)
        }
        (_, Light | Saturated) => {
            let (least, most) = (*cost.messages.start() as f64, *cost.messages.end() as f64);
            Prediction::between(cost.formula, least, most)
        }
        (_, Client) => Prediction::of_range(&cost.client_delay),
        (_, Synchronisation) => Prediction::of_range(&cost.synchronisation_delay),
    }
}

/// Mean size of the requesters' quorums.
fn mean_quorum(setup: &Setup, request_order: &[Vec<ProcessId>]) -> f64 {
    let none = ProcessSet::new();
    let size = |process| setup.quorums.quorum(process, &none).map_or(0, |quorum| quorum.len());
    let sizes: Vec<usize> = ProcessId::all(setup.n).map(size).collect();
    let request_order = || request_order.iter().flatten();
    request_order().map(|process| sizes[process.index()]).sum::<usize>() as f64
        / request_order().count() as f64
}

/// Mean distance from the previous requester to the next one. The first distance is measured from the
/// initial holder of the token.
fn mean_distance(setup: &Setup, request_order: &[Vec<ProcessId>]) -> f64 {
    let way = |request_order: &Vec<ProcessId>| {
        let from = std::iter::once(&setup.server).chain(request_order);
        let steps =
            from.zip(request_order).map(|(from, to)| setup.tree.distance(setup.n, *from, *to));
        steps.sum::<usize>()
    };
    request_order.iter().map(way).sum::<usize>() as f64
        / request_order.iter().map(Vec::len).sum::<usize>() as f64
}

/// Mean number of other processes that have made a request since the requester's last one. Before its first request,
/// processes with lower numbers count.
fn mean_recency(setup: &Setup, request_order: &[Vec<ProcessId>]) -> f64 {
    let ranks = |request_order: &Vec<ProcessId>| {
        let mut latest_first: Vec<ProcessId> = ProcessId::all(setup.n).collect();
        let rank = |process: &ProcessId| {
            let rank = latest_first.iter().position(|other| other == process).unwrap_or(0);
            latest_first[..=rank].rotate_right(1);
            rank
        };
        request_order.iter().map(rank).sum::<usize>()
    };
    request_order.iter().map(ranks).sum::<usize>() as f64
        / request_order.iter().map(Vec::len).sum::<usize>() as f64
}

/// Reason why a figure differs from its formula, or an explanation of a figure within a range.
pub(super) fn reason(
    series: &Series,
    figure: Figure,
    prediction: &Prediction,
    measured: f64,
    comparison: Comparison,
) -> Option<&'static str> {
    use Figure::{Client, Light, Saturated, Synchronisation};
    if (series.algorithm, figure) == ("token-ring", Light) {
        return Some(
            "the token circulates while no process wants to enter: messages per entry grow with the time from one \
             request to the next, here 2n + 8 message delays",
        );
    }
    if (series.algorithm, figure) == ("leased-quorum", Saturated) {
        return Some(
            "a waiting process sends beats and repeats its request each third of a ttl: messages per entry grow with \
             the waiting time",
        );
    }
    if comparison != Comparison::Differs {
        return None;
    }
    if prediction.matches_drawn_requests(measured) {
        return Some(
            "by chance: the formula is a mean, and its rule gives this for the requests that were drawn",
        );
    }
    match (series.algorithm, figure) {
        ("central", Synchronisation) if series.over.is_some() => Some(
            "the server cannot name a successor in time while the first requests are still under way, and messages \
             from it to itself take no time",
        ),
        ("central", Client | Synchronisation) => {
            Some("the server is a client as well, and messages from it to itself take no time")
        }
        ("maekawa", Saturated) => {
            Some("the formula leaves rivals out: FAILED, INQUIRE and YIELD come on top, up to 6K")
        }
        ("leased-quorum", Synchronisation) => Some(
            "2 is RELEASE and then VOTE: less where the voter is one of the two itself, more where a vote is first \
             asked back",
        ),
        ("maekawa" | "agrawal-el-abbadi" | "quorum", Synchronisation) => Some(
            "2 is RELEASE and then REPLY: less where the voter that both share is one of the two itself, more where \
             a vote is first asked back",
        ),
        ("singhal", Saturated) => Some(
            "a process that leaves puts all waiting processes into its request set: where all always wait, it asks \
             all others, 2(n - 1), from the second entry on",
        ),
        ("singhal" | "suzuki-kasami", Synchronisation) => {
            Some("when the first holder leaves, requests of others are still under way")
        }
        ("raymond", Saturated) => Some(
            "a token on its round crosses each of n - 1 edges twice, each time asked for: 4(n - 1)/n; less in the \
             last round, when processes that have left ask no more",
        ),
        _ => None,
    }
}
