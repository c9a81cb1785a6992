//! Builds and runs the simulators and checkers of others. That downloads and compiles for minutes, so it runs only on
//! request: `cargo xtask verify engines`

use std::time::Duration;

use quorate_bench::engines::{Engine, compare};

#[tokio::test]
#[ignore = "downloads and compiles for minutes: cargo xtask verify engines"]
async fn everybody_does_the_same_work() {
    let comparison = compare(&Engine::ALL, Duration::from_millis(200), |_| {}).await;
    assert!(comparison.absent.is_empty(), "{:?}", comparison.absent);
    // Three workloads for each of two simulators, and one workload in two modes for the checker. An engine that did other
    // work would be absent.
    assert_eq!(comparison.results.len(), 8, "{}", comparison.text());
    assert!(
        comparison.results.iter().all(|result| result.ours > 0.0 && result.theirs > 0.0),
        "{}",
        comparison.text()
    );
}
