//! Processes in disorder: inputs that no correct run contains, in an order that no network would choose.
//!
//! Messages arrive late, twice, at the wrong process, from the wrong sender or with other contents; timers expire at any time;
//! beliefs, commands, ends of awaited rounds and recoveries come whenever the seed says so. No process may panic, and a refused command
//! leaves the state unchanged. The digests contain the states, so they also change with the private fields of a process. If the
//! pinned runs of the families are the same, such a change has no effect that anything outside can see.

use std::fmt::Debug;
use std::hash::Hash as _;
use std::io::Write;

use quorate_algorithms::catalogue::{Visitor, visit_all};
use quorate_algorithms::{Algorithm, Setup};
use quorate_core::agreement::{self, Agreement, Value};
use quorate_core::allocation::{self, Allocation, Claim, ClaimKind};
use quorate_core::clock_sync::{self, ClockSync};
use quorate_core::detection::{self, Detection};
use quorate_core::detector::Detector;
use quorate_core::election::{self, Election};
use quorate_core::multicast::{self, Content, Multicast};
use quorate_core::mutex::{self, Mutex};
use quorate_core::replication::{self, Replication};
use quorate_core::snapshot::{self, Snapshot};
use quorate_core::{
    Belief, Data, Effect, Effects, Erased, Layer, Message, Process, ProcessId, ProcessSet, Profile,
    Reason, Span, Time,
};
use quorate_sim::random::{Random, Stream};

use crate::fnv::Fnv;
use crate::storms;

/// Number of inputs of a run.
const INPUTS: usize = 250;

/// Draws a command of a user among `n` processes.
type DrawCommand<C> = fn(&mut Random, &Setup, ProcessId) -> Option<C>;

/// A message of a type-erased process.
type Sent<C, O, E> = Envelope<<Erased<C, O, E> as Process>::Message>;

/// A timer of a type-erased process.
type Timer<C, O, E> = <Erased<C, O, E> as Process>::Timer;

/// A message on its way.
struct Envelope<M> {
    from: ProcessId,
    to: ProcessId,
    message: M,
}

/// Processes of one algorithm, and everything that any of them has sent or set.
struct Crowd<C: Data, O: Data, E: Reason> {
    processes: Vec<Erased<C, O, E>>,
    messages: Vec<Sent<C, O, E>>,
    timers: Vec<(ProcessId, Timer<C, O, E>)>,
    /// Processes that await the end of a round.
    awaiting: ProcessSet,
    /// Number of the round that ends next at each process.
    rounds: Vec<u64>,
    now: Time,
    digest: Fnv,
}

impl<C: Data, O: Data, E: Reason> Crowd<C, O, E> {
    fn new(n: usize, build: impl Fn(ProcessId) -> Erased<C, O, E>) -> Self {
        let processes = ProcessId::all(n).map(build).collect();
        let mut crowd = Self {
            processes,
            messages: Vec::new(),
            timers: Vec::new(),
            awaiting: ProcessSet::new(),
            rounds: vec![1; n],
            now: Time::ZERO,
            digest: Fnv::new(),
        };
        ProcessId::all(n).for_each(|id| crowd.input(id, |process, out| process.on_start(out)));
        crowd
    }

    /// Passes an input to a process, and keeps what it sends and sets.
    fn input(
        &mut self,
        id: ProcessId,
        input: impl FnOnce(&mut Erased<C, O, E>, &mut Effects<Erased<C, O, E>>),
    ) {
        let mut out = Effects::new(self.now);
        let n = self.processes.len();
        let process = &mut self.processes[id.index()];
        input(process, &mut out);
        let waits_for = process.waits_for();
        self.add(&waits_for);
        for effect in out.drain() {
            self.add(&effect);
            match effect {
                Effect::Send { to, message } => self.keep(Envelope { from: id, to, message }),
                Effect::Multicast { to, message } => {
                    for to in to.among(n, id) {
                        self.keep(Envelope { from: id, to, message: message.clone() });
                    }
                }
                Effect::SetTimer { timer, .. } => self.timers.push((id, timer)),
                Effect::AwaitRound => {
                    self.awaiting.insert(id);
                }
                Effect::CancelTimer(_)
                | Effect::Output(_)
                | Effect::Believed(_)
                | Effect::Ignored(_) => {}
            }
        }
        self.processes[id.index()].hash(&mut self.digest);
    }

    fn keep(&mut self, mut sent: Sent<C, O, E>) {
        let message = &mut sent.message;
        let (kind, bytes, stamp) = (message.kind(), message.bytes(), message.stamp());
        let renamed = message.renamed(&|id| self.next(id));
        self.add(&(kind, bytes, stamp, renamed));
        let mut numbers = Vec::new();
        message.visit_shift_invariant(&mut |number| numbers.push(*number));
        self.add(&numbers);
        self.messages.push(sent);
    }

    /// The name of a process after a renaming.
    fn next(&self, id: ProcessId) -> ProcessId {
        ProcessId::from_index((id.index() + 1) % self.processes.len())
    }

    fn add(&mut self, value: &impl Debug) {
        write!(self.digest, "{value:?}").expect("a digest takes everything");
    }

    /// Draws an input and passes it on.
    fn step(&mut self, random: &mut Random, setup: &Setup, command: DrawCommand<C>) {
        self.now = self.now + Span(random.below(400_000));
        let n = self.processes.len();
        let id = any(random, n);
        match random.below(20) {
            0..=10 if !self.messages.is_empty() => self.deliver(random),
            11..=13 if !self.timers.is_empty() => {
                let (id, timer) =
                    self.timers[random.below(self.timers.len() as u64) as usize].clone();
                self.input(id, |process, out| process.on_timer(timer, out));
            }
            14 => {
                let other = any(random, n);
                let crashed = random.chance(0.5);
                let belief = if crashed { Belief::Crashed(other) } else { Belief::Alive(other) };
                if other != id {
                    self.input(id, |process, out| process.on_belief(belief, out));
                }
            }
            15 | 16 if self.awaiting.remove(id) => {
                let round = self.rounds[id.index()];
                self.rounds[id.index()] += 1;
                self.input(id, |process, out| process.on_round_end(round, out));
            }
            17 if random.chance(0.3) => self.input(id, |process, out| process.on_recovery(out)),
            _ => {
                let Some(command) = command(random, setup, id) else { return };
                self.input(id, |process, out| {
                    let before = process.clone();
                    if process.on_command(command, out).is_err() {
                        assert!(*process == before, "a refused command leaves the state unchanged");
                    }
                });
            }
        }
        self.rename(id);
    }

    /// Delivers a message, often a late one and sometimes one that is wrong in some way.
    fn deliver(&mut self, random: &mut Random) {
        let n = self.processes.len();
        let most = self.messages.len() as u64;
        let recent = if random.chance(0.7) { most.min(8) } else { most };
        let index = (most - 1 - random.below(recent)) as usize;
        let sent = match random.chance(0.8) {
            true => self.messages.remove(index),
            false => {
                let Envelope { from, to, ref message } = self.messages[index];
                Envelope { from, to, message: message.clone() }
            }
        };
        let Envelope { mut from, mut to, mut message } = sent;
        match random.below(16) {
            0 => from = any(random, n),
            1 => to = any(random, n),
            2 => {
                message = message.forged(random.next_u64());
                self.add(&message);
            }
            3 => {
                message = self.processes[from.index()].forge(&message, random.next_u64());
                self.add(&message);
            }
            _ => {}
        }
        self.input(to, |process, out| process.on_message(from, message, out));
    }

    /// Renames all processes in the state of one, and back.
    fn rename(&mut self, id: ProcessId) {
        let n = self.processes.len();
        let process = self.processes[id.index()].clone();
        let Some(mut renamed) = process.renamed(&|id| self.next(id)) else { return };
        renamed.hash(&mut self.digest);
        let back = renamed.renamed(&|id| ProcessId::from_index((id.index() + n - 1) % n));
        assert!(back.as_ref() == Some(&process), "a renaming can be undone: {process:?}");
        let mut numbers = Vec::new();
        renamed.visit_shift_invariant(&mut |number| numbers.push(*number));
        self.add(&numbers);
    }
}

fn any(random: &mut Random, n: usize) -> ProcessId {
    ProcessId::from_index(random.below(n as u64) as usize)
}

fn any_set(random: &mut Random, n: usize) -> ProcessSet {
    ProcessId::all(n).filter(|_| random.chance(0.5)).collect()
}

/// Rows of the algorithms of a family.
struct Disorder {
    layer: Layer,
    rows: Vec<String>,
}

impl Disorder {
    fn add<A, C: Data, O: Data, E: Reason>(&mut self, command: DrawCommand<C>)
    where
        A: Algorithm + Process<Command = C, Output = O, Misuse = E> + 'static,
    {
        if A::PROFILE.layer == self.layer {
            let build = |setup: &Setup, id| Erased::new(A::build(setup, id));
            self.rows.extend(rows::<C, O, E>(A::PROFILE, A::QUORUMS, build, command));
        }
    }
}

/// Runs an algorithm with the setups of its random scenarios.
fn rows<C: Data, O: Data, E: Reason>(
    profile: Profile,
    quorums: &[&str],
    build: fn(&Setup, ProcessId) -> Erased<C, O, E>,
    command: DrawCommand<C>,
) -> Vec<String> {
    storms::rows(profile, |storm| {
        let setup = storms::setup(storm, quorums);
        let mut random = Random::new(storm.scenario.seed, Stream::Worlds);
        let mut crowd = Crowd::new(setup.n, |id| build(&setup, id));
        (0..INPUTS).for_each(|_| crowd.step(&mut random, &setup, command));
        crowd.digest.short()
    })
}

impl Visitor for Disorder {
    fn mutex<A: Algorithm + Mutex + 'static>(&mut self) {
        self.add::<A, _, _, _>(|random, _, _| match random.chance(0.5) {
            true => Some(mutex::Command::Acquire),
            false => Some(mutex::Command::Release),
        });
    }

    fn election<A: Algorithm + Election + 'static>(&mut self) {
        self.add::<A, _, _, _>(|random, _, _| match random.chance(0.8) {
            true => Some(election::Command::Elect),
            false => Some(election::Command::Identify(random.below(9))),
        });
    }

    fn agreement<A: Algorithm + Agreement + 'static>(&mut self) {
        let greatest = A::AGREEMENT_KIND.greatest_value().is_some();
        let command: DrawCommand<agreement::Command> = match greatest {
            true => |random, _, _| Some(agreement::Command::Propose(Value(random.below(2)))),
            false => |random, _, _| Some(agreement::Command::Propose(Value(random.below(5)))),
        };
        self.add::<A, _, _, _>(command);
    }

    fn multicast<A: Algorithm + Multicast + 'static>(&mut self) {
        self.add::<A, _, _, _>(|random, setup, _| {
            let (id, body) = (random.below(4), Content(random.below(9) as u8));
            Some(multicast::Command::Multicast { id, to: setup.to.clone(), body })
        });
    }

    fn detector<A: Algorithm + Detector + 'static>(&mut self) {
        self.add::<A, _, _, _>(|_, _, _| None);
    }

    fn clock<A: Algorithm + ClockSync + 'static>(&mut self) {
        self.add::<A, _, _, _>(|_, _, _| Some(clock_sync::Command::Synchronise));
    }

    fn allocation<A: Algorithm + Allocation + 'static>(&mut self) {
        let command: DrawCommand<allocation::Command> = match A::CLAIM_KIND {
            ClaimKind::Permit => |random, _, _| claim(random, |_| Claim::Permit),
            ClaimKind::ReadWrite => |random, _, _| {
                claim(random, |random| if random.chance(0.5) { Claim::Read } else { Claim::Write })
            },
            ClaimKind::Group => {
                |random, _, _| claim(random, |random| Claim::Group(random.below(3) as u32))
            }
            ClaimKind::AllResources | ClaimKind::SomeResources => |random, setup, id| {
                let neighbours = setup.conflicts.neighbours(setup.n, id);
                claim(random, |_| Claim::shared_with(id, &neighbours))
            },
        };
        self.add::<A, _, _, _>(command);
    }

    fn snapshot<A: Algorithm + Snapshot + 'static>(&mut self) {
        self.add::<A, _, _, _>(|random, setup, _| match random.chance(0.7) {
            true => {
                let (to, amount) = (any(random, setup.n), random.below(90));
                Some(snapshot::Command::Transfer { to, amount })
            }
            false => Some(snapshot::Command::Record),
        });
    }

    fn detection<A: Algorithm + Detection + 'static>(&mut self) {
        self.add::<A, _, _, _>(|random, setup, _| {
            Some(match random.below(5) {
                0 => detection::Command::Start,
                1 => detection::Command::Send(any(random, setup.n)),
                2 => detection::Command::Rest,
                3 => detection::Command::Wait(any_set(random, setup.n)),
                _ => detection::Command::Grant,
            })
        });
    }

    fn replication<A: Algorithm + Replication + 'static>(&mut self) {
        self.add::<A, _, _, _>(|random, _, _| {
            Some(replication::Command::Submit(Value(random.below(9))))
        });
    }
}

fn claim(
    random: &mut Random,
    claim: impl FnOnce(&mut Random) -> Claim,
) -> Option<allocation::Command> {
    match random.chance(0.5) {
        true => Some(allocation::Command::Request(claim(random))),
        false => Some(allocation::Command::Release),
    }
}

/// A row for each algorithm of a family and each kind of runs.
pub(crate) fn family(layer: Layer) -> String {
    let mut disorder = Disorder { layer, rows: Vec::new() };
    visit_all(&mut disorder);
    disorder.rows.join("\n")
}
