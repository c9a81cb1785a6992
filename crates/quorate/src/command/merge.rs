//! `quorate merge`: parts that `--shard` made, put together as if they had been run at once.

use std::fs;
use std::process::ExitCode;

use quorate_lab::campaign::CampaignPart;
use quorate_lab::experiment::ExperimentPart;
use quorate_lab::part::{Part, Shard, Work, in_order};

use super::campaign::explain;
use super::experiment::{Files, Paths, draws, tell};
use super::findings::{Keeping, conclude};
use crate::Done;
use crate::arguments::Merge;
use crate::failure::Failure;
use crate::memory;

pub(crate) fn merge(flags: &Merge) -> Done {
    let mut parts: Vec<(String, Shard, Work)> = Vec::new();
    for path in &flags.parts {
        let name = path.display().to_string();
        let refused = |why: &str| Failure::new(format!("{name} {why}"));
        let bytes = fs::read(path).map_err(|error| refused(&format!("cannot be read: {error}")))?;
        let Part { shard, work, .. } = Part::read(&bytes).map_err(|why| refused(&why))?;
        if let Work::Campaign(part) = &work
            && !part.is_done(shard)
        {
            return Err(refused("is not finished; go on with the same flags and --resume"));
        }
        parts.push((name, shard, work));
    }
    let same = |a: &Work, b: &Work| match (a, b) {
        (Work::Campaign(a), Work::Campaign(b)) => a.asked == b.asked,
        (Work::Experiment(a), Work::Experiment(b)) => a.is_of(b),
        _ => false,
    };
    let (mut campaigns, mut experiments) = (Vec::new(), Vec::new());
    for work in in_order(parts, same).map_err(Failure::new)? {
        match work {
            Work::Campaign(part) => campaigns.push(*part),
            Work::Experiment(part) => experiments.push(part),
        }
    }
    match CampaignPart::merge(campaigns) {
        Some(whole) => of_campaign(whole, flags),
        None => of_experiment(experiments, flags),
    }
}

fn of_campaign(whole: CampaignPart, flags: &Merge) -> Done {
    let charts = flags.svg.is_some() || flags.png.is_some();
    if flags.csv.is_some() || charts || flags.markdown.is_some() {
        return Err(Failure::new(
            "a campaign has neither table nor charts; leave --csv, --svg, --png and --markdown out",
        ));
    }
    let worlds = whole.asked.worlds().map_err(explain)?;
    let violated = !whole.report.violations.is_empty();
    let keeping = Keeping { folder: flags.keep.as_deref(), shrinks: !flags.no_shrink };
    let memory = flags.memory.unwrap_or_else(memory::available).0;
    conclude(&worlds, whole, &keeping, memory, flags.json)?;
    Ok(if violated { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn of_experiment(parts: Vec<ExperimentPart>, flags: &Merge) -> Done {
    if flags.keep.is_some() || flags.no_shrink {
        return Err(Failure::new(
            "an experiment has no violations to keep; leave --keep and --no-shrink out",
        ));
    }
    let (experiment, findings) = ExperimentPart::merge(parts).map_err(Failure::new)?;
    draws(experiment, flags.svg.as_deref(), flags.png.as_deref())?;
    let files = Files::begin(Paths {
        csv: flags.csv.as_deref(),
        svg: flags.svg.as_deref(),
        png: flags.png.as_deref(),
        markdown: flags.markdown.as_deref(),
    })?;
    tell(experiment, &findings, files, flags.json)
}
