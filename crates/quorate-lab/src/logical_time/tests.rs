//! Stamps, relations and cuts of small computations.

use super::*;

/// The example of Lamport's paper and of the textbooks: two messages among three processes.
fn three() -> Computation {
    Computation::parse("p1: a m1!\np2: m1? c m2!\np3: e m2?").expect("a computation")
}

fn lamport(computation: &Computation, title: &str) -> u64 {
    computation.events()[computation.find(title).expect("an event")].lamport
}

fn vector(computation: &Computation, title: &str) -> String {
    let event = computation.find(title).expect("an event");
    computation.vector_text(&computation.events()[event].vector)
}

#[test]
fn the_textbooks_example_has_the_textbooks_stamps() {
    let three = three();
    let times = ["a", "m1!", "m1?", "c", "m2!", "e", "m2?"].map(|title| lamport(&three, title));
    assert_eq!(times, [1, 2, 3, 4, 5, 1, 6]);
    assert_eq!(vector(&three, "m1!"), "[2 0 0]");
    assert_eq!(vector(&three, "m2!"), "[2 3 0]");
    assert_eq!(vector(&three, "m2?"), "[2 3 2]");
}

#[test]
fn a_chain_of_events_shows_that_one_happened_before_another() {
    let three = three();
    let find = |title| three.find(title).expect("an event");
    let Relation::Before(chain) = three.relation(find("a"), find("m2?")) else {
        panic!("a happened before the receipt of m2")
    };
    let titles: Vec<String> = chain.iter().map(|event| three.title(*event)).collect();
    assert_eq!(titles, ["a", "m1!", "m1?", "c", "m2!", "m2?"]);
    assert_eq!(three.relation(find("e"), find("c")), Relation::Concurrent);
    assert_eq!(three.relation(find("c"), find("c")), Relation::Same);
    assert!(matches!(three.relation(find("m2?"), find("a")), Relation::After(_)));
}

#[test]
fn the_converse_of_the_clock_condition_fails() {
    let three = three();
    let (first, second) = three.failed_converse().expect("e is concurrent with most events");
    assert!(three.events()[first].lamport < three.events()[second].lamport);
    assert_eq!(three.relation(first, second), Relation::Concurrent);
    let alone = Computation::parse("p: a b c").expect("a computation");
    assert_eq!(alone.failed_converse(), None);
}

#[test]
fn pairs_are_ordered_or_concurrent() {
    let three = three();
    let (ordered, concurrent) = three.pairs();
    assert_eq!(ordered + concurrent, 7 * 6 / 2);
    // e is concurrent with the five events before the receipt of m2.
    assert_eq!(concurrent, 5);
}

#[test]
fn a_cut_that_receives_an_unsent_message_is_inconsistent() {
    let three = three();
    let cut = |text| three.parse_cut(text).expect("a cut");
    let problem = three.inconsistency(&cut("p1=1,p2=1")).expect("m1 is received and not sent");
    assert_eq!(
        (three.title(problem.sent), three.title(problem.received)),
        ("m1!".into(), "m1?".into())
    );
    assert_eq!(three.inconsistency(&cut("p1=2,p3=1")), None);
    let in_flight = three.in_flight(&cut("p1=2,p3=1"));
    assert_eq!(in_flight.iter().map(|it| three.title(*it)).collect::<Vec<_>>(), ["m1!"]);
    assert!(three.in_flight(&cut("p1=2,p2=3,p3=2")).is_empty());
}

#[test]
fn consistent_cuts_are_counted() {
    // Without messages every combination is consistent.
    let free = Computation::parse("p: a b; q: c d e").expect("a computation");
    assert_eq!(free.consistent_cuts(100), Some(3 * 4));
    assert_eq!(free.consistent_cuts(11), None);
    // p1 and p2 form a chain of 0 to 5 events, with e before any of them or after; then m2 arrives.
    assert_eq!(three().consistent_cuts(100), Some(6 * 2 + 1));
}

#[test]
fn events_of_the_same_name_are_told_apart_by_their_places() {
    let same = Computation::parse("p: x m! x; q: m? x").expect("a computation");
    assert!(same.find("x").expect_err("three events").to_string().contains("p.1"));
    assert_eq!(same.title(same.find("p.3").expect("an event")), "p.3");
    assert_eq!(same.find("q.2").map(|event| same.events()[event].lamport), Ok(4));
}

#[test]
fn a_text_that_is_no_computation_is_refused_in_a_sentence() {
    for (text, why) in [
        ("", "no events"),
        ("a b", "names no process"),
        ("p: a\np: b", "has a line already"),
        ("p: m?", "no process sends"),
        ("p: m! m!", "sent twice"),
        ("p: m! m?", "its own message"),
        ("p: m!; q: m? m?", "twice"),
        ("p: a/b", "not a name"),
        ("p: x? y!; q: y? x!", "back in time"),
    ] {
        let problem = Computation::parse(text).expect_err(text).to_string();
        assert!(problem.contains(why), "{text}: {problem}");
    }
}

#[test]
fn exercises_are_computations_and_repeat() {
    for seed in 0..200 {
        let text = exercise(2 + seed as usize % 4, 12, seed);
        assert_eq!(text, exercise(2 + seed as usize % 4, 12, seed));
        let computation = Computation::parse(&text).unwrap_or_else(|why| panic!("{why}:\n{text}"));
        // The clock condition, and its converse for vector times.
        for first in 0..computation.events().len() {
            for second in 0..computation.events().len() {
                if computation.happened_before(first, second) {
                    let times = [first, second].map(|event| computation.events()[event].lamport);
                    assert!(times[0] < times[1], "seed {seed}");
                }
            }
        }
    }
}
