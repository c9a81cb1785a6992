//! Catalogue of algorithms, for the cards of the page.

use axum::Json;
use quorate_algorithms::Algorithm;
use quorate_algorithms::catalogue::{self, AlgorithmQuery, PROFILES};
use quorate_core::quorum::AnySystem;
use quorate_core::{Assumption, Message, Profile, Property};
use serde_json::{Value, json};

/// Lists every algorithm with its profile and options, and all assumptions, properties and quorum systems.
pub(super) async fn algorithms() -> Json<Value> {
    Json(json!({
        "algorithms": PROFILES.iter().map(card).collect::<Vec<_>>(),
        "assumptions": Assumption::ALL.map(|it| json!({ "id": it.id(), "sentence": it.sentence() })),
        "properties": Property::ALL.map(|it| {
            json!({ "id": it.id(), "family": it.layer().map(|layer| layer.family()), "sentence": it.sentence() })
        }),
        "quorums": AnySystem::names().collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

fn card(profile: &Profile) -> Value {
    struct Traits;
    impl AlgorithmQuery for Traits {
        type Answer = Value;
        fn query<A: Algorithm>(self) -> Value {
            json!({
                "quorums": A::QUORUMS,
                "tree": A::ALONG_A_TREE,
                "rounds": A::IN_ROUNDS,
                "servers": A::ASKS_SERVERS,
                "bears": A::tolerates(7).is_some(),
                "kinds": A::Message::KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>(),
            })
        }
    }
    json!({
        "name": profile.name,
        "family": profile.layer.family(),
        "summary": profile.summary,
        "specimen": profile.specimen.map(|specimen| json!({
            "breaks": specimen.breaks.id(),
            "why": specimen.why,
        })),
        "assumes": profile.assumes.iter().map(|it| it.id()).collect::<Vec<_>>(),
        "guarantees": profile.guarantees.iter().map(|it| it.id()).collect::<Vec<_>>(),
        "cost": profile.cost,
        "source": profile.source,
        "traits": catalogue::query_algorithm(profile.name, Traits),
    })
}
