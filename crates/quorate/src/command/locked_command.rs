//! `quorate lock` and `quorate elect`: run a command only while a lock is held.

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

/// Margin for stopping a command, in addition to its grace period.
const SLACK: Duration = Duration::from_millis(250);
/// Minimum time to connect to a node, however short the timeout is.
const CONNECT_TIMEOUT_MIN: Duration = Duration::from_secs(1);
/// Exit code: no cluster is reachable, or it has no quorum.
const UNAVAILABLE: u8 = 69;
/// Exit code: the lock was not acquired in time.
const TIMED_OUT: u8 = 75;
/// Exit code: the lock was lost while the command ran.
const LOST: u8 = 76;
/// Exit code: the client is not permitted to acquire the lock.
const NOT_ALLOWED: u8 = 77;
/// Exit code: the command could not be executed.
const NOT_RUNNABLE: u8 = 126;
/// Exit code: the command was not found.
const NOT_FOUND: u8 = 127;

/// Signals that are forwarded to the command.
const FORWARDED: [(SignalKind, Signal); 6] = [
    (SignalKind::terminate(), Signal::TERM),
    (SignalKind::interrupt(), Signal::INT),
    (SignalKind::hangup(), Signal::HUP),
    (SignalKind::quit(), Signal::QUIT),
    (SignalKind::user_defined1(), Signal::USR1),
    (SignalKind::user_defined2(), Signal::USR2),
];

pub(crate) fn run_locked(flags: &LockFlags, kind: Kind) -> CommandResult {
    // A single-threaded runtime: the kernel kills the command when the thread that started it ends.
    cluster::runtime()?.block_on(run(flags, kind))
}

async fn run(flags: &LockFlags, kind: Kind) -> CommandResult {
    let usage = |failure: CommandError| failure.with_code(USAGE);
    let client = cluster::client(&flags.cluster).map_err(usage)?;
    let ttl = client.backend_kind().ttl(flags.ttl);
    if flags.grace * 2 >= ttl {
        return Err(usage(CommandError::new(
            "--grace must be less than half of --ttl, so that the command can be stopped in time",
        )));
    }
    if ttl != flags.ttl {
        let (requested, ttl) = (flags.ttl, ttl.as_secs());
        let warning =
            format!("etcd supports whole seconds, at least two, and --ttl is {requested:?}");
        CommandError::new(warning).warn(&format!("the ttl is {ttl} s instead"));
    }
    if let Some(path) = &flags.spans {
        let file = super::log::open_for_append(path)?;
        // Failing to write a span is no reason to release the lock.
        client.export_spans(move |line| drop((&file).write_all(line.as_bytes())));
    }
    let mut options = SessionOptions { ttl: flags.ttl, ..SessionOptions::default() };
    // The arguments may be secret, and every client that may observe the lock sees this text.
    if let Some(program) = flags.command.first() {
        options.client_location += &format!(": {}", show(program));
    }
    // The timeout includes connecting. With a timeout of zero the lock must be free, but connecting may take its time.
    let timeout = flags.timeout.filter(|timeout| !timeout.is_zero());
    let limited = |timeout: Duration| timeout.clamp(CONNECT_TIMEOUT_MIN, options.connect_timeout);
    options.connect_timeout = timeout.map_or(options.connect_timeout, limited);
    let ends = timeout.map(|timeout| Moment::now().later(timeout));
    let failed = |error: &Error| cluster::failure(&client, error).with_code(code_of_error(error));
    let session = client.session(options).await.map_err(|error| failed(&error))?;
    if client.backend_kind() == BackendKind::Quorate && session.ttl() != flags.ttl {
        // The command is still stopped in time, even if that leaves less than --grace.
        let (requested, ttl) = (flags.ttl, session.ttl());
        CommandError::new(format!("the cluster does not allow a --ttl of {requested:?}"))
            .warn(&format!("the ttl is {ttl:?} instead"));
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

/// Runs the command while the lock is held. Returns its exit status, or `None` if the lock was lost.
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
    // Leave time to stop the command, but at most half of the remaining lease, or it might have to stop immediately.
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
    // Never wait beyond the deadline of the lock, however late the loss is noticed.
    let left = guard.deadline().from_now();
    let _ = tokio::time::timeout(flags.grace.min(left), child.wait()).await;
    send(Signal::KILL);
    let _ = child.wait().await;
    Ok(None)
}

fn start(flags: &LockFlags, guard: &Guard) -> Result<Child, CommandError> {
    // `become-command` arranges to die with this process, and then executes the command.
    let program = std::env::current_exe().map_err(|error| {
        CommandError::new(format!("cannot determine the path of this program: {error}"))
    })?;
    let mut command = tokio::process::Command::new(program);
    command.arg("become-command").arg("--").args(&flags.command);
    command.env("QUORATE_TOKEN", guard.token().to_string());
    command.env("QUORATE_LOCK", guard.name().text());
    command.env("QUORATE_DEADLINE", guard.deadline().0.to_string());
    command.process_group(0);
    command.spawn().map_err(|error| {
        CommandError::new(format!("cannot start a process for the command: {error}"))
    })
}

/// `quorate become-command`: arranges to die with its parent, and then executes the command.
pub(crate) fn become_command(flags: &BecomeCommandFlags) -> CommandResult {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(CommandError::new)?;
    let [program, arguments @ ..] = flags.command.as_slice() else {
        return Err(CommandError::new("no command was given"));
    };
    let error = Command::new(program).args(arguments).exec();
    let code = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_RUNNABLE,
    };
    anstream::eprintln!("{}: {error}", show(program));
    Ok(ExitCode::from(code))
}

/// The name of a program, without control characters and of limited length.
fn show(program: &OsString) -> String {
    program.to_string_lossy().chars().filter(|c| !c.is_control()).take(200).collect()
}

/// Makes the command the foreground process group if stdin is a terminal.
fn give_terminal(group: Option<Pid>) {
    if let Some(group) = group.filter(|_| io::stdin().is_terminal())
        && rustix::termios::tcsetpgrp(io::stdin(), group).is_ok()
    {
        // The command may have been stopped because it tried to read earlier.
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// Forwards signals forever. Returns only if signal handlers cannot be installed.
async fn forward(send: impl Fn(Signal)) -> CommandError {
    let mut streams = Vec::new();
    for (kind, forwarded) in FORWARDED {
        match signal(kind) {
            Ok(stream) => streams.push((stream, forwarded)),
            Err(error) => {
                return CommandError::new(format!("cannot install signal handlers: {error}"));
            }
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

/// Waits for a signal that ends the program while it waits for the lock, and returns its number.
async fn any_signal() -> Result<u8, CommandError> {
    let cannot = |error| CommandError::new(format!("cannot install signal handlers: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(cannot)?;
    Ok(tokio::select! {
        _ = terminate.recv() => 15,
        _ = interrupt.recv() => 2,
        _ = hangup.recv() => 1,
    })
}

/// Exit code of an error. Scripts use it to distinguish a mistake from an unreachable cluster.
fn code_of_error(error: &Error) -> u8 {
    match error {
        Error::Failed(Refusal::NotAllowed(_)) | Error::NotAdmitted(_) | Error::Credentials(_) => {
            NOT_ALLOWED
        }
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

/// Position in the queue, shown on one line of the terminal.
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
