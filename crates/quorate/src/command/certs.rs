//! `quorate certs`: an authority and certificates for the nodes of a cluster.

use std::io::{self, Write};
use std::process::ExitCode;

use quorate_core::ProcessId;
use quorate_net::certs::{Entry, Outcome, Wanted, Whose, make};
use serde_json::json;

use crate::Done;
use crate::arguments::Certs;
use crate::failure::Failure;

pub(crate) fn certs(flags: &Certs) -> Done {
    let (named, nodes) = (flags.addresses.len(), flags.nodes as usize);
    if named > 0 && named != nodes {
        let problem = format!("--addresses: {named} for {nodes} nodes; name one for each");
        return Err(Failure::new(problem));
    }
    let names = |node: usize| flags.addresses.get(node).cloned().into_iter().collect();
    let wanted = Wanted {
        nodes: (0..nodes).map(|node| (ProcessId::from_index(node), names(node))).collect(),
        clients: flags.clients.clone(),
        days: flags.days,
        renew: flags.renew,
    };
    let entries = make(&flags.dir, &wanted).map_err(Failure::new)?;
    print(&entries, flags.json)?;
    Ok(ExitCode::SUCCESS)
}

fn print(entries: &[Entry], json: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if json {
        let list: Vec<_> = entries.iter().map(as_json).collect();
        serde_json::to_writer(&mut out, &json!({ "certificates": list }))?;
        return writeln!(out);
    }
    for entry in entries {
        let whose = match &entry.whose {
            Whose::Authority => "authority".to_owned(),
            Whose::Node(node) => format!("node {}", node.number()),
            Whose::Client(client) => format!("client {client}"),
        };
        let (certificate, key) = (entry.certificate.display(), entry.key.display());
        writeln!(out, "{whose:<9}  {:<7}  {certificate}  {key}", word(entry.outcome))?;
    }
    out.flush()
}

fn as_json(entry: &Entry) -> serde_json::Value {
    let (node, client) = match &entry.whose {
        Whose::Authority => (None, None),
        Whose::Node(node) => (Some(node.number()), None),
        Whose::Client(client) => (None, Some(client)),
    };
    json!({
        "node": node,
        "client": client,
        "outcome": word(entry.outcome),
        "certificate": entry.certificate.display().to_string(),
        "key": entry.key.display().to_string(),
    })
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Made => "made",
        Outcome::Renewed => "renewed",
        Outcome::Kept => "kept",
    }
}
