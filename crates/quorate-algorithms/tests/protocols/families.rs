//! One test for each family.

use quorate_algorithms::catalogue::PROFILES;
use quorate_core::Layer;

use crate::digest::run_digest;
use crate::{disorder, files, storms, worlds};

/// Runs all scenarios of all algorithms of a family. Returns a line for each scenario file and for each kind of random
/// scenarios, and the unmet expectations of the files.
fn family(layer: Layer) -> (String, Vec<String>) {
    let files = files::scenarios();
    let (mut lines, mut unmet) = (Vec::new(), Vec::new());
    for profile in PROFILES.iter().filter(|profile| profile.layer == layer) {
        for (name, scenario) in files.iter().filter(|(_, it)| it.algorithm == profile.name) {
            let (report, digest) = run_digest(scenario);
            let expected = scenario.expect.as_ref().zip(report);
            let differences = expected.map(|(expect, report)| expect.differences(&report));
            unmet.extend(differences.into_iter().flatten().map(|it| format!("{name}: {it}")));
            lines.push(format!("{} {name}: {digest}", profile.name));
        }
        lines.extend(storms::rows(*profile, |storm| run_digest(&storm.scenario).1));
    }
    (lines.join("\n"), unmet)
}

macro_rules! families {
    ($($test:ident: $layer:ident),* $(,)?) => {$(
        #[test]
        fn $test() {
            let (lines, unmet) = family(Layer::$layer);
            assert!(unmet.is_empty(), "{}", unmet.join("\n"));
            insta::assert_snapshot!(stringify!($test), lines);
        }

        mod $test {
            use super::*;

            #[test]
            fn in_disorder() {
                let name = concat!(stringify!($test), "_in_disorder");
                insta::assert_snapshot!(name, disorder::family(Layer::$layer));
            }

            #[test]
            fn in_every_interleaving() {
                let name = concat!(stringify!($test), "_in_every_interleaving");
                insta::assert_snapshot!(name, worlds::family(Layer::$layer));
            }
        }
    )*};
}

families! {
    mutex: Mutex,
    election: Election,
    agreement: Agreement,
    multicast: Multicast,
    detector: Detector,
    clock: Clock,
    allocation: Allocation,
    snapshot: Snapshot,
    detection: Detection,
    replication: Replication,
}

#[test]
fn every_algorithm_belongs_to_a_family_that_is_tested() {
    let tested = [
        Layer::Mutex,
        Layer::Election,
        Layer::Agreement,
        Layer::Multicast,
        Layer::Detector,
        Layer::Clock,
        Layer::Allocation,
        Layer::Snapshot,
        Layer::Detection,
        Layer::Replication,
    ];
    for profile in PROFILES {
        assert!(tested.contains(&profile.layer), "{}", profile.name);
    }
}
