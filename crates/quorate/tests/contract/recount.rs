//! Independent recount: reads the trace line by line, without knowledge of the simulator, and must arrive at the
//! numbers of the report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::quorate;
use crate::{number, numbers, status};

/// Numbers counted from a trace.
#[derive(Debug, Default)]
struct Recount {
    layers: BTreeMap<String, Messages>,
    lost: BTreeMap<String, u64>,
    duplicated: u64,
    deliveries: u64,
    faults: u64,
    events: u64,
    time: u64,
    requests: u64,
    order: Vec<u64>,
    waiting: BTreeSet<u64>,
    down: BTreeSet<u64>,
    inside: BTreeSet<u64>,
    crashed_inside: BTreeSet<u64>,
    two_inside: bool,
    /// Properties that the trace reports as violated.
    broken: BTreeSet<String>,
    /// Event in which each message was sent.
    sent_in: BTreeMap<u64, u64>,
    happened: HappenedBefore,
}

/// Number of requests of each process that one process knows of.
type Knowledge = BTreeMap<u64, u64>;

/// Requests that each process knew of when it made its own request, learned from messages only.
#[derive(Debug, Default)]
struct HappenedBefore {
    known: BTreeMap<u64, Knowledge>,
    carried: BTreeMap<u64, Knowledge>,
    asked: BTreeMap<u64, Knowledge>,
    granted: BTreeMap<u64, u64>,
    out_of_order: bool,
}

impl HappenedBefore {
    fn ask(&mut self, process: u64) {
        let known = self.known.entry(process).or_default();
        *known.entry(process).or_default() += 1;
        self.asked.insert(process, known.clone());
    }

    fn send(&mut self, process: u64, message: u64) {
        self.carried.insert(message, self.known.entry(process).or_default().clone());
    }

    fn receive(&mut self, process: u64, message: u64) {
        let known = self.known.entry(process).or_default();
        for (&other, &requests) in &self.carried[&message] {
            let mine = known.entry(other).or_default();
            *mine = requests.max(*mine);
        }
    }

    fn enter(&mut self, process: u64, down: &BTreeSet<u64>) {
        let Some(asked) = self.asked.remove(&process) else { return };
        let passed = |(other, requests): (&u64, &u64)| {
            let granted = self.granted.get(other).copied().unwrap_or(0);
            *other != process && *requests > granted && !down.contains(other)
        };
        self.out_of_order |= asked.iter().any(passed);
        *self.granted.entry(process).or_default() += 1;
    }

    /// A request that its process has forgotten need not be granted.
    fn forget(&mut self, process: u64) {
        if self.asked.remove(&process).is_some() {
            *self.granted.entry(process).or_default() += 1;
        }
    }
}

/// Messages of one layer.
#[derive(Debug, Default, PartialEq)]
struct Messages {
    total: u64,
    to_self: u64,
    by_kind: BTreeMap<String, u64>,
    by_sender: BTreeMap<u64, u64>,
    by_receiver: BTreeMap<u64, u64>,
}

impl Recount {
    fn of(trace: &str) -> Self {
        let records: Vec<Value> = trace
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect();
        // The record of a command precedes the record of its refusal.
        let refused: BTreeSet<u64> = records
            .iter()
            .filter(|record| record["type"] == "refuse")
            .map(|record| number(&record["event"]))
            .collect();
        let mut recount = Self::default();
        for record in &records {
            recount.read(record, &refused);
        }
        recount
    }

    fn read(&mut self, record: &Value, refused: &BTreeSet<u64>) {
        let (event, time) = (number(&record["event"]), number(&record["time"]));
        let process = number(&record["process"]);
        assert!(event >= self.events && time >= self.time, "the past comes after the future");
        (self.events, self.time) = (event, time);
        if let Some(cause) = record["cause"].as_u64() {
            assert!(cause <= event, "an effect before its cause: {record}");
        }
        match record["type"].as_str().expect("a record has a type") {
            "send" => self.leave(record, event),
            "duplicate" => {
                assert!(self.sent_in.contains_key(&number(&record["message"])), "{record}");
                self.duplicated += 1;
            }
            "deliver" => self.arrive(record),
            "lose" => {
                if !self.sent_in.contains_key(&number(&record["message"])) {
                    self.leave(record, event);
                }
                let why = record["why"].as_str().expect("a loss has a reason");
                *self.lost.entry(why.to_owned()).or_default() += 1;
            }
            "command" if !refused.contains(&event) => match record["command"].as_str() {
                Some("Acquire") => {
                    self.requests += 1;
                    self.waiting.insert(process);
                    self.happened.ask(process);
                }
                Some("Release") => drop(self.inside.remove(&process)),
                other => panic!("an unknown command {other:?}"),
            },
            "output" if record["output"] == "Entered" => {
                self.waiting.remove(&process);
                self.order.push(process);
                self.happened.enter(process, &self.down);
                self.enter(process);
            }
            "crash" => {
                self.faults += 1;
                self.down.insert(process);
                if self.inside.remove(&process) {
                    self.crashed_inside.insert(process);
                }
            }
            "recover" => {
                self.faults += 1;
                self.down.remove(&process);
                let was_inside = self.crashed_inside.remove(&process);
                match record["memory"].as_bool() {
                    Some(true) if was_inside => self.enter(process),
                    Some(true) => {}
                    _ => {
                        self.waiting.remove(&process);
                        self.happened.forget(process);
                    }
                }
            }
            "fault" | "partition" | "heal" => self.faults += 1,
            "violation" => {
                let moment = number(&record["moment"]);
                assert!(moment <= time, "broken before the end: {record}");
                self.broken.insert(record["property"].as_str().expect("a name").to_owned());
            }
            "command" | "start" | "timer" | "belief" | "round-end" | "refuse" | "ignore" => {}
            other => panic!("an unknown record {other}"),
        }
    }

    fn leave(&mut self, record: &Value, event: u64) {
        let (from, to) = (number(&record["from"]), number(&record["to"]));
        assert_eq!(number(&record["process"]), from, "sent by somebody else: {record}");
        self.sent_in.insert(number(&record["message"]), event);
        self.happened.send(from, number(&record["message"]));
        let messages = self.layer(record);
        messages.total += 1;
        messages.to_self += u64::from(from == to);
        let kind = record["kind"].as_str().expect("a message has a kind");
        *messages.by_kind.entry(kind.to_owned()).or_default() += 1;
        *messages.by_sender.entry(from).or_default() += 1;
    }

    fn arrive(&mut self, record: &Value) {
        let (process, to) = (number(&record["process"]), number(&record["to"]));
        assert!(process == to && !self.down.contains(&to), "delivered to the wrong one: {record}");
        let sent_in = self.sent_in.get(&number(&record["message"]));
        assert_eq!(sent_in, record["cause"].as_u64().as_ref(), "caused by its sending: {record}");
        self.deliveries += 1;
        self.happened.receive(to, number(&record["message"]));
        *self.layer(record).by_receiver.entry(to).or_default() += 1;
    }

    fn layer(&mut self, record: &Value) -> &mut Messages {
        let layer = record["layer"].as_str().expect("a message has a layer");
        self.layers.entry(layer.to_owned()).or_default()
    }

    fn enter(&mut self, process: u64) {
        self.inside.insert(process);
        self.two_inside |= self.inside.len() > 1;
    }

    /// All numbers in which the report differs.
    fn differences(&self, report: &Value) -> Vec<String> {
        [self.different_counts(report), self.different_properties(report)].concat()
    }

    fn different_counts(&self, report: &Value) -> Vec<String> {
        // A single process sends nothing, so its layer does not occur in the trace.
        let nothing = Messages::default();
        let own = self.layers.get("mutex").unwrap_or(&nothing);
        let mut all = different_messages(own, &report["messages"]);
        for (layer, messages) in self.layers.iter().filter(|(layer, _)| *layer != "mutex") {
            all.extend(different_messages(messages, &report["layers"][layer]));
        }
        let faults = report["faults"].as_array().expect("faults are a list").len() as u64;
        differ(&mut all, "losses", &counts(&report["lost"]), &self.lost);
        differ(&mut all, "duplicates", &number(&report["duplicated"]), &self.duplicated);
        differ(&mut all, "deliveries", &number(&report["deliveries"]), &self.deliveries);
        differ(&mut all, "requests", &number(&report["requests"]), &self.requests);
        differ(&mut all, "entries", &number(&report["entries"]), &(self.order.len() as u64));
        differ(&mut all, "order of entries", &numbers(&report["order"]), &self.order);
        differ(&mut all, "events", &number(&report["events"]), &self.events);
        differ(&mut all, "faults", &faults, &self.faults);
        let ended = number(&report["virtual_time"]);
        differ(&mut all, "end after the last event", &(ended >= self.time), &true);
        all
    }

    fn different_properties(&self, report: &Value) -> Vec<String> {
        let mut all = Vec::new();
        let waiting: Vec<u64> = self.waiting.difference(&self.down).copied().collect();
        differ(&mut all, "waiting", &numbers(&report["waiting"]), &waiting);
        let properties = report["properties"].as_array().into_iter().flatten();
        let violated = properties.filter(|property| property["status"] == "violated");
        let broken: BTreeSet<String> =
            violated.filter_map(|property| property["id"].as_str().map(str::to_owned)).collect();
        differ(&mut all, "broken", &broken, &self.broken);
        let word = |broken: bool| if broken { "violated" } else { "holds" };
        differ(&mut all, "ME1", &status(report, "ME1"), &word(self.two_inside));
        if report["ending"] == "quiescent" {
            differ(&mut all, "ME2", &status(report, "ME2"), &word(!waiting.is_empty()));
        }
        if status(report, "ME3") != "not-checked" {
            differ(&mut all, "ME3", &status(report, "ME3"), &word(self.happened.out_of_order));
        }
        all
    }
}

fn different_messages(mine: &Messages, theirs: &Value) -> Vec<String> {
    let mut all = Vec::new();
    differ(&mut all, "messages", &number(&theirs["total"]), &mine.total);
    differ(&mut all, "messages to oneself", &number(&theirs["self"]), &mine.to_self);
    // A kind without messages is in the report, but not in the trace.
    let by_kind: BTreeMap<String, u64> =
        counts(&theirs["by_kind"]).into_iter().filter(|(_, count)| *count > 0).collect();
    differ(&mut all, "messages by kind", &by_kind, &mine.by_kind);
    let listed = |counts: &BTreeMap<u64, u64>, n: usize| -> Vec<u64> {
        (0..n as u64).map(|process| counts.get(&process).copied().unwrap_or(0)).collect()
    };
    let (senders, receivers) = (numbers(&theirs["by_process"]), numbers(&theirs["by_receiver"]));
    differ(&mut all, "sends", &senders, &listed(&mine.by_sender, senders.len()));
    differ(&mut all, "receipts", &receivers, &listed(&mine.by_receiver, receivers.len()));
    all
}

fn differ<T: PartialEq + Debug>(all: &mut Vec<String>, what: &str, reported: &T, counted: &T) {
    if reported != counted {
        all.push(format!("{what}: reported {reported:?}, counted {counted:?}"));
    }
}

fn counts(value: &Value) -> BTreeMap<String, u64> {
    let object = value.as_object().unwrap_or_else(|| panic!("{value} is not an object"));
    object.iter().map(|(name, count)| (name.clone(), number(count))).collect()
}

/// Traces a run and recounts it. Fails with the output of the binary if the run has no verdict.
fn traced(flags: &str) -> Result<(Recount, Value), String> {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let run = quorate(folder.path(), &format!("sim {flags} --trace trace.jsonl --json"));
    let report = serde_json::from_str(&run.stdout).map_err(|_| run.to_string())?;
    let trace = fs::read_to_string(folder.path().join("trace.jsonl")).expect("there is a trace");
    Ok((Recount::of(&trace), report))
}

/// Traces a run, recounts it, and describes the differences.
fn disagreement(flags: &str) -> Option<String> {
    let differences = match traced(flags) {
        Ok((recount, report)) => recount.differences(&report),
        Err(said) => vec![said],
    };
    (!differences.is_empty()).then(|| format!("sim {flags}\n  {}", differences.join("\n  ")))
}

/// Traces a run, recounts it, and requires equal numbers.
#[track_caller]
fn agree(flags: &str) -> (Recount, Value) {
    if let Some(problem) = disagreement(flags) {
        panic!("{problem}");
    }
    traced(flags).expect("a run repeats itself")
}

/// Runs both algorithms with several seeds. Every process requests twice, at slightly different times.
#[track_caller]
fn agree_for_all(flags: &str) -> Vec<Recount> {
    let runs = ["central", "ricart-agrawala"].into_iter().flat_map(|algorithm| {
        (0..6).map(move |seed| {
            format!(
                "{algorithm} -n 6 --requesters all --repeat 2 --think 1ms --spread 3ms \
                 --delay uniform:500us..2ms --seed {seed} {flags}"
            )
        })
    });
    runs.map(|flags| agree(&flags).0).collect()
}

#[test]
fn a_run_without_faults_is_counted_the_same() {
    let recounts = agree_for_all("");
    assert!(recounts.iter().all(|recount| recount.order.len() == 12), "everyone enters twice");
    agree("ricart-agrawala -n 5 --requesters all --seed 7");
    agree("central -n 1");
    agree("ricart-agrawala -n 1 --repeat 5");
    agree("central -n 70 --requesters 40 --server 69");
    agree_for_all("--fifo no --handling 300us");
    agree_for_all("--timing rounds:1ms");
}

#[test]
fn a_run_that_was_stopped_is_counted_the_same() {
    agree_for_all("--until 4ms");
    agree_for_all("--until 4ms --crash 0@1ms");
}

#[test]
fn lost_messages_are_counted_the_same() {
    let recounts = agree_for_all("--loss 0.1");
    assert!(recounts.iter().any(|recount| !recount.lost.is_empty()), "something is lost");
    agree_for_all("--lose 0-1@1ms --lose ?-?@0~4ms --omit-send ?@1ms..3ms:0.5");
    agree_for_all("--omit-receive ?@1ms..3ms:0.5 --cut 0-1@1ms..4ms --cut 2>3@2ms");
}

#[test]
fn duplicated_and_reordered_messages_are_counted_the_same() {
    let recounts = agree_for_all("--duplication 0.3");
    assert!(recounts.iter().any(|recount| recount.two_inside), "some twin does harm");
    agree_for_all("--reordering 0.3 --duplicate 0-1@1ms");
}

#[test]
fn a_run_with_crashes_is_counted_the_same() {
    agree_for_all("--crash ?@0~9ms");
    agree_for_all("--crash ?@0~9ms --crash ?@0~9ms --detection uniform:1ms..5ms");
    agree_for_all("--crash-mid ?@0~5ms:2");
    agree_for_all("--crash 0@3ms --detector none");
}

#[test]
fn a_run_with_recoveries_is_counted_the_same() {
    agree_for_all("--crash 1@2ms --recover 1@5ms");
    agree_for_all("--crash 1@2ms --recover 1@5ms:amnesia");
    agree_for_all("--crash 0@2ms --recover 0@4ms --crash 0@6ms --recover 0@9ms:amnesia");
    agree_for_all("--crash ?@0~9ms --recover ?@9ms~12ms");
}

#[test]
fn a_partition_is_counted_the_same() {
    let recounts = agree_for_all("--partition 0,1,2|3,4,5@2ms..6ms");
    assert!(recounts.iter().any(|recount| !recount.waiting.is_empty()), "somebody is left waiting");
    agree_for_all("--partition 0|1,2@0");
}

#[test]
fn a_false_suspicion_is_counted_the_same() {
    let recounts = agree_for_all("--section 4ms --suspect 0-1@2ms..20ms --suspect 0-2@8ms");
    assert!(recounts.iter().any(|recount| recount.two_inside), "two are inside");
}

#[test]
fn odd_processes_are_counted_the_same() {
    agree_for_all("--slow 1@1ms..5ms:2ms --fast 2@0:4 --clock 3@1ms:2");
}

#[test]
fn the_messages_of_traitors_are_counted_the_same() {
    // A property does not apply to what a traitor does, so only the counts have to agree.
    for strategy in ["silent", "liar", "equivocator", "two-faced", "stutterer", "random"] {
        for algorithm in ["central", "ricart-agrawala"] {
            let flags = format!("{algorithm} -n 5 --requesters all --traitor 1:{strategy}");
            let (recount, report) = traced(&flags).expect("it comes to a verdict");
            assert_eq!(recount.different_counts(&report), Vec::<String>::new(), "{flags}");
        }
    }
}

#[test]
fn heartbeats_are_counted_in_their_own_layer() {
    for flags in ["", "--crash 1@2ms", "--crash 1@2ms --recover 1@30ms", "--loss 0.02"] {
        let line =
            format!("central -n 5 --requesters all --detector heartbeat --until 60ms {flags}");
        let (recount, report) = agree(&line);
        assert!(recount.layers["detector"].total > 0, "{report}");
    }
}

#[test]
fn heartbeats_take_time_though_messages_take_none() {
    let flags = "central -n 3 --requesters all --delay constant:0 --detector heartbeat";
    let (recount, report) = agree(flags);
    assert_eq!(recount.order.len(), 3, "everyone enters: {report}");
}

#[test]
fn an_entry_out_of_order_is_seen_the_same() {
    let slow = "--request 1@3ms --request 2@6ms --link-delay 1-0=constant:10ms";
    let (recount, report) = agree(&format!("central -n 3 {slow} --detector heartbeat --watch ME3"));
    assert!(recount.happened.out_of_order, "{report}");
    agree_for_all("--watch ME3 --loss 0.1 --suspect 0-1@2ms..8ms");
    agree_for_all("--watch ME3 --fifo no --duplication 0.3");
}

#[test]
fn the_order_of_requests_survives_a_recovery() {
    for (crash, back) in [(500, 700), (500, 1_500), (1_200, 1_400), (1_500, 2_500)] {
        let flags = format!("--crash 1@{crash}us --recover 1@{back}us");
        agree(&format!("ricart-agrawala -n 3 --request 1@0 --request 2@1ms {flags}"));
        agree(&format!("ricart-agrawala -n 3 --requesters all {flags}"));
        agree(&format!("central -n 3 --request 1@0 --request 2@1ms --watch ME3 {flags}"));
    }
}

/// One fault of each kind, and some combinations.
const FAULTS: [&str; 24] = [
    "--crash 1@2.5ms",
    "--crash 0@1ms --recover 0@4ms",
    "--crash 1@2.5ms --recover 1@5ms",
    "--crash 1@2.5ms --recover 1@5ms:amnesia",
    "--crash-mid 0@1ms:1",
    "--crash-mid 1@0:0",
    "--omit-send 2@0..4ms:0.5",
    "--omit-receive 2@0..4ms:0.5",
    "--loss 0.1",
    "--lose 0-1@1ms",
    "--duplication 0.3",
    "--duplicate 0-1@0",
    "--reordering 0.3",
    "--reorder 1-0@0",
    "--slow 0@1ms..5ms:2ms",
    "--fast 1@0:4",
    "--clock 1@0:2",
    "--cut 0-1@1ms..4ms",
    "--partition 0,1|2,3@1ms..4ms",
    "--suspect 0-1@1ms..5ms",
    "--spread 20ms",
    "--think 30ms",
    "--section 7ms",
    "--until 6ms",
];

#[test]
fn any_two_faults_together_are_counted_the_same() {
    let name = |flags: &str| flags.split(' ').next().map(str::to_owned);
    let pairs = FAULTS.iter().enumerate().flat_map(|(place, one)| {
        let others = FAULTS[place + 1..].iter();
        others
            .filter(|other| one.contains('@') || name(one) != name(other))
            .map(move |other| (one, other))
    });
    let wrong: Vec<String> = pairs
        .flat_map(|(one, other)| {
            ["central", "ricart-agrawala"]
                .map(|name| format!("{name} -n 4 --requesters all --repeat 2 {one} {other}"))
        })
        .filter_map(|flags| disagreement(&flags))
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_request_counts_once_though_it_is_repeated_after_a_crash() {
    agree("ricart-agrawala -n 3 --requesters all --crash 1@500us --recover 1@700us");
}

#[test]
fn who_comes_back_before_asking_is_not_said_to_wait_for_ever() {
    // p1 crashes and recovers before the time of its request, which is long past at the end.
    agree("central -n 3 --request 1@5ms --crash 1@1ms --recover 1@2ms --section 10ms");
}

#[test]
fn a_process_may_crash_while_it_leaves() {
    // The deferred replies that p0 sends when it leaves are the multicast in the middle of which it crashes.
    for sends in 0..3 {
        agree(&format!("ricart-agrawala -n 3 --requesters all --crash-mid 0@2.5ms:{sends}"));
        agree(&format!("ricart-agrawala -n 2 --requesters all --crash-mid 0@1:{sends}"));
    }
}

#[test]
fn who_comes_back_without_memory_has_a_request_ahead() {
    for seed in 0..8 {
        let flags = format!("--spread 1s --crash 0@6ms --recover 0@8ms:amnesia --seed {seed}");
        agree(&format!("central -n 2 {flags}"));
        agree(&format!("ricart-agrawala -n 3 --requesters all {flags}"));
    }
}

#[test]
fn nobody_suspects_itself() {
    for seed in 0..20 {
        let flags = format!("central -n 3 --requesters all --suspect ?-0@0 --seed {seed}");
        let (_, report) = agree(&flags);
        let faults = report["faults"].to_string();
        assert!(!faults.contains("p0 wrongly suspects p0"), "{faults}");
    }
}

#[test]
fn a_drawn_link_has_two_ends() {
    for seed in 0..20 {
        let flags = format!("central -n 3 --requesters all --lose ?-0@0 --seed {seed}");
        let (_, report) = agree(&flags);
        let faults = report["faults"].to_string();
        assert!(!faults.contains("from p0 to p0"), "{faults}");
    }
}

#[test]
fn a_detector_that_was_wrong_was_not_perfect() {
    // Handling takes so long that heartbeats arrive late: no process has crashed, yet the server suspects some.
    let flags = "central -n 4 --detector heartbeat --handling 6ms --requesters all --patience 1s --until 2s";
    let (recount, report) = agree(flags);
    assert!(recount.down.is_empty() && report["verdict"] == "violated", "{report}");
    let broken: Vec<&Value> = report["assumptions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|assumption| assumption["met"] == false)
        .map(|assumption| &assumption["id"])
        .collect();
    assert_eq!(broken, ["perfect-detector"], "{report}");
}
