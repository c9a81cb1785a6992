//! Multicasts in a storm of random faults with fixed seeds. Each costs what it promises from every sender. Whichever
//! process crashes at any time, all live members deliver or none does, in the promised order.

use quorate_lab::run;
use quorate_sim::monitor::Status;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::{Conditions, Scenario, parse};

fn report(toml: &str) -> Report {
    let scenario: Scenario =
        parse(toml, "storm.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    run(&scenario, Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{toml}"))
        .report
}

fn status(report: &Report, id: &str) -> Status {
    let property = report.properties.iter().find(|property| property.id == id);
    property.expect("the property is watched").status
}

#[test]
fn a_tree_has_n_minus_1_messages_from_every_root() {
    for n in (1..=40).chain([63, 64, 65, 128]) {
        for root in 0..n {
            let toml = format!(
                "algorithm = \"vcube-multicast\"\nprocesses = {n}\nrequest = [\"{root}@0\"]\n"
            );
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
            assert_eq!(report.messages.by_kind.of("TREE"), n - 1, "{toml}");
            assert_eq!(report.messages.by_kind.of("ACK"), n - 1, "{toml}");
            let multicast = report.multicast.expect("a multicast tells what it delivered");
            assert_eq!((multicast.deliveries, multicast.everywhere), (n, 1), "{toml}");
            // The tree is no deeper than the dimension of the cube.
            let levels = u64::from(n.next_power_of_two().ilog2());
            assert!(report.delays.client.max <= levels * report.delays.unit, "{toml}");
        }
    }
}

#[test]
fn a_tree_to_a_group_has_a_message_for_each_member_but_the_sender() {
    for seed in 0..400_u64 {
        let n = 2 + seed % 30;
        // Any subset that is not empty will do.
        let chosen = |process: &u64| (seed * 0x9E37_79B9 + 1) >> (process % 31) & 1 == 1;
        let mut members: Vec<u64> = (0..n).filter(chosen).collect();
        members.push(seed % n);
        members.sort_unstable();
        members.dedup();
        let (root, size) = (seed * 7 % n, members.len() as u64);
        let to: Vec<String> = members.iter().map(u64::to_string).collect();
        let toml = format!(
            "algorithm = \"vcube-multicast\"\nprocesses = {n}\nrequest = [\"{root}@0\"]\nto = \"{}\"\n",
            to.join(",")
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        let expected = size - u64::from(members.contains(&root));
        assert_eq!(report.messages.by_kind.of("TREE"), expected, "{toml}");
        assert_eq!(report.cost.kept, Some(true), "{toml}{:?}", report.cost);
        assert_eq!(report.multicast.map(|multicast| multicast.deliveries), Some(size), "{toml}");
    }
}

/// Algorithms that tolerate the crash of any process.
const CRASH_TOLERANT: [&str; 7] = [
    "vcube-multicast",
    "reliable",
    "fifo",
    "causal",
    "total-sequencer",
    "total-isis",
    "total-lamport",
];

#[test]
fn every_multicast_costs_what_its_formula_says() {
    for n in 1..=16_u64 {
        for sender in 0..n {
            for (algorithm, expected) in [
                ("basic", n - 1),
                ("reliable", n * (n - 1)),
                ("bracha", (n - 1) * (2 * n + 1)),
                ("bracha-echo-only", (n - 1) * (n + 1)),
                ("fifo", n * (n - 1)),
                ("causal", n * (n - 1)),
                // The first sequencer is p0, which need not send a request to another process.
                ("total-sequencer", n - u64::from(sender == 0)),
                ("total-isis", 3 * (n - 1)),
                ("total-lamport", n * (n - 1)),
                ("total-from-consensus", n * (n - 1)),
            ] {
                let toml = format!(
                    "algorithm = \"{algorithm}\"\nprocesses = {n}\nrequest = [\"{sender}@0\"]\n\
                     delay = \"uniform:1us..5ms\"\n"
                );
                let report = report(&toml);
                assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
                assert_eq!(report.messages.total, expected, "{toml}");
                assert_eq!(report.cost.kept, Some(true), "{toml}{:?}", report.cost);
                if algorithm == "total-from-consensus" {
                    // One agreement, in which only late processes save a message.
                    let consensus = report.layers["agreement"].total;
                    let most = (n + 3) * (n - 1);
                    assert!((most + 1 - n..=most).contains(&consensus), "{consensus}: {toml}");
                }
            }
        }
    }
}

/// A scenario in which processes crash, some in the middle of a multicast, and crash notices are delayed.
fn stormy(algorithm: &str, seed: u64) -> String {
    let n = 3 + seed % 14;
    let delay = ["constant:1ms", "uniform:1us..5ms", "exponential:1ms"][seed as usize % 3];
    let detection = ["constant:1ms", "uniform:1us..20ms", "constant:1"][seed as usize / 3 % 3];
    let crashes = vec!["\"?@0~12ms\""; (seed % (n - 1)) as usize].join(", ");
    let group = seed.is_multiple_of(4) && !algorithm.starts_with("total-");
    let to = if group { "to = \"0,1,2\"\n" } else { "" };
    format!(
        "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"{}\"\nrepeat = {}\n\
         {to}spread = \"{}ms\"\nthink = \"{}us\"\ndelay = \"{delay}\"\nfifo = {}\ndetection = \"{detection}\"\n\
         [faults]\ncrash = [{crashes}]\ncrash-mid = [\"?@0~2ms:{}\"]\n",
        ["all", "one", "2"][seed as usize / 2 % 3],
        1 + seed % 4,
        seed % 5,
        seed % 3 * 700,
        seed.is_multiple_of(2) || algorithm == "total-lamport",
        seed % 3,
    )
}

#[test]
fn whoever_crashes_whenever_all_live_members_deliver_or_none() {
    for algorithm in CRASH_TOLERANT {
        let mut mended = 0;
        for seed in 0..1500 {
            let toml = stormy(algorithm, seed);
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
            assert_eq!(report.ending, "quiescent", "{toml}");
            let crashed = report.faults.iter().any(|fault| fault.description.ends_with("crashes"));
            mended += usize::from(crashed);
        }
        assert!(mended > 1000, "only {mended} runs of {algorithm} had a crash");
    }
}

/// Links reorder, and the detector is faster than messages. So messages of the crashed processes are still in
/// flight when others take over.
#[test]
fn one_order_survives_though_news_of_crashes_overtakes_messages() {
    for algorithm in ["total-sequencer", "total-isis", "total-lamport"] {
        for seed in 0..1000 {
            let n = 3 + seed % 4;
            let toml = format!(
                "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"all\"\nrepeat = 4\n\
                 think = \"100us\"\ndelay = \"exponential:2ms\"\nfifo = {}\ndetection = \"{}\"\n\
                 [faults]\ncrash = [\"0@0~6ms\", \"1@4ms~9ms\"]\n",
                algorithm == "total-lamport",
                ["constant:1", "uniform:1..4ms"][seed as usize / 2 % 2],
            );
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        }
    }
}

#[test]
fn duplicates_do_no_harm_where_none_are_excluded() {
    for algorithm in CRASH_TOLERANT {
        for seed in 0..300 {
            let toml = stormy(algorithm, seed) + "duplication = 0.3\n";
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        }
    }
}

#[test]
fn over_detectors_of_their_own_they_hold_as_well() {
    for seed in 0..400 {
        let n = 3 + seed % 10;
        let detector = ["heartbeat", "vcube"][seed as usize % 2];
        let algorithm = ["vcube-multicast", "total-sequencer", "total-isis", "total-lamport"]
            [seed as usize / 2 % 4];
        let toml = format!(
            "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"all\"\n\
             detector = \"{detector}\"\ndelay = \"uniform:100us..2ms\"\nspread = \"8ms\"\n\
             [faults]\ncrash = [\"?@0~15ms\"]\ncrash-mid = [\"?@0~8ms:1\"]\n"
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
    }
}

#[test]
fn the_basic_multicast_keeps_what_it_promises_and_nothing_more() {
    let mut disagreed = 0;
    for seed in 0..400 {
        let toml = stormy("basic", seed).replace("[faults]", "watch = [\"agreement\"]\n[faults]");
        let report = report(&toml);
        assert_eq!(status(&report, "validity"), Status::Holds, "{toml}{:?}", report.properties);
        assert_eq!(status(&report, "integrity"), Status::Holds, "{toml}{:?}", report.properties);
        disagreed += usize::from(status(&report, "agreement") == Status::Violated);
    }
    assert!(disagreed > 20, "a sender that crashed in the middle was noticed {disagreed} times");
}

#[test]
fn outside_the_assumptions_the_known_weaknesses_show() {
    let broken = |faults: &str, id: &str| {
        let breaks = |seed: &u64| {
            let toml = format!(
                "algorithm = \"vcube-multicast\"\nprocesses = 8\nseed = {seed}\nrequesters = \"all\"\n[faults]\n{faults}\n"
            );
            status(&report(&toml), id) == Status::Violated
        };
        (0..100).filter(breaks).count()
    };
    assert!(broken("loss = 0.05", "agreement") > 50, "a lost message cuts off a subtree");
    assert!(broken("suspect = [\"0-1@0\"]", "validity") > 90, "a suspected member is left out");
    assert!(broken("traitor = [\"1:liar\"]", "integrity") > 50, "a liar makes up messages");
}

/// Number of random scenarios without crashes that violate a property, of `runs` in total.
fn broken_orders(algorithm: &str, id: &str, runs: u64) -> usize {
    let breaks = |seed: &u64| {
        let toml = format!(
            "algorithm = \"{algorithm}\"\nprocesses = 4\nseed = {seed}\nrequesters = \"all\"\nrepeat = 3\n\
             delay = \"exponential:2ms\"\nthink = \"1ms\"\nfifo = false\nwatch = [\"{id}\"]\n"
        );
        status(&report(&toml), id) == Status::Violated
    };
    (0..runs).filter(breaks).count()
}

#[test]
fn each_order_promises_more_than_the_one_below_it() {
    for (algorithm, id) in [
        ("basic", "fifo-order"),
        ("reliable", "fifo-order"),
        ("fifo", "causal-order"),
        ("causal", "total-order"),
        ("total-sequencer", "fifo-order"),
        ("total-isis", "fifo-order"),
        ("total-isis", "causal-order"),
        ("total-from-consensus", "fifo-order"),
    ] {
        let broken = broken_orders(algorithm, id, 200);
        assert!(broken > 5, "{algorithm} broke {id} in {broken} of 200 runs");
    }
    for (algorithm, id) in [
        ("fifo", "fifo-order"),
        ("causal", "causal-order"),
        ("total-sequencer", "total-order"),
        ("total-isis", "total-order"),
        ("total-from-consensus", "total-order"),
    ] {
        assert_eq!(broken_orders(algorithm, id, 200), 0, "{algorithm} promises {id}");
    }
}

#[test]
fn total_orders_need_what_they_assume() {
    let broken = |algorithm: &str, world: &str, id: &str| {
        let breaks = |seed: &u64| {
            let toml = format!(
                "algorithm = \"{algorithm}\"\nprocesses = 5\nseed = {seed}\nrequesters = \"all\"\nrepeat = 2\n\
                 delay = \"uniform:100us..3ms\"\n{world}\n"
            );
            status(&report(&toml), id) == Status::Violated
        };
        (0..100).filter(breaks).count()
    };
    let dead = "detector = \"none\"\n[faults]\ncrash-mid = [\"0@0.5ms:2\"]";
    for algorithm in ["total-sequencer", "total-isis", "total-lamport"] {
        let hung = broken(algorithm, dead, "validity");
        assert!(hung > 90, "{algorithm} without a detector waited for the dead in {hung} runs");
    }
    let rival = "[faults]\nsuspect = [\"1-0@0.5ms\"]";
    let split = broken("total-sequencer", rival, "total-order");
    assert!(split > 50, "two sequencers numbered differently in {split} runs");
    let reordered = broken("total-lamport", "fifo = false", "total-order");
    assert!(reordered > 50, "links that reorder broke Lamport's order in {reordered} runs");
}

/// Fewer than half of the processes crash, and any process may suspect any other for a while.
#[test]
fn total_order_from_consensus_bears_wrong_suspicions() {
    for seed in 0..600_u64 {
        let n = 3 + seed % 7;
        let crashes = vec!["\"?@0~12ms\""; (seed % n.div_ceil(2)) as usize].join(", ");
        let suspicions = vec!["\"?-?@0~6ms..7ms~15ms\""; (seed % 9) as usize].join(", ");
        let toml = format!(
            "algorithm = \"total-from-consensus\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"all\"\nrepeat = 2\n\
             spread = \"6ms\"\ndelay = \"uniform:100us..3ms\"\nfifo = {}\n\
             [faults]\ncrash = [{crashes}]\nsuspect = [{suspicions}]\n",
            seed.is_multiple_of(2),
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
    }
}

/// Reports of a multicast of `n` processes, of which `f` are to be tolerated and the first ones lie by this strategy.
fn lying(algorithm: &str, n: usize, f: usize, liars: usize, strategy: &str, seed: u64) -> Report {
    let traitors: Vec<String> = (0..liars).map(|liar| format!("\"{liar}:{strategy}\"")).collect();
    report(&format!(
        "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nbears = {f}\nrequesters = \"all\"\n\
         repeat = 2\ndelay = \"uniform:100us..3ms\"\nfifo = false\n[faults]\ntraitor = [{}]\n",
        traitors.join(", ")
    ))
}

#[test]
fn brachas_broadcast_bears_less_than_a_third_of_liars() {
    let strategies = ["silent", "liar", "equivocator", "two-faced", "stutterer", "random"];
    for (n, f) in [(4, 1), (6, 1), (7, 2), (10, 3)] {
        for strategy in strategies {
            for seed in 0..20 {
                let report = lying("bracha", n, f, f, strategy, seed);
                let found = (report.verdict, &report.properties);
                assert_eq!(found.0, Verdict::Holds, "{n} {f} {strategy} {seed}: {:?}", found.1);
            }
        }
        // A third of liars is too many: they let the correct processes deliver different contents.
        let split = |seed: &u64| {
            let report = lying("bracha", 3 * f, f, f, "two-faced", *seed);
            let met = report.assumptions.iter().find(|it| it.id == "n-above-3m");
            assert!(met.is_some_and(|it| !it.met), "n = 3f: {:?}", report.assumptions);
            status(&report, "agreement") == Status::Violated
                || status(&report, "validity") == Status::Violated
        };
        let broken = (0..20).filter(split).count();
        assert!(broken > 0, "no run of {} with {f} liars broke", 3 * f);
    }
}

#[test]
fn without_ready_a_liar_leaves_some_out_but_never_splits() {
    let mut left_out = 0;
    for seed in 0..100 {
        let report = lying("bracha-echo-only", 7, 2, 2, "equivocator", seed);
        assert_eq!(status(&report, "integrity"), Status::Holds);
        let agreement = report.properties.iter().find(|property| property.id == "agreement");
        let detail = &agreement.expect("it is promised").detail;
        assert!(!detail.contains("different contents"), "two quorums meet: {detail}");
        left_out += usize::from(report.verdict == Verdict::Violated);
    }
    assert!(left_out > 50, "some were left out in {left_out} of 100 runs");
}
