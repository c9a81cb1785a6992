//! `quorate merge`: parts that `--shard` made, put together as if they had been run at once.

use std::fs;
use std::process::ExitCode;

use quorate_lab::campaign::CampaignPart;
use quorate_lab::part::{Part, Shard, Work, in_order};

use super::campaign::explain;
use super::findings::{Keeping, conclude};
use crate::Done;
use crate::arguments::Merge;
use crate::failure::Failure;
use crate::memory;

pub(crate) fn merge(flags: &Merge) -> Done {
    let mut campaigns: Vec<(String, Shard, CampaignPart)> = Vec::new();
    for path in &flags.parts {
        let name = path.display().to_string();
        let refused = |why: String| Failure::new(format!("{name} {why}"));
        let bytes = fs::read(path).map_err(|error| refused(format!("cannot be read: {error}")))?;
        let Part { shard, work, .. } = Part::read(&bytes).map_err(refused)?;
        match work {
            Work::Campaign(part) if part.is_done(shard) => campaigns.push((name, shard, *part)),
            Work::Campaign(_) => {
                let why = "is not finished; go on with the same flags and --resume";
                return Err(refused(why.to_owned()));
            }
        }
    }
    let parts = in_order(campaigns, |a, b| a.asked == b.asked).map_err(Failure::new)?;
    let whole =
        CampaignPart::merge(parts).ok_or_else(|| Failure::new("there is nothing to merge"))?;
    let worlds = whole.asked.worlds().map_err(explain)?;
    let violated = !whole.report.violations.is_empty();
    let keeping = Keeping { folder: flags.keep.as_deref(), shrinks: !flags.no_shrink };
    let memory = flags.memory.unwrap_or_else(memory::available).0;
    conclude(&worlds, whole, &keeping, memory, flags.json)?;
    Ok(if violated { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
