//! Events with their stamps, relations and cuts.

use std::io::{self, Write};

use anstyle::Style;
use quorate_lab::logical_time::{Action, Computation, Cut, Event, Relation};
use serde_json::{Value, json};

const BOLD: Style = Style::new().bold();
/// Maximum number of consistent cuts to count.
const CUTS_MOST: usize = 100_000;

/// Prints a computation without its stamps.
pub(crate) fn exercise(
    out: &mut impl Write,
    computation: &Computation,
    seed: u64,
) -> io::Result<()> {
    writeln!(out, "m! sends message m, m? receives it; all other words are internal events.\n")?;
    for (index, name) in computation.names().iter().enumerate() {
        let own = computation.of(quorate_core::ProcessId::from_index(index));
        let words: Vec<&str> =
            own.iter().map(|event| computation.events()[*event].name.as_str()).collect();
        writeln!(out, "  {BOLD}{name}{BOLD:#}: {}", words.join(" "))?;
    }
    writeln!(out)?;
    writeln!(out, "1. Give the Lamport time and the vector time of each event.")?;
    writeln!(out, "2. How many pairs of events are concurrent?")?;
    writeln!(out, "3. Find two concurrent events of which one has the smaller Lamport time.")?;
    writeln!(out, "4. How many consistent cuts are there?")?;
    writeln!(
        out,
        "\nanswers: quorate clocks --exercise --seed {seed} --answers, with the same -n and --length"
    )
}

/// Prints all events with their stamps, and answers what was asked.
pub(crate) fn print(
    out: &mut impl Write,
    computation: &Computation,
    pair: Option<(usize, usize)>,
    cut: Option<&Cut>,
) -> io::Result<()> {
    write_events(out, computation)?;
    writeln!(out)?;
    if let Some((first, second)) = pair {
        write_relation(out, computation, first, second)?;
    }
    if let Some(cut) = cut {
        write_cut(out, computation, cut)?;
    }
    if pair.is_none() && cut.is_none() {
        write_summary(out, computation)?;
    }
    Ok(())
}

fn write_events(out: &mut impl Write, computation: &Computation) -> io::Result<()> {
    let events = computation.events();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let names = width(&mut computation.names().iter().map(|name| name.chars().count())).max(7);
    let titles = width(&mut events.iter().map(|event| event.name.chars().count())).max(5);
    writeln!(out, "  {BOLD}{:<names$}  {:<titles$}  Lamport  vector{BOLD:#}", "process", "event")?;
    for (index, name) in computation.names().iter().enumerate() {
        for event in computation.of(quorate_core::ProcessId::from_index(index)) {
            let Event { name: title, lamport, vector, .. } = &events[*event];
            let vector = computation.vector_text(vector);
            writeln!(out, "  {name:<names$}  {title:<titles$}  {lamport:>7}  {vector}")?;
        }
    }
    Ok(())
}

fn write_summary(out: &mut impl Write, computation: &Computation) -> io::Result<()> {
    let (ordered, concurrent) = computation.pairs();
    writeln!(
        out,
        "  pairs     {ordered} in which one event happened before the other, {concurrent} concurrent"
    )?;
    match computation.failed_converse() {
        Some((first, second)) => {
            let [first, second] = [first, second].map(|event| stamped(computation, event));
            writeln!(
                out,
                "  converse  {first} and {second} are concurrent: a smaller Lamport time does not mean \"happened before\""
            )?;
        }
        None => {
            writeln!(out, "  converse  events with different Lamport times are all ordered here")?
        }
    }
    match computation.consistent_cuts(CUTS_MOST) {
        Some(count) => writeln!(out, "  cuts      {count} are consistent"),
        None => writeln!(out, "  cuts      more than {CUTS_MOST} are consistent"),
    }
}

fn write_relation(
    out: &mut impl Write,
    computation: &Computation,
    first: usize,
    second: usize,
) -> io::Result<()> {
    let title = |event: usize| computation.title(event);
    let chain =
        |chain: &[usize]| chain.iter().map(|event| title(*event)).collect::<Vec<_>>().join(" -> ");
    match computation.relation(first, second) {
        Relation::Same => writeln!(out, "  {} is one event", title(first)),
        Relation::Before(steps) => {
            writeln!(out, "  {} happened before {}: {}", title(first), title(second), chain(&steps))
        }
        Relation::After(steps) => {
            writeln!(out, "  {} happened before {}: {}", title(second), title(first), chain(&steps))
        }
        Relation::Concurrent => {
            let [first, second] = [first, second].map(|event| stamped(computation, event));
            writeln!(
                out,
                "  {first} and {second} are concurrent: neither vector is within the other"
            )
        }
    }
}

fn stamped(computation: &Computation, event: usize) -> String {
    let Event { lamport, vector, .. } = &computation.events()[event];
    format!("{} ({lamport}, {})", computation.title(event), computation.vector_text(vector))
}

fn write_cut(out: &mut impl Write, computation: &Computation, cut: &Cut) -> io::Result<()> {
    let text = computation.cut_text(cut);
    match computation.inconsistency(cut) {
        Some(problem) => {
            let [sent, received] =
                [problem.sent, problem.received].map(|event| computation.title(event));
            writeln!(out, "  cut {text} is not consistent: it contains {received} and not {sent}")
        }
        None => {
            let in_flight: Vec<String> =
                computation.in_flight(cut).iter().map(|event| computation.title(*event)).collect();
            let in_flight = match in_flight.as_slice() {
                [] => "no message is in flight".to_owned(),
                some => format!("in flight: {}", some.join(", ")),
            };
            writeln!(out, "  cut {text} is consistent; {in_flight}")
        }
    }
}

/// The same as JSON.
pub(crate) fn json(
    computation: &Computation,
    pair: Option<(usize, usize)>,
    cut: Option<&Cut>,
) -> Value {
    let n = computation.names().len();
    let event = |event: &Event| {
        let (kind, message) = match &event.action {
            Action::Internal => ("internal", None),
            Action::Send(message) => ("send", Some(message)),
            Action::Receive(message) => ("receive", Some(message)),
        };
        let vector = quorate_core::ProcessId::all(n).map(|process| event.vector.of(process));
        json!({
            "process": computation.names()[event.process.index()],
            "event": event.name,
            "kind": kind,
            "message": message,
            "lamport": event.lamport,
            "vector": vector.collect::<Vec<_>>(),
        })
    };
    let (ordered, concurrent) = computation.pairs();
    let titles =
        |events: &[usize]| events.iter().map(|event| computation.title(*event)).collect::<Vec<_>>();
    let relation = pair.map(|(first, second)| {
        let (word, chain) = match computation.relation(first, second) {
            Relation::Same => ("same", Vec::new()),
            Relation::Before(chain) => ("before", titles(&chain)),
            Relation::After(chain) => ("after", titles(&chain)),
            Relation::Concurrent => ("concurrent", Vec::new()),
        };
        json!({ "events": titles(&[first, second]), "relation": word, "chain": chain })
    });
    let cut = cut.map(|cut| {
        let problem = computation.inconsistency(cut);
        json!({
            "cut": computation.cut_text(cut),
            "consistent": problem.is_none(),
            "received_not_sent": problem.map(|it| titles(&[it.received, it.sent])),
            "in_flight": titles(&computation.in_flight(cut)),
        })
    });
    json!({
        "processes": computation.names(),
        "events": computation.events().iter().map(event).collect::<Vec<_>>(),
        "ordered_pairs": ordered,
        "concurrent_pairs": concurrent,
        "failed_converse": computation.failed_converse().map(|(a, b)| titles(&[a, b])),
        "consistent_cuts": computation.consistent_cuts(CUTS_MOST),
        "relation": relation,
        "cut": cut,
    })
}
