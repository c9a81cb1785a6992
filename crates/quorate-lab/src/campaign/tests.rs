//! Campaigns that run in shards, or that are stopped and resumed, give the same result as in one piece.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

pub(super) fn request(algorithm: &str, seeds: u64) -> CampaignRequest {
    CampaignRequest { seed: 3, ..CampaignRequest::new(algorithm, seeds) }
}

fn execution(save: &mut dyn FnMut(&CampaignShard)) -> CampaignExecution<'_> {
    CampaignExecution {
        memory: u64::MAX,
        threads: 2,
        on_run: &|| (),
        should_stop: &|| false,
        checkpoint: save,
    }
}

fn whole(request: &CampaignRequest) -> CampaignShard {
    let part = CampaignShard::new(request.clone(), Shard::WHOLE);
    campaign(part, Shard::WHOLE, execution(&mut |_| ())).expect("it runs")
}

fn shard(number: u32, of: u32) -> Shard {
    Shard { number, of }
}

#[test]
fn parts_together_are_the_whole() {
    for first in [false, true] {
        let request =
            CampaignRequest { stop_at_violation: first, ..request("maekawa-original", 101) };
        let part = |number| {
            let shard = shard(number, 3);
            let part = CampaignShard::new(request.clone(), shard);
            let done = campaign(part, shard, execution(&mut |_| ())).expect("it runs");
            assert!(done.is_done(shard) && done.check(shard) == Ok(()));
            done
        };
        let merged = CampaignShard::merge((1..=3).map(part).collect()).expect("three");
        assert_eq!(merged, whole(&request));
        assert_eq!(merged.report.runs == 101, !first, "{}", merged.report.runs);
    }
}

#[test]
fn seeds_of_shards_follow_each_other() {
    let request = CampaignRequest { seed: 5, ..request("central", 10) };
    let seeds: Vec<u64> = (1..=4).flat_map(|number| request.seeds(shard(number, 4))).collect();
    assert_eq!(seeds, (5..15).collect::<Vec<u64>>());
    // With fewer seeds than shards, some shards are empty.
    let few = CampaignRequest { seeds: 2, ..request };
    assert_eq!((1..=4).map(|number| few.seeds(shard(number, 4)).count()).sum::<usize>(), 2);
}

#[test]
fn one_that_was_stopped_goes_on_as_if_it_had_not_been() {
    let request = request("maekawa-original", 300);
    let left = AtomicU64::new(100);
    let stop =
        || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1)).is_err();
    let mut part = CampaignShard::new(request.clone(), Shard::WHOLE);
    part = campaign(
        part,
        Shard::WHOLE,
        CampaignExecution { should_stop: &stop, ..execution(&mut |_| ()) },
    )
    .expect("it runs");
    assert!(part.report.runs <= 100, "{} runs", part.report.runs);
    assert_eq!(part.report.stopped, Some(Stopped::Interrupted));
    assert!(!part.is_done(Shard::WHOLE) && part.check(Shard::WHOLE) == Ok(()));
    assert_eq!(
        campaign(part, Shard::WHOLE, execution(&mut |_| ())).expect("it runs"),
        whole(&request)
    );
}

#[test]
fn the_first_violation_is_that_of_the_lowest_seed() {
    let all = whole(&request("quorum-published", 400)).report;
    let first =
        whole(&CampaignRequest { stop_at_violation: true, ..request("quorum-published", 400) })
            .report;
    assert!(all.violations.len() > first.violations.len());
    assert_eq!(all.violations[..first.violations.len()], first.violations);
    assert_eq!(first.runs, first.violations[0].seed - first.seed + 1);
}

#[test]
fn violations_are_put_together_by_their_cause() {
    let report = whole(&request("ricart-agrawala-priority", 300)).report;
    let found = clusters(&report);
    assert!((2..=6).contains(&found.len()), "{found:#?}");
    let runs: u64 = found.iter().map(|cluster| cluster.runs).sum();
    assert_eq!(runs, report.violations.len() as u64);
    assert!(found.is_sorted_by_key(|cluster| cluster.first));
    for cluster in &found {
        let of = |seed| {
            let mut violations = report.violations.iter();
            violations.find(|it| it.seed == seed && it.property == cluster.property)
        };
        assert_eq!(of(cluster.first).map(|it| &it.detail), Some(&cluster.detail));
        assert_eq!(of(cluster.shortest).map(|it| it.events), Some(cluster.events));
    }
}

#[test]
fn what_cannot_be_a_part_is_told_from_what_can() {
    let part = whole(&request("maekawa-original", 20));
    let with = |change: fn(&mut CampaignShard)| {
        let mut changed = part.clone();
        change(&mut changed);
        changed.check(Shard::WHOLE)
    };
    assert_eq!(with(|_| ()), Ok(()));
    assert!(with(|part| part.report.runs = 21).is_err());
    assert!(with(|part| part.report.runs = u64::MAX).is_err());
    assert!(with(|part| part.report.seed = 0).is_err());
    assert!(with(|part| part.report.violations[0].seed = 1_000).is_err());
    assert!(with(|part| part.report.algorithm = "central".to_owned()).is_err());
    assert!(with(|part| part.request.algorithm = "centrall".to_owned()).is_err());
    assert!(with(|part| part.request.seeds = 0).is_err());
}

#[test]
fn a_campaign_compares_steps_with_a_model_if_there_is_one() {
    let with_model = |algorithm: &str, quorums: Option<&str>| {
        let quorums = quorums.map(str::to_owned);
        let follows_model = true;
        CampaignRequest { processes: [2, 5], quorums, follows_model, ..request(algorithm, 20) }
    };
    let modelled =
        [("quorum", Some("grid")), ("quorum", Some("grid-fixed")), ("leased-quorum", None)];
    for (algorithm, quorums) in modelled {
        let report = with_model(algorithm, quorums).run(1).expect("there is a model");
        assert_eq!((report.runs, report.violations), (20, Vec::new()));
    }
    let refused = with_model("maekawa", Some("grid-fixed")).run(1).expect_err("there is no model");
    assert!(refused.to_string().contains("--conform: there is no proved model of maekawa"));
}
