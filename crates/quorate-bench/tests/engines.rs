//! The simulators and checkers of others, built and run. That downloads and compiles for minutes, so it is only done when it
//! is asked for: `cargo xtask verify engines`

use std::time::Duration;

use quorate_bench::engines::{Engine, race};

#[tokio::test]
#[ignore = "downloads and compiles for minutes: cargo xtask verify engines"]
async fn everybody_does_the_same_work() {
    let race = race(&Engine::ALL, Duration::from_millis(200), |_| {}).await;
    assert!(race.absent.is_empty(), "{:?}", race.absent);
    // Three pieces of work for two simulators, and one in two ways for the checker; who did other work would be absent.
    assert_eq!(race.laps.len(), 8, "{}", race.text());
    assert!(race.laps.iter().all(|lap| lap.ours > 0.0 && lap.theirs > 0.0), "{}", race.text());
}
