//! Agreements over a failure detector, in a storm of random faults with fixed seeds. They are safe whatever the detector
//! reports, and decide once it stops being wrong. A transaction is never committed for some processes and aborted for
//! others, whichever processes crash and recover.

use quorate_sim::monitor::Status;
use quorate_sim::report::Verdict;

use super::from_text::{delay, report, status};

#[test]
fn consensus_costs_what_its_formula_says() {
    for n in 1..=20_u64 {
        for seed in 0..5 {
            let toml = format!(
                "algorithm = \"chandra-toueg\"\nprocesses = {n}\nseed = {seed}\ndelay = \"{}\"\nspread = \"{seed}ms\"\n\
                 fifo = {}\n",
                delay(seed),
                seed.is_multiple_of(2),
            );
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
            // Only a late process saves a message.
            if seed == 0 {
                assert_eq!(report.messages.total, (n + 3) * (n - 1), "{toml}");
            }
            assert_eq!(report.cost.kept, Some(true), "{toml}{:?}", report.cost);
        }
    }
}

/// Fewer than half of the processes crash, and any process may suspect any other for a while.
fn suspicious(algorithm: &str, seed: u64, suspicions: u64) -> String {
    let n = 3 + seed % 8;
    let crashes = vec!["\"?@0~12ms\""; (seed / 3 % n.div_ceil(2)) as usize].join(", ");
    let suspicions = vec!["\"?-?@0~8ms..9ms~30ms\""; suspicions as usize].join(", ");
    let detection = ["constant:1ms", "uniform:1us..20ms", "constant:1"][seed as usize / 3 % 3];
    format!(
        "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nspread = \"{}ms\"\ndelay = \"{}\"\nfifo = {}\n\
         detection = \"{detection}\"\n[faults]\ncrash = [{crashes}]\nsuspect = [{suspicions}]\n",
        seed % 4,
        delay(seed),
        seed.is_multiple_of(2),
    )
}

#[test]
fn whatever_the_detector_says_all_decide_the_same_once_it_stops() {
    let mut rounds = 0;
    for seed in 0..3000_u64 {
        let toml = suspicious("chandra-toueg", seed, seed % 13);
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        rounds += usize::from(report.messages.by_kind.of("NACK") > 0);
    }
    assert!(rounds > 1000, "only {rounds} runs needed a second round");
}

/// A value adopted by a majority is locked. The first coordinator has decided, but sends so slowly that the others suspect
/// it and continue without it.
#[test]
fn later_rounds_decide_what_an_earlier_one_has() {
    let mut overtaken = 0;
    for seed in 0..1500_u64 {
        let n = 3 + seed % 5;
        let others = || 1..n;
        let slow: Vec<String> = others().map(|x| format!("\"0-{x}=uniform:100us..9ms\"")).collect();
        let wrong: Vec<String> = others().map(|x| format!("\"{x}-0@1ms~5ms..30ms\"")).collect();
        let toml = format!(
            "algorithm = \"chandra-toueg\"\nprocesses = {n}\nseed = {seed}\ndelay = \"uniform:100us..2ms\"\n\
             fifo = {}\nlink-delay = [{}]\n[faults]\nsuspect = [{}]\n",
            seed.is_multiple_of(2),
            slow.join(", "),
            wrong.join(", "),
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        overtaken += usize::from(report.messages.by_kind.of("PROPOSE") > n - 1);
    }
    assert!(overtaken > 500, "only {overtaken} runs had a second proposal");
}

#[test]
fn suspicions_that_never_stop_cost_termination_only() {
    let mut undecided = 0;
    for seed in 0..100_u64 {
        let n = 3 + seed % 3;
        let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let all: Vec<String> = pairs.map(|(a, b)| format!("\"{a}-{b}@0\"")).collect();
        let toml = format!(
            "algorithm = \"chandra-toueg\"\nprocesses = {n}\nseed = {seed}\npatience = \"20ms\"\n\
             delay = \"uniform:100us..3ms\"\n[faults]\nsuspect = [{}]\n",
            all.join(", ")
        );
        let report = report(&toml);
        assert_eq!(status(&report, "agreement"), Status::Holds, "{toml}");
        assert_eq!(status(&report, "validity"), Status::Holds, "{toml}");
        undecided += usize::from(status(&report, "termination") == Status::Violated);
    }
    assert!(undecided > 50, "{undecided} runs did not decide");
}

#[test]
fn without_a_majority_nobody_decides_wrongly() {
    let mut undecided = 0;
    for seed in 0..500_u64 {
        let n = 3 + seed % 6;
        let crashes = vec!["\"?@0~2ms\""; (n - 1) as usize].join(", ");
        let toml = format!(
            "algorithm = \"chandra-toueg\"\nprocesses = {n}\nseed = {seed}\ndelay = \"{}\"\n[faults]\ncrash = [{crashes}]\n",
            delay(seed)
        );
        let report = report(&toml);
        assert_eq!(status(&report, "agreement"), Status::Holds, "{toml}");
        undecided += usize::from(status(&report, "termination") == Status::Violated);
    }
    assert!(undecided > 100, "{undecided} runs had too few left to decide");
}

#[test]
fn over_detectors_of_its_own_it_decides_as_well() {
    for seed in 0..200_u64 {
        let n = 3 + seed % 6;
        let detector = ["heartbeat", "vcube"][seed as usize % 2];
        let algorithm = ["chandra-toueg", "consensus-from-total"][seed as usize / 2 % 2];
        let toml = format!(
            "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\ndetector = \"{detector}\"\n\
             delay = \"uniform:100us..2ms\"\nspread = \"4ms\"\n[faults]\ncrash = [\"?@0~10ms\"]\n"
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
    }
}

#[test]
fn what_is_first_in_total_order_is_decided_by_all() {
    for seed in 0..1000_u64 {
        let n = 2 + seed % 8;
        let crashes = vec!["\"?@0~8ms\""; (seed / 2 % n) as usize].join(", ");
        let toml = format!(
            "algorithm = \"consensus-from-total\"\nprocesses = {n}\nseed = {seed}\nspread = \"{}ms\"\ndelay = \"{}\"\n\
             fifo = {}\n[faults]\ncrash = [{crashes}]\n",
            seed % 4,
            delay(seed),
            seed.is_multiple_of(2),
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
    }
}

/// Votes derived from the seed, about one in eleven against.
fn votes(n: u64, seed: u64) -> String {
    let vote = |process: u64| u64::from(!(seed * 7 + process * 3).is_multiple_of(11));
    (0..n).map(|process| vote(process).to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_commitment_takes_three_messages_for_each_participant() {
    for n in 1..=20_u64 {
        let report = report(&format!("algorithm = \"two-phase-commit\"\nprocesses = {n}\n"));
        assert_eq!(report.verdict, Verdict::Holds);
        assert_eq!(report.messages.total, 3 * (n - 1));
    }
}

#[test]
fn participants_may_crash_and_come_back_while_the_coordinator_is_up() {
    for seed in 0..1500_u64 {
        let n = 2 + seed % 7;
        let victim = 1 + seed / 2 % (n - 1).max(1);
        let recover = if seed.is_multiple_of(3) {
            String::new()
        } else {
            format!("recover = [\"{victim}@7ms~30ms\"]\n")
        };
        let toml = format!(
            "algorithm = \"two-phase-commit\"\nprocesses = {n}\nseed = {seed}\nvalues = [{}]\nspread = \"{}ms\"\n\
             delay = \"{}\"\nfifo = {}\n[faults]\ncrash = [\"{victim}@0~6ms\"]\n{recover}",
            votes(n, seed),
            seed % 5,
            delay(seed),
            seed.is_multiple_of(2),
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
    }
}

#[test]
fn whatever_becomes_of_the_coordinator_no_two_decide_differently() {
    let (mut blocked, mut freed) = (0, 0);
    for seed in 0..2000_u64 {
        let n = 2 + seed % 6;
        let back = seed.is_multiple_of(2);
        let recover = if back { "recover = [\"0@20ms~40ms\"]\n" } else { "" };
        let crash = match seed % 5 {
            0 => "crash = [\"0@0~9ms\"]",
            1 => "crash = [\"0@0~9ms\", \"1@0~6ms\"]",
            2 => "crash-mid = [\"0@1ms~3ms:0\"]",
            3 => "crash-mid = [\"0@1ms~3ms:1\"]",
            _ => "crash-mid = [\"0@0:1\"]",
        };
        let toml = format!(
            "algorithm = \"two-phase-commit\"\nprocesses = {n}\nseed = {seed}\nvalues = [{}]\ndelay = \"{}\"\n\
             spread = \"{}ms\"\n[faults]\n{crash}\n{recover}",
            votes(n, seed),
            delay(seed),
            seed % 3,
        );
        let report = report(&toml);
        assert_eq!(status(&report, "agreement"), Status::Holds, "{toml}{:?}", report.properties);
        assert_eq!(status(&report, "validity"), Status::Holds, "{toml}{:?}", report.properties);
        let agreement = report.agreement.expect("an agreement tells what was decided");
        blocked += usize::from(!agreement.blocked.is_empty());
        if back {
            freed += 1;
            assert!(agreement.blocked.is_empty(), "{toml}: {:?} are blocked", agreement.blocked);
        }
    }
    assert!(blocked > 100 && freed > 100, "{blocked} runs blocked");
}
