//! Faults of a world: one test for each fault, with no other fault active.

use crate::probe_process::{TestCommand, run};

fn faulty(faults: &str, commands: &[(u32, u64, TestCommand)]) -> Vec<String> {
    run(&format!("[faults]\n{faults}"), commands)
}

#[test]
fn a_crashed_process_neither_hears_nor_speaks() {
    let log = faulty(
        "crash = [\"1@5\"]",
        &[(0, 0, TestCommand::SendTo(1, 7)), (1, 6, TestCommand::SendTo(0, 8))],
    );
    assert_eq!(
        log,
        [
            "5 p1: crash",
            "10 p1: 7 from p0 lost: receiver-down",
            "15 p0: Crashed(ProcessId(1))",
            "15 p2: Crashed(ProcessId(1))"
        ]
    );
}

#[test]
fn a_crash_in_the_middle_of_a_multicast_lets_some_sends_leave() {
    let log = run(
        "detector = \"none\"\n[faults]\ncrash-mid = [\"0@3:1\"]",
        &[
            (0, 0, TestCommand::Broadcast(1)),
            (0, 4, TestCommand::SendTo(1, 2)),
            (0, 5, TestCommand::Broadcast(3)),
        ],
    );
    assert_eq!(
        log,
        [
            "5 p0: crash",
            "10 p1: 1 from p0, the 1",
            "10 p2: 1 from p0, the 1",
            "14 p1: 2 from p0, the 2",
            "15 p1: 3 from p0, the 3",
        ]
    );
}

#[test]
fn a_process_comes_back_with_its_memory_but_without_its_timers() {
    let log = run(
        "detector = \"none\"\n[faults]\ncrash = [\"1@15\"]\nrecover = [\"1@30\"]",
        &[
            (0, 0, TestCommand::SendTo(1, 7)),
            (1, 0, TestCommand::SetTimer(40)),
            (0, 30, TestCommand::SendTo(1, 8)),
        ],
    );
    assert_eq!(
        log,
        [
            "10 p1: 7 from p0, the 1",
            "15 p1: crash",
            "30 p1: back, having heard 1",
            "40 p1: 8 from p0, the 2"
        ]
    );
}

#[test]
fn a_process_comes_back_without_memory_and_starts_anew() {
    let log = run(
        "detector = \"none\"\n[faults]\ncrash = [\"1@15\"]\nrecover = [\"1@30:amnesia\"]",
        &[(0, 0, TestCommand::SendTo(1, 7)), (0, 30, TestCommand::SendTo(1, 8))],
    );
    assert_eq!(
        log,
        [
            "10 p1: 7 from p0, the 1",
            "15 p1: crash",
            "30 p1: back without memory",
            "40 p1: 8 from p0, the 1"
        ]
    );
}

#[test]
fn omissions_lose_what_is_sent_or_received_while_they_last() {
    let log = faulty(
        "omit-send = [\"0@0..5\"]",
        &[(0, 0, TestCommand::SendTo(1, 1)), (0, 5, TestCommand::SendTo(1, 2))],
    );
    assert_eq!(log, ["0 p0: 1 to p1 lost: send-omission", "15 p1: 2 from p0, the 1"]);
    let log = faulty(
        "omit-receive = [\"1@0..12\"]",
        &[(0, 0, TestCommand::SendTo(1, 1)), (0, 5, TestCommand::SendTo(1, 2))],
    );
    assert_eq!(log, ["10 p1: 1 from p0 lost: receive-omission", "15 p1: 2 from p0, the 1"]);
}

#[test]
fn the_next_message_on_a_link_is_lost_doubled_or_overtaken() {
    let two = [(0, 0, TestCommand::SendTo(1, 1)), (0, 1, TestCommand::SendTo(1, 2))];
    assert_eq!(
        faulty("lose = [\"0-1@0\"]", &two),
        ["0 p0: 1 to p1 lost: lost", "11 p1: 2 from p0, the 1"]
    );
    assert_eq!(
        faulty("duplicate = [\"0-1@1\"]", &two),
        ["10 p1: 1 from p0, the 1", "11 p1: 2 from p0, the 2", "11 p1: 2 from p0, the 3"]
    );
    assert_eq!(
        faulty("reorder = [\"0-1@0\"]", &two),
        ["11 p1: 2 from p0, the 1", "30 p1: 1 from p0, the 2"]
    );
}

#[test]
fn rates_strike_about_as_often_as_they_say() {
    let commands: Vec<_> =
        (0..1000).map(|word| (0, u64::from(word), TestCommand::SendTo(1, word))).collect();
    let lost =
        faulty("loss = 0.2", &commands).iter().filter(|line| line.ends_with("lost: lost")).count();
    assert!((150..250).contains(&lost), "{lost} of 1000 lost");
    let delivered = faulty("duplication = 0.2", &commands).len();
    assert!((1150..1250).contains(&delivered), "{delivered} deliveries of 1000 messages");
}

#[test]
fn a_slow_process_takes_its_time_and_a_fast_one_hurries() {
    let log = faulty(
        "slow = [\"1@0..20:50\"]",
        &[(0, 0, TestCommand::SendTo(1, 1)), (0, 60, TestCommand::SendTo(1, 2))],
    );
    assert_eq!(log, ["60 p1: 1 from p0, the 1", "70 p1: 2 from p0, the 2"]);
    let log = faulty("fast = [\"1@0:4\"]", &[(1, 0, TestCommand::SetTimer(100))]);
    assert_eq!(log, ["25 p1: wait over, my clock shows 25"]);
}

#[test]
fn a_wrong_clock_shows_other_times_and_ends_timers_too_soon() {
    let log = faulty("clock = [\"1@100:2\"]", &[(1, 200, TestCommand::SetTimer(100))]);
    // From 100 on the clock runs twice as fast. At 200 it shows 300, and 100 of its units have passed at 250.
    assert_eq!(log, ["250 p1: wait over, my clock shows 400"]);
}

#[test]
fn a_dead_link_loses_what_is_sent_and_what_is_under_way() {
    let commands = [
        (0, 0, TestCommand::SendTo(1, 1)),
        (0, 6, TestCommand::SendTo(1, 2)),
        (1, 6, TestCommand::SendTo(0, 3)),
        (0, 20, TestCommand::SendTo(1, 4)),
    ];
    assert_eq!(
        faulty("cut = [\"0-1@5..20\"]", &commands),
        [
            "6 p0: 2 to p1 lost: cut",
            "6 p1: 3 to p0 lost: cut",
            "10 p1: 1 from p0 lost: cut",
            "30 p1: 4 from p0, the 1"
        ]
    );
    let one_way = faulty("cut = [\"0>1@5..20\"]", &commands);
    assert!(one_way.contains(&"16 p0: 3 from p1, the 1".to_owned()), "{one_way:?}");
}

#[test]
fn a_partition_separates_groups_until_it_heals() {
    let commands = [(0, 6, TestCommand::Broadcast(1)), (0, 30, TestCommand::Broadcast(2))];
    assert_eq!(
        faulty("partition = [\"0,1|2@5..20\"]", &commands),
        [
            "6 p0: 1 to p2 lost: partition",
            "16 p1: 1 from p0, the 1",
            "40 p1: 2 from p0, the 2",
            "40 p2: 2 from p0, the 1"
        ]
    );
}

#[test]
fn a_false_suspicion_comes_and_goes() {
    assert_eq!(
        faulty("suspect = [\"0-2@5..9\"]", &[]),
        ["5 p0: Crashed(ProcessId(2))", "9 p0: Alive(ProcessId(2))"]
    );
}

#[test]
fn traitors_are_silent_lie_equivocate_and_stutter() {
    let say = [(0, 0, TestCommand::Broadcast(1))];
    assert_eq!(
        faulty("traitor = [\"0:silent\"]", &say),
        ["0 p0: 1 to p1 lost: treason", "0 p0: 1 to p2 lost: treason"]
    );
    assert_eq!(
        faulty("traitor = [\"0:liar\"]", &say),
        ["10 p1: 1001 from p0, the 1", "10 p2: 1001 from p0, the 1"]
    );
    assert_eq!(
        faulty("traitor = [\"0:equivocator\"]", &say),
        ["10 p1: 1001 from p0, the 1", "10 p2: 1002 from p0, the 1"]
    );
    assert_eq!(faulty("traitor = [\"0:stutterer\"]", &say).len(), 4);
    assert_ne!(
        faulty("traitor = [\"0:random\"]", &say),
        ["10 p1: 1 from p0, the 1", "10 p2: 1 from p0, the 1"]
    );
}

#[test]
fn the_oracle_tells_each_observer_in_its_own_time() {
    let toml = "detection = \"constant:3\"\ndetection-pair = [\"2-1=constant:20\"]\n[faults]\ncrash = [\"1@5\"]";
    assert_eq!(
        run(toml, &[]),
        ["5 p1: crash", "8 p0: Crashed(ProcessId(1))", "25 p2: Crashed(ProcessId(1))"]
    );
}

#[test]
fn the_oracle_takes_back_what_a_recovery_made_untrue() {
    let toml = "detection = \"constant:3\"\ndetection-pair = [\"2-1=constant:20\"]\n[faults]\ncrash = [\"1@5\"]\nrecover = [\"1@10\"]";
    assert_eq!(
        run(toml, &[]),
        [
            "5 p1: crash",
            "8 p0: Crashed(ProcessId(1))",
            "10 p1: back, having heard 0",
            "13 p0: Alive(ProcessId(1))"
        ],
        "p2 never heard of the crash and needs not hear of the recovery"
    );
}

#[test]
fn what_is_left_to_the_seed_is_drawn_from_it() {
    let crash = |seed: u32| {
        run(&format!("processes = 8\nseed = {seed}\n[faults]\ncrash = [\"?@0~100\"]"), &[])[0]
            .clone()
    };
    assert_eq!(crash(1), crash(1));
    let different: std::collections::BTreeSet<String> = (0..20).map(crash).collect();
    assert!(different.len() > 10, "{different:?}");
}

#[test]
fn drawn_victims_are_all_different() {
    let log = run(
        "processes = 4\ndetector = \"none\"\n[faults]\ncrash = [\"?@0~9\", \"?@0~9\", \"2@3\", \"?@0~9\"]",
        &[],
    );
    let victims: std::collections::BTreeSet<&str> =
        log.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(victims.len(), 4, "{log:?}");
}
