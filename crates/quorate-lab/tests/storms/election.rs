//! Elections in a storm of random faults with fixed seeds. They cost what they promise, whichever process starts and in any
//! order of identifiers. Whichever process crashes at any time, all survivors have one leader.

use quorate_algorithms::catalogue::PROFILES;
use quorate_core::Layer;
use quorate_lab::campaign::ScenarioGenerator;
use quorate_lab::run;
use quorate_sim::monitor::Status;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::{Conditions, Scenario, parse};

fn report_of(scenario: &Scenario) -> Report {
    run(scenario, Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{scenario:?}"))
        .report
}

fn report(toml: &str) -> Report {
    let scenario = parse(toml, "storm.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    report_of(&scenario)
}

/// Report of a run in which all properties hold.
fn held(toml: &str) -> Report {
    let report = report(toml);
    assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
    report
}

fn status(report: &Report, id: &str) -> Status {
    let property = report.properties.iter().find(|property| property.id == id);
    property.expect("the property is watched").status
}

fn leader(report: &Report) -> Option<u32> {
    report.election.as_ref().and_then(|election| election.leader)
}

/// Every order of 0 to n - 1.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..n {
        let longer = |order: Vec<usize>| {
            let rest: Vec<usize> = (0..n).filter(|next| !order.contains(next)).collect();
            rest.into_iter().map(move |next| order.iter().copied().chain([next]).collect())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    orders
}

#[test]
fn inside_the_assumptions_every_election_holds() {
    let elections = PROFILES.iter().filter(|profile| profile.layer == Layer::Election);
    let (mut algorithms, mut crashes) = (0, 0);
    for profile in elections {
        algorithms += 1;
        let generator = ScenarioGenerator::new(*profile);
        for seed in 0..400 {
            let scenario = generator.scenario(seed);
            let report = report_of(&scenario);
            assert_eq!(report.verdict, Verdict::Holds, "{scenario:?}{:?}", report.properties);
            crashes +=
                report.faults.iter().filter(|fault| fault.description.ends_with("crashes")).count();
        }
    }
    assert_eq!(algorithms, 8);
    assert!(crashes > 4_000, "only {crashes} crashes");
}

#[test]
fn chang_roberts_costs_the_way_to_the_greatest_and_two_laps() {
    for n in 2..=24 {
        for starter in 0..n {
            // The greatest identifier is at any position; the others ascend.
            let greatest = (starter * 5 + 3) % n;
            let ids: Vec<usize> =
                (0..n).map(|place| if place == greatest { n } else { place }).collect();
            let toml = format!(
                "algorithm = \"chang-roberts\"\nprocesses = {n}\nrequest = [\"{starter}@0\"]\nids = {ids:?}\n"
            );
            let report = held(&toml);
            let way = (greatest + n - starter) % n;
            assert_eq!(report.messages.total as usize, way + 2 * n, "{toml}");
            assert_eq!(report.messages.bytes, Some(25 * report.messages.total), "{toml}");
            assert_eq!(report.cost.kept, Some(true), "{toml}");
            assert_eq!(leader(&report), Some(greatest as u32), "{toml}");
        }
    }
}

/// Over all orders of identifiers, the mean number of messages of an election that all processes start
/// is exactly n(H(n) + 1).
#[test]
fn chang_roberts_costs_n_times_the_harmonic_number_on_average() {
    for n in 2..=6_usize {
        let orders = orders(n);
        let mut total = 0;
        for ids in &orders {
            let toml = format!(
                "algorithm = \"chang-roberts\"\nprocesses = {n}\nrequesters = \"all\"\nids = {ids:?}\n"
            );
            total += held(&toml).messages.total;
        }
        // n! times n (1 + 1/2 + .. + 1/n + 1) is a whole number.
        let count = orders.len() as u64;
        let harmonic: u64 = (1..=n as u64).map(|k| count / k).sum();
        assert_eq!(total, n as u64 * (harmonic + count), "n = {n}");
    }
}

#[test]
fn chang_roberts_that_all_begin_is_linear_or_quadratic() {
    for n in 2..=64_usize {
        let run = |ids: Vec<usize>| {
            let toml = format!(
                "algorithm = \"chang-roberts\"\nprocesses = {n}\nrequesters = \"all\"\nids = {ids:?}\n"
            );
            held(&toml).messages.total as usize
        };
        assert_eq!(run((0..n).collect()), 3 * n - 1);
        assert_eq!(run((0..n).rev().collect()), n * (n + 3) / 2);
    }
}

#[test]
fn a_list_costs_two_laps_for_each_that_begins() {
    for n in 2..=40_u64 {
        let toml =
            format!("algorithm = \"list-ring\"\nprocesses = {n}\nrequest = [\"{}@0\"]\n", n / 3);
        let report = held(&toml);
        assert_eq!(report.messages.total, 2 * n, "{toml}");
        assert_eq!(report.messages.bytes, Some(8 * n * (n + 1) + 58 * n), "{toml}");
        for starters in 2..=n.min(5) {
            let toml = format!(
                "algorithm = \"list-ring\"\nprocesses = {n}\nrequesters = \"{starters}\"\n"
            );
            assert_eq!(held(&toml).messages.total, 2 * n * starters, "{toml}");
        }
    }
}

#[test]
fn a_tournament_costs_what_its_turns_cost() {
    for n in 2..=70_u64 {
        let turns = u64::from(n.next_power_of_two().ilog2());
        let greatest = format!(
            "algorithm = \"hirschberg-sinclair\"\nprocesses = {n}\nrequest = [\"{}@0\"]\n",
            n - 1
        );
        let least = 4 * ((1 << turns) - 1) + 3 * n;
        assert_eq!(held(&greatest).messages.total, least, "{greatest}");
        for requesters in ["one", "all"] {
            let toml = format!(
                "algorithm = \"hirschberg-sinclair\"\nprocesses = {n}\nrequesters = \"{requesters}\"\n\
                 delay = \"uniform:1us..2ms\"\nfifo = false\n"
            );
            let found = held(&toml).messages.total;
            assert!((least..=8 * n * (1 + turns) + n).contains(&found), "{toml}{found}");
        }
    }
}

#[test]
fn a_tournament_keeps_its_bound_in_every_order() {
    for n in 2..=6_usize {
        let turns = n.next_power_of_two().ilog2() as usize;
        for ids in orders(n) {
            let toml = format!(
                "algorithm = \"hirschberg-sinclair\"\nprocesses = {n}\nrequesters = \"all\"\nids = {ids:?}\n"
            );
            let found = held(&toml).messages.total as usize;
            assert!(found <= 8 * n * (1 + turns) + n, "{toml}{found}");
        }
    }
}

#[test]
fn telling_everyone_costs_n_times_n_minus_1() {
    for n in 1..=24_u64 {
        for requesters in ["one", "all"] {
            let toml = format!(
                "algorithm = \"announce-all\"\nprocesses = {n}\nrequesters = \"{requesters}\"\n"
            );
            assert_eq!(held(&toml).messages.total, n * (n - 1), "{toml}");
        }
    }
}

#[test]
fn bullies_cost_what_their_rank_says() {
    for n in 1..=20_u64 {
        for starter in 0..n {
            let above = n - 1 - starter;
            let toml = |algorithm: &str| {
                format!(
                    "algorithm = \"{algorithm}\"\nprocesses = {n}\nrequest = [\"{starter}@0\"]\n"
                )
            };
            let bully = held(&toml("bully"));
            assert_eq!(bully.messages.total, above * (above + 1) + n - 1, "{}", toml("bully"));
            assert_eq!(bully.cost.kept, Some(true));
            let all = held(&toml("bully-all"));
            let expected = (above + 1) * (n - 1) + above * (above + 1) / 2 + n - 1;
            assert_eq!(all.messages.total, expected, "{}", toml("bully-all"));
            assert_eq!(all.cost.kept, Some(true));
        }
    }
}

#[test]
fn after_their_leader_s_crash_bullies_cost_n_minus_2_to_n_times_n_minus_2() {
    for n in 3..=20_u64 {
        let toml = |more: &str| {
            format!(
                "algorithm = \"bully\"\nprocesses = {n}\nrequest = [\"{0}@0\"]\n{more}[faults]\ncrash = [\"{0}@5ms\"]\n",
                n - 1
            )
        };
        let first = n - 1;
        let all_at_once = held(&toml("")).messages.total - first;
        assert_eq!(all_at_once, (n - 1) * (n - 2) + n - 2);
        assert_eq!(all_at_once, n * (n - 2));
        assert_eq!(held(&toml("rank-delay = \"4ms\"\n")).messages.total - first, n - 2);
        let second = format!(
            "detection = \"constant:10ms\"\ndetection-pair = [\"{}-{}=constant:1ms\"]\n",
            n - 2,
            n - 1
        );
        assert_eq!(held(&toml(&second)).messages.total - first, n - 2);
    }
}

/// Every process crashes at every quarter of a message delay, with fast and with slow detection.
#[test]
fn whoever_crashes_whenever_the_others_have_one_leader() {
    for algorithm in
        ["list-ring", "list-ring-direct", "bully", "bully-all", "announce-all", "detector-leader"]
    {
        for (victim, quarter) in (0..6).flat_map(|victim| (0..60).map(move |time| (victim, time))) {
            for (starter, detection) in [(0, "1ms"), (2, "3.3ms"), (5, "9ms")] {
                let toml = format!(
                    "algorithm = \"{algorithm}\"\nprocesses = 6\nrequest = [\"{starter}@0.3ms\"]\n\
                     detection = \"constant:{detection}\"\n[faults]\ncrash = [\"{victim}@{}us\"]\n",
                    quarter * 250
                );
                let report = held(&toml);
                let expected = if victim == 5 { 4 } else { 5 };
                // If the only starter crashes before any message of it has arrived, there is no election.
                let begun = report.election.as_ref().is_some_and(|found| found.decisions > 0);
                assert!(!begun || leader(&report) == Some(expected), "{toml}{:?}", report.election);
            }
        }
    }
}

#[test]
fn a_list_survives_any_two_crashes() {
    for seed in 0..1_500_u64 {
        let n = 3 + seed % 8;
        let algorithm = ["list-ring", "list-ring-direct"][seed as usize / 2 % 2];
        let toml = format!(
            "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"{}\"\nrepeat = {}\n\
             delay = \"uniform:100us..2ms\"\nfifo = {}\ndetection = \"uniform:1us..{}ms\"\n\
             [faults]\ncrash = [\"?@0~15ms\", \"?@0~30ms\"]\n",
            ["one", "2", "all"][seed as usize % 3],
            1 + seed % 3,
            seed.is_multiple_of(2),
            1 + seed % 12,
        );
        held(&toml);
    }
}

#[test]
fn duplicates_do_no_harm_to_rings() {
    for algorithm in ["chang-roberts", "hirschberg-sinclair", "list-ring", "list-ring-direct"] {
        for seed in 0..200_u64 {
            let toml = format!(
                "algorithm = \"{algorithm}\"\nprocesses = {}\nseed = {seed}\nrequesters = \"all\"\nrepeat = 2\n\
                 fifo = false\ndelay = \"uniform:1us..2ms\"\n[faults]\nduplication = 0.2\n",
                2 + seed % 9
            );
            held(&toml);
        }
    }
}

#[test]
fn outside_the_assumptions_the_known_weaknesses_show() {
    let broken = |algorithm: &str, lines: &str, id: &str| {
        let breaks = |seed: &u64| {
            let toml = format!(
                "algorithm = \"{algorithm}\"\nprocesses = 6\nseed = {seed}\nrequesters = \"all\"\n{lines}\n"
            );
            status(&report(&toml), id) == Status::Violated
        };
        (0..100).filter(breaks).count()
    };
    let crash = "[faults]\ncrash = [\"?@0~5ms\"]";
    assert!(broken("chang-roberts", crash, "E2") > 50, "a crash stops the ring");
    assert!(broken("hirschberg-sinclair", crash, "E2") > 50, "a crash stops the tournament");
    let quick = "[faults]\nclock = [\"3@0:9\"]";
    assert!(broken("bully", quick, "E1") == 100, "answers have no time to come");
    assert!(broken("bully-all", quick, "E1") == 100, "answers have no time to come");
    let suspicion = "[faults]\nsuspect = [\"0-5@1ms..20ms\"]";
    assert!(broken("detector-leader", suspicion, "E1") == 100, "two leaders at once");
    assert!(broken("announce-all", "[faults]\nloss = 0.05", "E2") > 50, "a lost announcement");
    assert!(broken("list-ring", "[faults]\nloss = 0.05", "E2") > 20, "a lost list");
    let back = "[faults]\ncrash = [\"5@1ms\"]\nrecover = [\"5@9ms:amnesia\"]";
    assert!(broken("bully", back, "E2") > 90, "one who knows nothing asks for nothing");
}
