//! Pictures stay well-formed whatever a trace contains: its content can only become text.

use proptest::collection::vec;
use proptest::prelude::*;

use quorate_draw::spacetime::{Diagram, DiagramView};
use quorate_draw::{Theme, Vocabulary};
use quorate_sim::Mark;
use quorate_sim::monitor::Evidence;
use quorate_sim::trace::{Annotation, Record, RecordKind, TraceEnvelope};

/// Elements that occur in pictures.
const KNOWN: [&str; 9] = ["svg", "title", "desc", "style", "g", "path", "rect", "circle", "text"];

fn any_text() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "<script>alert(1)</script>",
        "\"><script>x</script>",
        "' onload='x",
        "]]>",
        "<!--",
        "&lt;&#0;&",
        "</text></svg>",
        "</style>",
        "\u{0}\u{1b}\u{ffff}\u{202e}",
        "url(http://example.org)",
    ]);
    prop_oneof![
        nasty.prop_map(str::to_owned),
        any::<String>(),
        vec(any::<char>(), 0..400).prop_map(String::from_iter)
    ]
}

fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..20, 0u64..20_000_000, any::<u64>()]
}

fn any_envelope() -> impl Strategy<Value = TraceEnvelope> {
    (0u64..6, 0u32..9, 0u32..9, any_text(), any_text(), any_text()).prop_map(
        |(message, from, to, kind, layer, body)| TraceEnvelope {
            message,
            from,
            to,
            kind: kind.into(),
            layer: layer.into(),
            body,
        },
    )
}

fn any_record_kind() -> impl Strategy<Value = RecordKind> {
    let mark = prop::sample::select(vec![
        Mark::Requested,
        Mark::Entered,
        Mark::Left,
        Mark::Sent,
        Mark::Delivered,
        Mark::TakesPart,
        Mark::Leads,
        Mark::Follows,
        Mark::Proposed,
        Mark::Decided,
        Mark::Blocked,
        Mark::Suspected,
        Mark::Set,
        Mark::Failed,
        Mark::Recorded,
        Mark::Completed,
        Mark::Works,
        Mark::Rests,
        Mark::Announced,
        Mark::Crashed,
    ]);
    let annotation =
        (prop::option::of(mark), any_text()).prop_map(|(mark, text)| Annotation { mark, text });
    let evidence = (any_time(), 0u32..9, any_text()).prop_map(|(time, process, description)| {
        Evidence { event: time, time, process, description }
    });
    prop_oneof![
        3 => any_envelope().prop_map(RecordKind::Send),
        3 => any_envelope().prop_map(RecordKind::Deliver),
        1 => any_envelope().prop_map(RecordKind::Duplicate),
        1 => (any_envelope(), any_text()).prop_map(|(envelope, why)| RecordKind::Lose { envelope, why: why.into() }),
        3 => (any_text(), annotation).prop_map(|(output, annotation)| RecordKind::Output { output, annotation }),
        1 => Just(RecordKind::Crash),
        1 => any::<bool>().prop_map(|memory| RecordKind::Recover { memory }),
        1 => (any::<u32>(), any::<bool>()).prop_map(|(about, crashed)| RecordKind::Belief { about, crashed }),
        1 => any::<u64>().prop_map(|round| RecordKind::RoundEnd { round }),
        1 => vec(vec(any::<u32>(), 0..4), 0..4).prop_map(|groups| RecordKind::Partition { groups }),
        1 => Just(RecordKind::Heal),
        1 => any_text().prop_map(|fault| RecordKind::Fault { fault, processes: Vec::new() }),
        1 => (any_text(), any_text()).prop_map(|(command, why)| RecordKind::Refuse { command, why }),
        1 => (any_text(), any_time(), any_text(), vec(evidence, 0..4)).prop_map(|(property, moment, detail, events)| {
            RecordKind::Violation { property: property.into(), moment, detail, events }
        }),
    ]
}

fn any_record() -> impl Strategy<Value = Record> {
    (0u64..20, any_time(), 0u32..9, any_record_kind())
        .prop_map(|(event, time, process, kind)| Record { event, time, process, kind, cause: None })
}

fn any_view() -> impl Strategy<Value = DiagramView> {
    let theme = prop::sample::select(vec![Theme::Auto, Theme::Light, Theme::Dark]);
    let processes = vec(any::<u32>().prop_map(|process| process % 10), 0..4);
    (
        any_time(),
        prop::option::of(any_time()),
        any::<u32>(),
        theme,
        processes,
        0usize..50,
        any::<[bool; 3]>(),
        prop::option::of(any::<u32>()),
        prop::option::of(any_text()),
    )
        .prop_map(
            |(
                from,
                to,
                width,
                theme,
                processes,
                max_arrows,
                [labels, stamps, spread],
                lanes_height,
                phrase,
            )| {
                DiagramView {
                    from,
                    to,
                    width,
                    theme,
                    processes,
                    max_arrows,
                    labels,
                    stamps,
                    spread,
                    lanes_height,
                    legend: labels,
                    vocabulary: Vocabulary::new(|_| phrase.clone()),
                }
            },
        )
}

proptest! {
    #[test]
    fn a_picture_of_anything_is_a_picture(
        records in vec(any_record(), 0..40),
        title in any_text(),
        view in any_view(),
        processes in 0usize..8,
    ) {
        let svg = Diagram::new(processes, &records).titled(title).svg(&view);
        let page = roxmltree::Document::parse(&svg).map_err(|error| {
            TestCaseError::fail(format!("{error} in {svg}"))
        })?;
        for node in page.descendants().filter(roxmltree::Node::is_element) {
            let name = node.tag_name().name();
            prop_assert!(KNOWN.contains(&name), "<{}> in {}", name, svg);
            for attribute in node.attributes() {
                let (name, value) = (attribute.name(), attribute.value());
                prop_assert!(!name.starts_with("on") && !name.contains("href"), "{} in {}", name, svg);
                prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{} in {}", value, svg);
            }
            if name == "style" {
                prop_assert!(!node.text().unwrap_or("").contains("http"), "{}", svg);
            }
        }
    }
}
