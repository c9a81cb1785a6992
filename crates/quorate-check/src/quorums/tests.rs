use quorate_core::quorum::{AnyPerView, AnySystem, GivenPerView, RebuiltGrid};

use super::*;

fn of(name: &str, n: usize) -> QuorumReport {
    let system = AnySystem::by_name(name, n).expect("a known name");
    analyse(&system, &ProcessSet::new(), ProcessId::new(0), 0)
}

fn set(members: &[u32]) -> ProcessSet {
    members.iter().copied().map(ProcessId::new).collect()
}

/// Whether any two quorums of any two views intersect, checked pair by pair.
fn meet_one_by_one(system: &impl QuorumSystem) -> [bool; 3] {
    let n = system.processes();
    let views: Vec<ProcessSet> = (0..1u32 << n).map(every_view::set).collect();
    let takes: Vec<(usize, ProcessId, ProcessSet)> = (0..views.len())
        .flat_map(|view| ProcessId::all(n).map(move |process| (view, process)))
        .filter(|(view, process)| !views[*view].contains(*process))
        .filter_map(|(view, p)| Some((view, p, system.quorum(p, &views[view])?)))
        .collect();
    let (mut within, mut across, mut of_live) = (true, true, true);
    for (a, p, one) in &takes {
        for (b, q, other) in takes.iter().filter(|(.., other)| other.is_disjoint(one)) {
            within &= a != b;
            across = false;
            let live = |process| !views[*a].contains(process) && !views[*b].contains(process);
            of_live &= p == q || !live(*p) || !live(*q);
            assert!(!other.is_empty());
        }
    }
    [within, across, of_live]
}

#[test]
fn all_views_at_once_agree_with_pair_by_pair() {
    for name in AnySystem::names() {
        for n in 1..=6 {
            let system = AnySystem::by_name(name, n).expect("a known name");
            let report = of(name, n);
            let found = [
                report.meets_within_view,
                report.meets_across_views,
                report.meets_across_views_of_live,
            ];
            assert_eq!(found, meet_one_by_one(&system), "{name} n = {n}");
        }
    }
}

#[test]
fn a_perfect_detector_does_not_save_the_vcube_nor_the_grid() {
    for (name, in_both, after) in [("vcube", 2, 4), ("grid", 1, 1)] {
        let report = of(name, 8);
        assert!(report.exhaustive && report.meets_within_view, "{name}");
        assert!(!report.meets_across_views_of_live, "{name}");
        let disjoint = report.disjoint_across_views.expect("evidence");
        let failures = disjoint.first.failed.len() + disjoint.second.failed.len();
        assert_eq!(failures, in_both, "{name}: {disjoint:?}");
        let disjoint = report.disjoint_after_crashes.expect("evidence");
        assert_eq!(
            (disjoint.first.failed.len(), disjoint.second.failed.len()),
            (0, after),
            "{name}"
        );
    }
}

#[test]
fn fixed_coteries_meet_whatever_the_views() {
    for name in ["tree", "majority", "grid-fixed", "plane"] {
        for n in [1, 2, 3, 7, 8, 12] {
            let report = of(name, n);
            assert!(report.exhaustive && report.meets_across_views, "{name} n = {n}");
        }
        let sampled = of(name, 40);
        assert!(!sampled.exhaustive && sampled.meets_across_views, "{name}");
    }
}

#[test]
fn drawn_views_find_what_all_views_would() {
    for name in ["vcube", "grid"] {
        let report = of(name, 32);
        assert!(report.meets_within_view && !report.meets_across_views_of_live, "{name}");
    }
}

/// The least number of failures before a further one that changes a quorum, checked step by step with sets.
fn fewest_before_a_step(system: &impl QuorumSystem) -> Option<usize> {
    let n = system.processes();
    let mut fewest = None;
    for failed in (0..1u32 << n).map(every_view::set) {
        let live = || ProcessId::all(n).filter(|process| !failed.contains(*process));
        for process in live() {
            let Some(before) = system.quorum(process, &failed) else { continue };
            for further in live().filter(|it| *it != process && !before.contains(*it)) {
                let mut failed = failed.clone();
                failed.insert(further);
                if system.quorum(process, &failed).is_none_or(|after| !after.is_subset(&before)) {
                    let failures = failed.len() - 1;
                    fewest = Some(fewest.map_or(failures, |fewest: usize| fewest.min(failures)));
                }
            }
        }
    }
    fewest
}

/// Computes both quorums of a counterexample again.
#[track_caller]
fn verify_step(system: &impl QuorumSystem, step: &NonMonotoneStep) {
    let (process, mut failed) = (ProcessId::new(step.process), set(&step.failed));
    let before = system.quorum(process, &failed).expect("a quorum before");
    let further = ProcessId::new(step.further);
    assert!(failed.insert(further) && further != process && !before.contains(further), "{step:?}");
    let after = system.quorum(process, &failed);
    assert_eq!(
        (numbers(&before), after.as_ref().map(numbers)),
        (step.quorum.clone(), step.after.clone())
    );
    assert!(after.is_none_or(|after| !after.is_subset(&before)), "{step:?}");
}

#[test]
fn steps_of_all_views_agree_with_step_by_step() {
    for name in AnySystem::names() {
        for n in 1..=7 {
            let system = AnySystem::by_name(name, n).expect("a known name");
            let report = of(name, n);
            let found = report.not_monotone.as_ref().map(|step| step.failed.len());
            assert_eq!(found, fewest_before_a_step(&system), "{name} n = {n}");
            assert_eq!(report.monotone, report.not_monotone.is_none(), "{name} n = {n}");
            report.not_monotone.iter().for_each(|step| verify_step(&system, step));
        }
    }
}

#[test]
fn a_grid_that_is_rebuilt_is_not_monotone_and_the_other_systems_are() {
    for n in [6, 11, 17, 40] {
        for name in AnySystem::names() {
            let report = of(name, n);
            assert_eq!(report.exhaustive, n <= EVERY_VIEW_MOST);
            assert_eq!(report.monotone, name != "grid-rebuilt", "{name} n = {n}");
            assert_eq!(report.not_monotone.is_none(), report.monotone, "{name} n = {n}");
        }
        let step = of("grid-rebuilt", n).not_monotone.expect("a counterexample");
        verify_step(&RebuiltGrid::new(n), &step);
        assert_eq!(step.failed, [0; 0], "n = {n}: one failure is sufficient");
    }
}

#[test]
fn sampled_steps_depend_on_the_seed_alone() {
    let grid = AnySystem::by_name("grid-rebuilt", 40).expect("a known name");
    let step = |seed| analyse(&grid, &ProcessSet::new(), ProcessId::new(0), seed).not_monotone;
    for seed in 0..4 {
        verify_step(&grid, &step(seed).expect("a counterexample"));
        assert_eq!(step(seed), step(seed));
    }
    assert_ne!(step(0), step(1));
}

#[test]
fn listed_quorums_that_vanish_or_are_apart_are_not_monotone() {
    let given = |quorums: &[(&[u32], u32, &[u32])]| {
        let quorums = quorums.iter().map(|&(failed, process, members)| {
            (set(failed), ProcessId::new(process), set(members))
        });
        let system = AnySystem::PerView(AnyPerView::Given(GivenPerView::new(3, quorums)));
        analyse(&system, &ProcessSet::new(), ProcessId::new(0), 0)
    };
    let vanishes = given(&[(&[], 0, &[0, 1])]);
    assert!(!vanishes.monotone && vanishes.meets_within_view);
    let step = vanishes.not_monotone.expect("a counterexample");
    assert_eq!((step.process, step.further, step.after), (0, 2, None));
    let apart = given(&[(&[2], 0, &[0]), (&[1, 2], 0, &[0]), (&[2], 1, &[1]), (&[0, 2], 1, &[1])]);
    assert_eq!((apart.monotone, apart.meets_within_view, apart.not_monotone), (false, false, None));
}

#[test]
fn quorums_of_one_view_that_are_apart_are_found() {
    let disjoint = GivenPerView::new(
        2,
        [0, 1].map(|own| (ProcessSet::new(), ProcessId::new(own), set(&[own]))),
    );
    let disjoint = AnySystem::PerView(AnyPerView::Given(disjoint));
    let report = analyse(&disjoint, &ProcessSet::new(), ProcessId::new(0), 0);
    assert!(!report.meets_within_view && !report.maekawa.every_two_meet);
    let found = report.disjoint_within_view.expect("evidence");
    assert_eq!((found.first.members, found.second.members), (vec![0], vec![1]));
}

#[test]
fn survival_is_that_of_the_literature() {
    let survives = |name, n| of(name, n).survives.every;
    // The smallest killing set is a path in a tree, a row in a grid, a line in a plane, and half of a majority system.
    assert_eq!([survives("tree", 7), survives("grid-fixed", 9), survives("plane", 7)], [2, 2, 2]);
    assert_eq!([survives("majority", 7), survives("majority", 8)], [3, 3]);
    assert_eq!([survives("vcube", 8), survives("grid", 8)], [7, 7]);
    assert_eq!(of("tree", 7).survives.killing_set, [0, 1, 3]);
    // If not all sets are examined, the result is an upper bound.
    assert_eq!(
        [survives("tree", 31), survives("grid-fixed", 36), survives("plane", 31)],
        [4, 5, 5]
    );
    assert_eq!([survives("majority", 31), survives("vcube", 32)], [15, 31]);
}

#[test]
fn a_plane_fulfils_all_of_maekawas_conditions() {
    let report = of("plane", 13);
    let Maekawa { every_two_meet, own_contains_oneself, equal_sizes, equal_degrees, compared } =
        report.maekawa;
    assert!(every_two_meet && own_contains_oneself && equal_sizes && report.minimal);
    assert_eq!((equal_degrees, compared), (Some(true), 13));
    assert_eq!((report.size.max, report.degree.max, report.load), (4, Some(4), Some(4.0 / 13.0)));
}

#[test]
fn a_tree_is_neither_minimal_nor_even() {
    let report = of("tree", 7);
    assert!(!report.minimal, "who adds itself to the path contains the root's quorum");
    assert_eq!((report.load, report.busiest), (Some(1.0), Some(0)));
    assert_eq!(report.maekawa.equal_degrees, Some(false));
}
