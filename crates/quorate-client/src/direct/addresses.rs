//! Client addresses of the voters, advertised by nodes or named by the user.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quorate_core::{ProcessId, ProcessSet, SortedMap};
use quorate_protocol::{Attached, MembersKnown};

/// Maximum number of addresses kept per voter.
const MAX_ADDRESSES: usize = 4;

/// Addresses by voter, the newest first. Shared by the links of a session.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Index of the newest configuration that a node has told, and its voters.
    index: u64,
    voters: ProcessSet,
    /// The addresses of all voters ever told.
    addresses: SortedMap<u32, Vec<String>>,
}

impl Addresses {
    /// The addresses that a node advertises, and `at`, the address at which that node was reached.
    pub(super) fn new(attached: &Attached, at: &str) -> Self {
        let addresses = Self::default();
        addresses.learn(&attached.members);
        addresses.add(attached.node, at);
        addresses
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds all addresses that a node advertises.
    pub(super) fn learn(&self, members: &MembersKnown) {
        let index = members.configuration.index;
        if let Some(electorate) = members.electorate() {
            let mut known = self.known();
            if index > known.index || known.voters.is_empty() {
                (known.index, known.voters) = (index, electorate.all());
            }
            for voter in &electorate.all() {
                known.addresses.entry(voter.number()).or_default();
            }
        }
        for (voter, address) in &members.clients {
            self.add(*voter, address);
        }
    }

    /// Adds an address of a voter. Evicts the oldest one beyond [`MAX_ADDRESSES`].
    pub(super) fn add(&self, voter: u32, address: &str) {
        let mut known = self.known();
        let Some(addresses) = known.addresses.get_mut(&voter) else { return };
        if addresses.iter().all(|known| known != address) {
            addresses.insert(0, address.to_owned());
            addresses.truncate(MAX_ADDRESSES);
        }
    }

    /// Address for this attempt to reach a voter. Successive attempts rotate through the known addresses.
    pub(super) fn address_of(&self, voter: ProcessId, attempt: usize) -> Option<String> {
        let known = self.known();
        let addresses = known.addresses.get(&voter.number());
        let addresses = addresses.filter(|addresses| !addresses.is_empty())?;
        addresses.get(attempt % addresses.len()).cloned()
    }

    /// Whether any voter's address is unknown.
    pub(super) fn are_incomplete(&self) -> bool {
        let known = self.known();
        let is_empty =
            |voter: ProcessId| known.addresses.get(&voter.number()).is_none_or(Vec::is_empty);
        known.voters.iter().any(is_empty)
    }

    /// Whether this is a known address of any voter.
    pub(super) fn contains(&self, address: &str) -> bool {
        self.known().addresses.values().flatten().any(|known| known == address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_protocol::{Configuration, Members};

    #[test]
    fn attempts_take_turns_between_addresses() {
        let members = |n| {
            let members = Members::numbered(vec!["a:1".to_owned(); n], "majority");
            let clients = vec![(0, "10.0.0.1:1".to_owned()), (1, "10.0.0.2:1".to_owned())];
            MembersKnown { configuration: Configuration::first(members), clients }
        };
        let attached = Attached { node: 1, candidate: 7, members: members(3) };
        let addresses = Addresses::new(&attached, "proxy:7480");
        let one = ProcessId::new(1);
        assert_eq!(addresses.address_of(one, 0).as_deref(), Some("proxy:7480"));
        assert_eq!(addresses.address_of(one, 1).as_deref(), Some("10.0.0.2:1"));
        assert_eq!(addresses.address_of(one, 2), addresses.address_of(one, 0));
        assert!(addresses.are_incomplete() && addresses.address_of(ProcessId::new(2), 0).is_none());
        (0..9).for_each(|port| addresses.add(2, &format!("10.0.0.3:{port}")));
        assert!(!addresses.are_incomplete() && addresses.contains("10.0.0.3:8"));
        addresses.add(3, "nowhere:1");
        assert!(!addresses.contains("nowhere:1") && !addresses.contains("10.0.0.3:4"));
        addresses.add(0, "10.0.0.1:1");
        assert_eq!(
            addresses.address_of(ProcessId::new(0), 0),
            addresses.address_of(ProcessId::new(0), 1)
        );
        // A voter that has left keeps its address, and a new one has none yet.
        let mut changed = members(4);
        changed.configuration.index = 2;
        addresses.learn(&changed);
        assert!(addresses.are_incomplete());
        addresses.add(3, "10.0.0.4:1");
        assert!(!addresses.are_incomplete());
        // The newest address comes first.
        changed.clients = vec![(0, "10.0.0.9:1".to_owned())];
        addresses.learn(&changed);
        assert_eq!(addresses.address_of(ProcessId::new(0), 0).as_deref(), Some("10.0.0.9:1"));
    }
}
