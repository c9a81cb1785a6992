//! State of a session: how long it is valid, and the status of each of its locks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quorate_core::SortedMap;
use quorate_protocol::{HeldLock, Validity};
use tokio::sync::{Notify, watch};

use crate::clock::Moment;
use crate::lock_status::{LockStatus, Loss};

/// State of a session, shared by its connection and its guards.
#[derive(Debug)]
pub(crate) struct SessionState {
    /// End of the validity of everything that the session holds.
    deadline: AtomicU64,
    /// Notified when the deadline changes and when the session ends.
    changed: Notify,
    ended: AtomicBool,
    requests: Mutex<SortedMap<u64, watch::Sender<LockStatus>>>,
}

impl SessionState {
    pub(crate) fn new() -> Self {
        Self {
            deadline: AtomicU64::new(0),
            changed: Notify::new(),
            ended: AtomicBool::new(false),
            requests: Mutex::default(),
        }
    }

    fn requests(&self) -> MutexGuard<'_, SortedMap<u64, watch::Sender<LockStatus>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn deadline(&self) -> Moment {
        Moment(self.deadline.load(Ordering::Acquire))
    }

    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until the next keep-alive is due, well before the validity ends. Both limits count: the session's ttl and the
    /// leases that nodes grant each other. The latter apply from when a lock is granted, which may be soon, so that a
    /// change of the deadline recomputes the time.
    pub(crate) async fn wait_until_keep_alive_due(&self, ttl: Duration) {
        let mut next = None::<Moment>;
        loop {
            let changed = self.changed.notified();
            let pause =
                (ttl / 4).min(self.deadline().from_now() / 6).max(Duration::from_millis(10));
            let then = Moment(Moment::now().0 + pause.as_micros() as u64);
            let due = next.map_or(then, |next| next.min(then));
            next = Some(due);
            tokio::select! {
                () = due.reached() => return,
                () = changed => if self.has_ended() {
                    return;
                },
            }
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Sets the validity of the session. It is counted from when the keep-alive was sent, so that a slow answer gives less
    /// validity than a later one. A validity that ends before the known deadline is applied too.
    pub(crate) fn set_validity(&self, validity: Validity) {
        // Before the first answer to a keep-alive there is no deadline that could have passed: a lock may be granted earlier.
        let known = Some(self.deadline()).filter(|deadline| deadline.0 > 0);
        if known.is_some_and(|deadline| deadline <= Moment::now()) {
            // Another session may have held a lock since the deadline passed: the lock does not become valid again.
            self.retain_held(&[]);
        }
        // Readers load the deadline first: a reader that sees the new deadline also sees the losses above.
        self.set_deadline(Moment(validity.since.saturating_add(validity.micros)));
        self.changed.notify_waiters();
    }

    pub(crate) fn set_deadline(&self, deadline: Moment) {
        self.deadline.store(deadline.0, Ordering::Release);
    }

    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        for request in self.requests().values() {
            request.send_modify(|status| status.lost = status.lost.or(Some(Loss::SessionOver)));
        }
        self.changed.notify_waiters();
    }

    pub(crate) fn lose(&self, request: u64, loss: Loss) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|status| status.lost = status.lost.or(Some(loss)));
        }
    }

    /// This request holds the lock, until `until` if the lock has a validity of its own.
    pub(crate) fn grant(&self, request: u64, token: u64, until: Option<Moment>) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|status| (status.token, status.until) = (Some(token), until));
        }
    }

    /// This request holds the lock. If the validity of the lock is known, [`Self::grant`] was called before. Otherwise the
    /// lock is valid as long as the session.
    pub(crate) fn set_token(&self, request: u64, token: u64) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|status| status.token = status.token.or(Some(token)));
        }
    }

    /// Extends the validity of a lock; returns whether the lock was still valid. The clock is read while guards cannot read
    /// the status, so that a guard that was seen invalid never becomes valid again.
    pub(crate) fn extend(&self, request: u64, until: Moment) -> bool {
        let requests = self.requests();
        let held = |request: &&watch::Sender<LockStatus>| request.borrow().token.is_some();
        let Some(request) = requests.get(&request).filter(held) else { return true };
        let mut was_valid = true;
        request.send_modify(|status| {
            was_valid = status.until.is_some_and(|known| Moment::now() < known);
            match was_valid {
                true => status.until = status.until.max(Some(until)),
                false => status.lost = status.lost.or(Some(Loss::NoQuorum)),
            }
        });
        was_valid
    }

    /// Whether this request holds its lock in a session that has neither ended nor passed its deadline.
    pub(crate) fn is_valid(&self, request: u64) -> bool {
        // The order matters. `set_validity` records losses before it extends the deadline. With the deadline loaded last, a
        // status from before a loss could meet a deadline from after it. The end of a session is final, so that flag is
        // loaded last. The status does not imply it: a request that begins after the end is not marked as lost.
        let deadline = self.deadline();
        let status = self.requests().get(&request).map(|request| *request.borrow());
        let held = status.is_some_and(|status| status.token.is_some() && status.lost.is_none());
        held && Moment::now() < deadline && !self.has_ended()
    }

    /// Every lock that the node does not list as held is lost, even if no notice of the loss has arrived. The token of a
    /// lock that remains held may grow, if a node died just after it granted the lock.
    pub(crate) fn retain_held(&self, held: &[HeldLock]) {
        for (number, request) in self.requests().iter() {
            let listed = held.iter().find(|it| it.request == *number).map(|it| it.token);
            request.send_if_modified(|status| {
                let Some(token) = status.token.filter(|_| status.lost.is_none()) else {
                    return false;
                };
                match listed.filter(|listed| *listed >= token) {
                    Some(listed) => status.token = Some(listed),
                    None => status.lost = Some(Loss::NoQuorum),
                }
                listed != Some(token)
            });
        }
    }

    /// Applies the answer to a keep-alive: the held locks and their validity.
    pub(crate) fn apply_keep_alive(&self, held: &[HeldLock], validity: Validity) {
        let until = Moment(validity.since.saturating_add(validity.micros));
        self.retain_held(held);
        for held in held {
            self.extend(held.request, until);
        }
        self.set_validity(validity);
    }

    pub(crate) fn set_position(&self, request: u64, position: u32) {
        if let Some(request) = self.requests().get(&request) {
            request.send_modify(|status| status.position = Some(position));
        }
    }

    pub(crate) fn track(&self, request: u64) -> watch::Receiver<LockStatus> {
        let (sender, receiver) = watch::channel(LockStatus::default());
        self.requests().insert(request, sender);
        receiver
    }

    pub(crate) fn untrack(&self, request: u64) {
        self.requests().remove(&request);
    }
}

#[cfg(test)]
mod tests {
    use quorate_protocol::Name;

    use super::*;

    fn validity(micros: u64) -> Validity {
        Validity { since: Moment::now().0, micros }
    }

    fn held(request: u64, token: u64) -> HeldLock {
        HeldLock { request, name: Name::lock("x").expect("a name"), token }
    }

    #[test]
    fn what_a_keep_alive_does_not_list_is_lost() {
        let state = SessionState::new();
        let [kept, gone, other, waits] = [1, 2, 3, 4].map(|request| state.track(request));
        state.set_validity(validity(60_000_000));
        [1, 2, 3].into_iter().for_each(|request| state.grant(request, 10 + request, None));
        state.retain_held(&[held(1, 12), held(3, 9)]);
        assert_eq!((kept.borrow().lost, waits.borrow().lost), (None, None));
        assert_eq!(kept.borrow().token, Some(12), "a token may grow");
        assert_eq!(gone.borrow().lost, Some(Loss::NoQuorum));
        assert_eq!(other.borrow().lost, Some(Loss::NoQuorum), "a token does not shrink");
    }

    #[test]
    fn a_lock_whose_time_has_passed_does_not_come_back() {
        let state = SessionState::new();
        let status = state.track(1);
        state.set_validity(validity(0));
        state.grant(1, 11, None);
        state.set_validity(validity(60_000_000));
        assert_eq!(status.borrow().lost, Some(Loss::NoQuorum));
    }

    #[test]
    fn a_guard_that_was_invalid_is_not_extended() {
        let state = SessionState::new();
        let [ended, valid] = [1, 2].map(|request| state.track(request));
        let now = Moment::now();
        let (before, later) = (now, now.later(Duration::from_secs(60)));
        state.grant(1, 11, Some(before));
        state.grant(2, 12, Some(later));
        let latest = later.later(Duration::from_secs(1));
        assert!(!state.extend(1, latest) && state.extend(2, latest));
        assert_eq!(
            (ended.borrow().until, ended.borrow().lost),
            (Some(before), Some(Loss::NoQuorum))
        );
        assert_eq!((valid.borrow().until, valid.borrow().lost), (Some(latest), None));
    }

    #[test]
    fn no_lock_is_valid_in_a_session_that_has_ended() {
        let state = SessionState::new();
        let _before = state.track(1);
        state.set_validity(validity(60_000_000));
        assert!(!state.is_valid(1), "it waits");
        state.grant(1, 11, None);
        assert!(state.is_valid(1));
        state.end();
        let _after = state.track(2);
        state.grant(2, 12, None);
        assert!(!state.is_valid(1) && !state.is_valid(2));
    }

    #[test]
    fn the_first_keep_alive_leaves_a_lock_that_was_granted_before() {
        let state = SessionState::new();
        let status = state.track(1);
        state.grant(1, 11, Some(Moment::now().later(Duration::from_secs(60))));
        state.apply_keep_alive(&[held(1, 11)], validity(0));
        assert_eq!(status.borrow().lost, None);
        // Now a deadline is known, and it has passed.
        state.apply_keep_alive(&[held(1, 11)], validity(1_000_000));
        assert_eq!(status.borrow().lost, Some(Loss::NoQuorum), "it does not become valid again");
    }

    #[test]
    fn a_status_shows_the_position_the_token_and_the_first_loss() {
        let state = SessionState::new();
        let status = state.track(1);
        state.set_position(1, 3);
        assert_eq!((status.borrow().position, status.borrow().token), (Some(3), None));
        state.set_token(1, 11);
        state.set_token(1, 12);
        assert_eq!(status.borrow().token, Some(11), "a token that is known stays");
        state.lose(1, Loss::NoQuorum);
        state.lose(1, Loss::SessionOver);
        assert_eq!(status.borrow().lost, Some(Loss::NoQuorum), "the first loss counts");
        state.untrack(1);
        state.set_position(1, 9);
        assert_eq!(status.borrow().position, Some(3));
    }

    #[test]
    fn a_lock_is_valid_until_the_deadline_of_its_session() {
        let state = SessionState::new();
        let _status = state.track(1);
        state.grant(1, 11, None);
        assert!(!state.is_valid(1), "no keep-alive was answered");
        state.set_validity(validity(60_000_000));
        assert!(state.is_valid(1) && !state.is_valid(2));
        state.lose(1, Loss::NoQuorum);
        assert!(!state.is_valid(1));
    }

    #[test]
    fn a_status_that_stays_the_same_wakes_no_guard() {
        let state = SessionState::new();
        let mut status = state.track(1);
        state.grant(1, 11, None);
        status.mark_unchanged();
        state.retain_held(&[held(1, 11)]);
        assert!(!status.has_changed().expect("it is tracked"));
        state.retain_held(&[held(1, 12)]);
        assert!(status.has_changed().expect("it is tracked"));
        // A request that waits has nothing to lose, and what is lost stays lost for its first reason.
        let waits = state.track(2);
        state.retain_held(&[]);
        state.retain_held(&[held(1, 13)]);
        assert_eq!((waits.borrow().lost, status.borrow().token), (None, Some(12)));
    }

    /// Waits for a future that is due long before.
    async fn in_time<T>(due: impl Future<Output = T>) -> T {
        let limit = Duration::from_secs(10);
        tokio::time::timeout(limit, due).await.expect("it should not take so long")
    }

    #[tokio::test]
    async fn keep_alives_are_due_long_before_the_validity_ends() {
        let (state, began) = (SessionState::new(), Moment::now());
        state.set_deadline(began.later(Duration::from_secs(3600)));
        let ttl = Duration::from_millis(80);
        in_time(state.wait_until_keep_alive_due(ttl)).await;
        assert!(Moment::now() >= began.later(Duration::from_millis(20)));
        // A deadline that comes closer makes the keep-alive due earlier.
        let hour = Duration::from_secs(3600);
        let nearer = async {
            tokio::task::yield_now().await;
            state.set_validity(validity(60_000));
        };
        in_time(async { tokio::join!(state.wait_until_keep_alive_due(4 * hour), nearer) }).await;
        // A session that has ended sends no keep-alives.
        state.set_deadline(Moment::now().later(hour));
        let end = async {
            tokio::task::yield_now().await;
            state.end();
        };
        in_time(async { tokio::join!(state.wait_until_keep_alive_due(4 * hour), end) }).await;
        assert!(state.has_ended());
    }

    #[tokio::test]
    async fn a_change_is_told_to_those_that_wait_for_it() {
        let state = SessionState::new();
        let change = async {
            tokio::task::yield_now().await;
            state.end();
        };
        in_time(async { tokio::join!(state.changed(), change) }).await;
    }
}
