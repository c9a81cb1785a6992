//! Multicasts in a storm with fixed seeds: the tree costs what it promises from every root, and whoever crashes
//! whenever, all live members deliver or none does.

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
            // No deeper than the cube has dimensions.
            let levels = u64::from(n.next_power_of_two().ilog2());
            assert!(report.delays.client.max <= levels * report.delays.unit, "{toml}");
        }
    }
}

#[test]
fn a_tree_to_a_group_has_a_message_for_each_member_but_the_sender() {
    for seed in 0..400_u64 {
        let n = 2 + seed % 30;
        // Any subset will do, as long as it is not empty.
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

/// A scenario in which processes crash, some in the middle of a multicast, and news of it takes its time.
fn stormy(algorithm: &str, seed: u64) -> String {
    let n = 3 + seed % 14;
    let delay = ["constant:1ms", "uniform:1us..5ms", "exponential:1ms"][seed as usize % 3];
    let detection = ["constant:1ms", "uniform:1us..20ms", "constant:1"][seed as usize / 3 % 3];
    let crashes = vec!["\"?@0~12ms\""; (seed % (n - 1)) as usize].join(", ");
    let to = if seed.is_multiple_of(4) { "to = \"0,1,2\"\n" } else { "" };
    format!(
        "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"{}\"\nrepeat = {}\n\
         {to}spread = \"{}ms\"\nthink = \"{}us\"\ndelay = \"{delay}\"\nfifo = {}\ndetection = \"{detection}\"\n\
         [faults]\ncrash = [{crashes}]\ncrash-mid = [\"?@0~2ms:{}\"]\n",
        ["all", "one", "2"][seed as usize / 2 % 3],
        1 + seed % 4,
        seed % 5,
        seed % 3 * 700,
        seed.is_multiple_of(2),
        seed % 3,
    )
}

#[test]
fn whoever_crashes_whenever_all_live_members_deliver_or_none() {
    let mut mended = 0;
    for seed in 0..1500 {
        let toml = stormy("vcube-multicast", seed);
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        assert_eq!(report.ending, "quiescent", "{toml}");
        let crashed = report.faults.iter().any(|fault| fault.what.ends_with("crashes"));
        mended += usize::from(crashed);
    }
    assert!(mended > 1000, "only {mended} runs had a crash");
}

#[test]
fn duplicates_do_no_harm_to_the_tree() {
    for seed in 0..300 {
        let toml = stormy("vcube-multicast", seed) + "duplication = 0.3\n";
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
    }
}

#[test]
fn over_detectors_of_its_own_it_holds_as_well() {
    for seed in 0..200 {
        let n = 3 + seed % 10;
        let detector = ["heartbeat", "vcube"][seed as usize % 2];
        let toml = format!(
            "algorithm = \"vcube-multicast\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"all\"\n\
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
