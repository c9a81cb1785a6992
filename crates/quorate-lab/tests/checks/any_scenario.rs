//! Generator of every possible valid scenario, as far as a file can distinguish them.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use quorate_core::{Drift, Offset, ProcessId, ProcessSet, Span, Time};
use quorate_sim::Arrival;
use quorate_sim::fault::{
    Clock, CrashMid, Cut, Fast, Faults, LinkAt, Omission, Partition, ProcessAt, Recover, Slow,
    Suspect, Traitor,
};
use quorate_sim::monitor::Status;
use quorate_sim::notation::{
    DriftText, Factor, Identify, Link, ProcessSelector, Rate, SetText, SpanText, When, Window,
};
use quorate_sim::report::Verdict;
use quorate_sim::scenario::{ClaimOf, DetectorChoice, GivenClaim, Requesters};
use quorate_sim::script::{Script, Step};
use quorate_sim::traitor::Strategy as Treason;
use quorate_sim::{Delay, Expect, LinkDelay, LocalClock, Parameter, Scenario, Timing};

/// Starts at two processes, so that there are links.
pub(crate) fn scenario() -> impl Strategy<Value = Scenario> {
    (2u32..70).prop_flat_map(|n| {
        // Boxed, because their values together are too large for the stack of a test that is not optimised.
        let parts = (
            requests(n).boxed(),
            lengths().boxed(),
            links(n).boxed(),
            detection(n).boxed(),
            faults(n).boxed(),
            option::of(expect()).boxed(),
        );
        let watch = vec(select(&["ME1", "ME2", "ME3", "E1", "agreement", "accuracy"]), 0..3);
        let rest = (".*", any::<u64>(), 1u32.., 0..n, watch, option::of(members(n)), clocks(n));
        (parts, rest).prop_map(move |(parts, rest)| {
            let (algorithm, seed, repeat, server, watch, to, clocks) = rest;
            let (requests, lengths, links, detection, mut faults, expect) = parts;
            let (requesters, request, spread) = requests;
            let (section, think, handling, until, patience) = lengths;
            let (delay, link_delay, arrival, timing, fifo) = links;
            let (detector, detection, detection_pair) = detection;
            if detector != DetectorChoice::Oracle {
                faults.suspect.clear();
            }
            Scenario {
                algorithm,
                processes: n as usize,
                seed,
                requesters,
                request,
                repeat,
                to,
                spread,
                section,
                think,
                delay,
                link_delay,
                arrival,
                timing,
                fifo,
                handling,
                detector,
                detection,
                detection_pair,
                server,
                tree: None,
                quorums: None,
                quorum_sets: Vec::new(),
                quorum_of: Vec::new(),
                section_of: Vec::new(),
                no_cancel: seed % 2 == 1,
                hand_over: seed % 5 == 1,
                ids: if seed % 7 == 0 { (0..u64::from(n)).rev().collect() } else { Vec::new() },
                identify: if seed % 7 == 1 { vec![identify(seed >> 1)] } else { Vec::new() },
                rank_delay: SpanText(Span(if seed % 7 == 2 { seed >> 1 } else { 0 })),
                clocks: if seed % 3 == 0 { vec![seed >> 1, 7] } else { Vec::new() },
                local_clock: clocks.0,
                clock_offset: clocks.1,
                clock_drift: clocks.2,
                servers: (seed % 4 == 1).then(|| SetText(ProcessSet::all(n as usize))),
                replies: if seed % 4 == 1 { 1 + seed as u32 % n } else { 1 },
                probes: 1 + seed as u32 % 1_000,
                outlier: (seed % 5 == 2).then_some(SpanText(Span(seed))),
                values: if seed % 7 < 2 { vec![seed >> 1, 7] } else { Vec::new() },
                tolerates: (seed % 11 < 3).then_some(seed as usize % 2),
                capacity: (seed % 13 < 3).then_some(1 + seed as u32 % 4),
                conflicts: (seed % 13 == 3).then(Default::default),
                claim_of: if seed % 13 == 4 { vec![claim_of(seed)] } else { Vec::new() },
                script: if seed % 7 == 3 { vec![script()] } else { Vec::new() },
                until,
                patience,
                watch: watch.into_iter().map(str::to_owned).collect(),
                faults,
                expect,
            }
        })
    })
}

fn claim_of(seed: u64) -> ClaimOf {
    let claims = vec![GivenClaim::Read, GivenClaim::Group(seed as u32), GivenClaim::Write];
    ClaimOf { process: ProcessId::new(0), claims }
}

fn script() -> Script {
    let steps = vec![Step::Record, Step::Start, Step::Rest, Step::Grant];
    Script { process: ProcessId::new(0), steps }
}

fn identify(value: u64) -> Identify {
    Identify { process: ProcessSelector::Any, value, at: When::Between(Time(3), Time(1_000)) }
}

fn members(n: u32) -> impl Strategy<Value = SetText> {
    btree_set(0..n, 1..4).prop_map(|set| SetText(set.into_iter().map(ProcessId::new).collect()))
}

fn requests(n: u32) -> impl Strategy<Value = (Requesters, Vec<ProcessAt>, SpanText)> {
    let first = (1..=n as usize).prop_map(Requesters::First);
    let at_start = prop_oneof![Just(Requesters::One), Just(Requesters::All), first];
    let unspread = (Just(Requesters::One), vec(occasion(n), 1..4), Just(SpanText::default()));
    prop_oneof![(at_start, Just(Vec::new()), length()), unspread]
}

/// Some clocks by name, and the maximum error of the others.
fn clocks(n: u32) -> impl Strategy<Value = (Vec<LocalClock>, SpanText, DriftText)> {
    const OFFSET_MOST: u64 = 1 << 57;
    let offset = -(OFFSET_MOST as i64)..=OFFSET_MOST as i64;
    let drift = || (-Drift::ONE / 10..=Drift::ONE / 10).prop_map(Drift);
    let named = btree_map(0..n, (offset.prop_map(Offset), drift()), 0..3).prop_map(|named| {
        let clock =
            |(who, (offset, drift))| LocalClock { process: ProcessId::new(who), offset, drift };
        named.into_iter().map(clock).collect()
    });
    (named, (0..=OFFSET_MOST).prop_map(|most| SpanText(Span(most))), drift().prop_map(DriftText))
}

type Lengths = (SpanText, SpanText, SpanText, Option<SpanText>, Option<SpanText>);

fn lengths() -> impl Strategy<Value = Lengths> {
    (length(), length(), length(), option::of(length()), option::of(length()))
}

type Links = (Delay, Vec<LinkDelay>, Vec<Arrival>, Option<Timing>, bool);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrivals = btree_map(1u64.., moment(), 0..3);
    arrivals.prop_map(|all| all.into_iter().map(|(message, at)| Arrival { message, at }).collect())
}

fn links(n: u32) -> impl Strategy<Value = Links> {
    let free = (delay(), vec(link_delay(n), 0..2), Just(None));
    let asynchronous = (delay(), vec(link_delay(n), 0..2), Just(Some(Timing::Asynchronous)));
    let rounds = (delay(), Just(Vec::new()), (1u64..).prop_map(|d| Some(Timing::Rounds(Span(d)))));
    let bounded = prop_oneof![
        Just(Timing::Synchronous),
        Just(Timing::UnknownBound),
        moment().prop_map(Timing::Eventually),
    ];
    let bounded = (span().prop_map(Delay::Constant), Just(Vec::new()), bounded.prop_map(Some));
    (prop_oneof![free, asynchronous, rounds, bounded], arrivals(), any::<bool>()).prop_map(
        |((delay, own, timing), arrivals, fifo)| {
            let in_rounds = matches!(timing, Some(Timing::Rounds(_)));
            (delay, own, if in_rounds { Vec::new() } else { arrivals }, timing, fifo)
        },
    )
}

fn detection(n: u32) -> impl Strategy<Value = (DetectorChoice, Option<Delay>, Vec<LinkDelay>)> {
    let oracle =
        (Just(DetectorChoice::Oracle), option::of(delay()), vec(link_delay(n), 0..2)).boxed();
    let without = select(&[
        DetectorChoice::Heartbeat,
        DetectorChoice::HeartbeatRing,
        DetectorChoice::AdaptiveHeartbeat,
        DetectorChoice::Vcube,
        DetectorChoice::None,
    ]);
    prop_oneof![oracle, (without, Just(None), Just(Vec::new()))]
}

fn faults(n: u32) -> impl Strategy<Value = Faults> {
    let on_process = (
        crashes(n),
        vec((who(n), window(), rate()), 0..3),
        vec((who(n), window(), rate()), 0..3),
        vec((who(n), window(), span()), 0..3),
        vec((who(n), window(), factor()), 0..3),
        vec((who(n), when(), factor()), 0..3),
        vec((who(n), treason()), 0..2),
    );
    let on_links = (
        [(); 4].map(|()| vec(on_link(n), 0..3)),
        vec((link(n), any::<bool>(), window()), 0..3),
        vec((groups(n), window()), 0..3),
        vec((link(n), window()), 0..3),
        [0.0..=1.0, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0f64],
    );
    (on_process, on_links).prop_map(|(on_process, on_links)| {
        let ((crash, crash_mid, recover), sends, receipts, slow, fast, clock, traitor) = on_process;
        let ([lose, duplicate, reorder, corrupt], cut, partition, suspect, rates) = on_links;
        let omission = |(who, window, rate)| Omission { process: who, window, rate };
        Faults {
            crash,
            crash_mid,
            recover,
            omit_send: sends.into_iter().map(omission).collect(),
            omit_receive: receipts.into_iter().map(omission).collect(),
            loss: rates[0],
            lose,
            duplication: rates[1],
            duplicate,
            reordering: rates[2],
            reorder,
            corruption: rates[3],
            corrupt,
            slow: each(slow, |(who, window, handling)| Slow { process: who, window, handling }),
            fast: each(fast, |(who, window, factor)| Fast { process: who, window, factor }),
            clock: each(clock, |(who, at, rate)| Clock { process: who, at, rate }),
            cut: each(cut, |(link, both_ways, window)| Cut { link, both_ways, window }),
            partition: each(partition, |(groups, window)| Partition { groups, window }),
            suspect: each(suspect, |(pair, window)| Suspect { pair, window }),
            traitor: each(traitor, |(who, strategy)| Traitor { process: who, strategy }),
        }
    })
}

fn each<A, B>(all: Vec<A>, make: impl Fn(A) -> B) -> Vec<B> {
    all.into_iter().map(make).collect()
}

/// Each process crashes at most once, and recovers later or never.
fn crashes(n: u32) -> impl Strategy<Value = (Vec<ProcessAt>, Vec<CrashMid>, Vec<Recover>)> {
    let life = (0u64..1 << 40, 1u64..1 << 40, option::of(any::<u32>()), option::of(any::<bool>()));
    btree_map(0..n, life, 0..3).prop_map(|lives| {
        let (mut crash, mut crash_mid, mut recover) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (time, later, sends, memory)) in lives {
            let (who, at) =
                (ProcessSelector::Process(ProcessId::new(number)), When::At(Time(time)));
            match sends {
                None => crash.push(ProcessAt { process: who, at }),
                Some(sends) => crash_mid.push(CrashMid { process: who, at, sends }),
            }
            let at = When::At(Time(time + later));
            recover.extend(memory.map(|memory| Recover { process: who, at, memory }));
        }
        (crash, crash_mid, recover)
    })
}

fn expect() -> impl Strategy<Value = Expect> {
    let verdict = select(&[Verdict::Holds, Verdict::Violated, Verdict::OutsideAssumptions]);
    let status = select(&[Status::Holds, Status::Violated, Status::NotChecked]);
    let parts = (
        option::of(verdict),
        [(); 6].map(|()| option::of(any::<u64>())),
        [(); 3].map(|()| option::of(vec(any::<u32>(), 0..4))),
        option::of(vec(select(&["no-loss", "no-crash"]).prop_map(str::to_owned), 0..3)),
        btree_map(select(&["ME1", "ME2", "ME3"]).prop_map(str::to_owned), status, 0..3),
        btree_map(".*", any::<u64>(), 0..3),
    );
    parts.prop_map(|(verdict, counts, lists, broken_assumptions, properties, by_kind)| {
        let [entries, messages, deliveries, bytes, detection_rounds, false_suspicions] = counts;
        let [order, waiting, leaders] = lists;
        Expect {
            verdict,
            entries,
            order,
            messages,
            waiting,
            deliveries,
            leaders,
            bytes,
            decisions: deliveries.map(|count| vec![count.to_string(), "-".to_owned()]),
            detection_rounds,
            false_suspicions,
            offsets: None,
            failures: entries,
            broken_assumptions,
            sends: messages.map(|messages| vec![messages, 0]),
            properties,
            by_kind,
        }
    })
}

/// Short spans, any spans, and those at the limits of units and of time.
fn span() -> impl Strategy<Value = Span> {
    const EDGES: [u64; 6] = [0, 999, 1_000, 1_000_000, 1_000_000_001, u64::MAX];
    prop_oneof![0u64..5_000_000, any::<u64>(), select(&EDGES)].prop_map(Span)
}

fn length() -> impl Strategy<Value = SpanText> {
    span().prop_map(SpanText)
}

fn moment() -> impl Strategy<Value = Time> {
    span().prop_map(|span| Time(span.0))
}

fn when() -> impl Strategy<Value = When> {
    let between = (moment(), moment()).prop_map(|(a, b)| When::Between(a.min(b), a.max(b)));
    prop_oneof![moment().prop_map(When::At), between]
}

fn window() -> impl Strategy<Value = Window> {
    (when(), option::of(when())).prop_map(|(from, until)| match (from, until) {
        (When::At(a), Some(When::At(b))) if a >= b => Window { from, until: None },
        _ => Window { from, until },
    })
}

fn who(n: u32) -> impl Strategy<Value = ProcessSelector> {
    prop_oneof![
        (0..n).prop_map(|number| ProcessSelector::Process(ProcessId::new(number))),
        Just(ProcessSelector::Any)
    ]
}

fn link(n: u32) -> impl Strategy<Value = Link> {
    prop_oneof![
        named_link(n),
        who(n).prop_map(|to| Link { from: ProcessSelector::Any, to }),
        who(n).prop_map(|from| Link { from, to: ProcessSelector::Any }),
    ]
}

fn named_link(n: u32) -> impl Strategy<Value = Link> {
    (0..n, 1..n).prop_map(move |(from, ahead)| {
        let process = |number| ProcessSelector::Process(ProcessId::new(number % n));
        Link { from: process(from), to: process(from + ahead) }
    })
}

fn delay() -> impl Strategy<Value = Delay> {
    prop_oneof![
        span().prop_map(Delay::Constant),
        (span(), span()).prop_map(|(a, b)| Delay::Uniform(a.min(b), a.max(b))),
        span().prop_map(Delay::Exponential),
        (span(), parameter()).prop_map(|(scale, shape)| Delay::Pareto(scale, shape)),
        (span(), parameter()).prop_map(|(median, sigma)| Delay::LogNormal(median, sigma)),
        vec(span(), 1..4).prop_map(Delay::Choice),
        vec(span(), 1..4).prop_map(Delay::List),
    ]
}

fn parameter() -> impl Strategy<Value = Parameter> {
    (1..=1_000_000_u32).prop_filter_map("in range", Parameter::from_thousandths)
}

fn link_delay(n: u32) -> impl Strategy<Value = LinkDelay> {
    (named_link(n), delay()).prop_map(|(link, delay)| LinkDelay { link, delay })
}

fn occasion(n: u32) -> impl Strategy<Value = ProcessAt> {
    (who(n), when()).prop_map(|(who, at)| ProcessAt { process: who, at })
}

fn on_link(n: u32) -> impl Strategy<Value = LinkAt> {
    (link(n), when()).prop_map(|(link, at)| LinkAt { link, at })
}

fn rate() -> impl Strategy<Value = Rate> {
    (0.0..=1.0).prop_map(Rate)
}

fn factor() -> impl Strategy<Value = Factor> {
    (0.001..=1000.0).prop_map(Factor)
}

fn treason() -> impl Strategy<Value = Treason> {
    select(&[
        Treason::Silent,
        Treason::Liar,
        Treason::Equivocator,
        Treason::TwoFaced,
        Treason::Stutterer,
        Treason::Random,
    ])
}

/// Some processes, distributed to a few groups.
fn groups(n: u32) -> impl Strategy<Value = Vec<ProcessSet>> {
    (btree_set(0..n, 1..8), 1usize..4).prop_map(|(members, count)| {
        let count = count.min(members.len());
        let mut groups = vec![ProcessSet::new(); count];
        for (place, number) in members.into_iter().enumerate() {
            groups[place % count].insert(ProcessId::new(number));
        }
        groups
    })
}
