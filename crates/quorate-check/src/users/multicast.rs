//! Users of a multicast: each may send so many messages, and all want them delivered as the algorithm promises.

use quorate_core::multicast::{Command, Group, Output};
use quorate_core::{ProcessId, Property};

use super::Users;
use crate::world::PROCESSES_MOST;

/// Who sends how much, to whom, and what is promised.
///
/// Live is who does not crash. Orders are judged among those who are up as if nobody else would crash; what is
/// missing, at rest.
#[derive(Clone, Debug)]
pub struct MulticastUsers {
    /// How many messages each sends.
    pub requests: Vec<u8>,
    /// For whom they are.
    pub to: Group,
    /// What is judged.
    pub promised: Vec<Property>,
}

/// The user of a multicast at one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MulticastPlace {
    id: u8,
    up: bool,
    /// How many messages it has sent, and may still send.
    sent: u8,
    left: u8,
    /// What it delivered, in order if an order is promised that can be seen by comparing with others only; sends among
    /// that where it matters what happened before them.
    log: Vec<Event>,
    /// What it did wrong all by itself.
    wrong: Option<Property>,
}

/// Something that a user did or saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Event {
    /// It sent its next message.
    Sent,
    Delivered(Mail),
}

/// Which message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Mail {
    origin: u8,
    number: u8,
}

impl MulticastPlace {
    fn deliveries(&self) -> impl Iterator<Item = Mail> + Clone {
        self.log.iter().filter_map(|event| match event {
            Event::Delivered(mail) => Some(*mail),
            Event::Sent => None,
        })
    }

    fn has(&self, mail: Mail) -> bool {
        self.log.contains(&Event::Delivered(mail))
    }
}

impl MulticastUsers {
    fn promises(&self, property: Property) -> bool {
        self.promised.contains(&property)
    }

    fn is_member(&self, place: &MulticastPlace) -> bool {
        self.to.contains(ProcessId::new(place.id.into()))
    }

    /// What is wrong with a delivery, as far as the place alone can tell.
    fn wrong(&self, place: &MulticastPlace, mail: Mail) -> Option<Property> {
        if !self.is_member(place) || place.has(mail) {
            return Some(Property::DeliveryIntegrity);
        }
        let earlier = |number| place.has(Mail { number, ..mail });
        (!(0..mail.number).all(earlier)).then_some(Property::FifoOrder)
    }

    /// Whether somebody has delivered something that happened after what it had not delivered.
    fn is_out_of_causal_order(&self, places: &[&MulticastPlace]) -> bool {
        places.iter().filter(|place| place.up).any(|place| {
            place.deliveries().enumerate().any(|(rank, mail)| {
                let before = |mail: Mail| place.deliveries().take(rank).any(|own| own == mail);
                let past = past(places, mail, u8::MAX);
                let all = (0..).zip(past).flat_map(|(origin, count)| {
                    (0..count).map(move |number| Mail { origin, number })
                });
                all.into_iter().any(|earlier| earlier != mail && !before(earlier))
            })
        })
    }
}

/// How many messages of each sender a message happened after, itself included. There are no more than `most` between
/// it and the first.
fn past(places: &[&MulticastPlace], mail: Mail, most: u8) -> [u8; PROCESSES_MOST] {
    let mut past = [0; PROCESSES_MOST];
    let Some(sender) = places.get(usize::from(mail.origin)).filter(|_| most > 0) else {
        return past;
    };
    let mut sent = 0;
    for event in &sender.log {
        match event {
            Event::Sent if sent == mail.number => break,
            Event::Sent => sent += 1,
            Event::Delivered(known) => {
                let known = self::past(places, *known, most - 1);
                past.iter_mut().zip(known).for_each(|(past, known)| *past = known.max(*past));
            }
        }
    }
    past[usize::from(mail.origin)] = mail.number + 1;
    past
}

/// Whether one has delivered something before what the other delivered without it.
fn is_disordered(one: &MulticastPlace, other: &MulticastPlace) -> bool {
    if one.deliveries().zip(other.deliveries()).all(|(one, other)| one == other) {
        return false;
    }
    let lacks = |earlier: Mail, later: Mail| {
        let mut until = other.deliveries().take_while(|mail| *mail != later);
        other.has(later) && !until.any(|mail| mail == earlier)
    };
    one.deliveries()
        .enumerate()
        .any(|(rank, later)| one.deliveries().take(rank).any(|earlier| lacks(earlier, later)))
}

impl Users for MulticastUsers {
    type Command = Command;
    type Output = Output;
    type Place = MulticastPlace;

    fn place(&self, process: ProcessId) -> MulticastPlace {
        let left = self.requests[process.index()];
        let id = process.index() as u8;
        MulticastPlace { id, up: true, sent: 0, left, log: Vec::new(), wrong: None }
    }

    /// Nobody has to send, and nobody waits for what became of earlier messages.
    fn wish(&self, place: &MulticastPlace) -> Option<(Command, bool)> {
        let command = Command::Multicast { id: place.sent.into(), to: self.to.clone(), body: () };
        (place.left > 0).then_some((command, false))
    }

    fn asked(&self, place: &mut MulticastPlace, _: &Command) {
        place.left -= 1;
        place.sent += 1;
        if self.promises(Property::CausalOrder) {
            place.log.push(Event::Sent);
        }
    }

    fn told(&self, place: &mut MulticastPlace, Output::Delivered { origin, id, .. }: &Output) {
        let small = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
        let mail = Mail { origin: small(origin.index() as u64), number: small(*id) };
        let wrong = self.wrong(place, mail).filter(|property| self.promises(*property));
        place.wrong = place.wrong.or(wrong);
        place.log.push(Event::Delivered(mail));
        if !self.promises(Property::CausalOrder) && !self.promises(Property::TotalOrder) {
            place.log.sort_unstable();
        }
    }

    /// What it sent is known to others, and what happened before that.
    fn crashed(&self, place: &MulticastPlace) -> MulticastPlace {
        let last = place.log.iter().rposition(|event| *event == Event::Sent);
        let log = place.log[..last.map_or(0, |last| last + 1)].to_vec();
        MulticastPlace { id: place.id, up: false, sent: place.sent, left: 0, log, wrong: None }
    }

    fn broken<'a>(
        &self,
        places: impl Iterator<Item = &'a MulticastPlace> + Clone,
    ) -> Option<Property> {
        if let Some(wrong) = places.clone().find_map(|place| place.wrong) {
            return Some(wrong);
        }
        let places: Vec<&MulticastPlace> = places.collect();
        let up = || places.iter().filter(|place| place.up);
        let was_sent = |mail: Mail| {
            places.get(usize::from(mail.origin)).is_some_and(|origin| mail.number < origin.sent)
        };
        if !up().all(|place| place.deliveries().all(was_sent)) {
            return Some(Property::DeliveryIntegrity);
        }
        if self.promises(Property::CausalOrder) && self.is_out_of_causal_order(&places) {
            return Some(Property::CausalOrder);
        }
        let disordered = || up().any(|one| up().any(|other| is_disordered(one, other)));
        (self.promises(Property::TotalOrder) && disordered()).then_some(Property::TotalOrder)
    }

    fn broken_at_rest<'a>(
        &self,
        places: impl Iterator<Item = &'a MulticastPlace> + Clone,
    ) -> Option<Property> {
        let members = || places.clone().filter(|place| place.up && self.is_member(place));
        let missing = |mail: Mail| members().any(|member| !member.has(mail));
        let of_live = |origin: &MulticastPlace| {
            (0..origin.sent).any(|number| missing(Mail { origin: origin.id, number }))
        };
        let undelivered = || places.clone().filter(|place| place.up).any(of_live);
        let divided = || members().any(|member| member.deliveries().any(missing));
        if self.promises(Property::DeliveryValidity) && undelivered() {
            return Some(Property::DeliveryValidity);
        }
        (self.promises(Property::DeliveryAgreement) && divided())
            .then_some(Property::DeliveryAgreement)
    }

    /// A member has what it sent itself some time.
    fn waits(&self, place: &MulticastPlace) -> bool {
        let own = || place.deliveries().filter(|mail| mail.origin == place.id).count();
        place.up
            && self.promises(Property::DeliveryValidity)
            && self.is_member(place)
            && own() < usize::from(place.sent)
    }

    /// What is delivered remains so, but a message that is delivered before it is sent is sent later.
    fn shows(&self, before: &MulticastPlace, after: &MulticastPlace) -> bool {
        before.sent != after.sent
    }

    fn is_pleased(&self, place: &MulticastPlace) -> bool {
        place.deliveries().next().is_some()
    }

    fn patience(&self) -> Property {
        Property::DeliveryValidity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users() -> MulticastUsers {
        let promised = vec![
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
            Property::FifoOrder,
            Property::CausalOrder,
            Property::TotalOrder,
        ];
        MulticastUsers { requests: vec![2; 3], to: Group::All, promised }
    }

    /// What users find who send, for `None`, or deliver, at these processes one after the other.
    fn found(events: &[(usize, Option<(u32, u64)>)], crashed: &[usize]) -> Option<Property> {
        let users = users();
        let make = |id| users.place(id);
        let mut places: Vec<MulticastPlace> = ProcessId::all(3).map(make).collect();
        for (process, event) in events {
            let place = &mut places[*process];
            match event {
                None => {
                    let (command, _) = users.wish(place).expect("one is left");
                    users.asked(place, &command);
                }
                Some((origin, id)) => {
                    let origin = ProcessId::new(*origin);
                    let output = Output::Delivered { origin, id: *id, body: () };
                    users.told(place, &output);
                }
            }
        }
        for victim in crashed {
            places[*victim] = users.crashed(&places[*victim]);
        }
        let broken = users.broken(places.iter());
        broken.or_else(|| users.broken_at_rest(places.iter()))
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
