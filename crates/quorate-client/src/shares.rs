//! Guards of a relayed session that share a lock. The voters know one request, regardless of the number of guards.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quorate_core::SortedMap;
use quorate_protocol::Name;
use tokio::sync::watch;

use crate::lock_status::LockStatus;

/// The locks that a session requests or holds, by name.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    by_name: Mutex<SortedMap<Name, Share>>,
}

#[derive(Debug)]
struct Share {
    request: u64,
    users: usize,
    status: watch::Receiver<LockStatus>,
}

/// How a guard gets its lock.
pub(crate) enum Joined {
    /// This guard sends the request.
    First,
    /// Another guard has sent this request.
    Shared(u64, watch::Receiver<LockStatus>),
}

impl Shares {
    fn by_name(&self) -> MutexGuard<'_, SortedMap<Name, Share>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a guard. The first guard of a lock uses `request`; later ones share it.
    pub(crate) fn join(
        &self,
        name: &Name,
        request: u64,
        status: &watch::Receiver<LockStatus>,
    ) -> Joined {
        let mut shares = self.by_name();
        if let Some(share) =
            shares.get_mut(name).filter(|share| share.status.borrow().lost.is_none())
        {
            share.users += 1;
            return Joined::Shared(share.request, share.status.clone());
        }
        shares.insert(name.clone(), Share { request, users: 1, status: status.clone() });
        Joined::First
    }

    /// Removes a guard; returns whether it was the last one, so that the request has to be released.
    pub(crate) fn leave(&self, name: &Name, request: u64) -> bool {
        let mut shares = self.by_name();
        let Some(share) = shares.get_mut(name).filter(|share| share.request == request) else {
            return true;
        };
        share.users -= 1;
        let is_last = share.users == 0;
        if is_last {
            shares.remove(name);
        }
        is_last
    }

    /// Removes a failed request, so that guards that wait for it send their own.
    pub(crate) fn fail(&self, name: &Name, request: u64) {
        let mut shares = self.by_name();
        if shares.get(name).is_some_and(|share| share.request == request) {
            shares.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_guard_releases() {
        let (shares, name) = (Shares::default(), Name::lock("x").expect("a name"));
        let (sender, status) = watch::channel(LockStatus::default());
        assert!(matches!(shares.join(&name, 1, &status), Joined::First));
        assert!(matches!(shares.join(&name, 2, &status), Joined::Shared(1, _)));
        assert!(!shares.leave(&name, 1));
        assert!(shares.leave(&name, 1));
        // A lost lock is requested again. Releasing the lost request does not affect the new one.
        assert!(matches!(shares.join(&name, 3, &status), Joined::First));
        sender.send_modify(|status| status.lost = Some(crate::lock_status::Loss::NoQuorum));
        let (_sender, status) = watch::channel(LockStatus::default());
        assert!(matches!(shares.join(&name, 4, &status), Joined::First));
        assert!(shares.leave(&name, 3), "the lost one was alone");
        assert!(matches!(shares.join(&name, 5, &status), Joined::Shared(4, _)));
    }

    #[test]
    fn guards_that_wait_for_a_failed_request_send_their_own() {
        let (shares, name) = (Shares::default(), Name::lock("x").expect("a name"));
        let (_sender, status) = watch::channel(LockStatus::default());
        assert!(matches!(shares.join(&name, 1, &status), Joined::First));
        shares.fail(&name, 7);
        assert!(matches!(shares.join(&name, 2, &status), Joined::Shared(1, _)), "another request");
        shares.fail(&name, 1);
        assert!(matches!(shares.join(&name, 3, &status), Joined::First));
    }
}
