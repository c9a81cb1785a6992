//! `quorate certs`: creates a certificate authority and certificates for the nodes of a cluster.

use std::io::{self, Write};
use std::process::ExitCode;

use quorate_core::ProcessId;
use quorate_net::certs::{CertificateEntry, CertificateSubject, CertsSpec, IssueOutcome, make};
use serde_json::json;

use crate::CommandResult;
use crate::arguments::CertsFlags;
use crate::command_error::CommandError;

pub(crate) fn certs(flags: &CertsFlags) -> CommandResult {
    let (named, nodes) = (flags.addresses.len(), flags.nodes as usize);
    if named > 0 && named != nodes {
        let problem =
            format!("--addresses: {named} addresses for {nodes} nodes; give one for each node");
        return Err(CommandError::new(problem));
    }
    let names = |node: usize| flags.addresses.get(node).cloned().into_iter().collect();
    let spec = CertsSpec {
        nodes: (0..nodes).map(|node| (ProcessId::from_index(node), names(node))).collect(),
        clients: flags.clients.clone(),
        days: flags.days,
        renew: flags.renew,
    };
    let entries = make(&flags.dir, &spec).map_err(CommandError::new)?;
    print(&entries, flags.json)?;
    Ok(ExitCode::SUCCESS)
}

fn print(entries: &[CertificateEntry], json: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if json {
        let list: Vec<_> = entries.iter().map(as_json).collect();
        serde_json::to_writer(&mut out, &json!({ "certificates": list }))?;
        return writeln!(out);
    }
    for entry in entries {
        let subject = match &entry.subject {
            CertificateSubject::Authority => "authority".to_owned(),
            CertificateSubject::Node(node) => format!("node {}", node.number()),
            CertificateSubject::Client(client) => format!("client {client}"),
        };
        let (certificate, key) = (entry.certificate.display(), entry.key.display());
        writeln!(out, "{subject:<9}  {:<7}  {certificate}  {key}", outcome_name(entry.outcome))?;
    }
    out.flush()
}

fn as_json(entry: &CertificateEntry) -> serde_json::Value {
    let (node, client) = match &entry.subject {
        CertificateSubject::Authority => (None, None),
        CertificateSubject::Node(node) => (Some(node.number()), None),
        CertificateSubject::Client(client) => (None, Some(client)),
    };
    json!({
        "node": node,
        "client": client,
        "outcome": outcome_name(entry.outcome),
        "certificate": entry.certificate.display().to_string(),
        "key": entry.key.display().to_string(),
    })
}

const fn outcome_name(outcome: IssueOutcome) -> &'static str {
    match outcome {
        IssueOutcome::Made => "made",
        IssueOutcome::Renewed => "renewed",
        IssueOutcome::Kept => "kept",
    }
}
