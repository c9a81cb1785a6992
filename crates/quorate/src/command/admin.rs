//! `quorate status`, `locks` and `release`: administration of a cluster.

use std::io::Write;
use std::process::ExitCode;

use quorate_client::{
    BackendKind, ClusterTerms, Error, Failure as Refusal, Kind, Name, NodeStatus, RequestInfo,
    RequestState,
};
use serde_json::json;

use super::cluster;
use crate::CommandResult;
use crate::arguments::{LocksFlags, ReleaseFlags, StatusFlags};
use crate::command_error::CommandError;

pub(crate) fn status(flags: &StatusFlags) -> CommandResult {
    let status = fetch_status(flags)?;
    let mut out = anstream::stdout().lock();
    if flags.json {
        serde_json::to_writer(&mut out, &status_json(&status)).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        let ms = |micros: u64| format!("{:.1} ms", micros as f64 / 1_000.0);
        let up = status.members.iter().filter(|member| member.up).count();
        writeln!(out, "cluster   {:032x}", status.cluster)?;
        writeln!(out, "answered  by node {}", status.node)?;
        writeln!(
            out,
            "nodes     {up} of {} up, quorums: {}",
            status.members.len(),
            status.quorums
        )?;
        writeln!(
            out,
            "quorum    {}",
            if status.quorum { "yes" } else { "no: no lock can be granted" }
        )?;
        for reason in &status.reasons {
            writeln!(out, "not ready {}", plain(reason))?;
        }
        writeln!(
            out,
            "locks     {} known to this node, {} requests of {} sessions",
            status.locks, status.requests, status.sessions
        )?;
        writeln!(
            out,
            "a failed holder is replaced within {} of its last message, and not before {} after it",
            ms(status.replaced_within_us),
            ms(status.not_before_us)
        )?;
    }
    out.flush()?;
    Ok(exit_code(status.quorum))
}

fn fetch_status(flags: &StatusFlags) -> Result<NodeStatus, CommandError> {
    cluster::runtime()?.block_on(async {
        let client = cluster::client(&flags.cluster)?;
        client.status().await.map_err(|error| cluster::failure(&client, &error))
    })
}

pub(super) fn exit_code(good: bool) -> ExitCode {
    ExitCode::from(u8::from(!good))
}

fn status_json(status: &NodeStatus) -> serde_json::Value {
    let members: Vec<_> = status.members.iter().map(member_json).collect();
    json!({
        "cluster": format!("{:032x}", status.cluster),
        "node": status.node,
        "votes": status.votes,
        "quorum": status.quorum,
        "quorums": status.quorums,
        "lease_us": u64::from(status.terms.ttl_most_ms) * 1_000,
        "terms": terms_json(&status.terms),
        "replaced_within_us": status.replaced_within_us,
        "not_before_us": status.not_before_us,
        "sessions": status.sessions,
        "requests": status.requests,
        "locks": status.locks,
        "messages": status.messages,
        "reasons": status.reasons,
        "members": members,
    })
}

pub(super) fn terms_json(terms: &ClusterTerms) -> serde_json::Value {
    json!({
        "ttl_least_ms": terms.ttl_least_ms,
        "ttl_most_ms": terms.ttl_most_ms,
        "drift_ppm": terms.drift_ppm,
    })
}

pub(super) fn member_json(member: &quorate_client::MemberStatus) -> serde_json::Value {
    json!({
        "node": member.node,
        "address": member.address,
        "clients": member.clients,
        "up": member.up,
        "suspected": member.suspected,
        "trouble": member.last_error,
    })
}

pub(crate) fn locks(flags: &LocksFlags) -> CommandResult {
    let (list, backend) = cluster::runtime()?.block_on(async {
        let client = cluster::client(&flags.cluster)?;
        let list = client.listing(&flags.prefix, flags.most.unwrap_or(u32::MAX)).await;
        Ok::<_, CommandError>((
            list.map_err(|error| cluster::failure(&client, &error))?,
            client.backend_kind(),
        ))
    })?;
    let (list, silent) = (list.requests, list.silent);
    for node in &silent {
        anstream::eprintln!("node {node} does not respond: requests through it are not listed");
    }
    let mut out = anstream::stdout().lock();
    if flags.json {
        let list: Vec<_> = list.iter().map(|request| request_json(request, backend)).collect();
        serde_json::to_writer(&mut out, &json!({ "locks": list })).map_err(std::io::Error::from)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if list.is_empty() && silent.is_empty() {
        anstream::eprintln!("no locks are held or requested");
    }
    let mut last = None;
    for request in &list {
        if last != Some(&request.name) {
            let kind = if request.name.kind() == Kind::Election { " (election)" } else { "" };
            writeln!(out, "{}{kind}", plain(request.name.text()))?;
            last = Some(&request.name);
        }
        let state = match request.state {
            RequestState::Holding { token, .. } => format!("holds it, token {token}"),
            RequestState::Waiting => "waits".to_owned(),
        };
        let why = if request.why.is_empty() {
            String::new()
        } else {
            format!(": {}", plain(&request.why))
        };
        let (client_name, location) =
            (plain(&request.client_name), plain(&request.client_location));
        match backend {
            BackendKind::Quorate => writeln!(
                out,
                "  {state:<22} {:>8.1} s  {client_name} at {location} through node {}{why}",
                request.for_ms as f64 / 1_000.0,
                request.node
            )?,
            // Other backends report no duration, location or node.
            _ => writeln!(out, "  {state:<22} {client_name}{why}")?,
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Text from other clients, with control characters escaped for the terminal.
pub(super) fn plain(text: &str) -> String {
    quorate_client::escaped(text).to_string()
}

fn request_json(request: &RequestInfo, backend: BackendKind) -> serde_json::Value {
    let (standing, token, times) = match request.state {
        RequestState::Holding { token, times } => ("holding", Some(token), Some(times)),
        RequestState::Waiting => ("waiting", None, None),
    };
    let mut json = json!({
        "name": request.name.text(),
        "kind": if request.name.kind() == Kind::Election { "election" } else { "lock" },
        "standing": standing,
        "token": token,
        "times": times,
        "node": request.node,
        "who": request.client_name,
        "where": request.client_location,
        "why": request.why,
        "for_ms": request.for_ms,
    });
    if backend != BackendKind::Quorate {
        for unknown in ["times", "node", "where", "for_ms"] {
            json[unknown] = serde_json::Value::Null;
        }
    }
    json
}

pub(crate) fn release(flags: &ReleaseFlags) -> CommandResult {
    let kind = if flags.election { Kind::Election } else { Kind::Lock };
    let name = Name::new(kind, &flags.name).map_err(CommandError::new)?;
    let released = cluster::runtime()?.block_on(async {
        let client = cluster::client(&flags.cluster)?;
        let released = client.force_release(name, &flags.reason).await;
        match released {
            Err(Error::Failed(Refusal::Free)) => Ok(false),
            released => released.map(|()| true).map_err(|error| cluster::failure(&client, &error)),
        }
    })?;
    if !released {
        anstream::eprintln!("{} is not held by any client", flags.name);
    }
    Ok(exit_code(released))
}
