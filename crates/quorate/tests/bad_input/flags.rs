//! Invalid command lines.

use crate::refusal::{Folder, all_refused, line_of, report};
use crate::support::{Run, command, quorate};

#[test]
fn a_number_of_processes_that_makes_no_world_is_refused() {
    all_refused(&[
        ("sim central -n 0", "at least 1 process"),
        ("sim central -n -3", "-3"),
        ("sim central -n 2.5", "2.5"),
        ("sim central -n many", "many"),
        ("sim central -n 1000000000", "at most 16777216 processes"),
        ("sim central -n 99999999999999999999", "99999999999999999999"),
    ]);
}

#[test]
fn a_quorum_system_that_cannot_be_is_refused() {
    all_refused(&[
        ("quorum", "SYSTEM"),
        ("quorum vcub -n 8", "'vcube'"),
        ("quorum vcube -n 0", "at least 1 process"),
        ("quorum vcube -n -1", "-1"),
        ("quorum plane -n 65537", "at most 65536"),
        ("quorum plane -n 99999999999999999999", "99999999999999999999"),
        ("quorum vcube -n 8 --process 8", "--process: there is no process 8"),
        ("quorum vcube -n 8 --failed 1,8", "--failed: there is no process 8"),
        ("quorum vcube -n 8 --failed 1,1", "processes such as 0,1,4"),
        ("quorum vcube -n 8 --failed one", "processes such as 0,1,4"),
        ("quorum vcube -n 8 --failed 4294967295", "processes such as 0,1,4"),
    ]);
}

#[test]
fn an_agreement_that_cannot_be_is_refused() {
    all_refused(&[
        ("sim sync-consensus -n 4 --faults 4", "--faults: 4 of 4 processes"),
        ("sim sync-consensus -n 4 --faults many", "many"),
        ("sim sync-consensus -n 2 --values 1,2,3", "--values: 3 values for 2 processes"),
        ("sim sync-consensus --values 1,-2", "-2"),
        ("sim sync-consensus --repeat 2", "an agreement is made once"),
        ("sim sync-consensus --requesters 2", "every process proposes a value"),
        ("sim byzantine-generals --requesters 2", "only the commander gives an order"),
        ("sim byzantine-generals --request 1@0", "process 0 is the commander"),
        ("sim sync-consensus --timing asynchronous", "it works in rounds"),
        ("sim sync-consensus --delay exponential:1ms", "it works in rounds"),
        ("sim sync-consensus --delay constant:0", "rounds take time"),
        ("sim sync-consensus --handling 1us", "it works in rounds"),
        ("sim byzantine-generals -n 20 --faults 7", "3322451359 messages"),
        ("sim byzantine-generals -n 100 --faults 33", "at most 20000000"),
        ("sim byzantine-generals -n 60 --faults 3 --memory 1MB", "--memory"),
        ("sim signed-generals -n 4 --traitor 0:saint", "two-faced"),
        ("sim central --values 1", "it has no proposals"),
        ("sim central --faults 1", "tolerated faults cannot be configured"),
    ]);
}

#[test]
fn an_election_that_cannot_be_is_refused() {
    all_refused(&[
        ("sim chang-roberts -n 5 --ids 17,24", "--ids: 2 identifiers for 5 processes"),
        ("sim chang-roberts --ids 17,x", "--ids"),
        ("sim chang-roberts --ids 17,-1", "--ids"),
        ("sim central --ids 1,2,3", "elects no leader"),
        ("sim central --identify 1:2@3ms", "elects no leader"),
        ("sim announce-all --identify 9:1@0", "--identify: there is no process 9"),
        ("sim announce-all --identify 1@0", "2:40@5ms"),
        ("sim announce-all --identify 1:x@0", "an identifier"),
        ("sim bully --identify 1:40@0", "cannot change"),
        ("sim detector-leader --identify 1:40@0", "cannot change"),
        ("sim chang-roberts --rank-delay 1ms", "bully and bully-all can"),
        ("sim chang-roberts --watch ME1", "it has no ME1, it has E1, E2"),
        ("sim bully -n 10000000 --memory 4GiB", "--memory"),
    ]);
}

#[test]
fn a_campaign_that_cannot_be_is_refused() {
    all_refused(&[
        ("campaign", "ALGORITHM"),
        ("campaign lamprt", "'lamport'"),
        ("campaign lamport -n 0", "at least 1 process"),
        ("campaign lamport -n 0..4", "at least 1 process"),
        ("campaign lamport -n 4..2", "a range such as 2..16"),
        ("campaign lamport -n 4..", "a range such as 2..16"),
        ("campaign lamport -n 2..99999999999", "at most 16777216 processes"),
        ("campaign lamport --seeds 0", "at least 1 seed"),
        ("campaign lamport --seed 18446744073709551615 --seeds 2", "--seeds"),
        ("campaign lamport --minutes 0", "a number of minutes"),
        ("campaign lamport --minutes nan", "a number of minutes"),
        ("campaign lamport --minutes 1e300", "a number of minutes"),
        ("campaign lamport --shard 0/4", "such as 3/8"),
        ("campaign lamport --shard 5/4", "such as 3/8"),
        ("campaign lamport --shard 1/2 --minutes 1", "--minutes"),
        ("campaign lamport --resume nowhere/p", "there is no directory nowhere"),
        ("experiment --shard 1/2", "NAME"),
        ("experiment mutex-cost --shard 2/1", "such as 3/8"),
        ("replay s.toml --shrink --expect", "--expect"),
        ("merge", "PARTS"),
        ("merge nowhere", "cannot be read"),
        ("campaign lamport --threads 0", "--threads: expected 1 to"),
        ("campaign lamport --threads 999999", "--threads: expected 1 to"),
        ("campaign lamport --crashes 1", "assumes that no process crashes"),
        ("campaign lamport --quorums tree", "it does not vote"),
        ("campaign maekawa --quorums vcube", "grid-fixed"),
        ("campaign lamport --watch ME9", "ME9"),
        ("campaign central -n 9 --memory 1B", "memory"),
    ]);
}

#[test]
fn more_processes_than_memory_allows_are_refused() {
    all_refused(&[
        ("sim central -n 100000 --memory 1MB --trace t.jsonl", "--memory"),
        ("sim ricart-agrawala -n 2 --memory 0 --save s.toml", "--memory"),
        ("sim central -n 5 --memory lots", "8GiB"),
        ("sim central -n 5 --memory 99999999999GiB", "8GiB"),
    ]);
}

#[test]
fn a_flood_of_messages_is_stopped_at_the_bound_on_memory() {
    all_refused(&[(
        "sim ricart-agrawala -n 500 --requesters all --memory 2MB --trace t.jsonl --save s.toml",
        "messages under way",
    )]);
}

#[test]
fn faults_of_processes_that_do_not_exist_are_refused() {
    let expected = "there is no process 5; the processes are 0 to 4";
    let cases: Vec<(String, &str)> = [
        "--crash 5@1ms",
        "--crash-mid 5@1ms:2",
        "--crash 1@1ms --recover 5@2ms",
        "--omit-send 5@0",
        "--omit-receive 5@0..1ms:0.5",
        "--lose 0-5@0",
        "--duplicate 5-0@0",
        "--reorder 0-5@0",
        "--slow 5@0:1ms",
        "--fast 5@0:2",
        "--clock 5@0:2",
        "--cut 0-5@0",
        "--cut 5>0@0",
        "--partition 0|5@0",
        "--suspect 0-5@0",
        "--traitor 5:liar",
        "--request 5@0",
        "--server 5",
        "--link-delay 0-5=constant:1ms",
        "--detection-pair 5-0=constant:1ms",
    ]
    .into_iter()
    .map(|flags| (format!("sim central -n 5 {flags}"), expected))
    .collect();
    let cases: Vec<(&str, &str)> =
        cases.iter().map(|(line, text)| (line.as_str(), *text)).collect();
    all_refused(&cases);
}

#[test]
fn times_before_the_start_are_refused() {
    all_refused(&[
        ("sim central --crash 1@-1ms", "zero or later"),
        ("sim central --crash 1@1ms --recover 1@-1", "zero or later"),
        ("sim central --request 1@-5", "zero or later"),
        ("sim central --delay constant:-1ms", "zero or later"),
        ("sim central --section=-1ms", "zero or later"),
        ("sim central --until=-1", "zero or later"),
        ("sim central --partition 0|1@-1ms..2ms", "zero or later"),
    ]);
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    all_refused(&[
        ("sim central --requesters all --request 1@0", "--request"),
        ("sim central --spread 1ms --request 1@0", "--spread"),
        (
            "sim central --timing synchronous --delay exponential:1ms",
            "exponential:1ms has no bound",
        ),
        ("sim central --timing unknown-bound --delay exponential:2ms", "exponential:2ms"),
        ("sim central --timing rounds:1ms --link-delay 0-1=constant:2ms", "--link-delay"),
        ("sim central --detector none --suspect 0-1@0", "only the oracle"),
        ("sim central --detector heartbeat --suspect 0-1@0", "only the oracle"),
        ("sim central --detector heartbeat --detection constant:1ms", "only the oracle"),
        ("sim central --detector none --detection-pair 0-1=constant:1ms", "only the oracle"),
        ("sim central --recover 1@5ms", "has not crashed"),
        ("sim central --crash 1@6ms --recover 1@5ms", "has not crashed"),
        ("sim central --crash 2@1ms --recover 1@5ms", "has not crashed"),
        ("sim central --crash 1@1ms --crash 1@2ms", "crashes twice"),
        ("sim central -n 2 --crash ?@0 --crash ?@0 --crash ?@0", "3 crashes of 2 processes"),
        ("sim central --trace-format jsonl", "--trace <FILE>"),
        ("sim central --seed 1 --seed 2", "multiple times"),
    ]);
}

#[test]
fn two_answers_to_one_question_are_refused() {
    // Otherwise one of them would be silently dropped.
    all_refused(&[
        ("sim central --traitor 1:liar --traitor 1:silent", "--traitor"),
        ("sim central --link-delay 0-1=constant:1ms --link-delay 0-1=constant:2ms", "--link-delay"),
        (
            "sim central --detection-pair 0-1=constant:1 --detection-pair 0-1=constant:2",
            "--detection-pair",
        ),
    ]);
}

#[test]
fn laws_with_heavy_tails_and_files_of_delays_are_checked() {
    all_refused(&[
        ("sim central --delay pareto:1ms", "pareto:SCALE,SHAPE"),
        ("sim central --delay pareto:1ms,0", "0.001 to 1000"),
        ("sim central --delay log-normal:1ms,x", "0.001 to 1000"),
        ("sim central --delay choice:", "a time such as"),
        ("sim central --delay file:no-such-file", "no-such-file cannot be read"),
        ("sim central --link-delay 0-1=file:Cargo.toml", "choice:D,D,.."),
        ("sim central --timing synchronous --delay pareto:1ms,2", "pareto:1ms,2 has no bound"),
        ("sim central --timing synchronous --delay log-normal:1ms,2", "has no bound"),
        ("check central --traitor 0:liar", "only agreement, multicast and replication"),
        ("check bracha -n 4 --traitor 0:random", "draws no random numbers"),
    ]);
}

#[test]
fn the_delay_without_a_bound_is_the_one_that_is_named() {
    all_refused(&[(
        "sim central --timing synchronous --delay constant:1ms --link-delay 0-1=exponential:5ms",
        "exponential:5ms",
    )]);
}

#[test]
fn values_that_make_no_sense_are_refused_with_an_example() {
    all_refused(&[
        ("sim central --crash 1", "such as 2@1ms"),
        ("sim central --crash 1@soon", "such as 5ms"),
        ("sim central --crash one@1ms", "such as 2"),
        ("sim central --crash 1@5ms~1ms", "1ms~5ms"),
        ("sim central --crash-mid 1@1ms", "2@1ms:3"),
        ("sim central --omit-send 1@5ms..2ms", "2ms..9ms"),
        ("sim central --omit-send 1@0:1.5", "from 0 to 1"),
        ("sim central --loss 2", "from 0 to 1"),
        ("sim central --loss nan", "from 0 to 1"),
        ("sim central --fast 1@0:0", "from 0.001 to 1000"),
        ("sim central --fast 1@0:inf", "from 0.001 to 1000"),
        ("sim central --cut 1-1@0", "between two processes"),
        ("sim central --partition 0,1|1@0", "0,1|2,3"),
        ("sim central --traitor 1:thief", "silent, liar"),
        ("sim central --delay 1ms", "constant:1ms"),
        ("sim central --delay uniform:3ms..1ms", "LOW"),
        ("sim central --link-delay 0-1", "0-1=constant:5ms"),
        ("sim central --link-delay ?-1=constant:1ms", "must be named"),
        ("sim central --timing sometimes", "synchronous"),
        ("sim central --timing rounds:0", "rounds:1ms"),
        ("sim central --detector crystal-ball", "adaptive-heartbeat, vcube or none"),
        ("sim central --requesters 0", "at least 1"),
        ("sim central --requesters 6", "6 requesters among 5"),
        ("sim central --requesters most", "one, all or a number"),
        ("sim central --repeat 0", "at least once"),
        ("sim central --watch ME9", "ME1, ME2, ME3"),
        ("sim central --watch agreement", "it has no agreement, it has ME1, ME2, ME3"),
        ("sim basic --watch ME1", "it has validity, integrity, agreement"),
        ("sim heartbeat --watch ME1", "it has completeness, accuracy"),
        ("sim central --to 1,2", "it multicasts nothing"),
        ("sim basic --to 1,9", "--to: there is no process 9"),
        ("sim basic --to 1,1", "processes such as 0,1,4"),
        ("sim heartbeat --detector vcube", "needs no other detector"),
        ("sim heartbeat --detection constant:1ms", "it uses no oracle"),
        ("sim vcube-diagnosis --suspect 0-1@0", "it uses no oracle"),
        ("sim central --fifo perhaps", "perhaps"),
        ("sim central --trace t.jsonl --trace-format pdf", "jsonl, shiviz or perfetto"),
        ("sim central --until 1e9", "such as 5ms"),
        ("sim central --section 99999999999999999999s", "such as 5ms"),
        ("sim central --cut 0-1@0 -n 1", "0 to 0"),
    ]);
}

#[test]
fn unknown_names_get_a_suggestion() {
    all_refused(&[
        ("sim centrl", "'central'"),
        ("sim ricart-agrawla", "'ricart-agrawala'"),
        ("sim central --requestrs all", "'--requesters'"),
        ("sim central --crush 1@0", "'--crash'"),
        ("simm central", "'sim'"),
        ("replya a.toml", "'replay'"),
        ("man replya", "`replay`"),
        ("completions tcsh", "'zsh'"),
    ]);
    all_refused(&[
        ("sim zzz", "ricart-agrawala"),
        ("sim", "<ALGORITHM>"),
        ("replay", "<SCENARIO>"),
    ]);
}

#[test]
fn a_suggestion_is_made_only_where_there_is_something_similar() {
    let line = Folder::empty().refusal(&["man", "zzzzz"]).expect("it is refused");
    assert!(!line.contains("did you mean"), "{line}");
}

#[test]
fn hostile_arguments_are_quoted_on_one_line() {
    let commands: &[&[&str]] = &[
        &["sim"],
        &["man"],
        &["replay"],
        &["sim", "central", "--crash"],
        &["sim", "central", "--delay"],
        &["sim", "central", "--watch"],
        &["sim", "central", "--requesters"],
        &["sim", "central", "--memory"],
        &["sim", "central", "--seed"],
    ];
    let wrong = ["two\nlines", "\u{1b}[31mred", "bell\u{7}", "carriage\rreturn"]
        .into_iter()
        .flat_map(|text| commands.iter().map(move |command| [command, &[text][..]].concat()))
        .filter_map(|arguments| Folder::empty().refusal(&arguments).err());
    report(wrong);
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_text_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bytes = OsStr::from_bytes(b"\xff\xfe");
    for arguments in [["sim", "central", "--crash"], ["sim", "central", "--watch"]] {
        let folder = Folder::empty();
        let mut command = command(folder.path());
        command.args(arguments).arg(bytes);
        let line = line_of(&Run::of(command));
        assert!(line.is_ok(), "{line:?}");
    }
}

/// Whatever the numbers, a run ends with a verdict or an error, never with a panic.
#[test]
fn absurdly_large_numbers_never_panic() {
    let folder = Folder::empty();
    let wrong = [
        "--section 18446744073709551615 --requesters all",
        "--think 18446744073709551615 --requesters all --repeat 3",
        "--spread 18446744073709551615 --requesters all",
        "--until 18446744073709551615 --patience 18446744073709551615",
        "--crash 1@18446744073709551615",
        "--delay constant:18446744073709551615 --requesters all",
        "--delay uniform:0..18446744073709551615 --requesters all --repeat 3",
        "--delay exponential:18446744073709551615 --requesters all",
        "--delay list:0,18446744073709551615 --requesters all",
        "--delay exponential:10000000000s --detector heartbeat",
        "--handling 18446744073709551615 --requesters all",
        "--slow 1@0:18446744073709551615 --fast 1@0:1000 --requesters all",
        "--fast 1@0:0.001 --section 18446744073709551615 --requesters all",
        "--clock 1@0:0.001 --detector heartbeat --delay constant:10000000000s",
        "--timing rounds:18446744073709551615 --requesters all",
        "--timing rounds:1 --section 18446744073709551615 --requesters all",
        "--timing eventually:18446744073709551615 --delay constant:10000000000s --requesters all",
        "--request 0@0 --request 0@0 --repeat 4294967295 --until 5ms",
        "--crash 1@1ms --detection constant:18446744073709551615 --requesters all",
        "--reordering 1 --delay constant:18446744073709551615 --requesters all",
        "--seed 18446744073709551615 --crash ?@0~18446744073709551615",
    ]
    .into_iter()
    .flat_map(|flags| ["central", "ricart-agrawala"].map(|name| format!("sim {name} {flags}")))
    .map(|line| quorate(folder.path(), &line))
    .filter(|run| !matches!(run.code, Some(0 | 1)) && line_of(run).is_err())
    .map(|run| run.to_string());
    report(wrong);
}

#[test]
fn a_token_that_goes_round_in_no_time_is_refused() {
    // It would circulate forever without time advancing.
    let refusal = Folder::empty().refusal(&["sim", "token-ring", "--delay", "constant:0"]);
    report(refusal.err().into_iter());
}
