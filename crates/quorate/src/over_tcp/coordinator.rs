//! Coordinator: starts the children, injects the planned faults, and applies the events that children report.

use std::collections::VecDeque;
use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use quorate_core::{ProcessId, Time};
use quorate_sim::plan::FaultEvent;
use quorate_sim::{Driver, Ending, ExternallyDriven, Scenario};

use super::causal_merge::CausalMerge;
use super::clock::{ScaledClock, machine_time};
use super::protocol::{
    ChildSpec, EventKind, EventReport, FromChild, Instruction, RecordedEvent, RecordedKind,
    ToChild, checksum, read_frame, write_frame,
};
use crate::command_error::CommandError;

/// Hidden subcommand that runs one process.
pub(crate) const CHILD_COMMAND: &str = "over-tcp-player";

/// Maximum time for all children to start and connect.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum duration of a run that does not end.
const RUN_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum time to wait for reports before checking what is due.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Real time in nanoseconds without any activity, after which the run is quiescent. Until then messages of crashed
/// processes may still arrive.
const QUIET_PERIOD: u64 = 30_000_000;

/// State of a run over TCP.
pub(crate) struct Coordinator {
    scenario: String,
    cluster: u128,
    children: Vec<ChildHandle>,
    reports: Receiver<ChildReport>,
    report_sender: Sender<ChildReport>,
    merge: CausalMerge,
    clock: ScaledClock,
    error: Option<String>,
}

/// Report of one incarnation of a child; `None` when its pipe is closed.
type ChildReport = (ProcessId, u32, Option<FromChild>);

/// A child process and what the coordinator knows about it.
#[derive(Default)]
struct ChildHandle {
    process: Option<(Child, ChildStdin)>,
    incarnation: u32,
    port: u16,
    /// Instructions sent but not yet reported as applied, each with the event that caused it.
    instructions: VecDeque<(Instruction, u64)>,
    /// Times of crashes in the middle of a multicast, each with the number of sends before it.
    planned_crashes: VecDeque<(u64, u32)>,
    ready: bool,
    /// Whether the process is to be restarted once its end has been applied.
    restart_pending: bool,
    /// Time at which the coordinator killed the process, until its end is known.
    killed_at: Option<Time>,
    recorded: Vec<RecordedEvent>,
    records_events: bool,
}

impl Driver for Coordinator {
    fn drive(&mut self, world: &mut dyn ExternallyDriven) -> Ending {
        let ending = self.run(world).unwrap_or_else(|error| {
            self.error = Some(error);
            Ending::Unwatched
        });
        self.shut_down();
        ending
    }
}

type RunResult<T> = Result<T, String>;

impl Coordinator {
    pub(crate) fn new(scenario: &Scenario, stretch: u32) -> Result<Self, CommandError> {
        let (report_sender, reports) = channel();
        Ok(Self {
            scenario: toml::to_string(scenario).map_err(CommandError::new)?,
            cluster: (u128::from(machine_time()) << 64) | u128::from(std::process::id()),
            children: (0..scenario.processes).map(|_| ChildHandle::default()).collect(),
            reports,
            report_sender,
            merge: CausalMerge::new(scenario.processes),
            clock: ScaledClock { epoch: 0, stretch },
            error: None,
        })
    }

    /// Reason why the run is invalid, if it is.
    pub(crate) fn error(self) -> Option<String> {
        self.error
    }

    fn run(&mut self, world: &mut dyn ExternallyDriven) -> RunResult<Ending> {
        let mut pending_faults: VecDeque<(Time, FaultEvent)> = world.take_fault_events().into();
        for (time, fault) in &pending_faults {
            let handle = &mut self.children[fault.victim().index()];
            match fault {
                FaultEvent::Recover(..) => handle.records_events = true,
                FaultEvent::CrashMid(_, sends) => {
                    handle.planned_crashes.push_back((time.0, *sends))
                }
                _ => {}
            }
        }
        self.start_all()?;
        let limits = world.limits();
        let mut quiet: Option<u64> = None;
        loop {
            if machine_time() > self.clock.epoch + RUN_TIMEOUT.as_nanos() as u64 {
                let took = RUN_TIMEOUT.as_secs();
                return Err(format!("the run did not end within {took} s; limit it with --until"));
            }
            self.receive_reports(POLL_INTERVAL)?;
            let applied = self.apply_reports(world)?;
            if limits.stop_when_content && world.is_content(self.clock.now()) && self.is_settled() {
                return Ok(self.end(world, Ending::Content));
            }
            let now = self.clock.now();
            if now > limits.until {
                return Ok(self.end(world, Ending::Until));
            }
            while pending_faults.front().is_some_and(|(time, _)| *time <= now) {
                let Some((_, fault)) = pending_faults.pop_front() else { break };
                self.inject_fault(world, fault, now)?;
            }
            self.restart_recovered()?;
            for (observer, belief, cause) in world.take_due_notifications(now) {
                self.instruct(observer, Instruction::from_belief(belief), cause);
            }
            if applied || !self.is_idle(world) {
                quiet = None;
                continue;
            }
            let since = *quiet.get_or_insert(now.0);
            if !self.merge.is_drained_since(since) {
                continue;
            }
            if !world.awaits_round().is_empty() {
                self.end_round(world, now);
            } else if pending_faults.is_empty()
                && world.next_notification_time().is_none()
                && !self.has_scheduled_events(world)
            {
                let waited = (now.0 - since).saturating_mul(self.clock.stretch.into());
                if waited >= QUIET_PERIOD {
                    return Ok(self.end(world, Ending::Quiescent));
                }
            }
        }
    }

    /// Starts all children and lets them begin at the same time.
    fn start_all(&mut self) -> RunResult<()> {
        let all: Vec<ProcessId> = ProcessId::all(self.children.len()).collect();
        all.iter().try_for_each(|&process| self.start(process))?;
        let deadline = machine_time() + START_TIMEOUT.as_nanos() as u64;
        let mut peers_sent = false;
        while !self.children.iter().all(|handle| handle.ready) {
            self.receive_reports(POLL_INTERVAL)?;
            if !peers_sent && self.children.iter().all(|handle| handle.port > 0) {
                all.iter().for_each(|&process| self.send_peers(process));
                peers_sent = true;
            }
            if machine_time() > deadline {
                return Err(format!(
                    "the processes were not ready after {} s; use fewer processes",
                    START_TIMEOUT.as_secs()
                ));
            }
        }
        self.clock.epoch = machine_time() + 20_000_000;
        all.iter().for_each(|&process| self.send_start(process));
        Ok(())
    }

    fn start(&mut self, process: ProcessId) -> RunResult<()> {
        let handle = &mut self.children[process.index()];
        let spec = ChildSpec {
            scenario: self.scenario.clone(),
            me: process,
            incarnation: handle.incarnation,
            cluster: self.cluster,
            port: handle.port,
            recorded: handle.recorded.clone(),
            planned_crashes: handle.planned_crashes.clone().into(),
            clock: self.merge.clock(process),
        };
        let spawn = || -> io::Result<_> {
            let mut child = Command::new(std::env::current_exe()?)
                .arg(CHILD_COMMAND)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let mut stdin = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
            let mut stdout = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
            write_frame(&mut stdin, &ToChild::Begin(Box::new(spec)))?;
            let (report_sender, incarnation) = (self.report_sender.clone(), handle.incarnation);
            std::thread::spawn(move || {
                loop {
                    let report = read_frame(&mut stdout).unwrap_or(None);
                    let over = report.is_none();
                    if report_sender.send((process, incarnation, report)).is_err() || over {
                        return;
                    }
                }
            });
            Ok((child, stdin))
        };
        let started = spawn().map_err(|error| format!("{process} cannot be started: {error}"))?;
        handle.process = Some(started);
        handle.ready = false;
        Ok(())
    }

    /// Sends the addresses of all children to one child.
    fn send_peers(&mut self, process: ProcessId) {
        let addresses = self.children.iter().map(|other| format!("127.0.0.1:{}", other.port));
        let addresses = addresses.collect();
        let others = ProcessId::all(self.children.len()).filter(|&other| other != process);
        let there = others.filter(|other| self.children[other.index()].process.is_some());
        let awaited = there.map(ProcessId::number).collect();
        self.send(process, &ToChild::Peers { addresses, awaited });
    }

    fn send_start(&mut self, process: ProcessId) {
        let ScaledClock { epoch, stretch } = self.clock;
        self.send(process, &ToChild::Start { epoch, stretch });
    }

    /// Sends a message to a child. Errors are ignored: the end of a child is detected by its pipe.
    fn send(&mut self, process: ProcessId, message: &ToChild) {
        if let Some((_, stdin)) = &mut self.children[process.index()].process {
            let _ = write_frame(stdin, message);
        }
    }

    fn instruct(&mut self, process: ProcessId, instruction: Instruction, cause: u64) {
        if self.children[process.index()].process.is_some() {
            self.send(process, &ToChild::Instruct(instruction.clone()));
            self.children[process.index()].instructions.push_back((instruction, cause));
        }
    }

    /// Processes reports of children. It waits at most `timeout` for the first one.
    fn receive_reports(&mut self, timeout: Duration) -> RunResult<()> {
        let mut next = match self.reports.recv_timeout(timeout) {
            Ok(report) => Some(report),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                return Err("all processes have ended".to_owned());
            }
        };
        while let Some((process, incarnation, report)) = next {
            self.handle_report(process, incarnation, report)?;
            next = self.reports.try_recv().ok();
        }
        Ok(())
    }

    fn handle_report(
        &mut self,
        process: ProcessId,
        incarnation: u32,
        report: Option<FromChild>,
    ) -> RunResult<()> {
        let now = self.clock.now();
        let handle = &mut self.children[process.index()];
        if handle.incarnation != incarnation {
            return Ok(());
        }
        match report {
            Some(FromChild::Listening(port)) => {
                handle.port = port;
                if handle.incarnation > 0 {
                    self.send_peers(process);
                }
            }
            Some(FromChild::Ready) => {
                handle.ready = true;
                if handle.incarnation > 0 {
                    handle.instructions.push_back((Instruction::Recover, 0));
                    self.merge.reopen(process, now.0);
                    self.send_start(process);
                }
            }
            Some(FromChild::Event(event)) => self.merge.push(process, event),
            Some(FromChild::Idle(time)) => self.merge.advance(process, time),
            Some(FromChild::CrashedMidMulticast) => self.kill(process),
            Some(FromChild::Failed(why)) => return Err(format!("{process} failed: {why}")),
            None => {
                let Some(killed) = handle.killed_at.take() else {
                    return Err(format!("{process} ended unexpectedly"));
                };
                if let Some((mut child, _)) = handle.process.take() {
                    let _ = child.wait();
                }
                handle.instructions.clear();
                self.merge.close(process, killed.0);
            }
        }
        Ok(())
    }

    /// Kills a child immediately. Its crash is applied after all its reports.
    fn kill(&mut self, process: ProcessId) {
        let handle = &mut self.children[process.index()];
        if let Some((child, _)) = &mut handle.process {
            handle.killed_at.get_or_insert(self.clock.now());
            let _ = child.kill();
        }
    }

    /// Injects a fault that the scenario plans.
    fn inject_fault(
        &mut self,
        world: &mut dyn ExternallyDriven,
        fault: FaultEvent,
        now: Time,
    ) -> RunResult<()> {
        match fault {
            FaultEvent::Crash(process) => self.kill(process),
            // The child knows the time and crashes itself.
            FaultEvent::CrashMid(..) => {}
            FaultEvent::Recover(process, _) => {
                self.children[process.index()].restart_pending = true
            }
            FaultEvent::Suspect { .. } => {
                if let Some((observer, belief, cause)) = world.set_false_suspicion(&fault, now) {
                    self.instruct(observer, Instruction::from_belief(belief), cause);
                }
            }
            other => return Err(format!("sockets cannot provide this fault: {other}")),
        }
        Ok(())
    }

    /// Restarts the children that are to recover and whose end has been applied.
    fn restart_recovered(&mut self) -> RunResult<()> {
        for process in ProcessId::all(self.children.len()) {
            let over = self.merge.is_empty(process);
            let handle = &mut self.children[process.index()];
            if !handle.restart_pending || handle.killed_at.is_some() {
                continue;
            }
            match handle.process {
                // It never crashed, or has been restarted already.
                Some(_) => handle.restart_pending = false,
                None if over => {
                    handle.restart_pending = false;
                    handle.incarnation += 1;
                    self.start(process)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Applies all events whose order is certain. Returns whether there were any.
    fn apply_reports(&mut self, world: &mut dyn ExternallyDriven) -> RunResult<bool> {
        let mut applied = false;
        while let Some((process, event)) = self.merge.next() {
            self.apply_event(world, process, event)?;
            applied = true;
        }
        let now = self.clock.now();
        for process in ProcessId::all(self.children.len()) {
            // Commands for a crashed process are given at their time, without effect.
            let gone = self.children[process.index()].process.is_none();
            while gone && self.merge.is_empty(process) && !world.is_up(process) {
                let Some(due) = world.next_scheduled(process).filter(|due| *due <= now) else {
                    break;
                };
                world.run_next_scheduled(process, due);
                self.record_event(process, due.0, RecordedKind::Scheduled);
            }
        }
        Ok(applied)
    }

    /// Repeats an event of a child in the coordinator's own world.
    fn apply_event(
        &mut self,
        world: &mut dyn ExternallyDriven,
        process: ProcessId,
        event: EventReport,
    ) -> RunResult<()> {
        let now = Time(event.time);
        let kind = match event.kind {
            EventKind::Start => {
                world.start(process);
                RecordedKind::Start
            }
            EventKind::Scheduled => {
                world.run_next_scheduled(process, now);
                RecordedKind::Scheduled
            }
            EventKind::Arrival { from, number, check } => {
                let same = |bytes: &[u8]| checksum(bytes) == check;
                let bytes = world.deliver(from, process, number, &same, now);
                RecordedKind::Arrival(from, bytes.map_err(|why| why.to_string())?)
            }
            EventKind::Instruction => {
                let instruction = self.children[process.index()].instructions.pop_front();
                let (instruction, cause) =
                    instruction.ok_or("a process reported an instruction that it was not given")?;
                match instruction.belief() {
                    Some(belief) => world.deliver_suspicion(process, belief, cause, now),
                    None => super::child::apply_instruction(world, process, &instruction, now),
                }
                RecordedKind::Instruction(instruction)
            }
            EventKind::PlannedCrash => {
                let planned = self.children[process.index()].planned_crashes.pop_front();
                let (_, sends) =
                    planned.ok_or("a process reported a crash that was not planned")?;
                let instruction = Instruction::CrashMid(sends);
                super::child::apply_instruction(world, process, &instruction, now);
                RecordedKind::Instruction(instruction)
            }
            EventKind::Crash => {
                world.inject(FaultEvent::Crash(process), now);
                RecordedKind::Crash
            }
        };
        self.record_event(process, event.time, kind);
        Ok(())
    }

    fn record_event(&mut self, process: ProcessId, time: u64, kind: RecordedKind) {
        let handle = &mut self.children[process.index()];
        if handle.records_events {
            handle.recorded.push(RecordedEvent { time, kind });
        }
    }

    /// Whether all instructions have been applied and all kills have been noticed.
    fn is_settled(&self) -> bool {
        self.children
            .iter()
            .all(|handle| handle.instructions.is_empty() && handle.killed_at.is_none())
    }

    /// Whether nothing is in flight or due, and no child is starting or ending.
    fn is_idle(&mut self, world: &mut dyn ExternallyDriven) -> bool {
        let now = self.clock.now();
        let starting = |handle: &ChildHandle| {
            handle.restart_pending || (handle.process.is_some() && !handle.ready)
        };
        let due = |process| world.next_scheduled(process).is_some_and(|due| due <= now);
        self.is_settled()
            && !self.children.iter().any(starting)
            && !ProcessId::all(self.children.len()).any(due)
            && !world.in_flight()
    }

    fn has_scheduled_events(&self, world: &mut dyn ExternallyDriven) -> bool {
        ProcessId::all(self.children.len()).any(|process| world.next_scheduled(process).is_some())
    }

    /// Ends a round for every process that waits for it, unless it is too early.
    fn end_round(&mut self, world: &mut dyn ExternallyDriven, now: Time) {
        let (number, end) = world.next_round();
        if now < end {
            return;
        }
        for process in &world.awaits_round() {
            self.instruct(process, Instruction::RoundEnd(number), 0);
        }
    }

    fn end(&mut self, world: &mut dyn ExternallyDriven, ending: Ending) -> Ending {
        let time = if ending == Ending::Until { world.limits().until } else { Time::ZERO };
        world.finish(time);
        ending
    }

    /// Closes the pipes of all children, kills them, and waits for them.
    fn shut_down(&mut self) {
        for handle in &mut self.children {
            if let Some((mut child, stdin)) = handle.process.take() {
                drop(stdin);
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
