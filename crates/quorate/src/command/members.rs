//! `quorate members`: lists the members of a cluster, and changes them.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use quorate_client::{Client, ClusterTerms, MemberChange, MembersStatus, NodeStatus, TermsChange};
use quorate_core::Span;
use quorate_service::{NodeConfig, recover};
use serde_json::json;
use tokio::time::Instant;

use super::admin::{exit_code, member_json, plain, terms_json};
use super::cluster;
use crate::CommandResult;
use crate::arguments::{ChangeFlags, ChangeMembers, MembersFlags, TermsFlags};
use crate::command_error::CommandError;

/// Interval at which the progress of a change is requested.
const POLL: Duration = Duration::from_millis(200);

/// Exit code if the change is not complete in time.
const NOT_IN_TIME: u8 = 75;

pub(crate) fn members(flags: &MembersFlags) -> CommandResult {
    let Some(change) = &flags.change else { return list(flags) };
    let (change, flags) = match change {
        ChangeMembers::Recover { config, others_are_gone } => {
            return recover_members(config, *others_are_gone);
        }
        ChangeMembers::Add { nodes, flags } => (change_of(nodes.clone(), &[], flags), flags),
        ChangeMembers::Set { flags } => {
            let change = change_of(Vec::new(), &[], flags);
            if change == MemberChange::default() {
                return Err(CommandError::new(
                    "nothing to change: name a bound, as in `quorate members set --ttl-most 30s`",
                ));
            }
            (change, flags)
        }
        ChangeMembers::Remove { nodes, flags } => (change_of(Vec::new(), nodes, flags), flags),
        ChangeMembers::Replace { old, new, flags } => {
            (change_of(vec![new.clone()], &[*old], flags), flags)
        }
    };
    cluster::runtime()?.block_on(async {
        let client = cluster::client(&flags.cluster)?;
        let chosen = client.change_members(change).await;
        let mut status = chosen.map_err(|error| cluster::failure(&client, &error))?;
        // The change ends with a stable configuration. A later change may have begun before it was noticed here.
        let last = status.configuration.index + u64::from(status.configuration.is_joint());
        let begun = Instant::now();
        let mut shown = String::new();
        while status.configuration.index < last || (status.configuration.index == last && !status.settled) {
            let waits = waits_for(&status);
            if waits != shown && !flags.json {
                anstream::eprintln!("{waits}");
                shown = waits;
            }
            if begun.elapsed() >= flags.timeout {
                anstream::eprintln!(
                    "the change was chosen, but is not complete yet; `quorate members` shows whether it is"
                );
                return Ok(ExitCode::from(NOT_IN_TIME));
            }
            tokio::time::sleep(POLL).await;
            // The node that answers may have been removed, or may be stopped.
            match client.members().await {
                Ok(newer) if newer.configuration.index >= status.configuration.index => status = newer,
                Ok(_) | Err(_) => {}
            }
        }
        print_complete(&client, flags, begun).await
    })
}

/// Starts the cluster again from one node.
fn recover_members(config: &Path, others_are_gone: bool) -> CommandResult {
    let config = NodeConfig::read(config).map_err(CommandError::new)?;
    let recovered = recover(&config, others_are_gone).map_err(CommandError::new)?;
    let lost =
        recovered.lost.iter().map(|member| format!("node {} at {}", member.node, member.address));
    let lost = lost.collect::<Vec<_>>().join(", ");
    let seconds = recovered.abstains.0.div_ceil(1_000_000_000);
    let mut out = anstream::stdout().lock();
    if !others_are_gone {
        writeln!(out, "Node {} would become the only member of a new cluster.", config.id)?;
        writeln!(
            out,
            "- These nodes must never run again, or two clients can hold one lock: {lost}."
        )?;
        writeln!(
            out,
            "- All locks of the old cluster are lost, and no lock is granted for {seconds} s."
        )?;
        writeln!(out, "- Tokens continue above {}.", recovered.tokens_above)?;
        writeln!(out, "Nothing was done. Confirm with --others-are-gone.")?;
        return Ok(ExitCode::FAILURE);
    }
    writeln!(out, "Node {} is the only member of a new cluster.", config.id)?;
    writeln!(out, "1. Set cluster = \"{:032x}\" in its configuration file.", recovered.cluster)?;
    writeln!(out, "2. Start it without --new-cluster. It grants locks after {seconds} s.")?;
    writeln!(
        out,
        "3. Add new nodes with `quorate members add`. Their files have the new identifier, too."
    )?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn change_of(
    add: Vec<quorate_client::Member>,
    remove: &[u32],
    flags: &ChangeFlags,
) -> MemberChange {
    let TermsFlags { ttl_least, ttl_most, drift_ppm } = flags.terms;
    let terms = TermsChange { ttl_least_ms: ttl_least, ttl_most_ms: ttl_most, drift_ppm };
    MemberChange { add, remove: remove.to_vec(), quorums: flags.quorums.clone(), terms }
}

/// One line about the progress of a change.
fn waits_for(status: &MembersStatus) -> String {
    let step = if status.configuration.is_joint() { "step 1 of 2" } else { "step 2 of 2" };
    match status.waits_for.first() {
        Some(first) => format!("{step}: {}", plain(first)),
        None => format!("{step}: complete"),
    }
}

async fn print_complete(client: &Client, flags: &ChangeFlags, begun: Instant) -> CommandResult {
    let status = client.status().await.map_err(|error| cluster::failure(client, &error))?;
    let mut out = anstream::stdout().lock();
    match flags.json {
        true => print_json(&mut out, &status)?,
        false => {
            print_members(&mut out, &status)?;
            anstream::eprintln!("complete after {:.1} s", begun.elapsed().as_secs_f64());
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn list(flags: &MembersFlags) -> CommandResult {
    let status = cluster::runtime()?.block_on(async {
        let client = cluster::client(&flags.cluster)?;
        client.status().await.map_err(|error| cluster::failure(&client, &error))
    })?;
    let mut out = anstream::stdout().lock();
    match flags.json {
        true => print_json(&mut out, &status)?,
        false => print_members(&mut out, &status)?,
    }
    out.flush()?;
    Ok(exit_code(status.quorum))
}

fn print_json(out: &mut impl Write, status: &NodeStatus) -> Result<(), CommandError> {
    let members: Vec<_> = status.members.iter().map(member_json).collect();
    let terms = terms_json(&status.terms);
    let quorums = &status.quorums;
    serde_json::to_writer(
        &mut *out,
        &json!({ "members": members, "quorums": quorums, "terms": terms }),
    )
    .map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn print_members(out: &mut impl Write, status: &NodeStatus) -> Result<(), CommandError> {
    for member in &status.members {
        let state = match (&member.last_error, member.up) {
            (_, true) => "up".to_owned(),
            (Some(why), false) => format!("down: {}", plain(why)),
            (None, false) => "down".to_owned(),
        };
        writeln!(out, "node {:<3} {:<22} {state}", member.node, member.address)?;
    }
    let ClusterTerms { ttl_least_ms, ttl_most_ms, drift_ppm, .. } = status.terms;
    let time = |ms: u32| Span::from_millis(ms.into());
    writeln!(
        out,
        "terms    ttl {} to {}, drift {drift_ppm} ppm, quorums: {}",
        time(ttl_least_ms),
        time(ttl_most_ms),
        status.quorums
    )?;
    Ok(())
}
