//! Paxos, three-phase commit and Ben-Or's protocol in a storm of random faults with fixed seeds: they keep their
//! promises, and each of their rules and assumptions is needed.

use quorate_lab::run;
use quorate_sim::monitor::Status;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::{Conditions, Scenario, parse};

use super::from_text::{delay, report, status};

#[test]
fn undisturbed_runs_cost_five_messages_for_each_other_process() {
    for algorithm in ["paxos", "three-phase-commit"] {
        for n in 1..=20_u64 {
            for seed in 0..6 {
                let toml = format!(
                    "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\ndelay = \"{}\"\nspread = \"{seed}ms\"\n\
                     fifo = {}\n",
                    delay(seed),
                    seed.is_multiple_of(2),
                );
                let report = report(&toml);
                assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
                assert_eq!(report.messages.total, 5 * (n - 1), "{toml}");
                assert_eq!(report.cost.kept, Some(true), "{toml}{:?}", report.cost);
                if seed == 0 && n > 1 {
                    assert_eq!(report.delays.client.max, 5 * report.delays.unit, "{toml}");
                }
            }
        }
    }
}

/// Fewer than half of the processes crash, most of them recover, and any process may suspect any other for a while.
#[test]
fn whatever_the_detector_says_paxos_decides_once_it_stops() {
    let (mut ballots, mut recovered) = (0, 0);
    for seed in 0..3000_u64 {
        let n = 3 + seed % 8;
        let count = (seed / 3 % n.div_ceil(2)) as usize;
        let victims = || (0..count as u64).map(|victim| (victim + seed / 5) % n);
        let crashes: Vec<String> = victims().map(|it| format!("\"{it}@0~9ms\"")).collect();
        let back: Vec<String> = victims().skip(1).map(|it| format!("\"{it}@10ms~30ms\"")).collect();
        let suspicions = vec!["\"?-?@0~8ms..9ms~30ms\""; (seed % 13) as usize].join(", ");
        let detection = ["constant:1ms", "uniform:1us..20ms", "constant:1"][seed as usize / 3 % 3];
        let toml = format!(
            "algorithm = \"paxos\"\nprocesses = {n}\nseed = {seed}\nspread = \"{}ms\"\ndelay = \"{}\"\nfifo = {}\n\
             detection = \"{detection}\"\n[faults]\ncrash = [{}]\nrecover = [{}]\nsuspect = [{suspicions}]\n",
            seed % 4,
            delay(seed),
            seed.is_multiple_of(2),
            crashes.join(", "),
            back.join(", "),
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        ballots += usize::from(report.messages.by_kind.of("PREPARE") > n - 1);
        recovered += back.len();
    }
    assert!(
        ballots > 1000 && recovered > 1000,
        "{ballots} runs raised a ballot, {recovered} recovered"
    );
}

/// The first proposer has decided, but sends so slowly that the others suspect it and continue without it.
fn overtaken(algorithm: &str, seed: u64) -> Report {
    let n = 3 + seed % 3;
    let others = || 1..n;
    let slow: Vec<String> = others().map(|x| format!("\"0-{x}=uniform:100us..9ms\"")).collect();
    let wrong: Vec<String> = others().map(|x| format!("\"{x}-0@6ms~12ms..40ms\"")).collect();
    report(&format!(
        "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\ndelay = \"uniform:100us..1ms\"\n\
         fifo = {}\nlink-delay = [{}]\n[faults]\nsuspect = [{}]\n",
        seed.is_multiple_of(2),
        slow.join(", "),
        wrong.join(", "),
    ))
}

#[test]
fn later_ballots_propose_what_a_majority_may_have_accepted() {
    let (mut later, mut twice) = (0, 0);
    for seed in 0..1500_u64 {
        let sound = overtaken("paxos", seed);
        assert_eq!(sound.verdict, Verdict::Holds, "seed {seed} {:?}", sound.properties);
        later += usize::from(sound.messages.by_kind.of("ACCEPT") > sound.processes as u64 - 1);
        let broken = overtaken("paxos-any-value", seed);
        twice += usize::from(status(&broken, "agreement") == Status::Violated);
    }
    assert!(later > 300, "only {later} runs had a second proposal");
    assert!(twice > 30, "without the rule only {twice} runs decided twice");
}

#[test]
fn suspicions_that_never_stop_cost_termination_only() {
    let mut undecided = 0;
    for seed in 0..60_u64 {
        let n = 3 + seed % 3;
        let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let all: Vec<String> = pairs.map(|(a, b)| format!("\"{a}-{b}@0\"")).collect();
        let toml = format!(
            "algorithm = \"paxos\"\nprocesses = {n}\nseed = {seed}\npatience = \"20ms\"\n\
             delay = \"uniform:100us..3ms\"\n[faults]\nsuspect = [{}]\n",
            all.join(", ")
        );
        let report = report(&toml);
        assert_eq!(status(&report, "agreement"), Status::Holds, "{toml}");
        assert_eq!(status(&report, "validity"), Status::Holds, "{toml}");
        undecided += usize::from(status(&report, "termination") == Status::Violated);
    }
    assert!(undecided > 0, "{undecided} runs did not decide");
}

/// Votes derived from the seed, about one in eleven against.
fn votes(n: u64, seed: u64) -> String {
    let vote = |process: u64| u64::from(!(seed * 7 + process * 3).is_multiple_of(11));
    (0..n).map(|process| vote(process).to_string()).collect::<Vec<_>>().join(", ")
}

/// Any process crashes, often the coordinator, and often several one after the other.
#[test]
fn where_two_phase_commit_blocks_three_phase_commit_decides() {
    let (mut blocked, mut committed) = (0, 0);
    for seed in 0..3000_u64 {
        let n = 3 + seed % 6;
        let crashes = match seed % 5 {
            0 => "crash = [\"0@0~9ms\"]",
            1 => "crash = [\"0@0~9ms\", \"1@0~9ms\"]",
            2 => "crash-mid = [\"0@1ms~3ms:0\"]\ncrash = [\"?@2ms~9ms\"]",
            3 => "crash-mid = [\"0@1ms~4ms:1\", \"1@2ms~6ms:1\"]",
            _ => "crash-mid = [\"0@2.5ms:1\"]\ncrash = [\"?@0~9ms\", \"?@0~9ms\"]",
        };
        let world = |algorithm: &str| {
            format!(
                "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nvalues = [{}]\ndelay = \"{}\"\nfifo = {}\n\
                 detection = \"{}\"\nspread = \"{}ms\"\n[faults]\n{crashes}\n",
                votes(n, seed),
                delay(seed),
                seed.is_multiple_of(2),
                ["constant:1ms", "uniform:1us..9ms", "constant:1"][seed as usize / 3 % 3],
                seed % 3,
            )
        };
        let two = report(&world("two-phase-commit"));
        blocked += usize::from(!two.agreement.expect("an agreement").blocked.is_empty());
        let three = report(&world("three-phase-commit"));
        assert_eq!(three.verdict, Verdict::Holds, "{}{:?}", world(""), three.properties);
        let decisions = three.agreement.expect("an agreement").decision_texts;
        committed += usize::from(decisions.iter().any(|decision| decision == "commit"));
    }
    assert!(blocked > 100, "two-phase commit blocked in {blocked} runs");
    assert!((500..2500).contains(&committed), "{committed} runs committed");
}

#[test]
fn a_unanimous_bit_is_decided_in_one_round() {
    for n in 1..=12_u64 {
        for value in [0, 1] {
            let values = vec![value.to_string(); n as usize].join(", ");
            let toml =
                format!("algorithm = \"ben-or\"\nprocesses = {n}\nseed = 7\nvalues = [{values}]\n");
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
            assert_eq!(report.messages.total, 3 * n * (n - 1), "{toml}");
            let rounds = if n == 1 { 0 } else { 2 };
            assert_eq!(report.delays.client.max, rounds * report.delays.unit, "{toml}");
        }
    }
}

fn mixed_bits(n: u64, seed: u64, faults: &str) -> String {
    let values: Vec<String> = (0..n).map(|process| (process % 2).to_string()).collect();
    format!(
        "algorithm = \"ben-or\"\nprocesses = {n}\nseed = {seed}\nvalues = [{}]\ndelay = \"{}\"\nfifo = {}\n{faults}",
        values.join(", "),
        delay(seed),
        seed.is_multiple_of(2),
    )
}

/// Every run decides, although none of them has a bound on its rounds. Equal seeds have equal coins, and other seeds others.
#[test]
fn coins_decide_between_two_bits() {
    let (mut longer, mut decided) = (0, [0, 0]);
    for seed in 0..600_u64 {
        let n = 2 + seed % 9;
        let crashes = vec!["\"?@0~9ms\""; (seed / 3 % n.div_ceil(2)) as usize].join(", ");
        let toml = mixed_bits(n, seed, &format!("[faults]\ncrash = [{crashes}]\n"));
        let first = report(&toml);
        assert_eq!(first.verdict, Verdict::Holds, "{toml}{:?}", first.properties);
        assert_eq!(first, report(&toml), "{toml}");
        longer += usize::from(first.messages.by_kind.of("REPORT") > n * (n - 1));
        let texts = first.agreement.expect("an agreement").decision_texts;
        decided[usize::from(texts.iter().any(|text| text == "1"))] += 1;
    }
    assert!(longer > 200, "{longer} runs needed a second round");
    assert!(decided.iter().all(|runs| *runs > 100), "{decided:?} runs decided 0 and 1");
}

/// With n = 2f, the half that is left does not decide, whatever the coins show. It does not toss coins forever either.
#[test]
fn half_of_the_processes_are_too_many_to_tolerate() {
    for seed in 0..20 {
        let toml = mixed_bits(4, seed, "bears = 2\n[faults]\ncrash = [\"2@0\", \"3@0\"]\n");
        let report = report(&toml);
        let broken = report.assumptions.iter().filter(|it| !it.met).map(|it| it.id);
        assert_eq!(broken.collect::<Vec<_>>(), ["n-above-2f"], "{toml}");
        assert_eq!(status(&report, "termination"), Status::Violated, "{toml}");
        assert_eq!(report.ending, "quiescent", "{toml}");
    }
}

#[test]
fn bits_alternate_by_default_and_other_values_are_refused() {
    let report = report("algorithm = \"ben-or\"\nprocesses = 4\n");
    let proposals = report.agreement.expect("an agreement").proposals;
    assert_eq!(proposals, [Some(0), Some(1), Some(0), Some(1)]);
    let toml = "algorithm = \"ben-or\"\nprocesses = 3\nvalues = [0, 1, 2]\n";
    let scenario: Scenario = parse(toml, "storm.toml").expect("a scenario");
    let refused = run(&scenario, Conditions::default(), None).expect_err("2 is not a bit");
    assert!(refused.to_string().contains("it agrees on 0 or 1, not on 2"), "{refused}");
}
