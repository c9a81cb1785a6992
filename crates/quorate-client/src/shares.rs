//! Guards of a relayed session that share a lock: voters know one request, however many guards there are.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use quorate_protocol::Name;
use tokio::sync::watch;

use crate::session::Fate;

/// The locks that a session asks for or holds.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    by_name: Mutex<BTreeMap<Name, Share>>,
}

#[derive(Debug)]
struct Share {
    request: u64,
    users: usize,
    fate: watch::Receiver<Fate>,
}

/// How a guard gets a lock.
pub(crate) enum Joined {
    /// It asks for the lock.
    First,
    /// Another guard has asked for it, with this request.
    Shared(u64, watch::Receiver<Fate>),
}

impl Shares {
    fn by_name(&self) -> MutexGuard<'_, BTreeMap<Name, Share>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One guard more. The first one asks with the request that it brings along.
    pub(crate) fn join(&self, name: &Name, request: u64, fate: &watch::Receiver<Fate>) -> Joined {
        let mut shares = self.by_name();
        if let Some(share) = shares.get_mut(name).filter(|share| share.fate.borrow().lost.is_none())
        {
            share.users += 1;
            return Joined::Shared(share.request, share.fate.clone());
        }
        shares.insert(name.clone(), Share { request, users: 1, fate: fate.clone() });
        Joined::First
    }

    /// One guard less; tells whether it was the last one, so that the request has to be released.
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

    /// The request has failed: guards that wait for it ask again.
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
        let (sender, fate) = watch::channel(Fate::default());
        assert!(matches!(shares.join(&name, 1, &fate), Joined::First));
        assert!(matches!(shares.join(&name, 2, &fate), Joined::Shared(1, _)));
        assert!(!shares.leave(&name, 1));
        assert!(shares.leave(&name, 1));
        // A lock that is lost is asked for anew, and the release of the lost one does not concern that.
        assert!(matches!(shares.join(&name, 3, &fate), Joined::First));
        sender.send_modify(|fate| fate.lost = Some(crate::guard::Loss::NoQuorum));
        let (_sender, fate) = watch::channel(Fate::default());
        assert!(matches!(shares.join(&name, 4, &fate), Joined::First));
        assert!(shares.leave(&name, 3), "the lost one was alone");
        assert!(matches!(shares.join(&name, 5, &fate), Joined::Shared(4, _)));
    }
}
