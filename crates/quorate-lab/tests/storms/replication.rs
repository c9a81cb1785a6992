//! Replicated logs in a storm of random faults with fixed seeds: crashes, recoveries, partitions and losses that bring leaders
//! down, and processes that lie where the algorithm tolerates it.

use quorate_lab::campaign::CampaignRequest;

/// Checks that no property is violated in these runs, and that faults happen.
fn holds(algorithm: &str, runs: u64) {
    let request = CampaignRequest { processes: [2, 7], ..CampaignRequest::new(algorithm, runs) };
    let report = request.run(2).expect("it runs");
    assert_eq!(report.violations, [], "{algorithm}");
    assert_eq!((report.hangs, report.outside_assumptions), (0, 0), "{algorithm}");
    assert!(report.crashes + report.traitors > runs / 4, "{algorithm}: {} crashes", report.crashes);
}

#[test]
fn raft_survives_storms() {
    holds("raft", 200);
}

#[test]
fn multi_paxos_survives_storms() {
    holds("multi-paxos", 200);
}

#[test]
fn pbft_survives_liars() {
    holds("pbft", 200);
}

#[test]
fn figure_8_is_found_by_chance() {
    // About two of a thousand runs lose a committed entry. This is one of them.
    let name = "raft-commits-old-terms";
    let request = CampaignRequest { seed: 495, ..CampaignRequest::new(name, 10) };
    let report = request.run(2).expect("it runs");
    let broken: Vec<&str> = report.violations.iter().map(|it| it.property.as_str()).collect();
    assert!(broken.contains(&"leader-completeness"), "{broken:?}");
    assert_eq!(report.outside_assumptions, 0);
}
