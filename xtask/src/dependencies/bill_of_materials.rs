//! The crates in the program as a bill of materials in the format CycloneDX 1.5.

use super::Dependency;
use crate::json::Json;

/// A bill of materials of the program, as JSON. `time` is that of the release (RFC 3339).
pub(crate) fn bill_of_materials(dependencies: &[Dependency], time: &str) -> String {
    let program = dependencies.iter().find(|dependency| dependency.name == "quorate");
    let others = dependencies.iter().filter(|dependency| dependency.name != "quorate");
    let needs = |dependency: &Dependency| {
        let on = dependency.needs.iter().map(|&need| Json::text_of(url(&dependencies[need])));
        Json::object([
            ("ref", Json::text_of(url(dependency))),
            ("dependsOn", Json::List(on.collect())),
        ])
    };
    let bill = Json::object([
        ("bomFormat", Json::text_of("CycloneDX")),
        ("specVersion", Json::text_of("1.5")),
        ("version", Json::Number(1)),
        (
            "metadata",
            Json::object([
                ("timestamp", Json::text_of(time)),
                ("component", program.map_or(Json::Other, |it| component(it, "application"))),
            ]),
        ),
        ("components", Json::List(others.map(|it| component(it, "library")).collect())),
        ("dependencies", Json::List(dependencies.iter().map(needs).collect())),
    ]);
    format!("{bill}\n")
}

fn component(dependency: &Dependency, kind: &str) -> Json {
    let licence =
        Json::object([("expression", Json::text_of(dependency.licence.replace('/', " OR ")))]);
    let mut fields = vec![
        ("type", Json::text_of(kind)),
        ("bom-ref", Json::text_of(url(dependency))),
        ("name", Json::text_of(&dependency.name)),
        ("version", Json::text_of(&dependency.version)),
        ("purl", Json::text_of(url(dependency))),
        ("licenses", Json::List(vec![licence])),
    ];
    if let Some(checksum) = &dependency.checksum {
        let hash =
            Json::object([("alg", Json::text_of("SHA-256")), ("content", Json::text_of(checksum))]);
        fields.push(("hashes", Json::List(vec![hash])));
    }
    Json::object(fields)
}

/// Package URL of a crate.
fn url(dependency: &Dependency) -> String {
    format!("pkg:cargo/{}@{}", dependency.name, dependency.version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_is_listed_with_its_licence_checksum_and_needs() {
        let text = bill_of_materials(&super::super::example(), "2026-01-02T03:04:05Z");
        let bill = Json::parse(&text).expect("JSON");
        let program = bill.at(&["metadata", "component"]);
        assert_eq!(program.at(&["purl"]).text(), Some("pkg:cargo/quorate@0.1.0"));
        let components = bill.at(&["components"]).list();
        assert_eq!(components.len(), 2);
        let licence = components[0].at(&["licenses"]).list()[0].at(&["expression"]).text();
        assert_eq!(licence, Some("MIT OR Apache-2.0"));
        let hash = components[0].at(&["hashes"]).list()[0].at(&["content"]).text();
        assert_eq!(hash, Some("c0ffee"));
        let needs = bill.at(&["dependencies"]).list();
        assert_eq!(needs[0].at(&["dependsOn"]).list(), [Json::text_of("pkg:cargo/b@0.1.0")]);
    }
}
