//! `quorate merge`: combines parts made with `--shard` into the result of a single run.

use std::fs;
use std::process::ExitCode;

use quorate_lab::campaign::CampaignShard;
use quorate_lab::experiment::ExperimentShard;
use quorate_lab::shard::{Shard, in_order};
use quorate_lab::shard_file::{ShardFile, ShardResult};

use super::campaign::explain;
use super::experiment::{
    ExperimentFiles, Paths, check_draws_charts, check_png_charts, write_results,
};
use super::findings::{SaveOptions, conclude};
use crate::CommandResult;
use crate::arguments::MergeFlags;
use crate::command_error::CommandError;
use crate::memory;

pub(crate) fn merge(flags: &MergeFlags) -> CommandResult {
    // Reading and merging the parts may take long.
    if flags.png.is_some() {
        check_png_charts()?;
    }
    let mut parts: Vec<(String, Shard, ShardResult)> = Vec::new();
    for path in &flags.parts {
        let name = path.display().to_string();
        let refused = |why: &str| CommandError::new(format!("{name} {why}"));
        let bytes = fs::read(path).map_err(|error| refused(&format!("cannot be read: {error}")))?;
        let ShardFile { shard, work, .. } = ShardFile::read(&bytes).map_err(|why| refused(&why))?;
        if let ShardResult::Campaign(part) = &work
            && !part.is_done(shard)
        {
            return Err(refused("is not finished; continue it with the same flags and --resume"));
        }
        parts.push((name, shard, work));
    }
    let same = |a: &ShardResult, b: &ShardResult| match (a, b) {
        (ShardResult::Campaign(a), ShardResult::Campaign(b)) => a.request == b.request,
        (ShardResult::Experiment(a), ShardResult::Experiment(b)) => a.is_of(b),
        _ => false,
    };
    let (mut campaigns, mut experiments) = (Vec::new(), Vec::new());
    for work in in_order(parts, same).map_err(CommandError::new)? {
        match work {
            ShardResult::Campaign(part) => campaigns.push(*part),
            ShardResult::Experiment(part) => experiments.push(part),
        }
    }
    match CampaignShard::merge(campaigns) {
        Some(whole) => merge_campaign(whole, flags),
        None => merge_experiment(experiments, flags),
    }
}

fn merge_campaign(whole: CampaignShard, flags: &MergeFlags) -> CommandResult {
    let charts = flags.svg.is_some() || flags.png.is_some();
    if flags.csv.is_some() || charts || flags.markdown.is_some() {
        return Err(CommandError::new(
            "a campaign has neither table nor charts; leave --csv, --svg, --png and --markdown out",
        ));
    }
    let generator = whole.request.generator().map_err(explain)?;
    let violated = !whole.report.violations.is_empty();
    let save_options = SaveOptions { folder: flags.save.as_deref(), shrink: !flags.no_shrink };
    let memory = flags.memory.unwrap_or_else(memory::available).0;
    conclude(&generator, whole, &save_options, memory, flags.json)?;
    Ok(if violated { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn merge_experiment(parts: Vec<ExperimentShard>, flags: &MergeFlags) -> CommandResult {
    if flags.save.is_some() || flags.no_shrink {
        return Err(CommandError::new(
            "an experiment has no violations to save; leave --save and --no-shrink out",
        ));
    }
    let (experiment, findings) = ExperimentShard::merge(parts).map_err(CommandError::new)?;
    check_draws_charts(experiment, flags.svg.as_deref(), flags.png.as_deref())?;
    let files = ExperimentFiles::begin(Paths {
        csv: flags.csv.as_deref(),
        svg: flags.svg.as_deref(),
        png: flags.png.as_deref(),
        markdown: flags.markdown.as_deref(),
    })?;
    write_results(experiment, &findings, files, flags.json)
}
