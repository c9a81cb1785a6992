//! Watches: which clients here, and which peers, want to hear of changes.
//!
//! A node tells its peers when its clients begin to watch a prefix and when the last one stops: so a watch costs one small
//! message to each peer, however many there are already. A peer that connects is told all of them, in parts that fit.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::{ProcessId, Span, Time};
use quorate_protocol::{Answer, Change, NAME_MOST, Say};

use super::calls::too_much;
use super::quotas::Added;
use super::{Alarm, Client, Deed, Keeper};
use crate::peer::{Interest, PeerMessage};

/// Maximum number of prefixes for one connection.
const WATCHES_MOST: usize = 64;

/// Maximum number of different prefixes on one node, and of those that a peer may tell of.
const PREFIXES_MOST: usize = 65_536;

/// Prefixes in one message: far less than a message between nodes may have.
const PREFIXES_AT_ONCE: usize = 1_024;

/// How long after a message to a peer could not be queued the peer is told everything again.
const TOLD_AGAIN: Span = Span::from_millis(1_000);

/// The prefixes that clients of this node watch.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    by_client: BTreeMap<Client, BTreeSet<String>>,
    by_prefix: BTreeMap<String, BTreeSet<Client>>,
}

impl Watchers {
    pub(super) fn is_empty(&self) -> bool {
        self.by_client.is_empty()
    }

    fn count(&self, client: Client) -> usize {
        self.by_client.get(&client).map_or(0, BTreeSet::len)
    }

    fn has(&self, client: Client, prefix: &str) -> bool {
        self.by_client.get(&client).is_some_and(|prefixes| prefixes.contains(prefix))
    }

    /// Whether the prefix was not watched on this node before.
    fn add(&mut self, client: Client, prefix: &str) -> bool {
        self.by_client.entry(client).or_default().insert(prefix.to_owned());
        let clients = self.by_prefix.entry(prefix.to_owned()).or_default();
        clients.insert(client);
        clients.len() == 1
    }

    /// How many prefixes the client had, and those that are not watched on this node any longer.
    fn remove(&mut self, client: Client) -> (usize, Vec<String>) {
        let Some(prefixes) = self.by_client.remove(&client) else { return (0, Vec::new()) };
        let had = prefixes.len();
        let last = |prefix: &String| {
            let Some(clients) = self.by_prefix.get_mut(prefix) else { return false };
            clients.remove(&client);
            let last = clients.is_empty();
            if last {
                self.by_prefix.remove(prefix);
            }
            last
        };
        (had, prefixes.into_iter().filter(last).collect())
    }

    fn of(&self, name: &str) -> BTreeSet<Client> {
        beginnings(name).filter_map(|part| self.by_prefix.get(part)).flatten().copied().collect()
    }
}

/// All beginnings of a name, the empty one included.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    (0..=name.len()).filter_map(|end| name.get(..end))
}

impl Keeper {
    pub(super) fn watch(&mut self, client: Client, prefix: &str, now: Time) -> Answer {
        if prefix.len() > NAME_MOST {
            return too_much(format!("a prefix has {NAME_MOST} bytes at most, like a name"));
        }
        if self.watchers.has(client, prefix) {
            return Answer::Done;
        }
        if self.watchers.count(client) >= WATCHES_MOST {
            return too_much(format!("{WATCHES_MOST} prefixes are the most for one connection"));
        }
        let new = !self.watchers.by_prefix.contains_key(prefix);
        if new && self.watchers.by_prefix.len() >= PREFIXES_MOST {
            return too_much(format!("{PREFIXES_MOST} prefixes are the most on one node"));
        }
        let added = Added { watches: 1, ..Added::default() };
        if let Err(failure) = self.charge(client, added, now) {
            return Answer::Failed(failure);
        }
        if self.watchers.add(client, prefix) {
            self.tell_interest(Interest { add: vec![prefix.to_owned()], ..Interest::default() });
        }
        Answer::Done
    }

    /// A client watches nothing any longer.
    pub(super) fn stop_watching(&mut self, client: Client) {
        let (had, remove) = self.watchers.remove(client);
        self.forget_client(client, had);
        if !remove.is_empty() {
            self.tell_interest(Interest { remove, ..Interest::default() });
        }
    }

    fn tell_interest(&mut self, interest: Interest) {
        let up = self.up.iter().filter(|(_, up)| up.is_ok()).map(|(peer, _)| *peer);
        for peer in up.collect::<Vec<_>>() {
            self.send(peer, PeerMessage::Interest(interest.clone()));
        }
    }

    /// Tells a peer all that clients here watch.
    pub(super) fn tell_all_interest(&mut self, peer: ProcessId) {
        let prefixes: Vec<String> = self.watchers.by_prefix.keys().cloned().collect();
        let reset = Interest { reset: true, ..Interest::default() };
        self.send(peer, PeerMessage::Interest(reset));
        for part in prefixes.chunks(PREFIXES_AT_ONCE) {
            let interest = Interest { add: part.to_vec(), ..Interest::default() };
            self.send(peer, PeerMessage::Interest(interest));
        }
    }

    /// A message about watches could not be queued for a peer: it is told everything again later.
    pub fn interest_lost(&mut self, peer: ProcessId, now: Time) {
        self.alarms.insert((now + TOLD_AGAIN, Alarm::Interest(peer)));
    }

    pub(super) fn tell_interest_again(&mut self, peer: ProcessId) {
        if matches!(self.up.get(&peer), Some(Ok(()))) {
            self.tell_all_interest(peer);
        }
    }

    /// A peer tells what its clients watch.
    pub(super) fn on_interest(&mut self, from: ProcessId, interest: Interest) {
        let known = self.watching.entry(from).or_default();
        if interest.reset {
            known.clear();
        }
        for prefix in &interest.remove {
            known.remove(prefix);
        }
        for prefix in interest.add {
            if prefix.len() > NAME_MOST || known.len() >= PREFIXES_MOST {
                tracing::warn!(peer = %from, "a peer watches more than it may: ignored");
                break;
            }
            known.insert(prefix);
        }
        if known.is_empty() {
            self.watching.remove(&from);
        }
    }

    /// Tells clients here and peers of a change that they watch.
    pub(super) fn publish(&mut self, change: Change) {
        let name = change.name.text();
        let watched =
            |prefixes: &BTreeSet<String>| beginnings(name).any(|it| prefixes.contains(it));
        let peers = self.watching.iter().filter(|(_, prefixes)| watched(prefixes));
        let peers: Vec<ProcessId> = peers.map(|(peer, _)| *peer).collect();
        for peer in peers {
            self.send(peer, PeerMessage::Changed(change.clone()));
        }
        self.tell_watchers(&change);
    }

    pub(super) fn tell_watchers(&mut self, change: &Change) {
        let told = self.watchers.of(change.name.text()).into_iter();
        self.deeds.extend(told.map(|client| Deed::Say(client, Say::Changed(change.clone()))));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::node_of_three;
    use super::*;
    use crate::keeper::Owner;
    use quorate_protocol::{Ask, Call, Failure, SessionKey};

    fn watch(keeper: &mut Keeper, client: u64, prefix: &str) {
        keeper.client_comes(Client(client), Owner::new("test"));
        let call = Call::Watch { prefix: prefix.to_owned() };
        keeper.ask(Client(client), Ask { number: 1, sent: 0, call }, || SessionKey(0), Time(2));
    }

    /// Bytes sent to peers about watches.
    fn told(keeper: &mut Keeper) -> usize {
        let about = |deed| match deed {
            Deed::Send(_, message @ (PeerMessage::Interest(_) | PeerMessage::Watching(_))) => {
                quorate_net::codec::encode(&message).len()
            }
            _ => 0,
        };
        keeper.deeds().map(about).sum()
    }

    #[test]
    fn a_watch_costs_as_much_whatever_else_is_watched() {
        let mut keeper = node_of_three();
        for client in 0..2_200 {
            watch(&mut keeper, client, &format!("{client}{}", "x".repeat(200)));
        }
        let begun = told(&mut keeper);
        assert!(begun < 2 * 2_200 * 300, "{begun} bytes");
        for client in 0..2_200 {
            keeper.client_is_gone(Client(client), true, Time(3));
        }
        let ended = told(&mut keeper);
        assert!(ended < 2 * 2_200 * 300, "{ended} bytes");
        assert!(keeper.watchers.is_empty() && keeper.watchers.by_prefix.is_empty());
    }

    #[test]
    fn the_last_watcher_of_a_prefix_ends_it() {
        let mut keeper = node_of_three();
        (0..3).for_each(|client| watch(&mut keeper, client, "a/"));
        assert!(told(&mut keeper) > 0);
        keeper.client_is_gone(Client(0), true, Time(3));
        keeper.client_is_gone(Client(1), true, Time(3));
        assert_eq!(told(&mut keeper), 0);
        keeper.client_is_gone(Client(2), true, Time(3));
        assert!(told(&mut keeper) > 0);
    }

    #[test]
    fn a_peer_is_told_everything_in_parts_that_fit() {
        let (mut one, mut two) = (node_of_three(), node_of_three());
        for client in 0..5_000 {
            watch(&mut one, client, &format!("{client}{}", "x".repeat(240)));
        }
        one.deeds().for_each(drop);
        one.peer_is(ProcessId::new(1), Ok(()), Time(3));
        let messages: Vec<PeerMessage> = one
            .deeds()
            .filter_map(|deed| if let Deed::Send(_, message) = deed { Some(message) } else { None })
            .collect();
        for message in messages {
            assert!(quorate_net::codec::encode(&message).len() < 1 << 19);
            two.hear(ProcessId::new(1), message, Time(4));
        }
        assert_eq!(two.watching[&ProcessId::new(1)].len(), 5_000);
    }

    #[test]
    fn too_many_watches_are_refused_with_a_sentence() {
        let mut keeper = node_of_three();
        keeper.settings.quotas.watches = 3;
        (0..4).for_each(|client| watch(&mut keeper, client, &client.to_string()));
        let refused = keeper.deeds().find_map(|deed| match deed {
            Deed::Say(Client(3), Say::Answer(_, Answer::Failed(Failure::TooMuch(why)))) => {
                Some(why)
            }
            _ => None,
        });
        assert_eq!(refused.as_deref(), Some("3 watches are the most for one client"));
        keeper.client_is_gone(Client(0), true, Time(3));
        watch(&mut keeper, 5, "5");
        assert!(keeper.watchers.has(Client(5), "5"));
    }
}
