//! Users of a multicast: each may send several messages, and all check that they are delivered as the algorithm promises.

use quorate_core::definition::multicast::{
    CausalPast, broken_by_omission, conflict, disorder, first_missing, integrity_breach,
    may_have_sent,
};
use quorate_core::multicast::{Command, Content, Group, Output};
use quorate_core::{ProcessId, ProcessSet, Property};

use super::Users;

/// Messages that users send, their recipients, and the promised properties.
///
/// A process is live if it does not crash and is not a traitor. Orders are checked among the processes that are up, as if no other process would
/// crash. Missing deliveries are checked when the system is quiescent.
#[derive(Clone, Debug)]
pub struct MulticastUsers {
    /// Number of messages that each user sends.
    pub requests: Vec<u8>,
    /// Recipients of the messages.
    pub to: Group,
    /// Properties that are checked.
    pub promised: Vec<Property>,
    /// Byzantine processes. Nothing is expected of them, and their messages may have any content.
    pub traitors: ProcessSet,
}

/// The user of a multicast at one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MulticastUserState {
    id: u8,
    up: bool,
    honest: bool,
    /// Numbers of messages that it has sent and may still send.
    sent: u8,
    remaining: u8,
    /// Delivered messages. Their order is kept only if an order is promised that must be compared with others. Sends are
    /// recorded if causal order is promised, because then the events before them matter.
    log: Vec<LogEvent>,
    /// Violation that its own process alone reveals.
    wrong: Option<Property>,
}

/// Event in the log of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum LogEvent {
    /// The user sent its next message.
    Sent,
    Delivered(MessageId, Content),
}

/// Sender and sequence number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct MessageId {
    origin: u8,
    number: u8,
}

impl MulticastUserState {
    /// Whether it has not crashed and is not a traitor.
    fn is_live(&self) -> bool {
        self.up && self.honest
    }

    fn deliveries(&self) -> impl Iterator<Item = MessageId> + Clone {
        self.contents().map(|(message, _)| message)
    }

    /// The delivered messages with their contents.
    fn contents(&self) -> impl Iterator<Item = (MessageId, Content)> + Clone {
        self.log.iter().filter_map(|event| match event {
            LogEvent::Delivered(message, content) => Some((*message, *content)),
            LogEvent::Sent => None,
        })
    }

    fn has(&self, message: MessageId) -> bool {
        self.deliveries().any(|own| own == message)
    }

    fn content_of(&self, message: MessageId) -> Option<Content> {
        self.contents().find(|(own, _)| *own == message).map(|(_, content)| content)
    }
}

impl MulticastUsers {
    fn promises(&self, property: Property) -> bool {
        self.promised.contains(&property)
    }

    fn is_member(&self, user: &MulticastUserState) -> bool {
        self.to.contains(ProcessId::new(user.id.into()))
    }

    /// The property violated by a delivery, as far as the delivering process alone can tell.
    fn wrong(&self, user: &MulticastUserState, message: MessageId) -> Option<Property> {
        // Whether the message was sent depends on its sender: `broken` checks it.
        if integrity_breach(true, self.is_member(user), user.has(message)).is_some() {
            return Some(Property::DeliveryIntegrity);
        }
        let earlier = 0..usize::from(message.number);
        let has = |number| user.has(MessageId { number: number as u8, ..message });
        first_missing(earlier, |_| self.is_member(user), has).map(|_| Property::FifoOrder)
    }

    /// Whether a process has delivered a message before another one that causally precedes it.
    fn is_out_of_causal_order(&self, user_states: &[&MulticastUserState]) -> bool {
        user_states.iter().filter(|user| user.is_live()).any(|user| {
            user.deliveries().enumerate().any(|(rank, message)| {
                let past = past(user_states, message, u8::MAX);
                past.iter().any(|(origin, count)| {
                    let origin = origin.index() as u8;
                    let has = |number| {
                        let earlier = MessageId { origin, number: number as u8 };
                        earlier == message || user.deliveries().take(rank).any(|own| own == earlier)
                    };
                    first_missing(0..count, |_| self.is_member(user), has).is_some()
                })
            })
        })
    }
}

/// The causal past of a message, itself included. The search follows chains of at most `most` messages.
fn past(user_states: &[&MulticastUserState], message: MessageId, most: u8) -> CausalPast {
    let mut past = CausalPast::default();
    let Some(user) = user_states.get(usize::from(message.origin)).filter(|_| most > 0) else {
        return past;
    };
    let sender = ProcessId::new(message.origin.into());
    let mut sent = 0;
    for event in &user.log {
        match event {
            LogEvent::Sent if sent == message.number => break,
            LogEvent::Sent => {
                let _ = past.on_multicast(sender);
                sent += 1;
            }
            LogEvent::Delivered(known, _) => {
                past.on_delivery(&self::past(user_states, *known, most - 1));
            }
        }
    }
    past.on_multicast(sender)
}

/// Whether `one` delivered two messages in an order that `other` did not respect: `other` delivered the later one without
/// the earlier one before it.
fn is_disordered(one: &MulticastUserState, other: &MulticastUserState) -> bool {
    if one.deliveries().zip(other.deliveries()).all(|(one, other)| one == other) {
        return false;
    }
    let position = |message| other.deliveries().position(|own| own == message);
    disorder(one.deliveries().map(|message| (message, position(message)))).is_some()
}

impl Users for MulticastUsers {
    type Command = Command;
    type Output = Output;
    type UserState = MulticastUserState;

    fn initial_user(&self, process: ProcessId) -> MulticastUserState {
        let remaining = self.requests[process.index()];
        let id = process.index() as u8;
        let honest = !self.traitors.contains(process);
        let (log, wrong) = (Vec::new(), None);
        MulticastUserState { id, up: true, honest, sent: 0, remaining, log, wrong }
    }

    /// No user must send, and no user waits for the result of earlier messages.
    fn next_command(&self, user: &MulticastUserState) -> Option<(Command, bool)> {
        let (id, to) = (user.sent.into(), self.to.clone());
        let command = Command::Multicast { id, to, body: Content::TRUE };
        (user.remaining > 0).then_some((command, false))
    }

    fn on_command(&self, user: &mut MulticastUserState, _: &Command) {
        user.remaining -= 1;
        user.sent += 1;
        if self.promises(Property::CausalOrder) {
            user.log.push(LogEvent::Sent);
        }
    }

    fn on_output(
        &self,
        user: &mut MulticastUserState,
        Output::Delivered { origin, id, body }: &Output,
    ) {
        if !user.honest {
            return;
        }
        let small = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
        let message = MessageId { origin: small(origin.index() as u64), number: small(*id) };
        let wrong = self.wrong(user, message).filter(|property| self.promises(*property));
        user.wrong = user.wrong.or(wrong);
        user.log.push(LogEvent::Delivered(message, *body));
        if !self.promises(Property::CausalOrder) && !self.promises(Property::TotalOrder) {
            user.log.sort_unstable();
        }
    }

    /// Its messages, and the events before them, may be known to others.
    fn crashed(&self, user: &MulticastUserState) -> MulticastUserState {
        let last = user.log.iter().rposition(|event| *event == LogEvent::Sent);
        let log = user.log[..last.map_or(0, |last| last + 1)].to_vec();
        MulticastUserState {
            id: user.id,
            up: false,
            honest: user.honest,
            sent: user.sent,
            remaining: 0,
            log,
            wrong: None,
        }
    }

    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a MulticastUserState> + Clone,
    ) -> Option<Property> {
        if let Some(wrong) = user_states.clone().find_map(|user| user.wrong) {
            return Some(wrong);
        }
        let user_states: Vec<&MulticastUserState> = user_states.collect();
        let up = || user_states.iter().filter(|user| user.is_live());
        let may_be_sent = |(message, content): (MessageId, Content)| {
            let origin = user_states.get(usize::from(message.origin));
            let multicast = origin.is_some_and(|origin| message.number < origin.sent);
            may_have_sent(origin.is_none_or(|origin| origin.honest), multicast, content)
        };
        let unsent = |message| integrity_breach(may_be_sent(message), true, false).is_some();
        if up().any(|user| user.contents().any(unsent)) {
            return Some(Property::DeliveryIntegrity);
        }
        let conflicting = |message: MessageId| {
            let contents = up().filter_map(|user| Some((user.id, user.content_of(message)?)));
            conflict(contents).is_some()
        };
        if self.promises(Property::DeliveryAgreement)
            && up().any(|user| user.deliveries().any(conflicting))
        {
            return Some(Property::DeliveryAgreement);
        }
        if self.promises(Property::CausalOrder) && self.is_out_of_causal_order(&user_states) {
            return Some(Property::CausalOrder);
        }
        let disordered = || up().any(|one| up().any(|other| is_disordered(one, other)));
        (self.promises(Property::TotalOrder) && disordered()).then_some(Property::TotalOrder)
    }

    fn broken_when_quiescent<'a>(
        &self,
        user_states: impl Iterator<Item = &'a MulticastUserState> + Clone,
    ) -> Option<Property> {
        let live = || user_states.clone().filter(|user| user.is_live());
        let members = || live().filter(|user| self.is_member(user));
        let broken_by = |message: MessageId| {
            let missing = members().any(|member| !member.has(message));
            let sent_by_live = live().any(|user| user.id == message.origin);
            let delivered = members().any(|member| member.has(message));
            let broken = broken_by_omission(sent_by_live, delivered).filter(move |_| missing);
            broken.filter(|property| self.promises(*property))
        };
        let sent = user_states.clone().flat_map(|origin| {
            (0..origin.sent).map(|number| MessageId { origin: origin.id, number })
        });
        // A traitor may have sent messages that its user did not multicast.
        let messages = sent.chain(live().flat_map(MulticastUserState::deliveries));
        // Validity comes before agreement in `Property`.
        messages.flat_map(broken_by).min()
    }

    /// A member must eventually deliver its own messages.
    fn is_waiting(&self, user: &MulticastUserState) -> bool {
        let own = || user.deliveries().filter(|message| message.origin == user.id).count();
        user.is_live()
            && self.promises(Property::DeliveryValidity)
            && self.is_member(user)
            && own() < usize::from(user.sent)
    }

    /// A delivery is permanent. But a message that is delivered before it is sent may be sent
    /// later, which ends the violation.
    fn is_visible(&self, before: &MulticastUserState, after: &MulticastUserState) -> bool {
        before.sent != after.sent
    }

    fn is_satisfied(&self, user: &MulticastUserState) -> bool {
        user.deliveries().next().is_some()
    }

    fn starvation_property(&self) -> Property {
        Property::DeliveryValidity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users_of(to: Group) -> MulticastUsers {
        let promised = vec![
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
            Property::FifoOrder,
            Property::CausalOrder,
            Property::TotalOrder,
        ];
        MulticastUsers { requests: vec![2; 3], to, promised, traitors: ProcessSet::new() }
    }

    /// Marks a message number in the tests as delivered with a forged content.
    const FORGED: u64 = 1 << 32;

    /// The property violated after these events, each at a process: a send for `None`, otherwise a delivery.
    fn found(events: &[(usize, Option<(u32, u64)>)], crashed: &[usize]) -> Option<Property> {
        found_in(&users_of(Group::All), events, crashed)
    }

    fn found_in(
        users: &MulticastUsers,
        events: &[(usize, Option<(u32, u64)>)],
        crashed: &[usize],
    ) -> Option<Property> {
        let make = |id| users.initial_user(id);
        let mut user_states: Vec<MulticastUserState> = ProcessId::all(3).map(make).collect();
        for (process, event) in events {
            let user = &mut user_states[*process];
            match event {
                None => {
                    let (command, _) = users.next_command(user).expect("one is left");
                    users.on_command(user, &command);
                }
                Some((origin, id)) => {
                    let origin = ProcessId::new(*origin);
                    let body = Content((*id >> 32) as u8);
                    let output = Output::Delivered { origin, id: *id & 0xffff_ffff, body };
                    users.on_output(user, &output);
                }
            }
        }
        for victim in crashed {
            user_states[*victim] = users.crashed(&user_states[*victim]);
        }
        let broken = users.broken(user_states.iter());
        broken.or_else(|| users.broken_when_quiescent(user_states.iter()))
    }

    #[test]
    fn what_is_everywhere_in_one_order_is_right() {
        let everywhere = [
            (0, None),
            (0, Some((0, 0))),
            (1, Some((0, 0))),
            (1, None),
            (2, Some((0, 0))),
            (2, Some((1, 0))),
            (1, Some((1, 0))),
            (0, Some((1, 0))),
        ];
        assert_eq!(found(&everywhere, &[]), None);
        assert_eq!(found(&everywhere[..7], &[]), Some(Property::DeliveryValidity));
        assert_eq!(found(&everywhere[..7], &[1]), Some(Property::DeliveryAgreement));
        assert_eq!(found(&everywhere[..7], &[1, 2]), None, "nobody live has it");
    }

    #[test]
    fn what_was_not_sent_or_comes_twice_is_no_delivery() {
        assert_eq!(found(&[(0, Some((1, 0)))], &[]), Some(Property::DeliveryIntegrity));
        let twice = [(1, None), (0, Some((1, 0))), (0, Some((1, 0)))];
        assert_eq!(found(&twice, &[]), Some(Property::DeliveryIntegrity));
    }

    #[test]
    fn a_message_is_delivered_only_to_whom_it_is_addressed() {
        let pair = users_of(Group::Only([0, 1].map(ProcessId::new).into_iter().collect()));
        let (inside, outside) = ((1, Some((0, 0))), (2, Some((0, 0))));
        let delivered = [(0, None), (0, Some((0, 0))), inside];
        assert_eq!(found_in(&pair, &delivered, &[]), None);
        let too_far = [delivered[0], delivered[1], inside, outside];
        assert_eq!(found_in(&pair, &too_far, &[]), Some(Property::DeliveryIntegrity));
    }

    #[test]
    fn only_a_traitor_may_send_two_contents_and_the_others_deliver_one() {
        let honest = users_of(Group::All);
        let forged = [(0, None), (1, Some((0, FORGED)))];
        assert_eq!(found_in(&honest, &forged, &[]), Some(Property::DeliveryIntegrity));
        let lying =
            MulticastUsers { traitors: [ProcessId::new(0)].into_iter().collect(), ..honest };
        let both = [(0, None), (1, Some((0, FORGED))), (2, Some((0, FORGED)))];
        assert_eq!(found_in(&lying, &both, &[]), None);
        let two = [(0, None), (1, Some((0, FORGED))), (2, Some((0, 0)))];
        assert_eq!(found_in(&lying, &two, &[]), Some(Property::DeliveryAgreement));
        assert_eq!(found_in(&lying, &two, &[2]), None, "the dead do not count");
        assert_eq!(found_in(&lying, &both[..2], &[]), Some(Property::DeliveryAgreement));
        assert_eq!(found_in(&lying, &both[..1], &[]), None, "a traitor's message may be lost");
        let invented = [(1, Some((0, 0))), (2, Some((0, 0)))];
        assert_eq!(found_in(&lying, &invented, &[]), None);
        assert_eq!(found_in(&lying, &invented[..1], &[]), Some(Property::DeliveryAgreement));
    }

    #[test]
    fn orders_are_told_apart() {
        let second_first = [(1, None), (1, None), (0, Some((1, 1)))];
        assert_eq!(found(&second_first, &[]), Some(Property::FifoOrder));
        let answer = [(0, None), (1, Some((0, 0))), (1, None), (2, Some((1, 0)))];
        assert_eq!(found(&answer, &[]), Some(Property::CausalOrder));
        assert_eq!(found(&answer, &[1]), Some(Property::CausalOrder), "the dead had asked");
        let two_orders =
            [(0, None), (1, None), (0, Some((0, 0))), (0, Some((1, 0))), (1, Some((1, 0)))];
        assert_eq!(found(&two_orders, &[]), Some(Property::TotalOrder));
        assert_ne!(found(&two_orders, &[0]), Some(Property::TotalOrder), "the dead do not count");
    }
}
