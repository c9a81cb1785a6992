//! Pictures of small runs, one for each family. The traces were written by the command line.

use std::collections::BTreeMap;
use std::path::Path;

use quorate_core::quorum::AnySystem;
use quorate_core::{ProcessId, ProcessSet, SpanningTree};
use quorate_draw::spacetime::{Diagram, DiagramBounds, DiagramBuilder, DiagramView};
use quorate_draw::topology::Topology;
use quorate_draw::{Theme, Vocabulary};
use quorate_sim::trace::{Record, read};

const TRACES: [&str; 8] =
    ["mutex", "election", "agreement", "multicast", "detector", "clock", "violation", "faults"];

fn trace(name: &str) -> (usize, Vec<Record>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{name}.jsonl"));
    let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read(file.as_slice()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn diagram(name: &str) -> Diagram {
    let (processes, records) = trace(name);
    Diagram::new(processes, &records).titled(name)
}

fn light() -> DiagramView {
    DiagramView { theme: Theme::Light, ..DiagramView::default() }
}

#[test]
fn small_runs_of_each_family() {
    for name in TRACES {
        insta::assert_snapshot!(name, diagram(name).svg(&light()));
    }
}

#[test]
fn every_message_of_a_small_run_is_an_arrow() {
    for name in TRACES {
        let svg = diagram(name).svg(&light());
        let page = roxmltree::Document::parse(&svg).unwrap();
        let arrows =
            page.descendants().filter(|node| node.attribute("data-message").is_some()).count();
        let (_, records) = trace(name);
        let mut sent: BTreeMap<u64, usize> = BTreeMap::new();
        for record in &records {
            use quorate_sim::trace::RecordKind::{Deliver, Duplicate, Lose, Send};
            if let Send(envelope) | Duplicate(envelope) = &record.kind {
                *sent.entry(envelope.message).or_default() += 1;
            }
            // Messages of a process to itself arrive when they are sent. They are counted in a note, not drawn.
            if let Deliver(envelope) | Lose { envelope, .. } = &record.kind
                && envelope.from == envelope.to
            {
                sent.remove(&envelope.message);
            }
        }
        assert_eq!(arrows, sent.values().sum::<usize>(), "{name}");
    }
}

#[test]
fn a_violation_names_its_moment_and_its_culprits() {
    let svg = diagram("violation").svg(&light());
    let page = roxmltree::Document::parse(&svg).unwrap();
    let with = |class: &str| {
        let has = |node: &roxmltree::Node<'_, '_>| {
            node.attribute("class")
                .is_some_and(|classes| classes.split(' ').any(|one| one == class))
        };
        page.descendants().filter(has).count()
    };
    // One line at the time of the violation and one in the legend; one ring for each event and one in the legend.
    assert_eq!((with("moment"), with("ring")), (2, 3));
    assert_eq!(with("guilty"), 2);
    assert!(svg.contains("ME1 violated at 5ms: p1 entered at 5ms while p2 was inside since 4.5ms"));
    assert!(svg.contains(">! p1<") && svg.contains(">! p2<") && svg.contains(">p0<"));
}

#[test]
fn a_window_shows_its_part() {
    let diagram = diagram("mutex");
    let whole = diagram.svg(&light());
    let view = DiagramView { from: 500_000, to: Some(1_500_000), ..light() };
    let part = diagram.svg(&view);
    assert!(part.contains("The window from 500us to 1.5ms of a run that ends at"), "{part}");
    assert!(part.matches("data-message").count() < whole.matches("data-message").count());
    let one = DiagramView { processes: vec![2, 0], ..light() };
    let two = diagram.svg(&one);
    assert!(two.contains("2 of 3 processes are drawn") && !two.contains(">p1<"), "{two}");
}

/// At one time there is one column without `spread`, and one for each step with it.
#[test]
fn spread_steps_have_columns_of_their_own() {
    let diagram = diagram("violation");
    let (shared, spread) = (light(), DiagramView { spread: true, ..light() });
    assert!(diagram.geometry(&shared).steps.is_empty());
    let geometry = diagram.geometry(&spread);
    let at_one_time = geometry.steps.windows(2).filter(|pair| pair[0].time == pair[1].time).count();
    assert!(at_one_time > 5, "{at_one_time}");
    let distances = geometry.steps.windows(2).map(|pair| pair[1].x - pair[0].x);
    assert!(
        distances.clone().all(|distance| distance > 3.0),
        "{:?}",
        distances.collect::<Vec<_>>()
    );
    let (first, last) = (geometry.steps[0], geometry.steps[geometry.steps.len() - 1]);
    assert!((first.x - geometry.left).abs() < 0.1 && (last.x - geometry.right).abs() < 0.1);
    insta::assert_snapshot!("violation_spread", diagram.svg(&spread));
}

#[test]
fn a_message_of_a_process_to_itself_is_drawn_if_its_arrival_has_a_column() {
    let (processes, records) = trace("violation");
    use quorate_sim::trace::RecordKind::Send;
    let is_own = |record: &&Record| matches!(&record.kind, Send(it) if it.from == it.to);
    let own = records.iter().filter(is_own).count();
    assert!(own > 0);
    let arrows = |spread: bool| {
        let view = DiagramView { spread, max_arrows: 10_000, ..light() };
        let svg = Diagram::new(processes, &records).svg(&view);
        svg.matches("data-message").count()
    };
    assert_eq!(arrows(true), arrows(false) + own);
}

#[test]
fn lanes_fit_the_height_that_they_are_given() {
    let (_, records) = trace("mutex");
    let view = DiagramView { lanes_height: Some(400), ..light() };
    for (processes, least_names, most_names) in [(3, 3, 3), (64, 10, 32)] {
        let drawn = Diagram::new(processes, &records);
        let all = DiagramView { processes: (0..processes as u32).collect(), ..view.clone() };
        let geometry = drawn.geometry(&all);
        assert!(geometry.bottom - geometry.top <= 400.5, "{geometry:?}");
        assert_eq!(geometry.lanes.len(), processes);
        let names = drawn.svg(&all).matches("class=\"name\"").count();
        assert!((least_names..=most_names).contains(&names), "{names} names");
    }
}

#[test]
fn thinning_is_told() {
    let thin = DiagramView { max_arrows: 3, ..light() };
    let svg = diagram("detector").svg(&thin);
    assert!(svg.contains("3 of "), "{svg}");
    assert_eq!(svg.matches("data-message").count(), 3);
}

#[test]
fn a_draft_that_is_full_says_what_is_left_out() {
    let (processes, records) = trace("mutex");
    let mut builder = DiagramBuilder::new(processes, DiagramBounds { items: 3, bodies: 1 });
    records.iter().for_each(|record| builder.observe(record));
    let svg = builder.build().svg(&light());
    assert!(svg.contains("later records of its trace are not in the picture"), "{svg}");
    assert_eq!(svg.matches("data-message").count(), 3);
    assert_eq!(svg.matches("Request(1)").count(), 1, "what the first message says: {svg}");
}

#[test]
fn a_picture_speaks_the_language_that_it_is_given() {
    let vocabulary = Vocabulary::new(|id| Some(format!("[{id}]")));
    let svg = diagram("violation").svg(&DiagramView { vocabulary, ..light() });
    let page = roxmltree::Document::parse(&svg).unwrap();
    let told =
        page.descendants().filter(|node| ["title", "desc"].iter().any(|it| node.has_tag_name(*it)));
    for node in told.filter_map(|node| node.text()) {
        assert!(node.starts_with('[') || node == "violation", "{node}");
    }
    assert!(svg.contains(">[draw.inside]<"), "{svg}");
}

#[test]
fn a_reader_who_prefers_the_dark_gets_it() {
    let auto = diagram("mutex").svg(&DiagramView::default());
    assert!(auto.contains("prefers-color-scheme:dark"));
    let dark = diagram("mutex").svg(&DiagramView { theme: Theme::Dark, ..DiagramView::default() });
    assert!(!dark.contains("var(") && dark.contains("#14171b"));
    insta::assert_snapshot!("mutex_auto", auto);
}

#[test]
fn topologies() {
    let set = |members: &[u32]| members.iter().copied().map(ProcessId::new).collect::<ProcessSet>();
    for (name, n, failed, owner) in [
        ("vcube", 8, set(&[3]), 0),
        ("grid", 7, set(&[4]), 0),
        ("tree", 7, set(&[1]), 0),
        ("plane", 7, set(&[]), 0),
        ("wall", 10, set(&[7]), 2),
    ] {
        let system = AnySystem::by_name(name, n).unwrap();
        let svg = Topology::quorum(&system, &failed, ProcessId::new(owner)).svg(Theme::Light);
        roxmltree::Document::parse(&svg).unwrap();
        insta::assert_snapshot!(format!("quorum_{name}"), svg);
    }
    insta::assert_snapshot!("ring", Topology::ring(4).svg(Theme::Light));
    let tree = Topology::tree(6, &SpanningTree::Chain).titled("a chain of <six>");
    insta::assert_snapshot!("chain", tree.svg(Theme::Light));
}

#[test]
fn odd_topologies_are_drawn_all_the_same() {
    for n in [0, 1, 2, 3, 300] {
        let none = ProcessSet::new();
        let mut all = vec![
            Topology::ring(n),
            Topology::complete(n),
            Topology::star(n, ProcessId::new(5)),
            Topology::tree(n, &SpanningTree::Binary),
        ];
        if n > 0 {
            for name in AnySystem::names() {
                let system = AnySystem::by_name(name, n).unwrap();
                all.push(Topology::quorum(&system, &none, ProcessId::from_index(n - 1)));
                let failed = ProcessSet::all(n);
                all.push(Topology::quorum(&system, &failed, ProcessId::new(0)));
            }
        }
        for topology in all {
            let svg = topology.svg(Theme::Auto);
            roxmltree::Document::parse(&svg).unwrap();
            assert!(!["NaN", "inf ", "inf\""].iter().any(|wrong| svg.contains(wrong)), "{svg}");
        }
    }
}
