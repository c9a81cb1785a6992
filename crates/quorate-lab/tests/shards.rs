//! Experiments in shards: merged, they equal the findings of a single run, to the last byte.

use quorate_lab::experiment::{EXPERIMENTS, Experiment, ExperimentShard, Findings, Options};
use quorate_lab::shard::Shard;
use quorate_lab::shard_file::{ShardFile, ShardResult};

/// All output that a user gets to see.
fn output(name: &str, findings: &Findings) -> (String, Vec<u8>, Vec<u8>, Vec<u8>) {
    let (mut text, mut json, mut csv) = (Vec::new(), Vec::new(), Vec::new());
    findings.write_text(&mut text).expect("it can be written");
    findings.write_json(name, &mut json).expect("it can be written");
    findings.table.write_csv(&mut csv).expect("it can be written");
    let charts: Vec<String> = findings.charts.iter().map(|chart| chart.svg()).collect();
    (charts.join("\n"), text, json, csv)
}

fn options(experiment: &Experiment) -> Options {
    let up_to = experiment.sizes.map(|sizes| sizes.least);
    Options { seeds: Some(2), up_to, threads: Some(2), ..Options::default() }
}

/// A shard after a round trip through a file, as another machine reads it.
fn part(experiment: &Experiment, number: u32, of: u32) -> ExperimentShard {
    let (shard, options) = (Shard { number, of }, options(experiment));
    let part = experiment.run_shard(&options, shard, &()).expect("it runs");
    let text =
        ShardFile::new(shard, ShardResult::Experiment(part)).write().expect("it can be written");
    match ShardFile::read(text.as_bytes()).expect("it can be read").work {
        ShardResult::Experiment(part) => part,
        ShardResult::Campaign(_) => panic!("it was an experiment"),
    }
}

#[test]
fn every_experiment_is_the_same_in_parts() {
    for experiment in EXPERIMENTS {
        let whole = experiment.run(&options(experiment), &()).expect("it runs");
        let parts = (1..=3).map(|number| part(experiment, number, 3)).collect();
        let (merged, findings) = ExperimentShard::merge(parts).expect("they are parts of it");
        assert_eq!(merged.name, experiment.name);
        assert_eq!(
            output(merged.name, &findings),
            output(experiment.name, &whole),
            "{}",
            merged.name
        );
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let experiment = Experiment::by_name("clock-sync").expect("it is there");
    let parts: Vec<_> = (1..=2).map(|number| part(experiment, number, 3)).collect();
    let error = ExperimentShard::merge(parts).expect_err("one is missing").to_string();
    assert!(error.contains("not parts of this experiment"), "{error}");
}
