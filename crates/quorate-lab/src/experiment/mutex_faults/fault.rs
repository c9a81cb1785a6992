//! The faults, and the time in a run at which each is injected.

use quorate_core::{ProcessId, Span, Time};
use quorate_sim::Scenario;
use quorate_sim::fault::{LinkAt, ProcessAt, Suspect};
use quorate_sim::notation::{Link, ProcessSelector, When, Window};
use quorate_sim::random::Random;

use super::super::series::Series;
use super::roles::Roles;

/// The single fault of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// No fault, for comparison.
    Nothing,
    /// A process that is inside crashes.
    Holder,
    /// A waiting process crashes, and the token is not in flight to it.
    Waiter,
    /// A process crashes that neither waits nor is inside and serves no other process.
    Idle,
    /// The server crashes while it neither waits nor is inside.
    Server,
    /// A process crashes that has the token outside the section, or to which the token is in flight.
    TokenOwner,
    /// A process crashes that neither waits nor is inside, and whose vote an open request has asked for.
    Voter,
    /// A message between two processes is lost.
    Loss,
    /// For a while all other processes suspect the process that is inside.
    Suspicion,
}

/// Duration of a false suspicion: longer than a stay inside.
const SUSPICION: Span = Span::from_millis(10);

impl Fault {
    pub(super) const ALL: [Self; 9] = [
        Self::Nothing,
        Self::Holder,
        Self::Waiter,
        Self::Idle,
        Self::Voter,
        Self::Server,
        Self::TokenOwner,
        Self::Loss,
        Self::Suspicion,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Holder => "crash-of-holder",
            Self::Waiter => "crash-of-waiter",
            Self::Idle => "crash-of-idle",
            Self::Server => "crash-of-server",
            Self::TokenOwner => "crash-of-token-owner",
            Self::Voter => "crash-of-voter",
            Self::Loss => "loss-of-message",
            Self::Suspicion => "false-suspicion",
        }
    }

    /// Whether the algorithm has the role to be hit, according to its own description.
    pub(super) fn applies(self, series: &Series) -> bool {
        match self {
            Self::Server => series.has_server,
            Self::TokenOwner => series.token.is_some(),
            Self::Voter => series.votes,
            _ => true,
        }
    }

    /// The scenario with the fault at a time that the seed draws from the suitable ones, and that time.
    pub(super) fn place(
        self,
        healthy: &Scenario,
        roles: &Roles,
        random: &mut Random,
    ) -> Option<(Scenario, u64)> {
        let mut scenario = healthy.clone();
        let moment = match self {
            Self::Nothing => u64::MAX,
            Self::Loss => {
                let messages: Vec<_> = roles.messages().collect();
                let (time, from, to) = draw(&messages, random)?;
                let (link, at) = (link(from, to), When::At(Time(time)));
                scenario.faults.lose.push(LinkAt { link, at });
                time
            }
            Self::Suspicion => {
                let (time, victim) = self.draw_victim(roles, random)?;
                let window = window(time);
                let others = roles.processes().filter(|observer| *observer != victim);
                let suspect = |observer| Suspect { pair: link(observer, victim), window };
                scenario.faults.suspect.extend(others.map(suspect));
                time
            }
            _ => {
                let (time, victim) = self.draw_victim(roles, random)?;
                let selector = ProcessSelector::Process(ProcessId::new(victim));
                scenario
                    .faults
                    .crash
                    .push(ProcessAt { process: selector, at: When::At(Time(time)) });
                time
            }
        };
        Some((scenario, moment))
    }

    /// Draws a time and a process that holds the role then.
    fn draw_victim(self, roles: &Roles, random: &mut Random) -> Option<(u64, u32)> {
        let at = |time| {
            let fitting = roles.processes().filter(move |&process| self.fits(roles, process, time));
            fitting.map(move |process| (time, process))
        };
        let candidates: Vec<(u64, u32)> = roles.moments().flat_map(at).collect();
        draw(&candidates, random)
    }

    /// Whether a process holds the role. A server holds no other role, because its crash has a column of its own.
    fn fits(self, roles: &Roles, process: u32, time: u64) -> bool {
        match self {
            Self::Nothing | Self::Loss => false,
            Self::Server => roles.is_server(process) && roles.is_outside(process, time),
            _ if roles.is_server(process) => false,
            Self::Holder | Self::Suspicion => roles.is_inside(process, time),
            Self::Waiter => roles.is_waiting(process, time) && !roles.has_token(process, time),
            Self::Idle => {
                roles.is_outside(process, time)
                    && !roles.has_token(process, time)
                    && !roles.is_asked_for_vote(process, time)
            }
            Self::TokenOwner => roles.has_token(process, time) && !roles.is_inside(process, time),
            Self::Voter => {
                roles.is_asked_for_vote(process, time) && roles.is_outside(process, time)
            }
        }
    }
}

fn draw<T: Copy>(candidates: &[T], random: &mut Random) -> Option<T> {
    let count = candidates.len() as u64;
    (count > 0).then(|| candidates[random.below(count) as usize])
}

fn link(from: u32, to: u32) -> Link {
    let selector = |process| ProcessSelector::Process(ProcessId::new(process));
    Link { from: selector(from), to: selector(to) }
}

fn window(from: u64) -> Window {
    Window { from: When::At(Time(from)), until: Some(When::At(Time(from) + SUSPICION)) }
}
