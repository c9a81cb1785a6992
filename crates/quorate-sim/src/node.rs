//! One process of a world with all that its driver keeps for it.

use quorate_core::{Drift, Process, Span, Time};

use crate::plan::Deed;
use crate::traitor::Strategy;

/// A process, whether it is up, its timers, and what is odd about it.
#[derive(Debug)]
pub(crate) struct Node<P: Process> {
    pub(crate) process: P,
    pub(crate) up: bool,
    /// Number of crashes, and of outputs after which its user plans anew: commands planned before do not count.
    pub(crate) incarnation: u32,
    /// Counts settings of timers, so that a queued expiry of an older setting is recognised.
    generation: u32,
    timers: Vec<(P::Timer, u32)>,
    quirks: Option<Box<Quirks>>,
}

/// What faults have made of a process.
#[derive(Debug)]
pub(crate) struct Quirks {
    pub(crate) omit_send: f64,
    pub(crate) omit_receive: f64,
    pub(crate) handling: Option<Span>,
    pub(crate) pace: f64,
    pub(crate) crash_after_sends: Option<u32>,
    pub(crate) traitor: Option<Strategy>,
    clock: LocalClock,
    free_at: Time,
}

/// A clock that showed `shown` at `since` and has run at `rate` from then on.
#[derive(Debug)]
struct LocalClock {
    since: Time,
    shown: Time,
    rate: f64,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            omit_send: 0.0,
            omit_receive: 0.0,
            handling: None,
            pace: 1.0,
            crash_after_sends: None,
            traitor: None,
            clock: LocalClock { since: Time::ZERO, shown: Time::ZERO, rate: 1.0 },
            free_at: Time::ZERO,
        }
    }
}

impl Quirks {
    /// What befalls a process leaves its mark.
    pub(crate) fn take_on(&mut self, deed: &Deed, now: Time) {
        match *deed {
            Deed::CrashMid(_, sends) => self.crash_after_sends = Some(sends),
            Deed::OmitSend(_, rate) => self.omit_send = rate,
            Deed::OmitReceive(_, rate) => self.omit_receive = rate,
            Deed::Handling(_, handling) => self.handling = handling,
            Deed::Pace(_, factor) => self.pace = factor,
            Deed::Clock(_, rate) => {
                self.clock = LocalClock { since: now, shown: self.clock.show(now), rate };
            }
            _ => {}
        }
    }
}

impl<P: Process> Node<P> {
    pub(crate) fn new(process: P) -> Self {
        Self { process, up: true, incarnation: 0, generation: 0, timers: Vec::new(), quirks: None }
    }

    pub(crate) fn crash(&mut self) {
        self.up = false;
        self.incarnation += 1;
        self.timers.clear();
        if let Some(quirks) = &mut self.quirks {
            quirks.crash_after_sends = None;
            quirks.free_at = Time::ZERO;
        }
    }

    pub(crate) fn quirks_mut(&mut self) -> &mut Quirks {
        self.quirks.get_or_insert_default()
    }

    /// Whether nothing odd can happen to what it sends.
    pub(crate) fn is_plain(&self) -> bool {
        self.quirks.is_none()
    }

    pub(crate) fn omit_send(&self) -> f64 {
        self.quirks.as_ref().map_or(0.0, |quirks| quirks.omit_send)
    }

    pub(crate) fn omit_receive(&self) -> f64 {
        self.quirks.as_ref().map_or(0.0, |quirks| quirks.omit_receive)
    }

    pub(crate) fn traitor(&self) -> Option<Strategy> {
        self.quirks.as_ref().and_then(|quirks| quirks.traitor)
    }

    pub(crate) fn crash_after_sends(&self) -> Option<u32> {
        self.quirks.as_ref().and_then(|quirks| quirks.crash_after_sends)
    }

    /// When a message that arrives now will have been handled; none if that takes no time.
    pub(crate) fn busy_until(&mut self, now: Time, usual: Span) -> Option<Time> {
        if !self.up {
            return None;
        }
        let own = self.quirks.as_ref().and_then(|quirks| quirks.handling);
        let handling = self.paced(own.unwrap_or(usual));
        let quirks = self.quirks_mut();
        let done = now.max(quirks.free_at) + handling;
        quirks.free_at = done;
        (done > now).then_some(done)
    }

    /// What the process's own clock shows.
    pub(crate) fn local_time(&self, now: Time) -> Time {
        self.quirks.as_ref().map_or(now, |quirks| quirks.clock.show(now))
    }

    /// What the clock shows at the start, and how fast it runs.
    pub(crate) fn set_clock(&mut self, shown: Time, drift: Drift) {
        let rate = 1.0 + drift.0 as f64 / Drift::ONE as f64;
        self.quirks_mut().clock = LocalClock { since: Time::ZERO, shown, rate };
    }

    /// How long a span of the process's own time really takes. A running timer is not changed when the
    /// clock later changes its rate.
    pub(crate) fn real_span(&self, local: Span) -> Span {
        match &self.quirks {
            None => local,
            Some(quirks) => scaled(self.paced(local), 1.0 / quirks.clock.rate),
        }
    }

    /// How long the process really takes for what should take so long.
    pub(crate) fn paced(&self, span: Span) -> Span {
        match &self.quirks {
            Some(quirks) if quirks.pace != 1.0 => scaled(span, 1.0 / quirks.pace),
            _ => span,
        }
    }

    /// Starts a timer, again if it is running; returns the number of this setting.
    pub(crate) fn set_timer(&mut self, timer: P::Timer) -> u32 {
        self.cancel_timer(&timer);
        self.generation = self.generation.wrapping_add(1);
        self.timers.push((timer, self.generation));
        self.generation
    }

    pub(crate) fn cancel_timer(&mut self, timer: &P::Timer) {
        self.timers.retain(|(running, _)| running != timer);
    }

    /// Whether this setting of the timer is still running.
    pub(crate) fn is_running(&self, timer: &P::Timer, generation: u32) -> bool {
        self.timers.iter().any(|running| (&running.0, running.1) == (timer, generation))
    }

    /// Whether this setting of the timer is still running; if so it stops now.
    pub(crate) fn expire(&mut self, timer: &P::Timer, generation: u32) -> bool {
        let place =
            self.timers.iter().position(|running| (&running.0, running.1) == (timer, generation));
        place.map(|place| self.timers.swap_remove(place)).is_some()
    }
}

impl LocalClock {
    fn show(&self, now: Time) -> Time {
        self.shown + scaled(now.since(self.since), self.rate)
    }
}

/// A product in whole nanoseconds. Multiplication rounds the same way on every machine.
fn scaled(span: Span, factor: f64) -> Span {
    if factor == 1.0 { span } else { Span((span.0 as f64 * factor) as u64) }
}
