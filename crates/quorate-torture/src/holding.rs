//! What a client logs of a lock that it holds: each deadline that it is told, soon after it is told.
//!
//! A client may be stopped or killed at any moment. Then its log has to say until when it could rely on the lock, so the
//! log must not be older than what the client knows by more than [`LOOK`].

use std::time::Duration;

use quorate_client::Moment;

use crate::clients::{Deadline, LockGuard};
use crate::log::Log;

/// Interval at which a client looks at its lock.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// What was last logged of a lock.
#[derive(Debug)]
pub(crate) struct Holding {
    deadline: Deadline,
    is_lost: bool,
}

impl Holding {
    /// Logs a grant: `granted NOW TOKEN PROMISED ACTED NODE`.
    pub(crate) fn begin(log: &mut Log, guard: &impl LockGuard, node: usize) -> Self {
        let now = Moment::now().0;
        let (token, deadline) = (guard.token(), guard.deadline());
        let Deadline { promised, acted } = deadline;
        log.line(format_args!("granted {now} {token} {promised} {acted} {node}"));
        Self { deadline, is_lost: false }
    }

    /// Looks at the lock. Logs `held NOW PROMISED ACTED` if the deadline is another one, and `lost NOW PROMISED ACTED WHY`
    /// once if the lock is lost. Returns whether it is held.
    pub(crate) fn look(&mut self, log: &mut Log, guard: &impl LockGuard) -> bool {
        self.look_and_log(log, guard, false)
    }

    /// The same, but a lock that is held is always logged.
    pub(crate) fn confirm(&mut self, log: &mut Log, guard: &impl LockGuard) -> bool {
        self.look_and_log(log, guard, true)
    }

    fn look_and_log(&mut self, log: &mut Log, guard: &impl LockGuard, always: bool) -> bool {
        let (now, deadline) = (Moment::now().0, guard.deadline());
        let Deadline { promised, acted } = deadline;
        let held = guard.is_held();
        if held && (always || deadline != self.deadline) {
            log.line(format_args!("held {now} {promised} {acted}"));
            self.deadline = deadline;
        }
        if !held && !self.is_lost {
            log.line(format_args!("lost {now} {promised} {acted} {}", guard.loss()));
            self.is_lost = true;
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A lock whose deadline the test sets; zero is a lost lock.
    #[derive(Default)]
    struct Told(Cell<u64>);

    impl LockGuard for Told {
        fn token(&self) -> u64 {
            7
        }

        fn deadline(&self) -> Deadline {
            Deadline { promised: self.0.get(), acted: self.0.get() }
        }

        fn is_held(&self) -> bool {
            self.0.get() > 0
        }

        fn loss(&self) -> String {
            "deadline".to_owned()
        }

        async fn release(self) -> bool {
            true
        }
    }

    #[test]
    fn a_deadline_is_logged_when_it_changes_and_a_loss_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let (mut log, guard) = (Log::open(&path).expect("a log"), Told(Cell::new(50)));
        let mut holding = Holding::begin(&mut log, &guard, 3);
        for deadline in [50, 60, 60, 70, 0, 0] {
            guard.0.set(deadline);
            holding.look(&mut log, &guard);
        }
        let lines = crate::log::lines(&path).expect("a log");
        let shown = lines.iter().map(|words| format!("{} {}", words[0], words[2]));
        assert_eq!(shown.collect::<Vec<_>>(), ["granted 7", "held 60", "held 70", "lost 0"]);
    }
}
