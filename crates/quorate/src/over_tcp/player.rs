//! One process of a scenario as a process of the operating system: plays its part and reports what happens to it.
//!
//! Every event is reported before what it sends can leave, so that whatever others do because of it, the stage has heard
//! of the cause, even if this process is killed the next moment.

use std::collections::VecDeque;
use std::io::{self, Stdout};
use std::process::ExitCode;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use quorate_core::{Belief, ProcessId, Time, VectorClock};
use quorate_lab::run_driven;
use quorate_net::driver::{Actor, Drive, Ended, Outbox, drive};
use quorate_net::{
    ClusterId, Config, Events, Incarnation, Listener, Mesh, Network, Security, Tcp, codec,
};
use quorate_sim::plan::Deed;
use quorate_sim::{Conditions, Driver, Ending, Puppet, Scenario};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::clock::{Clock, machine_time};
use super::talk::{
    Entry, FromPlayer, Letter, Past, PastEvent, Role, ToPlayer, Told, What, checksum, hear, say,
};
use crate::Done;
use crate::failure::Failure;

/// How often a player that has nothing to report says so, in nanoseconds.
const IDLE: u64 = 4_000_000;

/// Plays the part that the stage on the other side of the pipes gives.
pub(crate) fn play() -> Done {
    let begin = hear(&mut io::stdin()).map_err(Failure::from)?;
    let Some(ToPlayer::Begin(role)) = begin else {
        return Err(Failure::new("only `quorate sim --over tcp` starts this"));
    };
    let scenario: Scenario = toml::from_str(&role.scenario).map_err(Failure::new)?;
    let mut player = Player { role: *role };
    run_driven(&scenario, Conditions::default(), None, &mut player).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

struct Player {
    role: Role,
}

impl Driver for Player {
    fn drive(&mut self, world: &mut dyn Puppet) -> Ending {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let played = runtime.and_then(|runtime| runtime.block_on(self.play(world)));
        if let Err(error) = played {
            // If the stage has gone, nobody wants to know.
            let _ = say(&mut io::stdout(), &FromPlayer::Broken(error.to_string()));
        }
        Ending::Unwatched
    }
}

impl Player {
    async fn play(&mut self, world: &mut dyn Puppet) -> io::Result<()> {
        let mut told = listen_to_stage();
        let me = self.role.me;
        world.be(me);
        self.role.past.iter().for_each(|past| relive(world, me, past));
        let (mesh, mut events) = self.connect(&mut told).await?;
        let Some(ToPlayer::Go { epoch, stretch }) = told.recv().await else { return Ok(()) };
        let clock = Clock { epoch, stretch };
        sleep(Duration::from_nanos(epoch.saturating_sub(machine_time()))).await;
        let mut part = Part {
            world,
            me,
            life: self.role.life,
            clock,
            known: self.role.clock.clone(),
            // Due times are counted from when driving began.
            origin: machine_time(),
            due: None,
            planned: self.role.planned.clone().into(),
            idle_from: machine_time(),
            told,
            stage: io::stdout(),
            trouble: None,
            rounds: self.role.past.iter().filter_map(|past| past.round_end()).max().unwrap_or(0),
            early: Vec::new(),
        };
        let options = Drive { suspect_after: None, ..Drive::default() };
        let ended = drive(&mesh, &mut events, &mut part, &options).await;
        if let Some(trouble) = part.trouble {
            return Err(trouble);
        }
        if ended != Ended::Finished {
            return Err(io::Error::other(format!("{ended:?}")));
        }
        // It crashed in the middle of a multicast. What it sent before arrives, and then it is killed.
        mesh.stop().await;
        say(&mut io::stdout(), &FromPlayer::Fallen)?;
        std::future::pending().await
    }

    /// Connects to everybody who is there.
    async fn connect(
        &self,
        told: &mut mpsc::UnboundedReceiver<ToPlayer>,
    ) -> io::Result<(Mesh, Events)> {
        let listener = listen(self.role.port).await?;
        say(&mut io::stdout(), &FromPlayer::Listening(listener.address()?.port()))?;
        let Some(ToPlayer::Peers { addresses, awaited }) = told.recv().await else {
            return Err(io::Error::other("no word of the others"));
        };
        let peers = ProcessId::all(addresses.len()).zip(addresses);
        let mut config =
            Config::new(ClusterId(self.role.cluster), self.role.me, peers, Security::Plain);
        config.incarnation = Incarnation(u64::from(self.role.life) + 1);
        config.limits.redial_most = Duration::from_millis(50);
        let (mesh, events) = Mesh::start(config, Tcp, listener).map_err(io::Error::other)?;
        let is_up = |status: &quorate_net::PeerStatus| {
            status.up || !awaited.contains(&status.peer.number())
        };
        while !mesh.status().iter().all(is_up) {
            sleep(Duration::from_millis(1)).await;
        }
        say(&mut io::stdout(), &FromPlayer::Ready)?;
        Ok((mesh, events))
    }
}

/// Anywhere at first; later lives where the first one was, which may take a moment to be free.
async fn listen(port: u16) -> io::Result<Box<dyn Listener>> {
    let address = format!("127.0.0.1:{port}");
    for _ in 0..100 {
        match Tcp.listen(&address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                sleep(Duration::from_millis(10)).await;
            }
            other => return other,
        }
    }
    Tcp.listen(&address).await
}

/// What the stage says. When it has gone there is nobody to play for.
fn listen_to_stage() -> mpsc::UnboundedReceiver<ToPlayer> {
    let (sender, told) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(Some(word)) = hear(&mut io::stdin()) {
            if sender.send(word).is_err() {
                return;
            }
        }
        std::process::exit(0);
    });
    told
}

/// What happened in an earlier life happens again; nothing of it is sent.
fn relive(world: &mut dyn Puppet, me: ProcessId, past: &Past) {
    let now = Time(past.time);
    match &past.what {
        PastEvent::Start => world.start(me),
        PastEvent::Errand => world.run_next_errand(me, now),
        PastEvent::Arrival(from, bytes) => {
            world.receive(*from, me, bytes, now);
        }
        PastEvent::Told(told) => happen(world, me, told, now),
        PastEvent::Crash => world.befall(Deed::Crash(me), now),
    }
    world.take_sent();
}

/// What the stage has decided happens to the process.
pub(super) fn happen(world: &mut dyn Puppet, process: ProcessId, told: &Told, now: Time) {
    if let Some(belief) = told.belief() {
        world.tell_belief(process, belief, 0, now);
    } else if let Some(deed) = told.deed(process) {
        world.befall(deed, now);
    } else if let Told::RoundEnd(number) = told {
        world.end_round(process, *number, now);
    }
}

/// A process while it is driven.
struct Part<'w> {
    world: &'w mut dyn Puppet,
    me: ProcessId,
    life: u32,
    clock: Clock,
    /// What it knows of everybody's events.
    known: VectorClock,
    origin: u64,
    due: Option<Time>,
    planned: VecDeque<(u64, u32)>,
    idle_from: u64,
    told: mpsc::UnboundedReceiver<ToPlayer>,
    stage: Stdout,
    trouble: Option<io::Error>,
    /// How many rounds are over for it.
    rounds: u64,
    /// What was sent in a round that has not begun here: word of the end of a round comes sooner to some.
    early: Vec<(ProcessId, Letter)>,
}

impl Part<'_> {
    /// A letter of a round that has begun here.
    fn take_in(&mut self, from: ProcessId, letter: Letter, out: &mut Outbox) {
        let (now, Letter { number, clock, bytes, .. }) = (self.clock.now(), letter);
        if !self.world.receive(from, self.me, &bytes, now) {
            self.trouble.get_or_insert(io::Error::other(format!("no message from {from}")));
            return;
        }
        self.known.merge(&clock);
        let check = checksum(&bytes);
        self.happened(now, What::Arrival { from, number, check }, out);
    }

    /// What has come early and is in time now.
    fn take_in_early(&mut self, out: &mut Outbox) {
        let rounds = self.rounds;
        let in_time = |(_, letter): &mut (ProcessId, Letter)| letter.round <= rounds;
        let early: Vec<_> = self.early.extract_if(.., in_time).collect();
        for (from, letter) in early {
            self.take_in(from, letter, out);
        }
    }

    /// Something has happened: it is reported, and what was sent because of it leaves.
    fn happened(&mut self, time: Time, what: What, out: &mut Outbox) {
        self.known.tick(self.me);
        let clock = self.known.clone();
        self.report(&FromPlayer::Event(Entry { time: time.0, clock, what }));
        for sent in self.world.take_sent() {
            let (number, clock, bytes) = (sent.number, self.known.clone(), sent.bytes);
            let round = self.rounds;
            out.send(sent.to, codec::encode(&Letter { number, clock, round, bytes }));
        }
        self.due = self.world.next_errand(self.me);
        self.idle_from = machine_time();
    }

    fn report(&mut self, word: &FromPlayer) {
        if let Err(error) = say(&mut self.stage, word) {
            self.trouble.get_or_insert(error);
        }
    }

    /// A machine's time as the driver counts it.
    fn counted(&self, machine_time: u64) -> Time {
        Time(machine_time.saturating_sub(self.origin))
    }
}

impl Actor for Part<'_> {
    fn start(&mut self, _: Time, out: &mut Outbox) {
        if self.life == 0 {
            self.world.start(self.me);
            self.happened(Time::ZERO, What::Start, out);
        } else {
            let now = self.clock.now();
            happen(self.world, self.me, &Told::Recover, now);
            self.happened(now, What::Told, out);
        }
    }

    fn on_message(&mut self, _: Time, from: ProcessId, payload: &[u8], out: &mut Outbox) {
        match codec::decode::<Letter>(payload) {
            Ok(letter) if letter.round > self.rounds => self.early.push((from, letter)),
            Ok(letter) => self.take_in(from, letter, out),
            Err(_) => {
                self.trouble.get_or_insert(io::Error::other(format!("nonsense from {from}")));
            }
        }
    }

    fn next_due(&self) -> Option<Time> {
        let idle = self.counted(self.idle_from + IDLE);
        let planned = self.planned.front().map(|(time, _)| Time(*time));
        let own = [self.due, planned].into_iter().flatten();
        own.map(|due| self.counted(self.clock.machine_time_at(due))).chain([idle]).min()
    }

    fn on_due(&mut self, _: Time, out: &mut Outbox) {
        let now = self.clock.now();
        // As in a simulation, what befalls a process comes before what it does at the same time.
        if self.planned.front().is_some_and(|(time, _)| *time <= now.0) {
            let sends = self.planned.pop_front().map_or(0, |(_, sends)| sends);
            happen(self.world, self.me, &Told::CrashMid(sends), now);
            self.happened(now, What::Planned, out);
        } else if self.due.is_some_and(|due| due <= now) {
            self.world.run_next_errand(self.me, now);
            self.happened(now, What::Errand, out);
        } else if machine_time() >= self.idle_from + IDLE {
            self.report(&FromPlayer::Idle(now.0));
            self.idle_from = machine_time();
        }
    }

    fn on_belief(&mut self, _: Time, _: Belief, _: &mut Outbox) {}

    fn poll_user(&mut self, context: &mut Context<'_>, _: Time, out: &mut Outbox) -> Poll<bool> {
        match ready!(self.told.poll_recv(context)) {
            Some(ToPlayer::Tell(told)) => {
                let now = self.clock.now();
                if let Told::RoundEnd(number) = told {
                    self.rounds = number;
                }
                happen(self.world, self.me, &told, now);
                self.happened(now, What::Told, out);
                self.take_in_early(out);
                Poll::Ready(true)
            }
            Some(_) => Poll::Ready(true),
            None => Poll::Ready(false),
        }
    }

    fn has_finished(&self) -> bool {
        self.trouble.is_some() || !self.world.is_up(self.me)
    }
}
