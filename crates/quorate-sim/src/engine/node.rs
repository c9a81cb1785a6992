//! A process of a world, with the state that its driver keeps for it.

use quorate_core::{Process, Span, Time};

use super::running_clock::{RunningClock, scaled};
use crate::scenario::plan::FaultEvent;
use crate::scenario::traitor::Strategy;

/// A process, whether it is up, its timers, and the state of its faults.
#[derive(Debug)]
pub(crate) struct Node<P: Process> {
    pub(crate) process: P,
    pub(crate) up: bool,
    /// Number of crashes, plus the number of outputs that void the
    /// plans of its user. Commands of earlier incarnations are dropped.
    pub(crate) incarnation: u32,
    /// Number of timers set so far. It identifies queued expirations of timers that were set again or cancelled.
    generation: u32,
    timers: Vec<(P::Timer, u32)>,
    fault_state: Option<Box<FaultState>>,
}

/// State of a process with faults, a clock of its own, or a handling time. Most processes have none of these.
#[derive(Debug)]
pub(crate) struct FaultState {
    pub(crate) omit_send: f64,
    pub(crate) omit_receive: f64,
    pub(crate) handling: Option<Span>,
    pub(crate) pace: f64,
    pub(crate) crash_after_sends: Option<u32>,
    pub(crate) traitor: Option<Strategy>,
    clock: RunningClock,
    free_at: Time,
}

impl Default for FaultState {
    fn default() -> Self {
        Self {
            omit_send: 0.0,
            omit_receive: 0.0,
            handling: None,
            pace: 1.0,
            crash_after_sends: None,
            traitor: None,
            clock: RunningClock::default(),
            free_at: Time::ZERO,
        }
    }
}

impl FaultState {
    /// Applies a fault to the process.
    pub(crate) fn apply(&mut self, fault: &FaultEvent, now: Time) {
        match *fault {
            FaultEvent::CrashMid(_, sends) => self.crash_after_sends = Some(sends),
            FaultEvent::OmitSend(_, rate) => self.omit_send = rate,
            FaultEvent::OmitReceive(_, rate) => self.omit_receive = rate,
            FaultEvent::Handling(_, handling) => self.handling = handling,
            FaultEvent::Pace(_, factor) => self.pace = factor,
            FaultEvent::Clock(_, rate) => self.clock.set_rate(rate, now),
            _ => {}
        }
    }
}

impl<P: Process> Node<P> {
    pub(crate) fn new(process: P) -> Self {
        Self {
            process,
            up: true,
            incarnation: 0,
            generation: 0,
            timers: Vec::new(),
            fault_state: None,
        }
    }

    pub(crate) fn crash(&mut self) {
        self.up = false;
        self.incarnation += 1;
        self.timers.clear();
        if let Some(fault_state) = &mut self.fault_state {
            fault_state.crash_after_sends = None;
            fault_state.free_at = Time::ZERO;
        }
    }

    pub(crate) fn fault_state_mut(&mut self) -> &mut FaultState {
        self.fault_state.get_or_insert_default()
    }

    /// Whether messages can be sent without checking for faults.
    pub(crate) fn has_no_faults(&self) -> bool {
        self.fault_state.is_none()
    }

    pub(crate) fn omit_send(&self) -> f64 {
        self.fault_state.as_ref().map_or(0.0, |fault_state| fault_state.omit_send)
    }

    pub(crate) fn omit_receive(&self) -> f64 {
        self.fault_state.as_ref().map_or(0.0, |fault_state| fault_state.omit_receive)
    }

    pub(crate) fn traitor(&self) -> Option<Strategy> {
        self.fault_state.as_ref().and_then(|fault_state| fault_state.traitor)
    }

    pub(crate) fn crash_after_sends(&self) -> Option<u32> {
        self.fault_state.as_ref().and_then(|fault_state| fault_state.crash_after_sends)
    }

    /// Returns when a message that arrives now will have been handled; none if that takes no time or the process is down.
    pub(crate) fn busy_until(&mut self, now: Time, usual: Span) -> Option<Time> {
        if !self.up {
            return None;
        }
        let own = self.fault_state.as_ref().and_then(|fault_state| fault_state.handling);
        let handling = self.paced(own.unwrap_or(usual));
        let fault_state = self.fault_state_mut();
        let done = now.max(fault_state.free_at) + handling;
        fault_state.free_at = done;
        (done > now).then_some(done)
    }

    /// Time that the process's own clock shows.
    pub(crate) fn local_time(&self, now: Time) -> Time {
        self.fault_state.as_ref().map_or(now, |fault_state| fault_state.clock.show(now))
    }

    pub(crate) fn set_clock(&mut self, clock: RunningClock) {
        self.fault_state_mut().clock = clock;
    }

    /// Converts a span of the process's own time to virtual time. A timer that is already running is not affected when
    /// the rate of the clock changes later.
    pub(crate) fn real_span(&self, local: Span) -> Span {
        match &self.fault_state {
            None => local,
            Some(fault_state) => scaled(self.paced(local), 1.0 / fault_state.clock.rate()),
        }
    }

    /// Converts the nominal duration of a step to the duration at the current pace of the process.
    pub(crate) fn paced(&self, span: Span) -> Span {
        match &self.fault_state {
            Some(fault_state) if fault_state.pace != 1.0 => scaled(span, 1.0 / fault_state.pace),
            _ => span,
        }
    }

    /// Starts a timer, or restarts it if it is running. Returns the generation of this timer.
    pub(crate) fn set_timer(&mut self, timer: P::Timer) -> u32 {
        self.cancel_timer(&timer);
        self.generation = self.generation.wrapping_add(1);
        self.timers.push((timer, self.generation));
        self.generation
    }

    pub(crate) fn cancel_timer(&mut self, timer: &P::Timer) {
        self.timers.retain(|(running, _)| running != timer);
    }

    /// Whether the timer of this generation is still running.
    pub(crate) fn is_running(&self, timer: &P::Timer, generation: u32) -> bool {
        self.timers.iter().any(|running| (&running.0, running.1) == (timer, generation))
    }

    /// Stops the timer of this generation. Returns whether it was still running.
    pub(crate) fn expire(&mut self, timer: &P::Timer, generation: u32) -> bool {
        let place =
            self.timers.iter().position(|running| (&running.0, running.1) == (timer, generation));
        place.map(|place| self.timers.swap_remove(place)).is_some()
    }
}
