//! The simulators and checkers of others, built and run. That downloads and compiles for minutes, so it is only done when it
//! is asked for: `cargo xtask verify engines`

use std::time::Duration;

use quorate_bench::engines::{Engine, compare};

#[tokio::test]
#[ignore = "downloads and compiles for minutes: cargo xtask verify engines"]
async fn everybody_does_the_same_work() {
    let comparison = compare(&Engine::ALL, Duration::from_millis(200), |_| {}).await;
    assert!(comparison.absent.is_empty(), "{:?}", comparison.absent);
    // Three pieces of work for two simulators, and one in two ways for the checker; who did other work would be absent.
    assert_eq!(comparison.results.len(), 8, "{}", comparison.text());
    assert!(
        comparison.results.iter().all(|result| result.ours > 0.0 && result.theirs > 0.0),
        "{}",
        comparison.text()
    );
}
