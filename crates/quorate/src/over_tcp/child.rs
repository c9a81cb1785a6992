//! One process of a scenario as an operating system process. It runs its part of the world and reports each event.
//!
//! Every event is reported before its messages can leave. So the coordinator learns the cause before any effect on
//! other processes, even if this process is killed immediately afterwards.

use std::collections::VecDeque;
use std::io::{self, Stdout};
use std::process::ExitCode;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use quorate_core::{Belief, ProcessId, Time, VectorClock};
use quorate_lab::run_driven;
use quorate_net::driver::{Actor, DriveExit, DriveOptions, Outbox, drive};
use quorate_net::{
    ClusterId, Config, Events, Incarnation, Listener, Mesh, Network, Security, Tcp, codec,
};
use quorate_sim::plan::FaultEvent;
use quorate_sim::{Conditions, Driver, Ending, ExternallyDriven, Scenario};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::clock::{ScaledClock, machine_time};
use super::protocol::{
    ChildSpec, EventKind, EventReport, FromChild, Instruction, RecordedEvent, RecordedKind,
    TcpEnvelope, ToChild, checksum, read_frame, write_frame,
};
use crate::CommandResult;
use crate::command_error::CommandError;

/// Interval at which an idle child reports its time, in nanoseconds.
const IDLE_INTERVAL: u64 = 4_000_000;

/// Runs the child process that the coordinator at the other end of the pipes specifies.
pub(crate) fn run_child() -> CommandResult {
    let begin = read_frame(&mut io::stdin()).map_err(CommandError::from)?;
    let Some(ToChild::Begin(spec)) = begin else {
        return Err(CommandError::new("this command is internal; use `quorate sim --over tcp`"));
    };
    let scenario: Scenario = toml::from_str(&spec.scenario).map_err(CommandError::new)?;
    let mut driver = ChildDriver { spec: *spec };
    run_driven(&scenario, Conditions::default(), None, &mut driver).map_err(CommandError::new)?;
    Ok(ExitCode::SUCCESS)
}

struct ChildDriver {
    spec: ChildSpec,
}

impl Driver for ChildDriver {
    fn drive(&mut self, world: &mut dyn ExternallyDriven) -> Ending {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let result = runtime.and_then(|runtime| runtime.block_on(self.run(world)));
        if let Err(error) = result {
            // If the coordinator has ended, the error cannot be reported.
            let _ = write_frame(&mut io::stdout(), &FromChild::Failed(error.to_string()));
        }
        Ending::Unwatched
    }
}

impl ChildDriver {
    async fn run(&mut self, world: &mut dyn ExternallyDriven) -> io::Result<()> {
        let mut inbox = listen_to_coordinator();
        let me = self.spec.me;
        world.run_only(me);
        self.spec.recorded.iter().for_each(|event| replay_event(world, me, event));
        let (mesh, mut events) = self.connect(&mut inbox).await?;
        let Some(ToChild::Start { epoch, stretch }) = inbox.recv().await else { return Ok(()) };
        let clock = ScaledClock { epoch, stretch };
        sleep(Duration::from_nanos(epoch.saturating_sub(machine_time()))).await;
        let mut actor = ChildActor {
            world,
            me,
            incarnation: self.spec.incarnation,
            clock,
            vector_clock: self.spec.clock.clone(),
            // The driver counts due times from here.
            origin: machine_time(),
            due: None,
            planned_crashes: self.spec.planned_crashes.clone().into(),
            idle_since: machine_time(),
            inbox,
            stdout: io::stdout(),
            error: None,
            rounds: self
                .spec
                .recorded
                .iter()
                .filter_map(|event| event.round_end())
                .max()
                .unwrap_or(0),
            early: Vec::new(),
        };
        let options = DriveOptions { suspect_after: None, ..DriveOptions::default() };
        let ended = drive(&mesh, &mut events, &mut actor, &options).await;
        if let Some(error) = actor.error {
            return Err(error);
        }
        if ended != DriveExit::Finished {
            return Err(io::Error::other(format!("the driver stopped: {ended:?}")));
        }
        // The process crashed in the middle of a multicast. The messages sent before arrive, then the process is killed.
        mesh.stop().await;
        write_frame(&mut io::stdout(), &FromChild::CrashedMidMulticast)?;
        std::future::pending().await
    }

    /// Connects to all processes that are running.
    async fn connect(
        &self,
        inbox: &mut mpsc::UnboundedReceiver<ToChild>,
    ) -> io::Result<(Mesh, Events)> {
        let listener = listen(self.spec.port).await?;
        write_frame(&mut io::stdout(), &FromChild::Listening(listener.address()?.port()))?;
        let Some(ToChild::Peers { addresses, awaited }) = inbox.recv().await else {
            return Err(io::Error::other("the coordinator sent no addresses"));
        };
        let peers = ProcessId::all(addresses.len()).zip(addresses);
        let mut config =
            Config::new(ClusterId(self.spec.cluster), self.spec.me, peers, Security::Plain);
        config.incarnation = Incarnation(u64::from(self.spec.incarnation) + 1);
        config.limits.redial_max = Duration::from_millis(50);
        let (mesh, events) = Mesh::start(config, Tcp, listener).map_err(io::Error::other)?;
        let is_up = |status: &quorate_net::PeerStatus| {
            status.up || !awaited.contains(&status.peer.number())
        };
        while !mesh.status().iter().all(is_up) {
            sleep(Duration::from_millis(1)).await;
        }
        write_frame(&mut io::stdout(), &FromChild::Ready)?;
        Ok((mesh, events))
    }
}

/// Listens on any free port first. Later incarnations reuse the port, which may take a moment to become free.
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

/// Receives messages of the coordinator. Exits when the coordinator has ended.
fn listen_to_coordinator() -> mpsc::UnboundedReceiver<ToChild> {
    let (sender, inbox) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(Some(message)) = read_frame(&mut io::stdin()) {
            if sender.send(message).is_err() {
                return;
            }
        }
        std::process::exit(0);
    });
    inbox
}

/// Replays an event of an earlier incarnation. Its messages are discarded.
fn replay_event(world: &mut dyn ExternallyDriven, me: ProcessId, event: &RecordedEvent) {
    let now = Time(event.time);
    match &event.kind {
        RecordedKind::Start => world.start(me),
        RecordedKind::Scheduled => world.run_next_scheduled(me, now),
        RecordedKind::Arrival(from, bytes) => {
            world.receive(*from, me, bytes, now);
        }
        RecordedKind::Instruction(instruction) => apply_instruction(world, me, instruction, now),
        RecordedKind::Crash => world.inject(FaultEvent::Crash(me), now),
    }
    world.take_sent();
}

/// Applies an instruction of the coordinator to the process.
pub(super) fn apply_instruction(
    world: &mut dyn ExternallyDriven,
    process: ProcessId,
    instruction: &Instruction,
    now: Time,
) {
    if let Some(belief) = instruction.belief() {
        world.deliver_suspicion(process, belief, 0, now);
    } else if let Some(fault) = instruction.fault_event(process) {
        world.inject(fault, now);
    } else if let Instruction::RoundEnd(number) = instruction {
        world.end_round(process, *number, now);
    }
}

/// Driver-facing state of the process.
struct ChildActor<'w> {
    world: &'w mut dyn ExternallyDriven,
    me: ProcessId,
    incarnation: u32,
    clock: ScaledClock,
    /// Vector clock over the events of all processes.
    vector_clock: VectorClock,
    origin: u64,
    due: Option<Time>,
    planned_crashes: VecDeque<(u64, u32)>,
    idle_since: u64,
    inbox: mpsc::UnboundedReceiver<ToChild>,
    stdout: Stdout,
    error: Option<io::Error>,
    /// Number of rounds that have ended for this process.
    rounds: u64,
    /// Messages of a round that has not begun here: some processes learn earlier than others that a round has ended.
    early: Vec<(ProcessId, TcpEnvelope)>,
}

impl ChildActor<'_> {
    /// Delivers a message of a round that has begun here.
    fn deliver(&mut self, from: ProcessId, envelope: TcpEnvelope, out: &mut Outbox) {
        let (now, TcpEnvelope { number, clock, bytes, .. }) = (self.clock.now(), envelope);
        if !self.world.receive(from, self.me, &bytes, now) {
            self.error.get_or_insert(io::Error::other(format!("invalid message from {from}")));
            return;
        }
        self.vector_clock.merge(&clock);
        let check = checksum(&bytes);
        self.report_event(now, EventKind::Arrival { from, number, check }, out);
    }

    /// Delivers the stored messages whose round has begun.
    fn deliver_early(&mut self, out: &mut Outbox) {
        let rounds = self.rounds;
        let in_time = |(_, envelope): &mut (ProcessId, TcpEnvelope)| envelope.round <= rounds;
        let early: Vec<_> = self.early.extract_if(.., in_time).collect();
        for (from, envelope) in early {
            self.deliver(from, envelope, out);
        }
    }

    /// Reports an event, and then sends the messages that it caused.
    fn report_event(&mut self, time: Time, kind: EventKind, out: &mut Outbox) {
        self.vector_clock.tick(self.me);
        let clock = self.vector_clock.clone();
        self.report(&FromChild::Event(EventReport { time: time.0, clock, kind }));
        for sent in self.world.take_sent() {
            let (number, clock, bytes) = (sent.number, self.vector_clock.clone(), sent.bytes);
            let round = self.rounds;
            out.send(sent.to, codec::encode(&TcpEnvelope { number, clock, round, bytes }));
        }
        self.due = self.world.next_scheduled(self.me);
        self.idle_since = machine_time();
    }

    fn report(&mut self, message: &FromChild) {
        if let Err(error) = write_frame(&mut self.stdout, message) {
            self.error.get_or_insert(error);
        }
    }

    /// Converts a time of the machine's clock to the time of the driver.
    fn driver_time(&self, machine_time: u64) -> Time {
        Time(machine_time.saturating_sub(self.origin))
    }
}

impl Actor for ChildActor<'_> {
    fn start(&mut self, _: Time, out: &mut Outbox) {
        if self.incarnation == 0 {
            self.world.start(self.me);
            self.report_event(Time::ZERO, EventKind::Start, out);
        } else {
            let now = self.clock.now();
            apply_instruction(self.world, self.me, &Instruction::Recover, now);
            self.report_event(now, EventKind::Instruction, out);
        }
    }

    fn on_message(&mut self, _: Time, from: ProcessId, payload: &[u8], out: &mut Outbox) {
        match codec::decode::<TcpEnvelope>(payload) {
            Ok(envelope) if envelope.round > self.rounds => self.early.push((from, envelope)),
            Ok(envelope) => self.deliver(from, envelope, out),
            Err(_) => {
                self.error.get_or_insert(io::Error::other(format!("invalid envelope from {from}")));
            }
        }
    }

    fn next_due(&self) -> Option<Time> {
        let idle = self.driver_time(self.idle_since + IDLE_INTERVAL);
        let planned = self.planned_crashes.front().map(|(time, _)| Time(*time));
        let own = [self.due, planned].into_iter().flatten();
        own.map(|due| self.driver_time(self.clock.machine_time_at(due))).chain([idle]).min()
    }

    fn on_due(&mut self, _: Time, out: &mut Outbox) {
        let now = self.clock.now();
        // As in a simulation, faults come before the process's own actions at the same time.
        if self.planned_crashes.front().is_some_and(|(time, _)| *time <= now.0) {
            let sends = self.planned_crashes.pop_front().map_or(0, |(_, sends)| sends);
            apply_instruction(self.world, self.me, &Instruction::CrashMid(sends), now);
            self.report_event(now, EventKind::PlannedCrash, out);
        } else if self.due.is_some_and(|due| due <= now) {
            self.world.run_next_scheduled(self.me, now);
            self.report_event(now, EventKind::Scheduled, out);
        } else if machine_time() >= self.idle_since + IDLE_INTERVAL {
            self.report(&FromChild::Idle(now.0));
            self.idle_since = machine_time();
        }
    }

    fn on_belief(&mut self, _: Time, _: Belief, _: &mut Outbox) {}

    fn poll_command(&mut self, context: &mut Context<'_>, _: Time, out: &mut Outbox) -> Poll<bool> {
        match ready!(self.inbox.poll_recv(context)) {
            Some(ToChild::Instruct(instruction)) => {
                let now = self.clock.now();
                if let Instruction::RoundEnd(number) = instruction {
                    self.rounds = number;
                }
                apply_instruction(self.world, self.me, &instruction, now);
                self.report_event(now, EventKind::Instruction, out);
                self.deliver_early(out);
                Poll::Ready(true)
            }
            Some(_) => Poll::Ready(true),
            None => Poll::Ready(false),
        }
    }

    fn has_finished(&self) -> bool {
        self.error.is_some() || !self.world.is_up(self.me)
    }
}
