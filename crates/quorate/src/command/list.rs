//! `quorate list`: prints the catalogue of algorithms.

use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::Style;
use quorate_core::{Assumption, Layer, Property};
use quorate_lab::{Entry, catalogue};
use serde_json::json;

use crate::CommandResult;
use crate::arguments::ListFlags;

const BOLD: Style = Style::new().bold();

pub(crate) fn list(list: &ListFlags) -> CommandResult {
    let mut out = anstream::stdout().lock();
    let chosen = chosen(list);
    if list.json {
        let all: Vec<_> = chosen.into_iter().map(as_json).collect();
        writeln!(out, "{}", serde_json::Value::from(all))?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = chosen.iter().map(|entry| entry.facts().profile.name.len()).max().unwrap_or(0);
    let mut last = None;
    for entry in &chosen {
        let heading = heading(entry);
        if last.as_ref() != Some(&heading) {
            let space = if list.short && last.is_some() { "\n" } else { "" };
            writeln!(out, "{space}{BOLD}{heading}{BOLD:#}\n")?;
            last = Some(heading);
        }
        if list.short {
            let profile = entry.facts().profile;
            let mark = if profile.specimen.is_some() { " (specimen)" } else { "" };
            writeln!(out, "  {BOLD}{:<width$}{BOLD:#}  {}{mark}", profile.name, profile.summary)?;
        } else {
            write_card(&mut out, entry, !list.names.is_empty())?;
        }
    }
    if list.short {
        return Ok(ExitCode::SUCCESS);
    }
    let named = !list.names.is_empty();
    let shown = |property: &Property| {
        !named || chosen.iter().any(|entry| entry.facts().profile.guarantees.contains(property))
    };
    for property in Property::ALL.into_iter().filter(shown) {
        writeln!(out, "  {property:<12}  {}", property.sentence())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The algorithms to list, those of one heading together.
fn chosen(list: &ListFlags) -> Vec<&'static Entry> {
    let is_named = |entry: &&Entry| {
        let name = entry.facts().profile.name;
        list.names.is_empty() || list.names.iter().any(|wanted| wanted == name)
    };
    let in_family = |entry: &&Entry| {
        list.family.as_ref().is_none_or(|it| it == entry.facts().profile.layer.name())
    };
    let mut chosen: Vec<&Entry> =
        catalogue().entries().iter().filter(is_named).filter(in_family).collect();
    let families: Vec<Layer> = catalogue().profiles().map(|profile| profile.layer).collect();
    let family = |entry: &Entry| families.iter().position(|it| *it == entry.facts().profile.layer);
    chosen.sort_by_key(|entry| (family(entry), basis(entry)));
    chosen
}

/// The right by which a process enters the critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Basis {
    Permission,
    Token,
}

/// The basis of a mutual exclusion algorithm.
fn basis(entry: &Entry) -> Option<Basis> {
    let is_mutex = entry.facts().profile.layer == Layer::Mutex;
    let basis = if entry.facts().token.is_some() { Basis::Token } else { Basis::Permission };
    is_mutex.then_some(basis)
}

fn heading(entry: &Entry) -> String {
    let family = entry.facts().profile.layer.family();
    match basis(entry) {
        Some(Basis::Permission) => format!("{family}, by permission of others"),
        Some(Basis::Token) => format!("{family}, by a token"),
        None => family.to_owned(),
    }
}

fn write_card(out: &mut impl Write, entry: &Entry, in_detail: bool) -> io::Result<()> {
    let facts = entry.facts();
    let profile = &facts.profile;
    writeln!(out, "  {BOLD}{}{BOLD:#}  {}", profile.name, profile.summary)?;
    let mut line = |key: &str, text: &str| writeln!(out, "    {key:<10}  {text}");
    if let Some(specimen) = &profile.specimen {
        let broken = [&[specimen.breaks], specimen.also_breaks].concat();
        let broken = joined(broken.iter().map(|property| property.id()), " and ");
        line("specimen", &format!("breaks {broken}: {}", specimen.why))?;
    }
    line("assumes", &joined(profile.assumes.iter().map(|assumed| assumed.sentence()), "; "))?;
    line("guarantees", &joined(profile.kept_guarantees().map(Property::id), "; "))?;
    line("costs", profile.cost)?;
    line("source", profile.source)?;
    if in_detail {
        line("messages", &joined(facts.kinds.iter().map(|kind| kind.name), ", "))?;
        if !facts.quorums.is_empty() {
            line("quorums", &joined(facts.quorums.iter().copied(), ", "))?;
        }
        line("try", &format!("quorate sim {} -n 5", profile.name))?;
    }
    writeln!(out)
}

fn joined<'a>(parts: impl Iterator<Item = &'a str>, separator: &str) -> String {
    let parts: Vec<&str> = parts.collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(separator) }
}

fn as_json(entry: &Entry) -> serde_json::Value {
    let profile = entry.facts().profile;
    json!({
        "name": profile.name,
        "family": profile.layer.family(),
        "summary": profile.summary,
        "specimen": profile.specimen.is_some(),
        "breaks": profile.specimen.map(|specimen| specimen.breaks.id()),
        "basis": basis(entry).map(|basis| match basis {
            Basis::Permission => "permission",
            Basis::Token => "token",
        }),
        "assumes": profile.assumes.iter().copied().map(Assumption::id).collect::<Vec<_>>(),
        "guarantees": profile.kept_guarantees().map(Property::id).collect::<Vec<_>>(),
        "cost": profile.cost,
        "source": profile.source,
    })
}
