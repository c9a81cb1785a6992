//! Tables 5.1 to 5.8 and Figures 5.3 and 5.4 of the monograph on a quorum mutex over the VCube: the printed values, the
//! measured cost of its algorithm, and the measured cost of ours.
//!
//! A cell of the printed tables is one run. Here a cell with failures is many runs, each with its own failures. Without
//! failures nothing is random, and one run is sufficient.
//!
//! The experiment is about this one monograph, so it names the algorithm of the monograph and ours.

mod charts;
mod printed;
mod text;

use printed::{Misprint, PRINTED, Printed};
use quorate_core::quorum::AnyMonotone;

use super::crashes::Failures;
use super::quorum_run::{Measured, QuorumMutexConfig, count, statistics_over};
use super::replay::command;
use super::request::SweepError;
use super::sweep::sweep;
use super::{Experiment, Findings, Request, Sizes, Statistics, Table, Value, doubling};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "thesis",
    summary: "the monograph's Tables 5.1 to 5.8: as printed, as its algorithm gives, as ours gives",
    seeds: 20,
    sizes: Some(Sizes { least: 8, usual: 512, most: 4096 }),
    ours: Some(512),
    draws: true,
    run,
};

/// The published algorithm, or ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Published,
    Ours,
}

impl Variant {
    const ALL: [Self; 2] = [Self::Published, Self::Ours];

    fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Ours => "ours",
        }
    }

    fn algorithm(self) -> &'static str {
        match self {
            Self::Published => "quorum-published",
            Self::Ours => "quorum",
        }
    }
}

/// A cell of a table, for one algorithm.
struct Row {
    printed: &'static Printed,
    n: usize,
    variant: Variant,
    runs: u64,
    no_quorum: u64,
    hung: u64,
    two_inside: u64,
    /// Messages per entry, over the complete runs.
    messages: Option<Statistics>,
    /// Messages per entry of the runs with the fewest and with the most.
    range: Option<(f64, f64)>,
    /// FAILED messages per entry.
    failed: Option<f64>,
    entries: Option<f64>,
    sigma: Option<f64>,
    plain_sigma: Option<f64>,
    /// Messages of the layer `view` per entry.
    acknowledgements: Option<f64>,
    /// The same with majorities and acknowledgements to all, in some of the runs.
    acknowledgements_to_all: Option<f64>,
    /// Command that repeats the first run that hung or had two processes inside.
    broken: Option<String>,
}

fn run(request: &Request<'_>) -> Result<Findings, SweepError> {
    let rows = rows(request)?;
    Ok(Findings {
        table: Table::new(rows.iter().map(Row::values)),
        blocks: text::blocks(&rows),
        notes: text::notes(&rows, request.seeds),
        charts: charts::charts(&rows),
    })
}

/// A cell of a table for one algorithm, and its numbers of runs.
struct Field {
    printed: &'static Printed,
    n: usize,
    variant: Variant,
    runs: u64,
    /// Number of runs with majorities, whose acknowledgements are compared.
    runs_to_all: u64,
}

impl Field {
    fn config(&self) -> QuorumMutexConfig {
        config(self.printed, self.n, self.variant)
    }

    fn config_to_all(&self) -> QuorumMutexConfig {
        QuorumMutexConfig { algorithm: "quorum-majority", ..self.config() }
    }
}

/// Maximum number of processes for which acknowledgements to all are measured, and the share of the runs: with n crashes
/// there are n^3 of them.
const TO_ALL_MOST: usize = 128;
const TO_ALL_SHARE: u64 = 10;

fn rows(request: &Request<'_>) -> Result<Vec<Row>, SweepError> {
    let mut fields: Vec<Field> = Vec::new();
    for printed in &PRINTED {
        let runs = if printed.failures == Failures::None { 1 } else { request.seeds };
        for n in doubling(printed::SIZES[0], request.up_to) {
            let goes_so_far = |variant: &Variant| match variant {
                Variant::Published => true,
                Variant::Ours => n <= request.ours_up_to,
            };
            let variants = Variant::ALL.into_iter().filter(goes_so_far);
            fields.extend(variants.map(|variant| {
                let acknowledges = variant == Variant::Ours
                    && printed.failures != Failures::None
                    && AnyMonotone::NAMES.contains(&printed.generator);
                let to_all = acknowledges && n <= TO_ALL_MOST;
                let runs_to_all = if to_all { runs.div_ceil(TO_ALL_SHARE) } else { 0 };
                Field { printed, n, variant, runs, runs_to_all }
            }));
        }
    }
    let cells: Vec<(QuorumMutexConfig, u64)> = fields
        .iter()
        .flat_map(|field| {
            let (config, to_all) = (field.config(), field.config_to_all());
            let runs = (0..field.runs).map(move |seed| (config, seed));
            runs.chain((0..field.runs_to_all).map(move |seed| (to_all, seed)))
        })
        .collect();
    let mut measured = sweep(request, &cells, |(config, seed)| config.measure(*seed))?.into_iter();
    let row = |field: Field| {
        let mut next =
            |runs: u64| -> Vec<Measured> { measured.by_ref().take(runs as usize).collect() };
        let runs = next(field.runs);
        let to_all = next(field.runs_to_all);
        let to_all = statistics_over(&to_all, |run| run.acknowledgements);
        Row {
            acknowledgements_to_all: to_all.map(|to_all| to_all.mean),
            ..Row::new(field.printed, field.n, field.variant, &runs)
        }
    };
    Ok(fields.into_iter().map(row).collect())
}

fn config(printed: &Printed, n: usize, variant: Variant) -> QuorumMutexConfig {
    QuorumMutexConfig {
        algorithm: variant.algorithm(),
        generator: printed.generator,
        requesters: printed.requesters,
        failures: printed.failures,
        n,
        no_cancel: false,
    }
}

impl Row {
    fn new(printed: &'static Printed, n: usize, variant: Variant, runs: &[Measured]) -> Self {
        let mean = |figure| statistics_over(runs, figure).map(|figures| figures.mean);
        let complete = runs.iter().filter(|run| run.is_complete()).map(|run| run.messages);
        let range = complete.fold(None, |range, messages| {
            let (least, most) = range.unwrap_or((messages, messages));
            Some((messages.min(least), messages.max(most)))
        });
        let broken = runs.iter().position(|run| run.hung || run.two_inside);
        Self {
            printed,
            n,
            variant,
            runs: runs.len() as u64,
            no_quorum: count(runs, |run| run.no_quorum),
            hung: count(runs, |run| run.hung),
            two_inside: count(runs, |run| run.two_inside),
            messages: statistics_over(runs, |run| run.messages),
            range,
            failed: mean(|run| run.failed),
            entries: mean(|run| run.entries as f64),
            sigma: mean(|run| run.sigma),
            plain_sigma: mean(|run| run.plain_sigma),
            acknowledgements: mean(|run| run.acknowledgements),
            acknowledgements_to_all: None,
            broken: broken.map(|seed| command(&config(printed, n, variant).scenario(seed as u64))),
        }
    }

    fn mean(&self) -> Option<f64> {
        self.messages.map(|messages| messages.mean)
    }

    fn half_width(&self) -> Option<f64> {
        self.messages.and_then(|messages| messages.half_width())
    }

    fn printed_mean(&self) -> Option<u32> {
        self.printed.at(self.n).map(|(mean, _)| mean)
    }

    fn difference(&self) -> Option<f64> {
        Some(self.mean()? - f64::from(self.printed_mean()?))
    }

    /// Whether the printed mean, a whole number, lies within the range of the runs.
    fn within(&self) -> Option<bool> {
        let (least, most) = self.range?;
        let printed = f64::from(self.printed_mean()?);
        Some((least.floor()..=most.ceil()).contains(&printed))
    }

    fn misprint(&self) -> Option<Misprint> {
        self.printed.misprint(self.n)
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let (printed, misprint) = (self.printed.at(self.n), self.misprint());
        let complete = self.messages.map_or(0, |messages| messages.count);
        vec![
            ("table", self.printed.table.into()),
            ("variant", self.variant.name().into()),
            ("generator", self.printed.generator.into()),
            ("requesters", self.printed.requesters.to_string().into()),
            ("failures", self.printed.failures.name().into()),
            ("processes", self.n.into()),
            ("printed_mean", printed.map(|(mean, _)| u64::from(mean)).into()),
            ("printed_sigma", printed.map(|(_, sigma)| sigma).into()),
            ("mean", self.mean().into()),
            ("sigma", self.sigma.into()),
            ("runs", self.runs.into()),
            ("no_quorum_runs", self.no_quorum.into()),
            ("hung_runs", self.hung.into()),
            ("misprint", misprint.is_some_and(|misprint| misprint.mean).into()),
            ("sigma_misprint", misprint.is_some_and(|misprint| !misprint.mean).into()),
            ("reason", misprint.map(|misprint| misprint.reason).into()),
            ("difference", self.difference().into()),
            ("half_width_95", self.half_width().into()),
            ("least", self.range.map(|(least, _)| least).into()),
            ("most", self.range.map(|(_, most)| most).into()),
            ("printed_within", self.within().into()),
            ("no_quorum_share", (self.no_quorum as f64 / self.runs as f64).into()),
            ("complete_runs", complete.into()),
            ("two_inside_runs", self.two_inside.into()),
            ("entries", self.entries.into()),
            ("plain_sigma", self.plain_sigma.into()),
            ("failed_messages", self.failed.into()),
            ("acknowledgements", self.acknowledgements.into()),
            ("acknowledgements_to_all", self.acknowledgements_to_all.into()),
            ("replay", self.broken.clone().into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_sim::scenario::Requesters;

    /// The published algorithm in every cell without failures.
    fn without_failures(requesters: Requesters) -> Vec<Row> {
        let of = |printed: &&Printed| {
            printed.failures == Failures::None && printed.requesters == requesters
        };
        let cells =
            PRINTED.iter().filter(of).flat_map(|printed| printed::SIZES.map(|n| (printed, n)));
        let row = |(printed, n)| {
            let run = config(printed, n, Variant::Published).measure(0).unwrap();
            Row::new(printed, n, Variant::Published, &[run])
        };
        cells.map(row).collect()
    }

    #[test]
    fn one_requester_takes_what_is_printed_but_for_three_misprints() {
        let rows = without_failures(Requesters::One);
        assert_eq!(rows.len(), 21);
        let mut misprints = 0;
        for row in rows {
            let (mean, sigma) = row.printed.at(row.n).unwrap();
            let measured = row.mean().unwrap();
            if row.misprint().is_some_and(|misprint| misprint.mean) {
                // REQUEST, REPLY and RELEASE are one third of the messages each.
                assert_eq!(
                    f64::from(mean),
                    measured * 2.0 / 3.0,
                    "{} {}",
                    row.printed.generator,
                    row.n
                );
                misprints += 1;
                continue;
            }
            assert_eq!(f64::from(mean), measured, "{} {}", row.printed.generator, row.n);
            let off = (row.sigma.unwrap() - sigma).abs();
            assert_eq!(
                off < 0.02,
                row.misprint().is_none(),
                "{} {}: {off}",
                row.printed.generator,
                row.n
            );
        }
        assert_eq!(misprints, 3);
    }

    #[test]
    fn with_everyone_requesting_means_and_the_deviations_of_the_tree_come_close() {
        let rows = without_failures(Requesters::All);
        assert_eq!(rows.len(), 21);
        for row in rows {
            let (mean, sigma) = row.printed.at(row.n).unwrap();
            let (generator, n) = (row.printed.generator, row.n);
            let off = row.mean().unwrap() / f64::from(mean) - 1.0;
            assert!(off.abs() < 0.07, "{generator} {n}: {off}");
            if generator == "tree" && n >= 64 {
                let off = row.sigma.unwrap() - sigma;
                assert!(off.abs() < 0.05, "{generator} {n}: {off}");
            }
        }
    }

    /// Where no process crashes, correctness has no price: the messages are the same, without FAILED.
    #[test]
    fn without_failures_ours_takes_what_is_published_without_failed() {
        for requesters in [Requesters::One, Requesters::All] {
            for published in without_failures(requesters) {
                let (printed, n) = (published.printed, published.n);
                let ours = config(printed, n, Variant::Ours).measure(0).unwrap();
                let off = ours.messages - (published.mean().unwrap() - published.failed.unwrap());
                assert!(off.abs() < 1e-9, "{} {n}: {off}", printed.generator);
                if requesters == Requesters::One {
                    assert_eq!(Some(ours.messages), published.mean(), "{} {n}", printed.generator);
                }
            }
        }
    }

    /// Checks the claim about the 22 in Table 5.7.
    #[test]
    fn one_crash_among_eight_takes_13_to_16_messages_over_the_vcube() {
        use quorate_sim::fault::ProcessAt;
        use quorate_sim::notation::{ProcessSelector, When};
        let printed = PRINTED.iter().find(|printed| printed.table == "5.7").unwrap();
        let healthy = config(printed, 8, Variant::Published).scenario(0);
        let mut found = std::collections::BTreeSet::new();
        for victim in quorate_core::ProcessId::all(8).skip(1) {
            for time in (0..4_000_000).step_by(250_000) {
                let at = When::At(quorate_core::Time(time));
                let mut scenario = healthy.clone();
                scenario.faults.crash =
                    vec![ProcessAt { process: ProcessSelector::Process(victim), at }];
                let outcome = crate::run(&scenario, quorate_sim::Conditions::default(), None);
                found.insert(outcome.unwrap().report.messages.total);
            }
        }
        assert_eq!(found, (13..=16).collect());
    }

    #[test]
    fn every_printed_cell_is_there_once() {
        let names: std::collections::BTreeSet<String> = PRINTED
            .iter()
            .map(|p| format!("{} {} {} {}", p.table, p.generator, p.requesters, p.failures.name()))
            .collect();
        assert_eq!(names.len() * printed::SIZES.len(), 168);
        let misprints = PRINTED
            .iter()
            .flat_map(|printed| printed::SIZES.into_iter().filter_map(|n| printed.misprint(n)));
        let (means, sigmas): (Vec<Misprint>, Vec<Misprint>) =
            misprints.partition(|misprint| misprint.mean);
        assert_eq!((means.len(), sigmas.len()), (3, 4));
    }
}
