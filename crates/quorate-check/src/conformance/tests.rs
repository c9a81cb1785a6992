//! A small model, and steps that it allows or does not allow.

use quorate_core::ProcessId;
use quorate_core::abstraction::{AbstractState, Element, ElementOrder, Rows};

use super::checker::{Checker, ElementGuide};
use super::divergence::Divergence;
use super::model::Model;
use super::ownership::Owner;
use super::step::StepInput;

/// A token is passed on by messages. The process that has it may enter.
const TOKEN: &str = r#"
(static before (Process Process))
(relation has (Process))
(relation inside (Process))
(relation sent (Process))
(initial (forall ((p Process)) (not (inside p))))
(action make ((process Process))
  (guard (forall ((p Process)) (not (or (has p) (sent p)))))
  (guard (forall ((p Process)) (before process p)))
  (change has ((row Process)) (or (has row) (= row process))))
(action enter ((process Process))
  (guard (has process))
  (change inside ((row Process)) (or (inside row) (= row process))))
(action leave ((process Process))
  (change inside ((row Process)) (and (inside row) (not (= row process)))))
(action pass ((process Process) (to Process))
  (guard (has process))
  (guard (not (inside process)))
  (change has ((row Process)) (and (has row) (not (= row process))))
  (change sent ((row Process)) (or (sent row) (= row to))))
(action receive ((process Process))
  (guard (sent process))
  (change sent ((row Process)) (and (sent row) (not (= row process))))
  (change has ((row Process)) (or (has row) (= row process))))
(invariant "one token" (forall ((p Process) (q Process)) (implies (and (has p) (has q)) (= p q))))
"#;

struct Run<'m> {
    checker: Checker<'m>,
}

impl Run<'_> {
    /// A step after which the process has the token or is inside, and has sent the token to another one.
    fn step(
        &mut self,
        id: u32,
        has: bool,
        inside: bool,
        to: Option<u32>,
    ) -> Result<(), Box<Divergence>> {
        let name = |element: &Element| element.key[0].to_string();
        let owner = |element: &Element| Some(ProcessId::new(element.key[0] as u32));
        let guide = ElementGuide { describe: &|_, _| {}, name: &name, owner: &owner };
        let process = |id| Element::process(ProcessId::new(id));
        let mut state = AbstractState::default();
        state.exactly("has", has.then_some([process(id)]));
        state.exactly("inside", inside.then_some([process(id)]));
        let mut rows = Rows::default();
        to.into_iter().for_each(|to| rows.add("sent", [process(to)]));
        let sent = self.checker.number(&rows, &guide);
        self.checker.demand(&sent);
        self.checker.intern(&process(id), &guide);
        let actor = Owner::process(ProcessId::new(id));
        let actors = &["Process"];
        let step = StepInput { actor, actors, state: &state, sent: &sent, consumed: &[] };
        let result = self.checker.step(&step, || "a step".to_owned(), &guide);
        self.checker.release(&sent);
        result
    }
}

fn with_run(act: impl FnOnce(&mut Run<'_>)) {
    let model = Model::parse(TOKEN).expect("a valid model");
    let orders = [("before", ElementOrder::ByKey)];
    let mut run = Run { checker: Checker::new(&model, &orders) };
    act(&mut run);
}

#[test]
fn a_step_is_a_sequence_of_actions() {
    with_run(|run| {
        // The token is made, used and passed on in one step.
        run.step(0, true, true, None).expect("makes the token and enters");
        run.step(0, false, false, Some(1)).expect("leaves and passes the token on");
        run.step(1, true, true, None).expect("receives the token and enters");
        let taken: Vec<&str> =
            run.checker.statistics().actions.keys().map(String::as_str).collect();
        assert_eq!(taken, ["enter", "leave", "make", "pass", "receive"]);
    });
}

#[test]
fn a_step_that_is_no_sequence_of_actions_is_refused() {
    with_run(|run| {
        run.step(0, true, false, None).expect("makes the token");
        let refused = run.step(1, true, false, None).expect_err("the token is elsewhere");
        assert_eq!(refused.differences, ["the run has has(1), the model does not"]);
        assert_eq!(refused.before, ["has: (0)"]);
        assert_eq!(refused.after, ["has: (0) (1)"]);
    });
}

#[test]
fn a_message_has_to_be_one_of_the_model() {
    with_run(|run| {
        run.step(0, true, true, None).expect("makes the token and enters");
        assert!(run.step(0, true, true, Some(1)).is_err(), "passes the token on and keeps it");
    });
}

#[test]
fn an_invariant_is_evaluated_in_every_state() {
    let broken = TOKEN.replace("(guard (sent process))", "");
    let model = Model::parse(&broken).expect("a valid model");
    let mut run = Run { checker: Checker::new(&model, &[("before", ElementOrder::ByKey)]) };
    run.step(0, true, false, None).expect("makes the token");
    let refused = run.step(1, true, false, None).expect_err("two tokens");
    assert!(refused.problem.contains("one token"), "{refused}");
}

#[test]
fn a_model_that_is_not_understood_is_refused() {
    for (text, why) in [
        ("(relation r (P)) (invariant \"i\" (forall ((x P)) (s x)))", "unknown relation `s`"),
        ("(relation r (P)) (invariant \"i\" (r x))", "unknown variable `x`"),
        ("(theorem)", "unknown form `theorem`"),
    ] {
        assert_eq!(Model::parse(text).map(drop), Err(why.to_owned()));
    }
}
