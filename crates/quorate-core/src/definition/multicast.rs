//! Multicast: integrity, validity and agreement of deliveries, and the three orders.

use core::ops::Range;

use crate::multicast::Content;
use crate::{ProcessId, Property, VectorClock};

/// Integrity: the ways in which one delivery can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegrityBreach {
    /// The message was not multicast before, or with another content.
    NotSent,
    /// The process is not a member of the message's group.
    NotAddressed,
    /// The process has delivered the message before.
    Duplicate,
}

/// Integrity: a process delivers a message at most once, and only if it was multicast to it with this content. `sent`
/// comes from [`may_have_sent`].
pub fn integrity_breach(sent: bool, addressed: bool, duplicate: bool) -> Option<IntegrityBreach> {
    match (sent, addressed, duplicate) {
        (false, ..) => Some(IntegrityBreach::NotSent),
        (_, false, _) => Some(IntegrityBreach::NotAddressed),
        (.., true) => Some(IntegrityBreach::Duplicate),
        (true, true, false) => None,
    }
}

/// Integrity: whether the sender of a delivered message may have multicast it with this content. An honest sender gives its
/// messages only the true content. A Byzantine sender may have sent anything.
pub fn may_have_sent(honest: bool, multicast: bool, content: Content) -> bool {
    !honest || (multicast && content == Content::TRUE)
}

/// Agreement: two live members must not deliver different contents of one message. `deliveries` are those of the live
/// members. Returns two of them that differ.
pub fn conflict<T: Copy>(deliveries: impl IntoIterator<Item = (T, Content)>) -> Option<(T, T)> {
    let mut deliveries = deliveries.into_iter();
    let (first, content) = deliveries.next()?;
    deliveries.find(|(_, other)| *other != content).map(|(other, _)| (first, other))
}

/// Validity and agreement: the properties that are broken if a live member never delivers a message. Validity: the sender is live.
/// Agreement: a live member has delivered it.
pub fn broken_by_omission(
    sender_is_live: bool,
    delivered_by_live: bool,
) -> impl Iterator<Item = Property> {
    let validity = sender_is_live.then_some(Property::DeliveryValidity);
    let agreement = delivered_by_live.then_some(Property::DeliveryAgreement);
    validity.into_iter().chain(agreement)
}

/// FIFO and causal order: a member must not deliver a message without those before it. Returns the first message of one sender, by its
/// number in `earlier`, that is for the member and that it has not delivered.
///
/// For FIFO order, `earlier` has the numbers of the sender's earlier messages. For causal order it has, for each sender, the
/// messages that happened before the one delivered.
pub fn first_missing(
    earlier: Range<usize>,
    addressed: impl Fn(usize) -> bool,
    delivered: impl Fn(usize) -> bool,
) -> Option<usize> {
    earlier.into_iter().find(|number| addressed(*number) && !delivered(*number))
}

/// Causal order: the multicasts that happened before the next multicast of one process.
///
/// Multicast a happened before multicast b if the sender of b had multicast or delivered a, or had delivered a message that a
/// happened before. What counts is the knowledge of users, not messages that processes received on lower layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CausalPast(VectorClock);

impl CausalPast {
    /// The process multicasts a message. Returns the past of that message, including the message itself.
    #[must_use]
    pub fn on_multicast(&mut self, sender: ProcessId) -> Self {
        self.0.tick(sender);
        self.clone()
    }

    /// The process delivers a message with this past.
    pub fn on_delivery(&mut self, message: &Self) {
        self.0.merge(&message.0);
    }

    /// The number of messages of each sender, of senders with at least one.
    pub fn iter(&self) -> impl Iterator<Item = (ProcessId, usize)> {
        self.0.iter().map(|(sender, count)| (sender, count as usize))
    }
}

/// Total order: if one member delivers a message before another one, no member delivers the second without having delivered the first.
///
/// `deliveries` are those of one member in its order, each with its position among the deliveries of the other member, if that
/// has delivered it. Returns two messages in the order of the one, of which the other delivered the second without the first.
pub fn disorder<T: Copy>(
    deliveries: impl IntoIterator<Item = (T, Option<usize>)>,
) -> Option<(T, T)> {
    // The message so far that comes last at the other member. One that it has not delivered comes after all.
    let mut latest: Option<(usize, T)> = None;
    for (message, position) in deliveries {
        if let (Some((reached, earlier)), Some(position)) = (latest, position)
            && reached > position
        {
            return Some((earlier, message));
        }
        let position = position.unwrap_or(usize::MAX);
        if latest.is_none_or(|(reached, _)| position > reached) {
            latest = Some((position, message));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_delivery_is_of_a_message_that_was_sent_to_the_member_and_happens_once() {
        assert_eq!(integrity_breach(true, true, false), None);
        assert_eq!(integrity_breach(false, true, false), Some(IntegrityBreach::NotSent));
        assert_eq!(integrity_breach(true, false, false), Some(IntegrityBreach::NotAddressed));
        assert_eq!(integrity_breach(true, true, true), Some(IntegrityBreach::Duplicate));
    }

    #[test]
    fn only_a_byzantine_sender_may_have_sent_anything() {
        let lie = Content::TRUE.forged(1);
        assert!(may_have_sent(true, true, Content::TRUE));
        assert!(!may_have_sent(true, true, lie), "an honest sender does not lie");
        assert!(!may_have_sent(true, false, Content::TRUE), "it was not multicast");
        assert!(may_have_sent(false, false, lie));
    }

    #[test]
    fn contents_conflict_if_two_differ() {
        let [truth, lie] = [0, 1].map(Content);
        assert_eq!(conflict::<char>([]), None);
        assert_eq!(conflict([('a', lie), ('b', lie)]), None);
        assert_eq!(conflict([('a', truth), ('b', truth), ('c', lie)]), Some(('a', 'c')));
    }

    #[test]
    fn what_a_live_sender_or_a_live_member_has_reaches_all() {
        let broken = |sender, member| broken_by_omission(sender, member).collect::<Vec<_>>();
        assert_eq!(broken(false, false), []);
        assert_eq!(broken(true, false), [Property::DeliveryValidity]);
        assert_eq!(broken(false, true), [Property::DeliveryAgreement]);
        assert_eq!(broken(true, true), [Property::DeliveryValidity, Property::DeliveryAgreement]);
    }

    #[test]
    fn earlier_messages_for_the_member_come_first() {
        let missing = |until| first_missing(0..until, |number| number != 1, |number| number == 0);
        assert_eq!(missing(1), None);
        assert_eq!(missing(2), None, "the second is not for the member");
        assert_eq!(missing(4), Some(2));
    }

    #[test]
    fn knowledge_spreads_with_deliveries() {
        let [p0, p1, p2] = [0, 1, 2].map(ProcessId::new);
        let [mut at_0, mut at_1, mut at_2] = [(); 3].map(|()| CausalPast::default());
        let question = at_0.on_multicast(p0);
        at_1.on_delivery(&question);
        let answer = at_1.on_multicast(p1);
        at_2.on_delivery(&answer);
        let comment = at_2.on_multicast(p2);
        assert_eq!(comment.iter().collect::<Vec<_>>(), [(p0, 1), (p1, 1), (p2, 1)]);
        let second = at_0.on_multicast(p0);
        assert_eq!(second.iter().collect::<Vec<_>>(), [(p0, 2)]);
    }

    #[test]
    fn two_orders_and_omissions_are_disorder_and_being_behind_is_not() {
        assert_eq!(disorder([('a', Some(0)), ('b', Some(1))]), None);
        assert_eq!(disorder([('a', Some(1)), ('b', Some(0))]), Some(('a', 'b')));
        assert_eq!(disorder([('a', None), ('b', Some(0))]), Some(('a', 'b')));
        assert_eq!(disorder([('a', Some(0)), ('b', None)]), None, "the other is behind");
        assert_eq!(disorder([('a', Some(2)), ('b', None), ('c', Some(3))]), Some(('b', 'c')));
    }
}
