//! A small slice of each experiment: the text for readers, the output for programs, and independence
//! of the number of threads.

use quorate_lab::experiment::{EXPERIMENTS, Experiment, Findings, Options, Value};

/// The slice of each experiment that is run here.
fn slice(name: &str) -> Options {
    let (seeds, up_to) = match name {
        "mutex-cost" => (Some(2), Some(8)),
        "election-cost" => (Some(2), Some(16)),
        "thesis" => (Some(3), Some(16)),
        "settled-versus-majority" => (Some(4), Some(16)),
        "without-cancel" => (Some(5), Some(16)),
        "vcube-diagnosis" => (Some(6), Some(32)),
        "detectors" => (Some(2), Some(8)),
        "byzantine" => (Some(20), Some(7)),
        "consensus-rounds" => (Some(20), Some(8)),
        "literature" => (Some(5), None),
        "verification" => (Some(4), Some(2)),
        _ => (Some(4), None),
    };
    Options { seeds, up_to, ..Options::default() }
}

fn run(name: &str, threads: Option<usize>) -> Findings {
    let experiment = Experiment::by_name(name).unwrap();
    experiment.run(&Options { threads, ..slice(name) }, &()).unwrap()
}

fn text(findings: &Findings) -> String {
    let mut text = Vec::new();
    findings.write_text(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn json(name: &str, findings: &Findings) -> serde_json::Value {
    let mut json = Vec::new();
    findings.write_json(name, &mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

#[test]
fn what_a_person_reads_fits_a_hundred_columns() {
    for experiment in EXPERIMENTS {
        let text = text(&run(experiment.name, None));
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(experiment.name, text);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for experiment in EXPERIMENTS {
        let (one, three) = (run(experiment.name, Some(1)), run(experiment.name, Some(3)));
        assert!(one == three, "{} differs", experiment.name);
        let bytes = |findings: &Findings| {
            let mut bytes = text(findings).into_bytes();
            findings.table.write_csv(&mut bytes).unwrap();
            findings.write_json(experiment.name, &mut bytes).unwrap();
            findings.charts.iter().for_each(|chart| bytes.extend(chart.svg().into_bytes()));
            bytes
        };
        assert!(bytes(&one) == bytes(&three), "{} differs", experiment.name);
    }
}

#[test]
fn numbers_are_numbers_and_every_row_has_every_column() {
    for experiment in EXPERIMENTS {
        let json = json(experiment.name, &run(experiment.name, None));
        assert_eq!(json["name"], experiment.name);
        let rows = json["rows"].as_array().unwrap();
        let keys =
            |row: &serde_json::Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert!(!rows.is_empty() && rows.iter().all(|row| keys(row) == keys(&rows[0])));
        assert!(rows.iter().all(|row| row["processes"].is_u64()));
    }
}

#[test]
fn exact_formulas_are_met_exactly() {
    let findings = run("mutex-cost", None);
    let number = |value: Option<&Value>| match value {
        Some(Value::Number(number)) => *number,
        other => panic!("{other:?} is no number"),
    };
    let mut compared = 0;
    for row in findings.table.rows() {
        let Some(Value::Text(algorithm)) = row.get("algorithm") else { panic!("no algorithm") };
        let Some(Value::Count(n)) = row.get("processes") else { panic!("no processes") };
        let others = *n as f64 - 1.0;
        let messages = match algorithm.as_str() {
            "central" if row.get("over") != Some(&"hand-over".into()) => 3.0,
            "lamport" => 3.0 * others,
            "ricart-agrawala" => 2.0 * others,
            _ => continue,
        };
        for load in ["light", "saturated"] {
            assert_eq!(
                number(row.get(&format!("{load}_messages"))),
                messages,
                "{algorithm} {n} {load}"
            );
            assert_eq!(row.get(&format!("{load}_comparison")), Some(&"equal".into()));
        }
        compared += 1;
    }
    assert_eq!(compared, 3 * 2, "three algorithms at two sizes have exact formulas");
    for row in findings.table.rows() {
        if let Some(Value::Text(algorithm)) = row.get("algorithm")
            && ["maekawa", "agrawal-el-abbadi", "raymond"].contains(&algorithm.as_str())
        {
            assert_eq!(row.get("light_comparison"), Some(&"equal".into()), "{algorithm}");
            assert!(number(row.get("light_links")) <= number(row.get("light_messages")));
        }
    }
}

#[test]
fn a_role_that_does_not_exist_is_not_measured() {
    // For each algorithm: whether it has a server, a token, voters.
    let roles = [
        ("central", [true, false, false]),
        ("central-elected", [true, false, false]),
        ("token-ring", [false, true, false]),
        ("lamport", [false, false, false]),
        ("ricart-agrawala", [false, false, false]),
        ("singhal", [false, false, false]),
        ("suzuki-kasami", [false, true, false]),
        ("raymond", [false, true, false]),
        ("maekawa", [false, false, true]),
        ("agrawal-el-abbadi", [false, false, true]),
        ("quorum", [false, false, true]),
        ("quorum-majority", [false, false, true]),
        ("quorum-vcube-multicast", [false, false, true]),
        ("leased-quorum-changing", [false, false, false]),
        ("bakery", [false, false, false]),
    ];
    let findings = run("mutex-faults", None);
    for (algorithm, [server, token, voter]) in roles {
        let rows = findings.table.rows();
        let rows = rows.filter(|row| row.get("algorithm") == Some(&algorithm.into()));
        for row in rows {
            let applies = match row.get("fault") {
                Some(Value::Text(fault)) if fault == "crash-of-server" => server,
                Some(Value::Text(fault)) if fault == "crash-of-token-owner" => token,
                Some(Value::Text(fault)) if fault == "crash-of-voter" => voter,
                _ => true,
            };
            let runs = if applies { 4u64 } else { 0 };
            assert_eq!(row.get("applies"), Some(&applies.into()), "{row:?}");
            assert_eq!(row.get("runs"), Some(&runs.into()), "{row:?}");
            assert_eq!(row.get("outcome") == Some(&Value::Missing), !applies, "{row:?}");
        }
    }
    let mut healthy =
        findings.table.rows().filter(|row| row.get("fault") == Some(&"nothing".into()));
    assert!(healthy.all(|row| row.get("outcome") == Some(&"holds".into())));
}

/// Claims of the literature, as far as there are any: each of these was observed in every run or in none.
#[test]
fn algorithms_survive_what_they_are_said_to_survive() {
    let findings = run("mutex-faults", None);
    let outcomes = |algorithm: &str, fault: &str| -> Vec<Value> {
        let of = |row: &quorate_lab::experiment::Row<'_>| {
            row.get("algorithm") == Some(&algorithm.into())
                && row.get("fault") == Some(&fault.into())
        };
        findings.table.rows().filter(of).filter_map(|row| row.get("outcome").cloned()).collect()
    };
    for (algorithm, fault, outcome) in [
        ("central", "crash-of-holder", "holds"),
        ("central", "crash-of-waiter", "holds"),
        ("central", "crash-of-idle", "holds"),
        ("central", "crash-of-server", "blocks"),
        ("central-elected", "crash-of-server", "holds"),
        ("token-ring", "crash-of-token-owner", "holds"),
        ("suzuki-kasami", "crash-of-token-owner", "blocks"),
        ("lamport", "crash-of-idle", "blocks"),
        ("ricart-agrawala", "crash-of-idle", "blocks"),
        ("ricart-agrawala", "loss-of-message", "blocks"),
        ("maekawa", "crash-of-voter", "blocks"),
        ("agrawal-el-abbadi", "crash-of-voter", "holds"),
        ("quorum", "crash-of-voter", "holds"),
        ("quorum", "crash-of-holder", "holds"),
        ("quorum-majority", "crash-of-voter", "holds"),
        ("quorum-vcube-multicast", "crash-of-voter", "holds"),
        ("quorum-vcube-multicast", "crash-of-holder", "holds"),
    ] {
        let found = outcomes(algorithm, fault);
        assert!(
            !found.is_empty() && found.iter().all(|found| *found == outcome.into()),
            "{algorithm} {fault}"
        );
    }
}

/// The fields that other programs read.
#[test]
fn the_rows_of_thesis_keep_their_contract() {
    let json = json("thesis", &run("thesis", None));
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 24 * 2 * 2, "a row for each printed column, size and variant");
    for row in rows {
        for text in ["table", "variant", "generator", "requesters", "failures"] {
            assert!(row[text].is_string(), "{text}: {row}");
        }
        for count in ["processes", "printed_mean", "runs", "no_quorum_runs", "hung_runs"] {
            assert!(row[count].is_u64(), "{count}: {row}");
        }
        assert!(row["printed_sigma"].is_f64() && row["misprint"].is_boolean());
        let complete = row["complete_runs"].as_u64().unwrap();
        assert_eq!(row["mean"].is_f64() && row["sigma"].is_f64(), complete > 0, "{row}");
        let out = row["no_quorum_runs"].as_u64().unwrap() + row["hung_runs"].as_u64().unwrap();
        assert!(
            complete + out >= row["runs"].as_u64().unwrap(),
            "every run is accounted for: {row}"
        );
        let acknowledged =
            row["variant"] == "ours" && row["generator"] != "tree" && row["failures"] != "0";
        assert_eq!(row["acknowledgements"].as_f64().unwrap_or(0.0) > 0.0, acknowledged, "{row}");
        if row["variant"] == "ours" {
            assert_eq!(
                (&row["hung_runs"], &row["two_inside_runs"]),
                (&0.into(), &0.into()),
                "{row}"
            );
        }
    }
}

#[test]
fn without_cancel_everyone_still_enters_and_the_schedules_are_the_same() {
    let json = json("without-cancel", &run("without-cancel", None));
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 3 * 2);
    for row in rows {
        assert_eq!(row["with_cancel_incomplete_runs"], 0, "{row}");
        assert_eq!(row["without_cancel_incomplete_runs"], 0, "{row}");
        let number = |name: &str| row[name].as_f64().unwrap();
        let difference = number("without_cancel") - number("with_cancel");
        assert!((difference - number("difference")).abs() < 1e-9, "{row}");
        if number("cancels") == 0.0 {
            assert_eq!(difference, 0.0, "nothing to leave out, nothing changed: {row}");
        }
    }
    let cancels = rows.iter().filter(|row| row["cancels"].as_f64() > Some(0.0));
    assert!(cancels.count() > rows.len() / 2, "most cells have something to leave out");
}

#[test]
fn one_crash_is_known_in_time_and_a_round_never_has_too_many_tests() {
    let findings = run("vcube-diagnosis", None);
    let mut sizes = 0;
    for row in findings.table.rows() {
        assert_eq!(row.get("tests_kept"), Some(&true.into()), "{row:?}");
        let (Some(Value::Count(n)), Some(Value::Count(rounds))) =
            (row.get("processes"), row.get("latency_bound"))
        else {
            panic!("{row:?} has no bound")
        };
        assert_eq!(*rounds, u64::from(n.next_power_of_two().trailing_zeros()), "{row:?}");
        assert_eq!(row.get("tests_bound"), Some(&(n * rounds).into()), "{row:?}");
        if row.get("crashes") == Some(&"1".into()) {
            assert_eq!(row.get("latency_kept"), Some(&true.into()), "{row:?}");
            sizes += 1;
        }
    }
    assert_eq!(sizes, 5, "8, 12, 16, 24 and 32 processes");
}

#[test]
fn detectors_cost_what_their_formulas_say_and_differ_as_expected() {
    let rows = json("detectors", &run("detectors", None))["rows"].as_array().unwrap().clone();
    let figure = |name: &str, n: u64, column: &str| {
        let row = rows.iter().find(|row| row["detector"] == name && row["processes"] == n);
        row.expect("every detector is measured")[column].as_f64().expect("a number")
    };
    for n in [4, 8] {
        let round = |name| figure(name, n, "messages_per_round");
        let (all, log) = ((n * (n - 1)) as f64, u64::from(n.ilog2()));
        assert_eq!([round("heartbeat"), round("adaptive-heartbeat")], [all, all]);
        assert_eq!(round("heartbeat-ring"), n as f64);
        assert_eq!(round("swim"), (2 * n) as f64, "probes and answers");
        assert_eq!(round("vcube-diagnosis"), (2 * n * log) as f64, "tests and answers");
        let mistakes = |name| figure(name, n, "mistakes_per_hour_mean");
        assert!(mistakes("adaptive-heartbeat") < mistakes("heartbeat"), "it learns");
        assert!(mistakes("swim") < mistakes("heartbeat-ring"), "the suspected contradict in time");
    }
}

#[test]
fn clocks_are_never_further_off_than_their_bound() {
    let rows = json("clock-sync", &run("clock-sync", None))["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 12 * 3);
    let number = |row: &serde_json::Value, column: &str| row[column].as_f64().expect("a number");
    for row in &rows {
        assert_eq!(row["bound_exceeded"], 0, "{row}");
        assert!(number(row, "error_us_mean") <= number(row, "bound_us_mean"), "{row}");
    }
    let client = |row: &&serde_json::Value| row["algorithm"] == "cristian" && row["probes"] == 1;
    for row in rows.iter().filter(client) {
        // Half of the difference between the two directions cannot be observed: ten microseconds for each hundredth.
        if row["cause"] == "asymmetry" {
            let expected = 10.0 * number(row, "value");
            assert!(number(row, "error_us_max") >= expected - 100.0, "{row}");
            assert!(number(row, "error_us_max") <= expected + 100.0, "{row}");
        }
    }
}

#[test]
fn generals_bear_less_than_a_third_of_traitors_and_with_signatures_any() {
    let findings = run("byzantine", None);
    let mut broken = 0;
    for row in findings.table.rows() {
        assert_eq!(row.get("messages"), row.get("formula"), "{row:?}");
        let all = row.get("kept") == Some(&1.0.into());
        let signed = row.get("algorithm") == Some(&"signed-generals".into());
        let inside = row.get("above_3m") == Some(&true.into());
        assert_eq!(all, signed || inside, "{row:?}");
        broken += usize::from(!all);
    }
    assert_eq!(broken, 9, "n = 3 to 7 with n <= 3m and two loyal generals at least");
}

#[test]
fn a_round_for_each_crash_is_one_too_few() {
    let findings = run("consensus-rounds", None);
    for row in findings.table.rows() {
        assert_eq!(row.get("messages"), row.get("formula"), "{row:?}");
        let enough = row.get("enough") == Some(&true.into());
        let chain = if enough { 1.0 } else { 0.0 };
        assert_eq!(row.get("agree_chain"), Some(&chain.into()), "{row:?}");
        assert_eq!(row.get("kept") == Some(&1.0.into()), enough, "{row:?}");
    }
}

#[test]
fn what_cannot_be_asked_is_refused_in_a_sentence() {
    let refusal = |name: &str, options: Options| {
        let experiment = Experiment::by_name(name);
        experiment.and_then(|experiment| experiment.run(&options, &())).unwrap_err().to_string()
    };
    let none = Options::default();
    let refusals = [
        refusal("mutex-cots", none),
        refusal("weather", none),
        refusal("mutex-cost", Options { up_to: Some(3), ..none }),
        refusal("mutex-cost", Options { seeds: Some(0), ..none }),
        refusal("mutex-cost", Options { threads: Some(0), ..none }),
        refusal("mutex-faults", Options { up_to: Some(8), ..none }),
        refusal("mutex-cost", Options { ours_up_to: Some(8), ..none }),
        refusal("thesis", Options { ours_up_to: Some(5000), ..none }),
        refusal("thesis", Options { up_to: Some(4), ..none }),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn elections_cost_what_their_formulas_say() {
    let findings = run("election-cost", None);
    let text = |row: &quorate_lab::experiment::Row<'_>, column| match row.get(column) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let mut compared = 0;
    for row in findings.table.rows().filter(|row| text(row, "part") == "cost") {
        let comparison = text(&row, "comparison");
        // Means of random orders are compared statistically, everything else exactly or with a range.
        let by_chance = text(&row, "formula") == "n(H(n) + 1)";
        assert!(by_chance || comparison == "equal" || comparison == "within", "{row:?}");
        compared += usize::from(comparison == "equal");
    }
    assert!(compared > 30, "only {compared} figures are exact");
    let crashes = findings.table.rows().filter(|row| text(row, "part") == "leader-crash").count();
    assert_eq!(crashes, 18);
}
