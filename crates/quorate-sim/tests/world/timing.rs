//! Durations in a world: delay distributions, timing models and handling time.

use crate::probe_process::{TestCommand, log, run};

#[test]
fn a_message_takes_the_delay_and_one_to_oneself_no_time() {
    let log = run("", &[(0, 5, TestCommand::SendTo(1, 7)), (0, 5, TestCommand::SendTo(0, 8))]);
    assert_eq!(log, ["5 p0: 8 from p0, the 1", "15 p1: 7 from p0, the 1"]);
}

#[test]
fn a_link_may_have_a_law_of_its_own() {
    let log = run("link-delay = [\"0-2=constant:3\"]", &[(0, 0, TestCommand::Broadcast(1))]);
    assert_eq!(log, ["3 p2: 1 from p0, the 1", "10 p1: 1 from p0, the 1"]);
}

#[test]
fn listed_delays_are_taken_in_the_order_of_sending() {
    let log = run(
        "delay = \"list:9,4\"\nfifo = false",
        &[(0, 0, TestCommand::Broadcast(1)), (0, 0, TestCommand::SendTo(1, 2))],
    );
    assert_eq!(log, ["4 p2: 1 from p0, the 1", "4 p1: 2 from p0, the 1", "9 p1: 1 from p0, the 2"]);
}

#[test]
fn a_message_arrives_when_it_is_told_to_and_no_earlier_than_it_is_sent() {
    let commands = [(0, 0, TestCommand::Broadcast(1)), (1, 20, TestCommand::SendTo(2, 7))];
    let log = run("arrival = [\"2@3\", \"3@12\"]", &commands);
    assert_eq!(
        log,
        ["3 p2: 1 from p0, the 1", "10 p1: 1 from p0, the 1", "20 p2: 7 from p1, the 2"]
    );
    let late = run("arrival = [\"1@500\"]", &commands);
    assert_eq!(
        late,
        ["10 p2: 1 from p0, the 1", "30 p2: 7 from p1, the 2", "500 p1: 1 from p0, the 1"]
    );
}

#[test]
fn only_a_message_that_arrives_after_the_bound_is_late() {
    let lates = |toml: &str| -> Vec<String> {
        let commands = [
            (0, 0, TestCommand::SendTo(0, 1)),
            (0, 0, TestCommand::SendTo(1, 2)),
            (0, 0, TestCommand::SendTo(1, 3)),
        ];
        log(&format!("timing = \"synchronous\"\n{toml}"), &commands).late
    };
    assert_eq!(lates("arrival = [\"2@11\"]"), ["11 p1: from p0, after 11"]);
    assert_eq!(lates("arrival = [\"2@10\"]"), [""; 0]);
    // To itself, a message takes no time. The second message of the link is behind the first one.
    assert_eq!(lates("arrival = [\"1@500\"]"), [""; 0]);
    assert_eq!(
        lates("arrival = [\"2@30\", \"3@5\"]"),
        ["30 p1: from p0, after 30", "30 p1: from p0, after 30"]
    );
    // A lost message is neither late nor in the way of the next one.
    let lossy = "arrival = [\"2@500\"]\n[faults]\ncut = [\"0>1@0..5\"]";
    assert_eq!(lates(lossy), [""; 0]);
}

#[test]
fn a_lost_message_with_a_chosen_arrival_does_not_delay_the_next_one() {
    let send = |(number, at)| (0, at, TestCommand::SendTo(1, number));
    let commands = [(1, 0), (2, 20), (3, 26)].map(send);
    let log = run("arrival = [\"2@500\"]\n[faults]\ncut = [\"0>1@20..25\"]", &commands);
    assert_eq!(
        log,
        ["10 p1: 1 from p0, the 1", "20 p0: 2 to p1 lost: cut", "36 p1: 3 from p0, the 2"]
    );
}

/// The delay of a message with a chosen arrival is drawn all the same.
#[test]
fn a_chosen_arrival_changes_no_other_delay() {
    let send = |word: u32| (word % 3, u64::from(word), TestCommand::SendTo((word + 1) % 3, word));
    let commands: Vec<_> = (0..30).map(send).collect();
    let toml = "delay = \"uniform:1..50\"\nfifo = false\n";
    let others = |log: Vec<String>| -> Vec<String> {
        log.into_iter().filter(|line| !line.contains(": 9 from")).collect()
    };
    let usual = run(toml, &commands);
    let chosen = run(&format!("{toml}arrival = [\"10@200\"]"), &commands);
    assert!(chosen.last().is_some_and(|line| line.starts_with("200 p1: 9 from p0")), "{chosen:?}");
    // The numbers of the receptions of p1 shift, so only the times and words are compared.
    let times = |log: Vec<String>| -> Vec<String> {
        others(log)
            .iter()
            .map(|line| line.split(',').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(times(chosen), times(usual));
}

#[test]
fn a_chosen_arrival_keeps_the_order_of_a_fifo_link() {
    let commands: Vec<_> = (0..3).map(|word| (0, 0, TestCommand::SendTo(1, word))).collect();
    let log = run("arrival = [\"1@30\", \"3@2\"]", &commands);
    assert_eq!(
        log,
        ["30 p1: 0 from p0, the 1", "30 p1: 1 from p0, the 2", "30 p1: 2 from p0, the 3"]
    );
    let loose = run("fifo = false\narrival = [\"1@30\", \"3@2\"]", &commands);
    assert_eq!(
        loose,
        ["2 p1: 2 from p0, the 1", "10 p1: 1 from p0, the 2", "30 p1: 0 from p0, the 3"]
    );
}

fn words_heard_by_p1(toml: &str) -> Vec<String> {
    let commands: Vec<_> =
        (0..30).map(|word| (0, u64::from(word), TestCommand::SendTo(1, word))).collect();
    let log = run(toml, &commands);
    log.iter().map(|line| line.split([':', ' ']).nth(3).unwrap_or_default().to_owned()).collect()
}

#[test]
fn fifo_links_keep_the_order_and_others_do_not() {
    let in_order: Vec<String> = (0..30).map(|word: u32| word.to_string()).collect();
    assert_eq!(words_heard_by_p1("delay = \"uniform:1..50\""), in_order);
    let mut loose = words_heard_by_p1("delay = \"uniform:1..50\"\nfifo = false");
    assert_ne!(loose, in_order);
    loose.sort_by_key(|word| word.parse::<u32>().unwrap_or(99));
    assert_eq!(loose, in_order, "all arrive all the same");
}

#[test]
fn exponential_delays_have_no_bound() {
    let commands: Vec<_> = (0..200).map(|word| (0, 0, TestCommand::SendTo(1, word))).collect();
    let log = run("delay = \"exponential:100\"\nfifo = false", &commands);
    let last: u64 = log.last().and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0);
    assert!(last > 300, "the latest of 200 took {last}");
}

#[test]
fn in_rounds_messages_arrive_at_the_end_of_the_round_and_before_it_is_over() {
    let commands = [
        (0, 3, TestCommand::Broadcast(1)),
        (1, 3, TestCommand::AwaitRound),
        (0, 10, TestCommand::Broadcast(2)),
        (1, 12, TestCommand::AwaitRound),
    ];
    let log = run("processes = 2\ntiming = \"rounds:10\"", &commands);
    assert_eq!(
        log,
        [
            "10 p1: 1 from p0, the 1",
            "10 p1: round 1 over",
            "20 p1: 2 from p0, the 2",
            "20 p1: round 2 over"
        ]
    );
}

#[test]
fn who_awaits_a_round_when_one_is_over_is_told_of_the_next() {
    let log = run("processes = 2\ntiming = \"rounds:10\"", &[(1, 0, TestCommand::AwaitRounds(3))]);
    let expected = [
        "10 p1: round 1 over",
        "20 p0: 1 from p1, the 1",
        "20 p1: round 2 over",
        "30 p0: 2 from p1, the 2",
        "30 p1: round 3 over",
    ];
    assert_eq!(log, expected);
}

#[test]
fn before_stabilisation_messages_are_late_but_never_later_than_a_delay_after_it() {
    let commands: Vec<_> =
        (0..100).map(|word| (0, u64::from(word) * 10, TestCommand::SendTo(1, word))).collect();
    let log = run("timing = \"eventually:500\"\nfifo = false", &commands);
    let mut late = 0;
    for line in &log {
        let mut parts = line.split([' ', ':']);
        let time: u64 = parts.next().and_then(|time| time.parse().ok()).unwrap_or(0);
        let sent: u64 = parts.nth(2).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0) * 10;
        let delay = time - sent;
        late += u32::from(delay > 10);
        assert!(if sent >= 500 { delay == 10 } else { delay <= 100 && time <= 510 }, "{line}");
    }
    assert!(late > 10, "only {late} of 50 were late");
}

#[test]
fn handling_takes_time_and_messages_queue_for_it() {
    let log = run(
        "handling = 4",
        &[
            (0, 0, TestCommand::SendTo(2, 1)),
            (1, 1, TestCommand::SendTo(2, 2)),
            (0, 30, TestCommand::SendTo(2, 3)),
        ],
    );
    assert_eq!(
        log,
        ["14 p2: 1 from p0, the 1", "18 p2: 2 from p1, the 2", "44 p2: 3 from p0, the 3"]
    );
}

#[test]
fn a_timer_set_again_runs_anew_and_nothing_happens_after_until() {
    let log = run("", &[(0, 0, TestCommand::SetTimer(20)), (0, 15, TestCommand::SetTimer(20))]);
    assert_eq!(log, ["35 p0: wait over, my clock shows 35"]);
    assert_eq!(run("until = 34", &[(0, 15, TestCommand::SetTimer(20))]), Vec::<String>::new());
}
