//! What a trace tells, in the shape in which it is drawn: messages with both ends, stays, signs, partitions.

use std::collections::{BTreeMap, BTreeSet};

use quorate_sim::Mark;
use quorate_sim::monitor::Evidence;
use quorate_sim::plan::Memory;
use quorate_sim::trace::{Letter, Record, Sight, What};

use super::sign::{Sign, SignKind, Stay, StayKind};

/// A kind of message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) layer: String,
    /// How many there are in the whole run.
    pub(super) count: usize,
}

/// Where in the run something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) time: u64,
    pub(super) event: u64,
}

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives(Place),
    /// It was lost on the way, or ends where nobody takes it.
    Lost {
        at: Place,
        /// Whether it came as far as its receiver.
        at_receiver: bool,
        /// Why, as a place among the reasons.
        why: u32,
    },
    /// The trace ends before it arrives.
    UnderWay,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) message: u64,
    pub(super) kind: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) sent: Place,
    pub(super) fate: Fate,
    /// Whether it is the second copy of a message.
    pub(super) again: bool,
    pub(super) body: Box<str>,
}

impl Passage {
    /// When it is over, as far as is known.
    pub(super) fn end(&self) -> Option<u64> {
        match &self.fate {
            Fate::Arrives(at) | Fate::Lost { at, at_receiver: true, .. } => Some(at.time),
            Fate::Lost { .. } | Fate::UnderWay => None,
        }
    }
}

/// A partition and how long it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) from: u64,
    pub(super) to: Option<u64>,
    pub(super) groups: Vec<Vec<u32>>,
}

/// Something that goes wrong and has no sign of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) time: u64,
    pub(super) process: u32,
    pub(super) what: String,
}

/// A broken property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) property: String,
    pub(super) time: u64,
    pub(super) detail: String,
    pub(super) events: Vec<Evidence>,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) processes: usize,
    pub(super) end: u64,
    pub(super) kinds: Vec<Kind>,
    /// In the order in which they were sent.
    pub(super) messages: Vec<Passage>,
    /// Of each process, in order.
    pub(super) stays: Vec<Vec<Stay>>,
    /// In order.
    pub(super) signs: Vec<Sign>,
    pub(super) bands: Vec<Band>,
    /// When each round ended.
    pub(super) rounds: BTreeMap<(u64, u64), ()>,
    pub(super) troubles: Vec<Trouble>,
    pub(super) broken: Vec<Broken>,
    /// Messages that arrive without having been sent.
    pub(super) unsent: usize,
    /// Why messages were lost, each reason once.
    pub(super) reasons: Vec<String>,
    /// The median time that a message takes.
    pub(super) usual: u64,
}

impl Story {
    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let stays: usize = self.stays.iter().map(Vec::len).sum();
        self.messages.len() * size_of::<Passage>()
            + self.signs.len() * size_of::<Sign>()
            + stays * size_of::<Stay>()
    }
}

/// A story being told.
#[derive(Clone, Debug)]
pub(super) struct Teller {
    pub(super) story: Story,
    /// How many messages are kept with what they say.
    bodies: usize,
    /// Messages that are not over, each with the places of its passages.
    under_way: BTreeSet<(u64, usize)>,
    kinds: BTreeMap<(String, String), u32>,
    reasons: BTreeMap<String, u32>,
    /// What each process does now, and since when.
    now: Vec<Option<(StayKind, Place)>>,
    /// What it did when it went down.
    before: Vec<Option<StayKind>>,
}

impl Teller {
    pub(super) fn new(processes: usize, bodies: usize) -> Self {
        Self {
            story: Story { processes, stays: vec![Vec::new(); processes], ..Story::default() },
            bodies,
            under_way: BTreeSet::new(),
            kinds: BTreeMap::new(),
            reasons: BTreeMap::new(),
            now: vec![None; processes],
            before: vec![None; processes],
        }
    }

    /// How much has been told.
    pub(super) fn parts(&self) -> usize {
        self.story.messages.len() + self.story.signs.len()
    }

    pub(super) fn hear(&mut self, record: &Record) {
        let process = record.process as usize;
        if process >= self.story.processes {
            return;
        }
        let at = Place { time: record.time, event: record.event };
        self.story.end = self.story.end.max(record.time);
        match &record.what {
            What::Send(letter) => self.send(at, letter, false),
            What::Duplicate(letter) => self.send(at, letter, true),
            What::Deliver(letter) => self.arrive(letter, Fate::Arrives(at)),
            What::Lose { letter, why } => {
                let at_receiver = self.is_late(letter, at);
                let why = self.reason(why);
                self.arrive(letter, Fate::Lost { at, at_receiver, why });
            }
            What::Command { sight, .. } | What::Output { sight, .. } => {
                self.see(record, at, sight);
            }
            What::Belief { about, crashed } => {
                let kind = if *crashed { SignKind::Suspects } else { SignKind::Trusts };
                self.sign(record.process, at, kind, format!("p{about}"));
            }
            What::Crash => {
                self.before[process] = self.now[process].map(|(kind, _)| kind);
                self.turn(process, at, Some(StayKind::Down));
                self.sign(record.process, at, SignKind::Crashes, String::new());
            }
            What::Recover { memory } => {
                let before = self.before[process].take().filter(|_| *memory);
                self.turn(process, at, before);
                let says = if *memory { "" } else { "no memory" };
                self.sign(record.process, at, SignKind::Returns, says.to_owned());
            }
            What::RoundEnd { round } => {
                self.story.rounds.insert((at.time, *round), ());
            }
            What::Partition { groups } => {
                self.heal(at);
                self.story.bands.push(Band { from: at.time, to: None, groups: groups.clone() });
            }
            What::Heal => self.heal(at),
            What::Fault { fault, .. } => {
                let (time, process) = (at.time, record.process);
                self.story.troubles.push(Trouble { time, process, what: fault.clone() });
            }
            What::Violation { property, moment, detail, events } => {
                self.story.broken.push(Broken {
                    property: property.clone().into_owned(),
                    time: *moment,
                    detail: detail.clone(),
                    events: events.clone(),
                })
            }
            What::Refuse { command, .. } => {
                self.sign(record.process, at, SignKind::Refuses, command.clone());
            }
            What::Timer { timer } => {
                self.sign(record.process, at, SignKind::Timer, timer.clone());
            }
            What::Start | What::Ignore { .. } => {}
        }
    }

    fn see(&mut self, record: &Record, at: Place, sight: &Sight) {
        let Some(mark) = sight.mark else { return };
        let process = record.process as usize;
        let stay = match mark {
            Mark::Requested => Some(Some(StayKind::Waits)),
            Mark::Entered => Some(Some(StayKind::Inside)),
            Mark::TakesPart => Some(Some(StayKind::TakesPart)),
            Mark::Leads => Some(Some(StayKind::Leads)),
            Mark::Proposed => Some(Some(StayKind::Undecided)),
            Mark::Left | Mark::Follows | Mark::Decided | Mark::Set | Mark::Failed => Some(None),
            Mark::Crashed => Some(Some(StayKind::Down)),
            Mark::Recovered(Memory::Kept | Memory::Lost) => Some(None),
            Mark::Sent | Mark::Delivered | Mark::Blocked | Mark::Suspected | Mark::Trusted => None,
        };
        if let Some(stay) = stay {
            self.turn(process, at, stay);
        }
        let sign = match mark {
            Mark::Sent => SignKind::Multicasts,
            Mark::Delivered => SignKind::Delivers,
            Mark::Leads => SignKind::Wins,
            Mark::Follows => SignKind::Follows,
            Mark::Proposed => SignKind::Proposes,
            Mark::Decided => SignKind::Decides,
            Mark::Blocked => SignKind::Blocked,
            Mark::Suspected => SignKind::Suspects,
            Mark::Trusted => SignKind::Trusts,
            Mark::Set => SignKind::Sets,
            Mark::Failed => SignKind::Fails,
            Mark::Left if !sight.says.is_empty() => SignKind::GivesUp,
            _ => return,
        };
        self.sign(record.process, at, sign, sight.says.clone());
    }

    fn sign(&mut self, process: u32, at: Place, kind: SignKind, says: String) {
        let sign = Sign { process, time: at.time, event: at.event, kind, says };
        // A detector's change of mind may be told twice: to its user and to the layer above it.
        if self.story.signs.last() != Some(&sign) {
            self.story.signs.push(sign);
        }
    }

    /// The process does something else from now on.
    fn turn(&mut self, process: usize, at: Place, next: Option<StayKind>) {
        let before = self.now[process].take();
        if let Some((kind, since)) = before {
            let (from, to, event) = (since.time, Some(at.time), since.event);
            self.story.stays[process].push(Stay { kind, from, to, event });
        }
        self.now[process] = next.map(|kind| (kind, at));
    }

    fn heal(&mut self, at: Place) {
        for band in self.story.bands.iter_mut().filter(|band| band.to.is_none()) {
            band.to = Some(at.time);
        }
    }

    fn send(&mut self, sent: Place, letter: &Letter, again: bool) {
        let known = (letter.kind.clone().into_owned(), letter.layer.clone().into_owned());
        let kinds = &mut self.story.kinds;
        let kind = *self.kinds.entry(known).or_insert_with_key(|(name, layer)| {
            kinds.push(Kind { name: name.clone(), layer: layer.clone(), count: 0 });
            (kinds.len() - 1) as u32
        });
        kinds[kind as usize].count += 1;
        let Letter { message, from, to, .. } = *letter;
        let place = self.story.messages.len();
        self.under_way.insert((message, place));
        let body = if place < self.bodies { letter.body.as_str().into() } else { Box::default() };
        let fate = Fate::UnderWay;
        self.story.messages.push(Passage { message, kind, from, to, sent, fate, again, body });
    }

    /// Whether the message has left in an earlier event than this one.
    fn is_late(&self, letter: &Letter, at: Place) -> bool {
        let first = self.first_of(letter.message);
        first.is_some_and(|place| self.story.messages[place].sent.event != at.event)
    }

    /// The first passage of a message that is not over.
    fn first_of(&self, message: u64) -> Option<usize> {
        self.under_way.range((message, 0)..=(message, usize::MAX)).next().map(|(_, place)| *place)
    }

    fn reason(&mut self, why: &str) -> u32 {
        if let Some(known) = self.reasons.get(why) {
            return *known;
        }
        let place = self.story.reasons.len() as u32;
        self.story.reasons.push(why.to_owned());
        self.reasons.insert(why.to_owned(), place);
        place
    }

    fn arrive(&mut self, letter: &Letter, fate: Fate) {
        let Some(place) = self.first_of(letter.message) else {
            self.story.unsent += 1;
            return;
        };
        self.under_way.remove(&(letter.message, place));
        self.story.messages[place].fate = fate;
    }

    pub(super) fn finish(mut self) -> Story {
        for (process, now) in self.now.iter().enumerate() {
            if let Some((kind, since)) = *now {
                let (from, event) = (since.time, since.event);
                self.story.stays[process].push(Stay { kind, from, to: None, event });
            }
        }
        let arrived = |message: &Passage| match message.fate {
            Fate::Arrives(at) if message.from != message.to => {
                Some(at.time.saturating_sub(message.sent.time))
            }
            _ => None,
        };
        let mut delays: Vec<u64> = self.story.messages.iter().filter_map(arrived).collect();
        delays.sort_unstable();
        self.story.usual = delays.get(delays.len() / 2).copied().unwrap_or(0);
        self.story
    }
}
