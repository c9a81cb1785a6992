//! `quorate lock` and `quorate elect`: a command that runs only while a lock is held.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use quorate_client::{BackendKind, Error, Failure as Refusal, Guard, Kind, Moment, SessionOptions};
use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

use super::cluster;
use crate::CommandResult;
use crate::arguments::{BecomeCommandFlags, LockFlags};
use crate::command_error::{CommandError, USAGE};

/// Stopping a command takes a little longer than it has to end by itself.
const SLACK: Duration = Duration::from_millis(250);
/// Nodes have at least this long to answer, however short the timeout is.
const CONNECT_TIMEOUT_MIN: Duration = Duration::from_secs(1);
/// No cluster can be reached, or it has no quorum.
const UNAVAILABLE: u8 = 69;
/// It was not acquired in time.
const TIMED_OUT: u8 = 75;
/// It was lost.
const LOST: u8 = 76;
/// The client may not have it.
const NOT_ALLOWED: u8 = 77;
/// The command could not be run.
const NOT_RUNNABLE: u8 = 126;
/// The command could not be found.
const NOT_FOUND: u8 = 127;

/// What a signal to us becomes for the command.
const FORWARDED: [(SignalKind, Signal); 6] = [
    (SignalKind::terminate(), Signal::TERM),
    (SignalKind::interrupt(), Signal::INT),
    (SignalKind::hangup(), Signal::HUP),
    (SignalKind::quit(), Signal::QUIT),
    (SignalKind::user_defined1(), Signal::USR1),
    (SignalKind::user_defined2(), Signal::USR2),
];

pub(crate) fn run_locked(flags: &LockFlags, kind: Kind) -> CommandResult {
    // On this thread alone: the command dies with the thread that started it.
    cluster::runtime()?.block_on(run(flags, kind))
}

async fn run(flags: &LockFlags, kind: Kind) -> CommandResult {
    let usage = |failure: CommandError| failure.with_code(USAGE);
    let client = cluster::client(&flags.cluster).map_err(usage)?;
    let ttl = client.backend_kind().ttl(flags.ttl);
    if flags.grace * 2 >= ttl {
        return Err(usage(CommandError::new(
            "--grace has to be less than half of --ttl, so that a command is stopped in time",
        )));
    }
    if ttl != flags.ttl {
        let (requested, ttl) = (flags.ttl, ttl.as_secs());
        let warning =
            format!("etcd counts whole seconds, two at least, and --ttl is {requested:?}");
        CommandError::new(warning).warn(&format!("the lock is free for others after {ttl} s"));
    }
    if let Some(path) = &flags.spans {
        let file = super::log::open_for_append(path)?;
        // A trace that cannot be written is no reason to give a lock back.
        client.export_spans(move |line| drop((&file).write_all(line.as_bytes())));
    }
    let mut options = SessionOptions { ttl: flags.ttl, ..SessionOptions::default() };
    // The timeout covers connecting too. Without any time to wait, the lock has to be free, and not the cluster near.
    let timeout = flags.timeout.filter(|timeout| !timeout.is_zero());
    let limited = |timeout: Duration| timeout.clamp(CONNECT_TIMEOUT_MIN, options.connect_timeout);
    options.connect_timeout = timeout.map_or(options.connect_timeout, limited);
    let ends = timeout.map(|timeout| Moment::now().later(timeout));
    let failed = |error: &Error| cluster::failure(&client, error).with_code(code_of_error(error));
    let session = client.session(options).await.map_err(|error| failed(&error))?;
    if client.backend_kind() == BackendKind::Quorate && session.ttl() != flags.ttl {
        // A command is stopped in time also if that is sooner than after --grace.
        let (requested, ttl) = (flags.ttl, session.ttl());
        CommandError::new(format!("the cluster does not permit a --ttl of {requested:?}"))
            .warn(&format!("the lock is free for others after {ttl:?} without a word"));
    }
    let request = match kind {
        Kind::Lock => session.lock(&flags.name),
        Kind::Election => session.election(&flags.name),
    };
    let mut request = request.map_err(CommandError::new).map_err(usage)?.why(&flags.why);
    if flags.timeout.is_some() {
        let left = |ends: Moment| ends.from_now().max(Duration::from_millis(1));
        request = request.wait(ends.map_or(Duration::ZERO, left));
    }
    let mut queue_position = QueuePosition::default();
    let acquired = tokio::select! {
        acquired = request.acquire_with_progress(|position| queue_position.show(&flags.name, position)) => acquired,
        signal = any_signal() => {
            let _ = session.close().await;
            return Ok(ExitCode::from(128 + signal?));
        }
    };
    queue_position.clear();
    let guard = match acquired {
        Ok(guard) => guard,
        Err(Error::Failed(Refusal::Busy | Refusal::TimedOut)) => {
            anstream::eprintln!("{} was not acquired in time", flags.name);
            let _ = session.close().await;
            return Ok(ExitCode::from(TIMED_OUT));
        }
        Err(error) => return Err(failed(&error)),
    };
    let code = run_while_held(flags, &guard).await?;
    match code {
        Some(status) => {
            let _ = guard.release().await;
            let _ = session.close().await;
            Ok(ExitCode::from(code_of(status)))
        }
        None => {
            anstream::eprintln!("{} was lost, and the command was stopped", flags.name);
            if let Some(command) = &flags.on_lost {
                let _ = Command::new("/bin/sh").arg("-c").arg(command).status();
            }
            Ok(ExitCode::from(LOST))
        }
    }
}

/// Runs the command while the lock is held: how it ended, or nothing if the lock was lost.
async fn run_while_held(
    flags: &LockFlags,
    guard: &Guard,
) -> Result<Option<ExitStatus>, CommandError> {
    let mut child = start(flags, guard)?;
    let group = child.id().and_then(|id| Pid::from_raw(id as i32));
    let send = |signal: Signal| {
        group.into_iter().for_each(|group| _ = kill_process_group(group, signal));
    };
    give_terminal(group);
    // Time to stop it, and not so much that it would have to stop at once.
    let margin = (flags.grace + SLACK).min(guard.deadline().from_now() / 2);
    let expiring = guard.expiring_within(margin);
    let signals = forward(send);
    tokio::pin!(expiring, signals);
    tokio::select! {
        status = child.wait() => return Ok(Some(status?)),
        () = &mut expiring => {}
        problem = &mut signals => return Err(problem),
    }
    send(Signal::TERM);
    send(Signal::CONT);
    // Not longer than the lock is sure, however late this is noticed.
    let left = guard.deadline().from_now();
    let _ = tokio::time::timeout(flags.grace.min(left), child.wait()).await;
    send(Signal::KILL);
    let _ = child.wait().await;
    Ok(None)
}

fn start(flags: &LockFlags, guard: &Guard) -> Result<Child, CommandError> {
    // Something of ours becomes the command, after it has seen to it that it dies with us.
    let program = std::env::current_exe()
        .map_err(|error| CommandError::new(format!("this program cannot find itself: {error}")))?;
    let mut command = tokio::process::Command::new(program);
    command.arg("become-command").arg("--").args(&flags.command);
    command.env("QUORATE_TOKEN", guard.token().to_string());
    command.env("QUORATE_LOCK", guard.name().text());
    command.env("QUORATE_DEADLINE", guard.deadline().0.to_string());
    command.process_group(0);
    command.spawn().map_err(|error| CommandError::new(format!("nothing can be started: {error}")))
}

/// `quorate become-command`: dies with its parent, and becomes the command.
pub(crate) fn become_command(flags: &BecomeCommandFlags) -> CommandResult {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(CommandError::new)?;
    let [program, arguments @ ..] = flags.command.as_slice() else {
        return Err(CommandError::new("there is no command"));
    };
    let error = Command::new(program).args(arguments).exec();
    let code = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_RUNNABLE,
    };
    anstream::eprintln!("{}: {error}", show(program));
    Ok(ExitCode::from(code))
}

fn show(program: &OsString) -> String {
    program.to_string_lossy().chars().filter(|c| !c.is_control()).collect()
}

/// Lets the command read from the terminal, if that is where input comes from.
fn give_terminal(group: Option<Pid>) {
    if let Some(group) = group.filter(|_| io::stdin().is_terminal())
        && rustix::termios::tcsetpgrp(io::stdin(), group).is_ok()
    {
        // It may have tried to read before.
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// Hands signals on for ever; ends only if signals cannot be heard.
async fn forward(send: impl Fn(Signal)) -> CommandError {
    let mut streams = Vec::new();
    for (kind, forwarded) in FORWARDED {
        match signal(kind) {
            Ok(stream) => streams.push((stream, forwarded)),
            Err(error) => return CommandError::new(format!("signals cannot be heard: {error}")),
        }
    }
    std::future::poll_fn(|context| {
        for (stream, forwarded) in &mut streams {
            while stream.poll_recv(context).is_ready() {
                send(*forwarded);
            }
        }
        std::task::Poll::<CommandError>::Pending
    })
    .await
}

/// The number of the first signal that would end us while we wait.
async fn any_signal() -> Result<u8, CommandError> {
    let cannot = |error| CommandError::new(format!("signals cannot be heard: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(cannot)?;
    Ok(tokio::select! {
        _ = terminate.recv() => 15,
        _ = interrupt.recv() => 2,
        _ = hangup.recv() => 1,
    })
}

/// The exit code of an error, by which scripts tell a mistake from a cluster that is away.
fn code_of_error(error: &Error) -> u8 {
    match error {
        Error::Failed(Refusal::NotAllowed(_)) | Error::Credentials(_) => NOT_ALLOWED,
        Error::Unreachable(why) if why.contains(cluster::NOT_LET_IN) => NOT_ALLOWED,
        Error::Failed(Refusal::TooMuch(_)) | Error::Name(_) | Error::Unsupported(_) => USAGE,
        _ => UNAVAILABLE,
    }
}

fn code_of(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128_u8.wrapping_add(signal as u8),
        (None, None) => 1,
    }
}

/// Where we are in the queue, on a terminal in one line.
#[derive(Default)]
struct QueuePosition {
    last: Option<u32>,
}

impl QueuePosition {
    fn show(&mut self, name: &str, position: u32) {
        if self.last == Some(position) {
            return;
        }
        self.last = Some(position);
        let mut out = anstream::stderr();
        let _ = match io::stderr().is_terminal() {
            true => write!(out, "\r\x1b[Kwaiting for {name}, number {position} in the queue"),
            false => writeln!(out, "waiting for {name}, number {position} in the queue"),
        };
    }

    fn clear(&self) {
        if self.last.is_some() && io::stderr().is_terminal() {
            let _ = write!(anstream::stderr(), "\r\x1b[K");
        }
    }
}
