//! What two members lend each other. A lease covers all votes at once, so that however many locks there are, one word now
//! and then keeps them.

use quorate_core::Time;

use super::message::{Epoch, Extension, Sign};
use super::terms::Terms;

/// What another member has from us, and we from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub(super) lent: Lent,
    pub(super) held: Held,
}

/// What we have lent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lent {
    epoch: Epoch,
    /// The other's life that has it, and its last sign of life, if there is a lease.
    to: Option<(Sign, Time)>,
    /// Whether a timer runs that looks after it.
    pub(super) watched: bool,
}

impl Lent {
    /// The other shows that it is alive: it gets a lease, or the same for longer, unless an earlier life of it may still
    /// rely on one.
    pub(super) fn extend(
        &mut self,
        sign: Sign,
        life: u64,
        now: Time,
        terms: Terms,
    ) -> Option<Extension> {
        let until = now + terms.lease;
        match &mut self.to {
            Some((last, _)) if last.life != sign.life => return None,
            Some((last, lapses)) => {
                last.sent = last.sent.max(sign.sent);
                *lapses = until;
            }
            None => {
                self.epoch = Epoch { life, lease: self.epoch.lease + 1 };
                self.to = Some((sign, until));
            }
        }
        self.extension()
    }

    /// What the other may know of its lease.
    pub(super) fn extension(&self) -> Option<Extension> {
        self.to.map(|(sign, _)| Extension { epoch: self.epoch, echo: sign.sent })
    }

    /// When it lapses, if there is one.
    pub(super) fn lapses(&self) -> Option<Time> {
        self.to.map(|(_, lapses)| lapses)
    }

    /// It has lapsed.
    pub(super) fn end(&mut self) {
        self.to = None;
    }
}

/// What we have been lent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Held {
    epoch: Epoch,
    until: Time,
    /// Whether a timer runs that looks after it.
    pub(super) watched: bool,
}

impl Held {
    /// The other has answered a sign; tells whether votes on an earlier lease are void.
    pub(super) fn extend(&mut self, extension: Extension, terms: Terms) -> bool {
        let until = extension.echo + terms.reliance();
        if extension.epoch < self.epoch {
            return false;
        }
        if extension.epoch == self.epoch {
            self.until = self.until.max(until);
            return false;
        }
        (self.epoch, self.until) = (extension.epoch, until);
        true
    }

    /// Until when, by our clock, what hangs on this lease may be relied on.
    pub(super) fn until(&self, epoch: Epoch) -> Time {
        if epoch == self.epoch { self.until } else { Time::ZERO }
    }

    /// When the present lease runs out.
    pub(super) fn runs_out(&self) -> Time {
        self.until
    }
}
