//! Catalogue of algorithms, for the cards of the page.

use axum::Json;
use quorate_core::allocation::ClaimKind;
use quorate_core::quorum::AnySystem;
use quorate_core::{Assumption, Layer, Property};
use quorate_run::{Entry, catalogue};
use serde_json::{Value, json};

/// Lists every algorithm with its profile and options, and all assumptions, properties and quorum systems.
pub(super) async fn algorithms() -> Json<Value> {
    let properties = Property::ALL.map(|it| {
        json!({ "id": it.id(), "family": it.layer().map(|layer| layer.family()), "sentence": it.sentence() })
    });
    Json(json!({
        "algorithms": catalogue().entries().iter().map(card).collect::<Vec<_>>(),
        "assumptions": Assumption::ALL.map(|it| json!({ "id": it.id(), "sentence": it.sentence() })),
        "properties": properties.to_vec(),
        "quorums": AnySystem::names().collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

fn card(entry: &Entry) -> Value {
    let facts = entry.facts();
    let profile = &facts.profile;
    let allocates = profile.layer == Layer::Allocation;
    json!({
        "name": profile.name,
        "family": profile.layer.family(),
        "summary": profile.summary,
        "specimen": profile.specimen.map(|specimen| json!({
            "breaks": specimen.breaks.id(),
            "why": specimen.why,
        })),
        "assumes": profile.assumes.iter().map(|it| it.id()).collect::<Vec<_>>(),
        "guarantees": profile.kept_guarantees().map(|it| it.id()).collect::<Vec<_>>(),
        "cost": profile.cost,
        "source": profile.source,
        "steps": facts.steps.iter().map(|step| json!({ "on": step.on, "doing": step.doing, "text": step.text })).collect::<Vec<_>>(),
        "traits": {
            "quorums": facts.quorums,
            "tree": facts.along_a_tree,
            "rounds": facts.in_rounds,
            "servers": facts.asks_servers,
            "bears": (facts.tolerates)(7).is_some(),
            "permits": allocates && facts.claim_kind == ClaimKind::Permit,
            "conflicts": allocates && facts.claim_kind.has_neighbours(),
            "kinds": facts.kinds.iter().map(|kind| kind.name).collect::<Vec<_>>(),
        },
    })
}
