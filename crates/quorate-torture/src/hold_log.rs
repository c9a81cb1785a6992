//! Log of a held lock: each deadline and token that the client receives, soon after it receives it.
//!
//! A client may be stopped or killed at any moment. Its log must then show until when it could rely on the lock, so the log
//! must not lag behind the client's knowledge by more than [`POLL_INTERVAL`].

use std::time::Duration;

use quorate_client::Moment;

use crate::clients::{Deadline, LockGuard};
use crate::log::Log;

/// Interval at which a client checks its lock.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The state of a lock that was last logged.
#[derive(Debug)]
pub(crate) struct HoldLog {
    deadline: Deadline,
    token: u64,
    is_lost: bool,
}

impl HoldLog {
    /// Logs a grant: `granted NOW TOKEN PROMISED ASSUMED NODE`.
    pub(crate) fn begin(log: &mut Log, guard: &impl LockGuard, node: usize) -> Self {
        let now = Moment::now().0;
        let (token, deadline) = (guard.token(), guard.deadline());
        let Deadline { promised, assumed } = deadline;
        log.line(format_args!("granted {now} {token} {promised} {assumed} {node}"));
        Self { deadline, token, is_lost: false }
    }

    /// Checks the lock. Logs `held NOW PROMISED ASSUMED TOKEN` if the deadline or the token has changed, and `lost NOW
    /// PROMISED ASSUMED WHY` once if the lock is lost. A lock that is held after it was lost is logged as `revived NOW`.
    /// Returns whether it is held.
    pub(crate) fn check(&mut self, log: &mut Log, guard: &impl LockGuard) -> bool {
        self.check_and_log(log, guard, false)
    }

    /// Like [`Self::check`], but always logs a held lock.
    pub(crate) fn confirm(&mut self, log: &mut Log, guard: &impl LockGuard) -> bool {
        self.check_and_log(log, guard, true)
    }

    fn check_and_log(&mut self, log: &mut Log, guard: &impl LockGuard, always: bool) -> bool {
        let (now, deadline) = (Moment::now().0, guard.deadline());
        let Deadline { promised, assumed } = deadline;
        let (token, held) = (guard.token(), guard.is_held());
        if held && self.is_lost {
            log.line(format_args!("revived {now}"));
        }
        if held && (always || (deadline, token) != (self.deadline, self.token)) {
            log.line(format_args!("held {now} {promised} {assumed} {token}"));
            (self.deadline, self.token) = (deadline, token);
        }
        if !held && !self.is_lost {
            log.line(format_args!("lost {now} {promised} {assumed} {}", guard.loss()));
            self.is_lost = true;
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A lock whose token and deadline the test sets. Deadline zero means that it is lost.
    struct TestGuard(Cell<(u64, u64)>);

    impl LockGuard for TestGuard {
        fn token(&self) -> u64 {
            self.0.get().0
        }

        fn deadline(&self) -> Deadline {
            let (_, until) = self.0.get();
            Deadline { promised: until, assumed: until }
        }

        fn is_held(&self) -> bool {
            self.0.get().1 > 0
        }

        fn loss(&self) -> String {
            "deadline".to_owned()
        }

        async fn release(self) -> bool {
            true
        }
    }

    #[test]
    fn a_deadline_and_a_token_are_logged_when_they_change_and_a_loss_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let (mut log, guard) = (Log::open(&path).expect("a log"), TestGuard(Cell::new((7, 50))));
        let mut hold_log = HoldLog::begin(&mut log, &guard, 3);
        for state in [(7, 50), (7, 60), (7, 60), (8, 60), (8, 0), (8, 0), (8, 60)] {
            guard.0.set(state);
            hold_log.check(&mut log, &guard);
        }
        let lines = crate::log::lines(&path).expect("a log");
        let without_time = |words: &Vec<String>| [&words[..1], &words[2..]].concat().join(" ");
        let shown: Vec<String> = lines.iter().map(without_time).collect();
        let held = ["held 60 60 7", "held 60 60 8", "lost 0 0 deadline", "revived"];
        assert_eq!(shown, [&["granted 7 50 50 3"][..], &held[..]].concat());
    }
}
