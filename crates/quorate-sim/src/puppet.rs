//! A world that is told what happens, in place of deciding it: the way to run processes over sockets and judge them here.
//!
//! The same world stands in two places. Where a process really runs, it is told what arrives and what is due, and says
//! what to send. Where all processes are followed, it is told the same of each of them, in an order that their vector
//! clocks allow, and feeds the users, the monitors and the trace as a simulation does. Nothing here depends on the
//! algorithm: messages are bytes, and errands (timers and commands) are known by their order alone.

use quorate_core::{Belief, Process, ProcessId, ProcessSet, Span, Time};

use crate::engine::{Asked, Errand, Item, Parcel, awaiting};
use crate::network::Loss;
use crate::observer::{Departure, Input, Observer};
use crate::outside::{Outside, Waiting, in_flight, take_own, take_unsent, take_what_cannot_arrive};
use crate::plan::{Deed, Memory};
use crate::user::User;
use crate::world::{Ending, Limits, World};

/// Drives a world from outside until it has an end.
pub trait Driver {
    /// Does it.
    fn drive(&mut self, world: &mut dyn Puppet) -> Ending;
}

/// How messages become bytes and bytes messages.
#[derive(Debug)]
pub struct Wire<M> {
    /// A message as bytes.
    pub encode: fn(&M) -> Vec<u8>,
    /// Bytes as a message, if they are one.
    pub decode: fn(&[u8]) -> Option<M>,
}

/// A message that leaves the process that runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// To whom.
    pub to: ProcessId,
    /// Which life of its sender has sent it, and as which of its messages to this receiver.
    pub number: (u32, u64),
    /// What.
    pub bytes: Vec<u8>,
}

/// A message is said to have arrived that was not under way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {number:?} from {from} to {to} arrived, and was not sent or not like this")]
pub struct Misdelivery {
    /// Its sender.
    pub from: ProcessId,
    /// Its receiver.
    pub to: ProcessId,
    /// Which it was.
    pub number: (u32, u64),
}

/// A world told from outside what happens to its processes. Times are those of the events.
pub trait Puppet {
    /// How many processes there are.
    fn processes(&self) -> usize;

    /// When to stop.
    fn limits(&self) -> Limits;

    /// Only this process runs here; what others send is not kept.
    fn be(&mut self, me: ProcessId);

    /// What is to befall the world; asked once.
    fn take_deeds(&mut self) -> Vec<(Time, Deed)>;

    /// A process starts, and what its user plans is planned. All start at time zero.
    fn start(&mut self, process: ProcessId);

    /// When the next errand of a process is due.
    fn next_errand(&mut self, process: ProcessId) -> Option<Time>;

    /// A process does its next errand.
    fn run_next_errand(&mut self, process: ProcessId, now: Time);

    /// A message arrives at the process that runs here. Whether the bytes were a message.
    fn receive(&mut self, from: ProcessId, to: ProcessId, bytes: &[u8], now: Time) -> bool;

    /// What the process that runs here has sent since this was last asked.
    fn take_sent(&mut self) -> Vec<Sent>;

    /// A message that was sent arrives. The bytes that arrived, if it was under way and they pass the check.
    fn deliver(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        number: (u32, u64),
        check: &dyn Fn(&[u8]) -> bool,
        now: Time,
    ) -> Result<Vec<u8>, Misdelivery>;

    /// What the oracle is to tell whom now: observer, belief and the event that caused it.
    fn take_news(&mut self, now: Time) -> Vec<(ProcessId, Belief, u64)>;

    /// When the oracle has something to tell.
    fn next_news(&self) -> Option<Time>;

    /// A process is told what its detector believes.
    fn tell_belief(&mut self, observer: ProcessId, belief: Belief, because_of: u64, now: Time);

    /// Something befalls the world.
    fn befall(&mut self, deed: Deed, now: Time);

    /// What becomes of a false suspicion: what to tell the observer, if anything.
    fn mislead(&mut self, deed: &Deed, now: Time) -> Option<(ProcessId, Belief, u64)>;

    /// Who is up and waits for the end of a round.
    fn awaits_round(&self) -> ProcessSet;

    /// The number of the next round to end, and when it may.
    fn next_round(&self) -> (u64, Time);

    /// A round is over for a process.
    fn end_round(&mut self, process: ProcessId, number: u64, now: Time);

    /// Whether a process is up.
    fn is_up(&self, process: ProcessId) -> bool;

    /// Whether a message is under way between processes that are up.
    fn in_flight(&self) -> bool;

    /// Whether nobody wants anything any more.
    fn is_content(&mut self, now: Time) -> bool;

    /// The run is over at this time: what never left is lost.
    fn finish(&mut self, now: Time);
}

impl<P, U, O> World<P, U, O>
where
    P: Process,
    U: User<Command = P::Command, Output = P::Output>,
    O: Observer<P>,
{
    /// From now on what happens is told from outside. What takes longer than the bound is late.
    pub(crate) fn go_outside(&mut self, wire: Wire<P::Message>, bound: Span) {
        let mut outside = Outside::new(self.engine.n, wire, bound);
        while let Some((time, _, item)) = self.engine.queue.pop() {
            if let Item::Errand(place) = item {
                outside.plan(Time(time), self.engine.errands.remove(place));
            }
        }
        self.engine.user.begin(&mut outside.asked);
        self.engine.outside = Some(Box::new(outside));
    }

    fn outside(&mut self) -> &mut Outside<P> {
        self.engine.outside.as_mut().expect("a world that is driven has gone outside")
    }

    /// These do not arrive.
    fn lose_all(&mut self, lost: Vec<Waiting>, why: Loss) {
        for waiting in lost {
            let parcel = self.outside().parcels.remove(waiting.parcel);
            self.lose(&parcel, why);
        }
    }

    fn lose(&mut self, parcel: &Parcel<P::Message>, why: Loss) {
        let at = self.engine.next_moment(parcel.to);
        self.engine.observer.lose(at, parcel.from, parcel.tag, &parcel.message, why);
    }

    fn note_if_late(&mut self, from: ProcessId, process: ProcessId, since: Time, now: Time) {
        let took = now.since(since);
        if took > self.outside().bound {
            self.engine.observer.late(self.engine.moment(process), from, took);
        }
    }

    /// What is under way to those who are down does not arrive.
    fn lose_what_cannot_arrive(&mut self) {
        let up = self.up();
        let lost = take_what_cannot_arrive(&mut self.outside().links, &up);
        self.lose_all(lost, Loss::Down);
    }

    /// Forgets timers that do not run any longer, so that the next errand is one.
    fn skip_stale(&mut self, process: ProcessId) {
        let node = &self.nodes[process.index()];
        let outside = self.engine.outside.as_mut().expect("the world has gone outside");
        while let Some((_, Errand::Timer { timer, generation, .. })) = outside.next(process) {
            if node.is_running(timer, *generation) {
                return;
            }
            outside.take_next(process);
        }
    }
}

impl<P, U, O> Puppet for World<P, U, O>
where
    P: Process,
    U: User<Command = P::Command, Output = P::Output>,
    O: Observer<P>,
{
    fn processes(&self) -> usize {
        self.engine.n
    }

    fn limits(&self) -> Limits {
        self.engine.limits
    }

    fn be(&mut self, me: ProcessId) {
        self.outside().me = Some(me);
    }

    fn take_deeds(&mut self) -> Vec<(Time, Deed)> {
        std::mem::take(&mut self.outside().deeds)
    }

    fn start(&mut self, process: ProcessId) {
        self.engine.now = Time::ZERO;
        let at = self.engine.moment(process);
        self.engine.observer.input(at, &Input::Start);
        self.tell(at, P::on_start);
        for (process, after, command) in take_own(&mut self.outside().asked, process) {
            let asked = Asked { process, command, because_of: None, incarnation: None };
            self.engine.enqueue(Time::ZERO + after, Errand::Command(asked));
        }
    }

    fn next_errand(&mut self, process: ProcessId) -> Option<Time> {
        self.skip_stale(process);
        self.outside().next(process).map(|(time, _)| time)
    }

    fn run_next_errand(&mut self, process: ProcessId, now: Time) {
        self.skip_stale(process);
        self.engine.now = now;
        if let Some((due, errand)) = self.outside().take_next(process) {
            self.note_if_late(process, process, due, now);
            self.run_errand(errand);
        }
        self.lose_what_cannot_arrive();
    }

    fn receive(&mut self, from: ProcessId, to: ProcessId, bytes: &[u8], now: Time) -> bool {
        let Some(message) = (self.outside().wire.decode)(bytes) else { return false };
        self.engine.now = now;
        // Whoever watches here has not seen it leave.
        let at = self.engine.moment(from);
        self.engine.messages += 1;
        let id = self.engine.messages;
        let tag = self.engine.observer.send(at, id, to, &message, Departure::Sent);
        self.handle_apart(Parcel { from, to, tag, message });
        true
    }

    fn take_sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.outside().sent)
    }

    fn deliver(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        number: (u32, u64),
        check: &dyn Fn(&[u8]) -> bool,
        now: Time,
    ) -> Result<Vec<u8>, Misdelivery> {
        self.engine.now = now;
        let encode = self.outside().wire.encode;
        loop {
            let outside = self.outside();
            let waiting = outside.links.entry((from, to)).or_default().waiting.pop_front();
            let Some(waiting) = waiting else { return Err(Misdelivery { from, to, number }) };
            let parcel = outside.parcels.remove(waiting.parcel);
            if waiting.number > number {
                return Err(Misdelivery { from, to, number });
            }
            if waiting.number < number {
                // It was for a life of the receiver that is over.
                self.lose(&parcel, Loss::Down);
                continue;
            }
            let bytes = encode(&parcel.message);
            if !check(&bytes) {
                return Err(Misdelivery { from, to, number });
            }
            self.note_if_late(from, to, waiting.sent, now);
            self.handle_apart(parcel);
            self.lose_what_cannot_arrive();
            return Ok(bytes);
        }
    }

    fn take_news(&mut self, now: Time) -> Vec<(ProcessId, Belief, u64)> {
        let mut told = Vec::new();
        while let Some(first) =
            self.outside().news.first_entry().filter(|first| first.key().0 <= now)
        {
            let news = first.remove();
            let oracle = self.engine.oracle.as_mut().expect("only the oracle plans beliefs");
            let up = self.nodes[news.observer.index()].up;
            if up && oracle.is_news(news.observer, news.belief, news.epoch) {
                told.push((news.observer, news.belief, news.because_of));
            }
        }
        told
    }

    fn next_news(&self) -> Option<Time> {
        let outside = self.engine.outside.as_ref()?;
        outside.news.first_key_value().map(|((time, _), _)| *time)
    }

    fn tell_belief(&mut self, observer: ProcessId, belief: Belief, because_of: u64, now: Time) {
        self.engine.now = now;
        self.believe(observer, belief, because_of);
        self.lose_what_cannot_arrive();
    }

    fn befall(&mut self, deed: Deed, now: Time) {
        self.engine.now = now;
        if let Deed::Recover(process, Memory::Lost) = deed {
            self.lose_what_cannot_arrive();
            self.outside().begin_life(process);
        }
        Self::befall(self, deed);
        self.lose_what_cannot_arrive();
    }

    fn mislead(&mut self, deed: &Deed, now: Time) -> Option<(ProcessId, Belief, u64)> {
        let &Deed::Suspect { observer, victim, wrongly } = deed else { return None };
        self.engine.now = now;
        let at = self.engine.next_moment(observer);
        self.engine.observer.deed(at, deed);
        let belief = self.engine.oracle.as_mut()?.mislead(observer, victim, wrongly)?;
        Some((observer, belief, at.event))
    }

    fn awaits_round(&self) -> ProcessSet {
        let round = self.engine.round.as_ref();
        awaiting(round, &self.up())
    }

    fn next_round(&self) -> (u64, Time) {
        let next = self.engine.round.as_ref().map(|round| (round.over + 1, round.length));
        next.map_or((0, Time::NEVER), |(number, length)| {
            (number, Time(number.saturating_mul(length.0)))
        })
    }

    fn end_round(&mut self, process: ProcessId, number: u64, now: Time) {
        self.engine.now = now;
        let Some(round) = &mut self.engine.round else { return };
        round.over = number;
        round.awaited_by.remove(process);
        if self.nodes[process.index()].up {
            let at = self.engine.next_moment(process);
            self.engine.observer.input(at, &Input::RoundEnd(number));
            self.tell(at, |process, out| process.on_round_end(number, out));
        }
        self.lose_what_cannot_arrive();
    }

    fn is_up(&self, process: ProcessId) -> bool {
        self.nodes[process.index()].up
    }

    fn in_flight(&self) -> bool {
        let Some(outside) = &self.engine.outside else { return false };
        in_flight(&outside.links, &self.up(), &outside.lives)
    }

    fn is_content(&mut self, now: Time) -> bool {
        self.engine.user.is_content(now)
    }

    fn finish(&mut self, now: Time) {
        self.engine.now = self.engine.now.max(now);
        self.lose_what_cannot_arrive();
        let up = self.up();
        let Outside { links, lives, .. } = self.outside();
        let lost = take_unsent(links, &up, lives);
        self.lose_all(lost, Loss::Unsent);
    }
}
