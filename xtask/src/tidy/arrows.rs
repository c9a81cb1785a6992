//! Rule that dependencies between the crates point down only.

use crate::manifest::Manifest;
use crate::tidy::Problem;
use crate::tree::TextFile;

/// Crates of the workspace that each crate may depend on, from the bottom up. Tests may use more: a test of an
/// algorithm runs it in the simulator.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("quorate-core", &[]),
    ("quorate-algorithms", &["quorate-core"]),
    ("quorate-sim", &["quorate-core"]),
    ("quorate-check", &["quorate-core", "quorate-sim"]),
    ("quorate-draw", &["quorate-core", "quorate-sim"]),
    ("quorate-run", &["quorate-core", "quorate-algorithms", "quorate-sim", "quorate-check"]),
    (
        "quorate-lab",
        &[
            "quorate-core",
            "quorate-algorithms",
            "quorate-sim",
            "quorate-check",
            "quorate-run",
            "quorate-draw",
        ],
    ),
    ("quorate-protocol", &["quorate-core", "quorate-algorithms"]),
    (
        "quorate-console",
        &[
            "quorate-core",
            "quorate-algorithms",
            "quorate-sim",
            "quorate-check",
            "quorate-run",
            "quorate-draw",
            "quorate-lab",
            "quorate-protocol",
        ],
    ),
    ("quorate-net", &["quorate-core"]),
    ("quorate-client", &["quorate-core", "quorate-algorithms", "quorate-protocol"]),
    (
        "quorate-bench",
        &[
            "quorate-core",
            "quorate-algorithms",
            "quorate-sim",
            "quorate-check",
            "quorate-draw",
            "quorate-net",
            "quorate-protocol",
            "quorate-client",
        ],
    ),
    ("quorate-service", &["quorate-core", "quorate-algorithms", "quorate-net", "quorate-protocol"]),
    (
        "quorate-torture",
        &["quorate-core", "quorate-net", "quorate-protocol", "quorate-client", "quorate-service"],
    ),
    (
        "quorate",
        &[
            "quorate-core",
            "quorate-algorithms",
            "quorate-sim",
            "quorate-check",
            "quorate-run",
            "quorate-draw",
            "quorate-lab",
            "quorate-console",
            "quorate-net",
            "quorate-protocol",
            "quorate-client",
            "quorate-service",
            "quorate-bench",
        ],
    ),
];

/// Dependencies of a crate that the table does not allow.
pub(super) fn forbidden_dependencies(
    file: &TextFile,
    name: &str,
    manifest: &Manifest,
) -> Vec<Problem> {
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
        return vec![Problem::of_file(
            &file.path,
            "a new crate: give it a row in xtask/src/tidy/arrows.rs",
        )];
    };
    let of_workspace = |name: &str| name == "quorate" || name.starts_with("quorate-");
    let dependencies = manifest.dependencies().into_iter();
    let wrong = dependencies.filter(|used| of_workspace(used) && !allowed.contains(used));
    wrong
        .map(|used| Problem::of_file(&file.path, format!("{name} must not depend on {used}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_itself_points_down() {
        for (row, (name, allowed)) in MAY_USE.iter().enumerate() {
            let below: Vec<&str> = MAY_USE[..row].iter().map(|(name, _)| *name).collect();
            assert!(allowed.iter().all(|used| below.contains(used)), "{name}");
        }
    }
}
