//! `quorate list`: prints the catalogue of algorithms.

use std::io::Write;
use std::process::ExitCode;

use anstyle::Style;
use quorate_core::{Assumption, Profile, Property};
use quorate_lab::catalogue;
use serde_json::json;

use crate::CommandResult;
use crate::arguments::ListFlags;

pub(crate) fn list(list: &ListFlags) -> CommandResult {
    let mut out = anstream::stdout().lock();
    if list.json {
        let all: Vec<_> = catalogue().profiles().map(as_json).collect();
        writeln!(out, "{}", serde_json::Value::from(all))?;
        return Ok(ExitCode::SUCCESS);
    }
    let bold = Style::new().bold();
    let mut family = "";
    for profile in catalogue().profiles() {
        if profile.layer.family() != family {
            family = profile.layer.family();
            writeln!(out, "{bold}{family}{bold:#}\n")?;
        }
        writeln!(out, "  {bold}{}{bold:#}  {}", profile.name, profile.summary)?;
        if let Some(specimen) = &profile.specimen {
            writeln!(out, "    specimen    breaks {}: {}", specimen.breaks, specimen.why)?;
        }
        writeln!(
            out,
            "    assumes     {}",
            joined(profile.assumes.iter().map(|assumed| assumed.sentence()))
        )?;
        writeln!(
            out,
            "    guarantees  {}",
            joined(profile.guarantees.iter().map(|property| property.id()))
        )?;
        writeln!(out, "    costs       {}", profile.cost)?;
        writeln!(out, "    source      {}\n", profile.source)?;
    }
    for property in Property::ALL {
        writeln!(out, "  {property:<12}  {}", property.sentence())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn joined<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.collect::<Vec<_>>().join("; ")
}

fn as_json(profile: &Profile) -> serde_json::Value {
    json!({
        "name": profile.name,
        "family": profile.layer.family(),
        "summary": profile.summary,
        "specimen": profile.specimen.is_some(),
        "breaks": profile.specimen.map(|specimen| specimen.breaks.id()),
        "assumes": profile.assumes.iter().copied().map(Assumption::id).collect::<Vec<_>>(),
        "guarantees": profile.guarantees.iter().copied().map(Property::id).collect::<Vec<_>>(),
        "cost": profile.cost,
        "source": profile.source,
    })
}
