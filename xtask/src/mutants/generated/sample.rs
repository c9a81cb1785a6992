//! A fixed sample of mutants, one for each family and the leases, as a step of `verify`.
//!
//! It needs neither cargo-mutants nor the record of the functions that tests reach: for each mutant it names the test that has
//! to fail. It shows that the quick tests still notice changes, and not how many.

use std::fs;
use std::io;
use std::path::Path;

use super::build::{self, Copy};
use super::list::Mutant;
use super::suite::{Fate, Suite};
use super::weave::Edit;
use crate::cargo::target_directory;

const PACKAGE: &str = "quorate-algorithms";

/// The tests that are compiled. Compiling them takes longer than running them, so they are not optimised.
const TESTS: &[&str] = &["--config", "profile.test.opt-level=0", "--test", "protocols"];

/// A mutant of the sample.
struct Sampled {
    /// File in the sources of the crate.
    file: &'static str,
    /// Text that occurs once in the file.
    from: &'static str,
    to: &'static str,
    /// Test that has to fail.
    test: &'static str,
}

const SAMPLE: &[Sampled] = &[
    Sampled {
        file: "mutex/central.rs",
        from: "from == self.server || self.hand_over",
        to: "from == self.server && self.hand_over",
        test: "families::mutex::in_every_interleaving",
    },
    Sampled {
        file: "mutex/leased_quorum/ballot.rs",
        from: "vote.frozen.is_none() && first <",
        to: "vote.frozen.is_none() && first >",
        test: "families::mutex::in_every_interleaving",
    },
    Sampled {
        file: "mutex/leased_quorum/voter/votes.rs",
        from: "vote.filter(|vote| vote.claim == claim)?",
        to: "vote.filter(|vote| vote.claim != claim)?",
        test: "families::mutex::in_disorder",
    },
    Sampled {
        file: "election/hirschberg_sinclair.rs",
        from: "probe.candidate.process == self.ring.id",
        to: "probe.candidate.process != self.ring.id",
        test: "families::election::in_every_interleaving",
    },
    Sampled {
        file: "agreement/paxos.rs",
        from: "|_| !self.relayed",
        to: "|_| self.relayed",
        test: "families::agreement::in_every_interleaving",
    },
    Sampled {
        file: "multicast/total_isis.rs",
        from: "|| self.resolved.contains(from)",
        to: "&& self.resolved.contains(from)",
        test: "families::multicast::in_disorder",
    },
    Sampled {
        file: "detector/vcube.rs",
        from: "if !self.counters.crashed().contains(silent)",
        to: "if self.counters.crashed().contains(silent)",
        test: "families::detector::in_disorder",
    },
    Sampled {
        file: "clock/berkeley.rs",
        from: "self.requested || self.master() == self.id",
        to: "self.requested && self.master() == self.id",
        test: "families::clock::in_disorder",
    },
    Sampled {
        file: "allocation/forks/mod.rs",
        from: "if !self.wanted || self.fork != Fork::Dirty",
        to: "if self.wanted || self.fork != Fork::Dirty",
        test: "families::allocation::in_every_interleaving",
    },
    Sampled {
        file: "detection/chandy_misra_haas_or.rs",
        from: "on.is_empty() || !on.is_subset(&others)",
        to: "on.is_empty() && !on.is_subset(&others)",
        test: "families::detection::in_disorder",
    },
    Sampled {
        file: "replication/raft.rs",
        from: "term == self.current_term && free && up_to_date",
        to: "term == self.current_term && (free || up_to_date)",
        test: "families::replication::in_disorder",
    },
];

/// Tries the sample, and returns whether every mutant is caught by its test. Compiles a copy of the workspace below the target
/// directory, which is kept for the next time.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    let mutants: Vec<Mutant> =
        SAMPLE.iter().map(|sampled| sampled.mutant(root)).collect::<io::Result<_>>()?;
    let folder = target_directory(root).join("mutants-sample");
    let built = Copy::create(root, PACKAGE, TESTS.to_vec(), &folder)?.build(&mutants)?;
    let suite = Suite::without_record(&folder, built.programs, &folder);
    let mut passed = true;
    for (index, (mutant, sampled)) in mutants.iter().zip(SAMPLE).enumerate() {
        let fate = match &built.fates[index] {
            Ok(_) => suite.run_test(build::number(index), sampled.test)?,
            Err(fate) => fate.clone(),
        };
        let sound = suite.run_test(0, sampled.test)? == Fate::Survived;
        if !sound {
            eprintln!("{} fails without a mutant", sampled.test);
        }
        let is_caught = matches!(fate, Fate::Caught(_));
        if !is_caught {
            eprintln!("{}:{}: {}: {}", mutant.file, mutant.line, mutant.change, fate.text());
        }
        passed &= sound && is_caught;
    }
    Ok(passed)
}

impl Sampled {
    fn mutant(&self, root: &Path) -> io::Result<Mutant> {
        let Self { from, to, .. } = *self;
        let file = format!("crates/{PACKAGE}/src/{}", self.file);
        let text = fs::read_to_string(root.join(&file))?;
        let mut places = text.match_indices(from);
        let (Some((start, _)), None) = (places.next(), places.next()) else {
            return Err(io::Error::other(format!("`{from}` is not in {file} exactly once")));
        };
        let edit = Edit { range: start..start + from.len(), replacement: to.to_owned() };
        let line = text[..start].lines().count();
        Ok(Mutant { file, line, change: format!("replace {from} with {to}"), edit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_of_the_sample_is_in_the_code_once() {
        for sampled in SAMPLE {
            let mutant = sampled.mutant(&crate::root()).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(sampled.from, sampled.to, "{}", mutant.change);
        }
    }
}
