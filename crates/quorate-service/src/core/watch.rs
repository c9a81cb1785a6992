//! Watches: voters publish their votes for watched names, and the node of the watcher merges them into changes of holders.
//!
//! A node informs its peers when its clients begin to watch a prefix, and when the last watcher of it stops. A watch
//! costs one small message to each peer, however many watches exist. A peer that connects receives all prefixes, in
//! messages of bounded size.

use quorate_core::{ProcessId, SortedMap, SortedSet, Span, Time};
use quorate_protocol::{CallResponse, HolderChange, NAME_MOST, Name, ServerMessage};

use super::holders::{Holder, holder};
use super::queries::QuestionState;
use super::quotas::Charge;
use super::sessions::too_much;
use super::{Alarm, CallId, CallerId, NodeCore};
use crate::peer::{BallotSeen, Description, PeerMessage, Question, WatchUpdate};

/// Maximum number of watched prefixes of one connection.
const WATCHES_MOST: usize = 64;

/// Maximum number of different prefixes that are watched through one node. It also limits the prefixes
/// accepted from one peer.
const PREFIXES_MOST: usize = 65_536;

/// Maximum number of prefixes in one message, far below the maximum size of a message between nodes.
const PREFIXES_AT_ONCE: usize = 1_024;

/// Delay after which all prefixes are sent to a peer again if a message to it could not be queued.
const WATCH_RESEND_DELAY: Span = Span::from_millis(1_000);

/// Maximum number of names whose votes are remembered for watchers.
const NAMES_MOST: usize = 100_000;

/// Maximum number of ballots in one message.
const BALLOTS_MOST: usize = 512;

/// Prefixes that clients of this node watch.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    by_caller: SortedMap<CallerId, SortedSet<String>>,
    by_prefix: SortedMap<String, SortedSet<CallerId>>,
}

impl Watchers {
    pub(super) fn is_empty(&self) -> bool {
        self.by_caller.is_empty()
    }

    fn count(&self, caller: CallerId) -> usize {
        self.by_caller.get(&caller).map_or(0, SortedSet::len)
    }

    fn has(&self, caller: CallerId, prefix: &str) -> bool {
        self.by_caller.get(&caller).is_some_and(|prefixes| prefixes.contains(prefix))
    }

    /// Adds a watch; returns whether the prefix was not watched on this node before.
    fn add(&mut self, caller: CallerId, prefix: &str) -> bool {
        self.by_caller.entry(caller).or_default().insert(prefix.to_owned());
        let callers = self.by_prefix.entry(prefix.to_owned()).or_default();
        callers.insert(caller);
        callers.len() == 1
    }

    /// Removes all watches of a connection; returns their number, and the prefixes that are no longer watched on this node.
    fn remove(&mut self, caller: CallerId) -> (usize, Vec<String>) {
        let Some(prefixes) = self.by_caller.remove(&caller) else { return (0, Vec::new()) };
        let had = prefixes.len();
        let last = |prefix: &String| {
            let Some(callers) = self.by_prefix.get_mut(prefix) else { return false };
            callers.remove(&caller);
            let last = callers.is_empty();
            if last {
                self.by_prefix.remove(prefix);
            }
            last
        };
        (had, prefixes.into_iter().filter(last).collect())
    }

    fn matching(&self, name: &str) -> SortedSet<CallerId> {
        prefixes_of(name).filter_map(|part| self.by_prefix.get(part)).flatten().copied().collect()
    }
}

/// Returns all prefixes of a name, including the empty one.
fn prefixes_of(name: &str) -> impl Iterator<Item = &str> {
    (0..=name.len()).filter_map(|end| name.get(..end))
}

/// Watched prefixes of clients here and of other nodes.
#[derive(Debug, Default)]
pub(super) struct Watches {
    /// Prefixes that connections watch, or will watch once all reachable nodes know.
    wanted: Watchers,
    /// Prefixes that all reachable nodes know. Changes of their names are sent to the watchers.
    active: Watchers,
    /// Prefixes that clients of each peer watch.
    peers: SortedMap<ProcessId, SortedSet<String>>,
    names: SortedMap<Name, Watched>,
}

/// State of a watched name.
#[derive(Debug, Default)]
struct Watched {
    ballots: SortedMap<ProcessId, BallotSeen>,
    holder: Option<Holder>,
}

fn matches(prefixes: &SortedSet<String>, name: &Name) -> bool {
    prefixes_of(name.text()).any(|part| prefixes.contains(part))
}

impl Watches {
    /// Activates a watch, because all reachable nodes know the prefix.
    pub(super) fn begin(&mut self, caller: CallerId, prefix: &str) {
        if self.wanted.has(caller, prefix) {
            self.active.add(caller, prefix);
        }
    }

    fn is_wanted(&self, name: &Name) -> bool {
        prefixes_of(name.text()).any(|part| self.wanted.by_prefix.contains_key(part))
    }

    pub(super) fn callers(&self) -> impl Iterator<Item = CallerId> {
        self.wanted.by_caller.keys().copied()
    }

    /// Forgets a name for which no vote is given. Otherwise a watcher of names that are used only once would reach the limit.
    fn forget_if_free(&mut self, name: &Name) {
        let is_free =
            |watched: &Watched| watched.ballots.values().all(|ballot| ballot.vote.is_none());
        if self.names.get(name).is_some_and(is_free) {
            self.names.remove(name);
        }
    }

    /// Forgets the votes of a peer that has connected again, for names without a holder. It publishes the votes that it still
    /// gives, but does not name those that it has released meanwhile.
    pub(super) fn forget_votes_of(&mut self, peer: ProcessId) {
        let unheld = self.names.iter_mut().filter(|(_, watched)| watched.holder.is_none());
        let voted = unheld
            .filter_map(|(name, watched)| watched.ballots.remove(&peer).map(|_| name.clone()));
        for name in voted.collect::<Vec<_>>() {
            self.forget_if_free(&name);
        }
    }

    /// Forgets names that no client watches.
    pub(super) fn sweep(&mut self) {
        if self.names.is_empty() {
            return;
        }
        let names = std::mem::take(&mut self.names);
        self.names = names.into_iter().filter(|(name, _)| self.is_wanted(name)).collect();
    }
}

impl NodeCore {
    pub(super) fn watch(
        &mut self,
        call_id: CallId,
        prefix: String,
        now: Time,
    ) -> Option<CallResponse> {
        let wanted = &self.watch.wanted;
        if prefix.len() > NAME_MOST {
            return Some(too_much(format!("a prefix has at most {NAME_MOST} bytes, like a name")));
        }
        if !wanted.has(call_id.0, &prefix) {
            if wanted.count(call_id.0) >= WATCHES_MOST {
                let why = format!("a connection watches at most {WATCHES_MOST} prefixes");
                return Some(too_much(why));
            }
            let new = !wanted.by_prefix.contains_key(&prefix);
            if new && wanted.by_prefix.len() >= PREFIXES_MOST {
                return Some(too_much(format!("a node watches at most {PREFIXES_MOST} prefixes")));
            }
            let added = Charge { watches: 1, ..Charge::default() };
            if let Err(failure) = self.charge(call_id.0, added, now) {
                return Some(CallResponse::Failed(failure));
            }
            if self.watch.wanted.add(call_id.0, &prefix) {
                let add = vec![prefix.clone()];
                self.send_watch_update(WatchUpdate { add, ..WatchUpdate::default() });
            }
        }
        let own = self.ballots_with(&SortedSet::from([prefix.clone()]));
        self.on_ballots(self.settings.id, own, now);
        // Peers have sent their votes before they answer this question.
        self.ask_voters(call_id, Question::Barrier, QuestionState::Watching(prefix), now);
        None
    }

    /// Removes all watches of a connection that is closed.
    pub(super) fn unwatch(&mut self, caller: CallerId) {
        self.watch.active.remove(caller);
        let (had, remove) = self.watch.wanted.remove(caller);
        self.forget_client(caller, had);
        if !remove.is_empty() {
            self.send_watch_update(WatchUpdate { remove, ..WatchUpdate::default() });
        }
    }

    fn send_watch_update(&mut self, update: WatchUpdate) {
        for peer in self.peers_that_are_up() {
            self.send(peer, PeerMessage::WatchUpdate(update.clone()));
        }
    }

    /// Sends a peer all prefixes that clients here watch.
    pub(super) fn send_all_watches(&mut self, peer: ProcessId) {
        let prefixes: Vec<String> = self.watch.wanted.by_prefix.keys().cloned().collect();
        let reset = WatchUpdate { reset: true, ..WatchUpdate::default() };
        self.send(peer, PeerMessage::WatchUpdate(reset));
        for part in prefixes.chunks(PREFIXES_AT_ONCE) {
            let update = WatchUpdate { add: part.to_vec(), ..WatchUpdate::default() };
            self.send(peer, PeerMessage::WatchUpdate(update));
        }
    }

    /// Schedules a full resend, because a message about watches could not be queued for a peer.
    pub fn watch_update_lost(&mut self, peer: ProcessId, now: Time) {
        self.alarms.insert((now + WATCH_RESEND_DELAY, Alarm::ResendWatches(peer)));
    }

    pub(super) fn resend_watches(&mut self, peer: ProcessId) {
        if matches!(self.up.get(&peer), Some(Ok(()))) {
            self.send_all_watches(peer);
        }
    }

    /// Handles a change of the prefixes that clients of a peer watch. Sends the peer the votes for new prefixes.
    pub(super) fn on_watch_update(&mut self, peer: ProcessId, update: WatchUpdate) {
        let known = self.watch.peers.entry(peer).or_default();
        if update.reset {
            known.clear();
        }
        for prefix in &update.remove {
            known.remove(prefix);
        }
        let mut new = SortedSet::new();
        for prefix in update.add {
            if prefix.len() > NAME_MOST || known.len() >= PREFIXES_MOST {
                tracing::warn!(%peer, "a peer exceeds the limit of watched prefixes: ignored");
                break;
            }
            known.insert(prefix.clone());
            new.insert(prefix);
        }
        if known.is_empty() {
            self.watch.peers.remove(&peer);
        }
        if !new.is_empty() {
            for page in self.ballots_with(&new).chunks(BALLOTS_MOST) {
                self.send(peer, PeerMessage::Votes(page.to_vec()));
            }
        }
    }

    /// Returns the ballots of the voter here whose vote is given and whose name has one of the prefixes.
    fn ballots_with(&self, prefixes: &SortedSet<String>) -> Vec<BallotSeen> {
        let ballots = self.voter.ballots();
        let chosen = ballots.filter(|(name, it)| it.vote().is_some() && matches(prefixes, name));
        chosen.filter_map(|(name, _)| self.watched_ballot(name)).collect()
    }

    fn watched_ballot(&self, name: &Name) -> Option<BallotSeen> {
        Some(BallotSeen { queue: Vec::new(), ..self.ballot_here(name)? })
    }

    /// Publishes a changed vote of the voter here.
    pub(super) fn publish_ballot(&mut self, name: &Name, now: Time) {
        if self.watch.peers.is_empty() && self.watch.wanted.is_empty() {
            return;
        }
        let Some(ballot) = self.watched_ballot(name) else { return };
        let peers = self.watch.peers.iter().filter(|(_, prefixes)| matches(prefixes, name));
        for peer in peers.map(|(peer, _)| *peer).collect::<Vec<_>>() {
            self.send(peer, PeerMessage::Votes(vec![ballot.clone()]));
        }
        if self.watch.is_wanted(name) {
            self.on_ballots(self.settings.id, vec![ballot], now);
        }
    }

    /// Handles votes of a voter for names that clients here watch.
    pub(super) fn on_ballots(&mut self, voter: ProcessId, ballots: Vec<BallotSeen>, now: Time) {
        for ballot in ballots {
            let name = ballot.name.clone();
            let known = self.watch.names.contains_key(&name);
            if !self.watch.is_wanted(&name) || !known && ballot.vote.is_none() {
                continue;
            }
            if !known && self.watch.names.len() >= NAMES_MOST {
                tracing::warn!(%name, "more than {NAMES_MOST} watched names are held: ignored");
                continue;
            }
            let watched = self.watch.names.entry(name.clone()).or_default();
            watched.ballots.insert(voter, ballot);
            self.update_holder(&name, now);
        }
    }

    /// Notifies watchers if the holder has changed.
    fn update_holder(&mut self, name: &Name, now: Time) {
        let Some(watched) = self.watch.names.get(name) else { return };
        let ballots = watched.ballots.iter().map(|(voter, ballot)| (*voter, ballot));
        let held = holder(&self.electorate, ballots, |request| self.records(request));
        let changed = held != watched.holder;
        held.into_iter().for_each(|held| self.history.learn_token(name, held));
        if let Some(watched) = self.watch.names.get_mut(name) {
            watched.holder = held;
        }
        if changed {
            self.notify_watchers(name, now);
        }
        self.watch.forget_if_free(name);
    }

    fn notify_watchers(&mut self, name: &Name, now: Time) {
        let Some(watched) = self.watch.names.get(name) else { return };
        let holder = watched.holder.map(|(request, token)| {
            let votes = watched.ballots.values().filter_map(|ballot| ballot.vote);
            let stamp = votes.filter(|vote| vote.request == request).map(|vote| vote.stamp).max();
            self.request_info(name, request, stamp.unwrap_or(0), Some(token), now)
        });
        let change = HolderChange { name: name.clone(), holder };
        for watcher in self.watch.active.matching(name.text()) {
            self.send_client(watcher, ServerMessage::Changed(change.clone()));
        }
    }

    /// Records texts, and notifies watchers if the text of a holder has changed.
    pub(super) fn on_description(&mut self, description: Description, now: Time) {
        let request = description.request.as_ref().map(|(request, _)| *request);
        if !self.texts.record(description, now) || self.watch.active.is_empty() {
            return;
        }
        let holds = |watched: &Watched| watched.holder.map(|(holder, _)| holder) == request;
        let names = self.watch.names.iter().filter(|(_, watched)| holds(watched));
        for name in names.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.notify_watchers(&name, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing::node_of_three;
    use crate::core::{Action, Owner};
    use crate::peer::VoteSeen;
    use quorate_algorithms::mutex::leased_quorum::RequestId;
    use quorate_protocol::{Call, ClientMessage, Failure, SessionKey};

    fn watch(core: &mut NodeCore, connection: u64, prefix: &str) {
        core.connection_opened(CallerId::Connection(connection), Owner::new("test"));
        let call = Call::Watch { prefix: prefix.to_owned() };
        let message = ClientMessage { number: 1, sent: 0, call };
        core.on_call(CallerId::Connection(connection), message, || SessionKey(0), Time(2));
    }

    /// Returns the number of bytes sent to peers about watches.
    fn watch_update_bytes(core: &mut NodeCore) -> usize {
        let bytes = |action| match action {
            Action::Send(_, message @ PeerMessage::WatchUpdate(_)) => {
                quorate_net::codec::encode(&message).len()
            }
            _ => 0,
        };
        core.actions().map(bytes).sum()
    }

    #[test]
    fn a_watch_costs_as_much_whatever_else_is_watched() {
        let mut core = node_of_three(0);
        for connection in 0..2_200 {
            watch(&mut core, connection, &format!("{connection}{}", "x".repeat(200)));
        }
        let begun = watch_update_bytes(&mut core);
        assert!(begun < 2 * 2_200 * 300, "{begun} bytes");
        for connection in 0..2_200 {
            core.connection_closed(CallerId::Connection(connection), true, Time(3));
        }
        let ended = watch_update_bytes(&mut core);
        assert!(ended < 2 * 2_200 * 300, "{ended} bytes");
        assert!(core.watch.wanted.is_empty() && core.watch.wanted.by_prefix.is_empty());
    }

    #[test]
    fn the_last_watcher_of_a_prefix_ends_it() {
        let mut core = node_of_three(0);
        (0..3).for_each(|connection| watch(&mut core, connection, "a/"));
        assert!(watch_update_bytes(&mut core) > 0);
        core.connection_closed(CallerId::Connection(0), true, Time(3));
        core.connection_closed(CallerId::Connection(1), true, Time(3));
        assert_eq!(watch_update_bytes(&mut core), 0);
        core.connection_closed(CallerId::Connection(2), true, Time(3));
        assert!(watch_update_bytes(&mut core) > 0);
    }

    #[test]
    fn a_peer_is_told_everything_in_parts_that_fit() {
        let (mut one, mut two) = (node_of_three(0), node_of_three(0));
        for connection in 0..5_000 {
            watch(&mut one, connection, &format!("{connection}{}", "x".repeat(240)));
        }
        one.actions().for_each(drop);
        one.on_peer_link(ProcessId::new(1), Ok(()), Time(3));
        let sent =
            |action| if let Action::Send(_, message) = action { Some(message) } else { None };
        let messages: Vec<PeerMessage> = one.actions().filter_map(sent).collect();
        for message in messages {
            assert!(quorate_net::codec::encode(&message).len() < 1 << 19);
            two.on_peer_message(ProcessId::new(1), message, Time(4));
        }
        assert_eq!(two.watch.peers[&ProcessId::new(1)].len(), 5_000);
    }

    /// Returns the ballot of a voter for a lock, with or without a vote.
    fn ballot(name: &str, voted: bool) -> BallotSeen {
        let request = RequestId { session: 1, incarnation: 0, number: 1 };
        let vote = VoteSeen { request, stamp: 1, number: 1, entered: Some(1), frozen: false };
        let name = Name::lock(name).expect("a name");
        BallotSeen { name, last: 1, vote: voted.then_some(vote), queue: Vec::new() }
    }

    #[test]
    fn names_that_are_free_again_are_forgotten() {
        let mut core = node_of_three(0);
        watch(&mut core, 1, "job/");
        let publish = |core: &mut NodeCore, voter, name: &str, voted| {
            core.on_ballots(ProcessId::new(voter), vec![ballot(name, voted)], Time(3));
        };
        for number in 0..10 {
            let name = format!("job/{number}");
            [1, 2].into_iter().for_each(|voter| publish(&mut core, voter, &name, true));
            assert!(core.watch.names.len() == 1);
            [1, 2].into_iter().for_each(|voter| publish(&mut core, voter, &name, false));
        }
        assert!(core.watch.names.is_empty());
        // A vote that was released while its voter was unreachable is not published.
        publish(&mut core, 2, "job/a", true);
        core.on_peer_link(ProcessId::new(2), Err("broken".to_owned()), Time(4));
        assert_eq!(core.watch.names.len(), 1);
        core.on_peer_link(ProcessId::new(2), Ok(()), Time(5));
        assert!(core.watch.names.is_empty());
    }

    #[test]
    fn too_many_watches_are_refused_with_a_sentence() {
        let mut core = node_of_three(0);
        core.settings.quotas.watches = 3;
        (0..4).for_each(|connection| watch(&mut core, connection, &connection.to_string()));
        let refused = core.actions().find_map(|action| match action {
            Action::SendClient(
                CallerId::Connection(3),
                ServerMessage::Response(_, CallResponse::Failed(Failure::TooMuch(why))),
            ) => Some(why),
            _ => None,
        });
        assert_eq!(refused.as_deref(), Some("one client may have at most 3 watches"));
        core.connection_closed(CallerId::Connection(0), true, Time(3));
        watch(&mut core, 5, "5");
        assert!(core.watch.wanted.has(CallerId::Connection(5), "5"));
    }
}
