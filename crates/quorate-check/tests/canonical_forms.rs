//! Canonical forms of states: they change the number of states and nothing else, and a wrong one is refused.

use std::convert::Infallible;
use std::ops::ControlFlow;

use quorate_algorithms::mutex::{Lamport, RicartAgrawala, Singhal};
use quorate_check::{
    Bounds, Budget, End, Exploration, Model, MutexUsers, World, explore, explore_safety,
};
use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{Effects, Process, ProcessId};

const BOUNDS: Bounds = Bounds { memory: 1 << 30, depth: u32::MAX };

/// Processes that declare canonical forms.
#[derive(Clone, Copy, Debug)]
enum Declares {
    Lamport,
    RicartAgrawala,
    Singhal,
}

/// A world in which each process makes this number of requests.
fn world(processes: Declares, requests: &[u8], crashes: u8) -> World<'static> {
    let (n, users) = (requests.len(), MutexUsers { requests: requests.to_vec() });
    let mut world = match processes {
        Declares::Lamport => World::new(n, move |id| Lamport::new(n, id), users),
        Declares::RicartAgrawala => World::new(n, move |id| RicartAgrawala::new(n, id), users),
        Declares::Singhal => World::new(n, Singhal::new, users),
    }
    .without_reductions();
    world.budget = Budget { crashes, ..Budget::default() };
    world
}

fn worlds() -> Vec<(Declares, &'static [u8], u8)> {
    let mut worlds = Vec::new();
    for processes in [Declares::Lamport, Declares::RicartAgrawala, Declares::Singhal] {
        worlds.extend([(processes, [2, 2].as_slice(), 0), (processes, &[1, 1, 0], 0)]);
        worlds.push((processes, &[2, 1], 1));
    }
    worlds.extend([(Declares::RicartAgrawala, [2, 2, 1].as_slice(), 0)]);
    worlds.extend([(Declares::Singhal, [2, 2, 2].as_slice(), 0)]);
    worlds
}

#[test]
fn every_state_behaves_like_its_form() {
    for (processes, requests, crashes) in worlds() {
        for (clocks, values) in [(true, false), (false, true), (true, true)] {
            let mut world = world(processes, requests, crashes);
            (world.clock_reduction, world.dead_value_reduction) = (clocks, values);
            let (states, all) = world
                .validate(1_000_000)
                .unwrap_or_else(|problem| panic!("{processes:?} {requests:?}: {problem}"));
            assert!(all && states > 10, "{processes:?} {requests:?}: {states} states");
        }
    }
}

/// The number of states, and the end in comparable form.
fn found(world: &impl Model) -> (u64, String) {
    let Exploration { progress, end, .. } = explore(world, BOUNDS, |_| ControlFlow::Continue(()));
    let end = match end {
        End::Broken(found) => format!("{} broken", found.property),
        End::Cyclic => "cyclic".to_owned(),
        end => format!("{end:?}"),
    };
    (progress.states, end)
}

#[test]
fn forms_change_the_number_of_states_and_nothing_else() {
    let mut fewer = 0;
    for (processes, requests, crashes) in worlds() {
        let make = || world(processes, requests, crashes);
        let (all, end) = found(&make());
        for (order, clocks, values) in [
            (false, true, false),
            (false, false, true),
            (false, true, true),
            (true, false, true),
            (true, true, true),
        ] {
            let mut world = make();
            world.partial_order_reduction = order;
            (world.clock_reduction, world.dead_value_reduction) = (clocks, values);
            let (some, own_end) = found(&world);
            let name = format!("{processes:?} {requests:?} {order} {clocks} {values}");
            assert_eq!(own_end, end, "{name}");
            // A search that finds a violation visits only a part.
            assert!(some <= all || end != "Exhausted", "{name}: {some} of {all}");
            fewer += u32::from(some * 2 < all);
        }
    }
    assert_eq!(fewer, 7, "of the searches visit less than half of the states");
}

/// Lamport's mutex makes many states that differ only in times. The world for which these forms were made has 25 times fewer.
#[test]
fn times_that_nobody_compares_are_forgotten() {
    let mut world = world(Declares::Lamport, &[2, 2, 0], 0);
    (world.partial_order_reduction, world.clock_reduction) = (true, true);
    let count = |world: &World<'_>| {
        let found = explore_safety(world, BOUNDS, |_| ControlFlow::Continue(()));
        assert!(matches!(found.exploration.end, End::Exhausted) && found.is_acyclic);
        found.exploration.progress.states
    };
    let clocks = count(&world);
    world.dead_value_reduction = true;
    assert_eq!((clocks, count(&world)), (218_062, 25_396));
}

type LamportMessage = <Lamport as Process>::Message;

// Mistakes in the declaration of canonical forms.
const NONE: u8 = 0;
const FORGETS_CLOCKS: u8 = 1;
const FORGETS_TIMES_OF_MESSAGES: u8 = 2;
const COMPARES_NOTHING: u8 = 3;
const FORGETS_TOO_LATE_MESSAGES: u8 = 4;

/// Lamport's mutex with a mistake in what it declares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mistaken<const MISTAKE: u8>(Lamport);

impl<const MISTAKE: u8> Mistaken<MISTAKE> {
    fn with(
        &mut self,
        out: &mut Effects<Self>,
        step: impl FnOnce(&mut Lamport, &mut Effects<Lamport>) -> Result<(), Misuse>,
    ) -> Result<(), Misuse> {
        let mut effects = Effects::new(out.now());
        step(&mut self.0, &mut effects)?;
        for effect in effects.drain() {
            match effect.embed(|message| message, |timer| timer) {
                Ok(effect) => out.push(effect),
                Err(output) => out.output(output),
            }
        }
        Ok(())
    }
}

impl<const MISTAKE: u8> Process for Mistaken<MISTAKE> {
    type Command = Command;
    type Message = LamportMessage;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        self.with(out, |process, out| process.on_command(command, out))
    }

    fn on_message(&mut self, from: ProcessId, message: LamportMessage, out: &mut Effects<Self>) {
        let received = self.with(out, |process, out| {
            process.on_message(from, message, out);
            Ok(())
        });
        received.expect("a message is never refused");
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        self.0.visit_shift_invariant(visit);
    }

    fn forget_dead_values(&mut self) {
        self.0.forget_dead_values();
        if MISTAKE == FORGETS_CLOCKS {
            self.0.visit_shift_invariant(&mut |time| *time = 1);
        }
    }

    fn forget_dead_values_of(&self, from: ProcessId, message: &mut LamportMessage) {
        use quorate_core::Message as _;
        self.0.forget_dead_values_of(from, message);
        match MISTAKE {
            FORGETS_TIMES_OF_MESSAGES => message.visit_shift_invariant(&mut |time| *time = 1),
            // One less than the time that advances the clock.
            FORGETS_TOO_LATE_MESSAGES => {
                message.visit_shift_invariant(&mut |time| *time = (*time - 1).max(1));
            }
            _ => {}
        }
    }

    fn greatest_compared(&self) -> Option<u64> {
        if MISTAKE == COMPARES_NOTHING { Some(0) } else { self.0.greatest_compared() }
    }
}

fn validated<const MISTAKE: u8>() -> Result<usize, String> {
    let users = MutexUsers { requests: vec![2, 2] };
    let mut world = World::new(2, |id| Mistaken::<MISTAKE>(Lamport::new(2, id)), users);
    (world.clock_reduction, world.dead_value_reduction) = (true, true);
    world.validate(100_000).map(|(states, _)| states)
}

#[test]
fn a_wrong_form_is_refused_with_the_steps_to_a_state_that_it_changes() {
    assert_eq!(validated::<NONE>(), Ok(1_623));
    for found in [
        validated::<FORGETS_CLOCKS>(),
        validated::<FORGETS_TIMES_OF_MESSAGES>(),
        validated::<COMPARES_NOTHING>(),
        validated::<FORGETS_TOO_LATE_MESSAGES>(),
    ] {
        let problem = found.expect_err("this form is wrong");
        assert!(problem.starts_with("after ") && problem.contains("form"), "{problem}");
    }
}

/// Forms that rely on links with order are not used on others.
#[test]
fn on_links_without_order_nothing_is_forgotten() {
    let count = |values, budget, fifo| {
        let mut world = world(Declares::Lamport, &[1, 1], 0);
        (world.fifo, world.dead_value_reduction, world.budget) = (fifo, values, budget);
        found(&world)
    };
    let none = Budget::default();
    assert!(count(true, none, true).0 < count(false, none, true).0);
    assert_eq!(count(true, none, false), count(false, none, false));
    let losses = Budget { losses: 1, ..none };
    assert_eq!(count(true, losses, true), count(false, losses, true));
}
