//! The stage: starts the players, lets happen what the scenario plans, and follows what they report.

use std::collections::VecDeque;
use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use quorate_core::{ProcessId, Time};
use quorate_sim::plan::Deed;
use quorate_sim::{Driver, Ending, Puppet, Scenario};

use super::clock::{Clock, machine_time};
use super::lanes::Lanes;
use super::talk::{
    Entry, FromPlayer, Past, PastEvent, Role, ToPlayer, Told, What, checksum, hear, say,
};
use crate::failure::Failure;

/// The hidden command that plays a process.
pub(crate) const PLAYER: &str = "over-tcp-player";

/// How long players may take to start, and to report anything.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a run may take if it does not come to an end.
const LONGEST: Duration = Duration::from_secs(600);
/// How often to look whether something is due.
const LOOK: Duration = Duration::from_millis(1);
/// How long nothing may happen, of real time, before the messages of the dead are not waited for any more.
const QUIET: u64 = 30_000_000;

/// Everything that is going on.
pub(crate) struct Stage {
    scenario: String,
    cluster: u128,
    players: Vec<Player>,
    words: Receiver<Word>,
    ears: Sender<Word>,
    lanes: Lanes,
    clock: Clock,
    trouble: Option<String>,
}

/// What a player's life has said; none when that is over.
type Word = (ProcessId, u32, Option<FromPlayer>);

/// One process of the operating system, and what the stage knows about it.
#[derive(Default)]
struct Player {
    process: Option<(Child, ChildStdin)>,
    life: u32,
    port: u16,
    /// What it was told and has not reported, with the events that caused it.
    told: VecDeque<(Told, u64)>,
    /// When it is to crash in the middle of a multicast, and after how many sends.
    planned: VecDeque<(u64, u32)>,
    ready: bool,
    /// It is to come back as soon as its end has been told.
    comes_back: bool,
    /// When the stage has killed it, until its end is known.
    falling: Option<Time>,
    past: Vec<Past>,
    keeps_past: bool,
}

impl Driver for Stage {
    fn drive(&mut self, world: &mut dyn Puppet) -> Ending {
        let ending = self.play(world).unwrap_or_else(|trouble| {
            self.trouble = Some(trouble);
            Ending::Unwatched
        });
        self.dismiss();
        ending
    }
}

type Played<T> = Result<T, String>;

impl Stage {
    pub(crate) fn new(scenario: &Scenario, stretch: u32) -> Result<Self, Failure> {
        let (ears, words) = channel();
        Ok(Self {
            scenario: toml::to_string(scenario).map_err(Failure::new)?,
            cluster: (u128::from(machine_time()) << 64) | u128::from(std::process::id()),
            players: (0..scenario.processes).map(|_| Player::default()).collect(),
            words,
            ears,
            lanes: Lanes::new(scenario.processes),
            clock: Clock { epoch: 0, stretch },
            trouble: None,
        })
    }

    /// Why the run is not to be believed, if it is not.
    pub(crate) fn trouble(self) -> Option<String> {
        self.trouble
    }

    fn play(&mut self, world: &mut dyn Puppet) -> Played<Ending> {
        let mut deeds: VecDeque<(Time, Deed)> = world.take_deeds().into();
        for (time, deed) in &deeds {
            let player = &mut self.players[deed.victim().index()];
            match deed {
                Deed::Recover(..) => player.keeps_past = true,
                Deed::CrashMid(_, sends) => player.planned.push_back((time.0, *sends)),
                _ => {}
            }
        }
        self.open()?;
        let limits = world.limits();
        let mut quiet: Option<u64> = None;
        loop {
            if machine_time() > self.clock.epoch + LONGEST.as_nanos() as u64 {
                let took = LONGEST.as_secs();
                return Err(format!("the run did not end within {took} s; give --until"));
            }
            self.listen(LOOK)?;
            let followed = self.follow(world)?;
            if limits.stop_when_content && world.is_content(self.clock.now()) && self.is_settled() {
                return Ok(self.end(world, Ending::Content));
            }
            let now = self.clock.now();
            if now > limits.until {
                return Ok(self.end(world, Ending::Until));
            }
            while deeds.front().is_some_and(|(time, _)| *time <= now) {
                let Some((_, deed)) = deeds.pop_front() else { break };
                self.perform(world, deed, now)?;
            }
            self.bring_back()?;
            for (observer, belief, because_of) in world.take_news(now) {
                self.tell(observer, Told::of(belief), because_of);
            }
            if followed || !self.is_idle(world) {
                quiet = None;
                continue;
            }
            let since = *quiet.get_or_insert(now.0);
            if !self.lanes.are_empty_since(since) {
                continue;
            }
            if !world.awaits_round().is_empty() {
                self.end_round(world, now);
            } else if deeds.is_empty() && world.next_news().is_none() && !self.has_errands(world) {
                let waited = (now.0 - since).saturating_mul(self.clock.stretch.into());
                if waited >= QUIET {
                    return Ok(self.end(world, Ending::Quiescent));
                }
            }
        }
    }

    /// Starts all players and lets them begin together.
    fn open(&mut self) -> Played<()> {
        let all: Vec<ProcessId> = ProcessId::all(self.players.len()).collect();
        all.iter().try_for_each(|&process| self.start(process))?;
        let deadline = machine_time() + PATIENCE.as_nanos() as u64;
        let mut introduced = false;
        while !self.players.iter().all(|player| player.ready) {
            self.listen(LOOK)?;
            if !introduced && self.players.iter().all(|player| player.port > 0) {
                all.iter().for_each(|&process| self.introduce(process));
                introduced = true;
            }
            if machine_time() > deadline {
                return Err(format!("the processes were not ready after {} s", PATIENCE.as_secs()));
            }
        }
        self.clock.epoch = machine_time() + 20_000_000;
        all.iter().for_each(|&process| self.go(process));
        Ok(())
    }

    fn start(&mut self, process: ProcessId) -> Played<()> {
        let player = &mut self.players[process.index()];
        let role = Role {
            scenario: self.scenario.clone(),
            me: process,
            life: player.life,
            cluster: self.cluster,
            port: player.port,
            past: player.past.clone(),
            planned: player.planned.clone().into(),
            clock: self.lanes.clock(process),
        };
        let spawn = || -> io::Result<_> {
            let mut child = Command::new(std::env::current_exe()?)
                .arg(PLAYER)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let mut mouth = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
            let mut ear = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
            say(&mut mouth, &ToPlayer::Begin(Box::new(role)))?;
            let (ears, life) = (self.ears.clone(), player.life);
            std::thread::spawn(move || {
                loop {
                    let word = hear(&mut ear).unwrap_or(None);
                    let over = word.is_none();
                    if ears.send((process, life, word)).is_err() || over {
                        return;
                    }
                }
            });
            Ok((child, mouth))
        };
        let started = spawn().map_err(|error| format!("{process} cannot be started: {error}"))?;
        player.process = Some(started);
        player.ready = false;
        Ok(())
    }

    /// Tells a player where the others are.
    fn introduce(&mut self, process: ProcessId) {
        let addresses = self.players.iter().map(|other| format!("127.0.0.1:{}", other.port));
        let addresses = addresses.collect();
        let others = ProcessId::all(self.players.len()).filter(|&other| other != process);
        let there = others.filter(|other| self.players[other.index()].process.is_some());
        let awaited = there.map(ProcessId::number).collect();
        self.say(process, &ToPlayer::Peers { addresses, awaited });
    }

    fn go(&mut self, process: ProcessId) {
        let Clock { epoch, stretch } = self.clock;
        self.say(process, &ToPlayer::Go { epoch, stretch });
    }

    /// A player that is gone hears nothing; its end is noticed elsewhere.
    fn say(&mut self, process: ProcessId, word: &ToPlayer) {
        if let Some((_, mouth)) = &mut self.players[process.index()].process {
            let _ = say(mouth, word);
        }
    }

    fn tell(&mut self, process: ProcessId, told: Told, because_of: u64) {
        if self.players[process.index()].process.is_some() {
            self.say(process, &ToPlayer::Tell(told.clone()));
            self.players[process.index()].told.push_back((told, because_of));
        }
    }

    /// Hears what players say, waiting a little for the first word.
    fn listen(&mut self, patience: Duration) -> Played<()> {
        let mut word = match self.words.recv_timeout(patience) {
            Ok(word) => Some(word),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err("nobody is there".to_owned()),
        };
        while let Some((process, life, said)) = word {
            self.hear(process, life, said)?;
            word = self.words.try_recv().ok();
        }
        Ok(())
    }

    fn hear(&mut self, process: ProcessId, life: u32, word: Option<FromPlayer>) -> Played<()> {
        let now = self.clock.now();
        let player = &mut self.players[process.index()];
        if player.life != life {
            return Ok(());
        }
        match word {
            Some(FromPlayer::Listening(port)) => {
                player.port = port;
                if player.life > 0 {
                    self.introduce(process);
                }
            }
            Some(FromPlayer::Ready) => {
                player.ready = true;
                if player.life > 0 {
                    player.told.push_back((Told::Recover, 0));
                    self.lanes.reopen(process, now.0);
                    self.go(process);
                }
            }
            Some(FromPlayer::Event(entry)) => self.lanes.add(process, entry),
            Some(FromPlayer::Idle(time)) => self.lanes.heard(process, time),
            Some(FromPlayer::Fallen) => self.kill(process),
            Some(FromPlayer::Broken(why)) => return Err(format!("{process} gave up: {why}")),
            None => {
                let Some(killed) = player.falling.take() else {
                    return Err(format!("{process} ended, and nobody had killed it"));
                };
                if let Some((mut child, _)) = player.process.take() {
                    let _ = child.wait();
                }
                player.told.clear();
                self.lanes.close(process, killed.0);
            }
        }
        Ok(())
    }

    /// Kills a player at once. Its end is told when all that it has said was heard.
    fn kill(&mut self, process: ProcessId) {
        let player = &mut self.players[process.index()];
        if let Some((child, _)) = &mut player.process {
            player.falling.get_or_insert(self.clock.now());
            let _ = child.kill();
        }
    }

    /// Lets something happen that the scenario plans.
    fn perform(&mut self, world: &mut dyn Puppet, deed: Deed, now: Time) -> Played<()> {
        match deed {
            Deed::Crash(process) => self.kill(process),
            // The player knows when.
            Deed::CrashMid(..) => {}
            Deed::Recover(process, _) => self.players[process.index()].comes_back = true,
            Deed::Suspect { .. } => {
                if let Some((observer, belief, because_of)) = world.mislead(&deed, now) {
                    self.tell(observer, Told::of(belief), because_of);
                }
            }
            other => return Err(format!("sockets cannot give this: {other}")),
        }
        Ok(())
    }

    /// Starts players again that are to come back and whose end has been told.
    fn bring_back(&mut self) -> Played<()> {
        for process in ProcessId::all(self.players.len()) {
            let over = self.lanes.is_empty(process);
            let player = &mut self.players[process.index()];
            if !player.comes_back || player.falling.is_some() {
                continue;
            }
            match player.process {
                // It never crashed, or is back already.
                Some(_) => player.comes_back = false,
                None if over => {
                    player.comes_back = false;
                    player.life += 1;
                    self.start(process)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Tells the world all that is certain; whether there was anything.
    fn follow(&mut self, world: &mut dyn Puppet) -> Played<bool> {
        let mut followed = false;
        while let Some((process, entry)) = self.lanes.next() {
            self.retell(world, process, entry)?;
            followed = true;
        }
        let now = self.clock.now();
        for process in ProcessId::all(self.players.len()) {
            // Whoever is down is asked in vain, at the time when it was to be asked.
            let gone = self.players[process.index()].process.is_none();
            while gone && self.lanes.is_empty(process) && !world.is_up(process) {
                let Some(due) = world.next_errand(process).filter(|due| *due <= now) else { break };
                world.run_next_errand(process, due);
                self.remember(process, due.0, PastEvent::Errand);
            }
        }
        Ok(followed)
    }

    /// An event happens in the world here as it has happened there.
    fn retell(&mut self, world: &mut dyn Puppet, process: ProcessId, entry: Entry) -> Played<()> {
        let now = Time(entry.time);
        let past = match entry.what {
            What::Start => {
                world.start(process);
                PastEvent::Start
            }
            What::Errand => {
                world.run_next_errand(process, now);
                PastEvent::Errand
            }
            What::Arrival { from, number, check } => {
                let same = |bytes: &[u8]| checksum(bytes) == check;
                let bytes = world.deliver(from, process, number, &same, now);
                PastEvent::Arrival(from, bytes.map_err(|why| why.to_string())?)
            }
            What::Told => {
                let told = self.players[process.index()].told.pop_front();
                let (told, because_of) = told.ok_or("something was told that nobody had said")?;
                match told.belief() {
                    Some(belief) => world.tell_belief(process, belief, because_of, now),
                    None => super::player::happen(world, process, &told, now),
                }
                PastEvent::Told(told)
            }
            What::Planned => {
                let planned = self.players[process.index()].planned.pop_front();
                let (_, sends) = planned.ok_or("something happened that nobody had planned")?;
                let told = Told::CrashMid(sends);
                super::player::happen(world, process, &told, now);
                PastEvent::Told(told)
            }
            What::Crash => {
                world.befall(Deed::Crash(process), now);
                PastEvent::Crash
            }
        };
        self.remember(process, entry.time, past);
        Ok(())
    }

    fn remember(&mut self, process: ProcessId, time: u64, what: PastEvent) {
        let player = &mut self.players[process.index()];
        if player.keeps_past {
            player.past.push(Past { time, what });
        }
    }

    /// Whether nobody has anything to tell, and nothing that was told is unanswered.
    fn is_settled(&self) -> bool {
        self.players.iter().all(|player| player.told.is_empty() && player.falling.is_none())
    }

    /// Whether nothing is under way, nobody is about to do anything, and nobody is coming or going.
    fn is_idle(&mut self, world: &mut dyn Puppet) -> bool {
        let now = self.clock.now();
        let coming =
            |player: &Player| player.comes_back || (player.process.is_some() && !player.ready);
        let due = |process| world.next_errand(process).is_some_and(|due| due <= now);
        self.is_settled()
            && !self.players.iter().any(coming)
            && !ProcessId::all(self.players.len()).any(due)
            && !world.in_flight()
    }

    fn has_errands(&self, world: &mut dyn Puppet) -> bool {
        ProcessId::all(self.players.len()).any(|process| world.next_errand(process).is_some())
    }

    /// Ends a round for everybody who waits for that, not before its time.
    fn end_round(&mut self, world: &mut dyn Puppet, now: Time) {
        let (number, end) = world.next_round();
        if now < end {
            return;
        }
        for process in &world.awaits_round() {
            self.tell(process, Told::RoundEnd(number), 0);
        }
    }

    fn end(&mut self, world: &mut dyn Puppet, ending: Ending) -> Ending {
        let time = if ending == Ending::Until { world.limits().until } else { Time::ZERO };
        world.finish(time);
        ending
    }

    /// Everybody goes: a player whose pipe is closed ends, and one that does not is killed.
    fn dismiss(&mut self) {
        for player in &mut self.players {
            if let Some((mut child, mouth)) = player.process.take() {
                drop(mouth);
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
