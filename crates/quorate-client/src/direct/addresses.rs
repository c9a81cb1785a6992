//! Client addresses of the voters, advertised by nodes or named by the user.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quorate_core::ProcessId;
use quorate_protocol::Attached;

/// Maximum number of addresses kept per voter.
const MAX_ADDRESSES: usize = 4;

/// Addresses by voter, the newest first. Shared by the links of a session.
#[derive(Debug)]
pub(super) struct Addresses {
    known: Mutex<Vec<Vec<String>>>,
}

impl Addresses {
    /// The addresses that a node advertises, and `at`, the address at which that node was reached.
    pub(super) fn new(attached: &Attached, at: &str) -> Self {
        let known = Mutex::new(vec![Vec::new(); attached.n as usize]);
        let addresses = Self { known };
        addresses.learn(attached);
        addresses.add(attached.node, at);
        addresses
    }

    fn known(&self) -> MutexGuard<'_, Vec<Vec<String>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds all addresses that a node advertises.
    pub(super) fn learn(&self, attached: &Attached) {
        for (voter, address) in (0..).zip(&attached.voters) {
            if let Some(address) = address {
                self.add(voter, address);
            }
        }
    }

    /// Adds an address of a voter. Evicts the oldest one beyond [`MAX_ADDRESSES`].
    pub(super) fn add(&self, voter: u32, address: &str) {
        let mut known = self.known();
        let Some(addresses) = known.get_mut(voter as usize) else { return };
        if addresses.iter().all(|known| known != address) {
            addresses.insert(0, address.to_owned());
            addresses.truncate(MAX_ADDRESSES);
        }
    }

    /// Address for this attempt to reach a voter. Successive attempts rotate through the known addresses.
    pub(super) fn address_of(&self, voter: ProcessId, attempt: usize) -> Option<String> {
        let known = self.known();
        let addresses = known.get(voter.index()).filter(|addresses| !addresses.is_empty())?;
        addresses.get(attempt % addresses.len()).cloned()
    }

    /// Whether any voter's address is unknown.
    pub(super) fn are_incomplete(&self) -> bool {
        self.known().iter().any(Vec::is_empty)
    }

    /// Whether this is a known address of any voter.
    pub(super) fn contains(&self, address: &str) -> bool {
        self.known().iter().flatten().any(|known| known == address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_take_turns_between_addresses() {
        let attached = Attached {
            node: 1,
            candidate: 7,
            voters: vec![Some("10.0.0.1:1".to_owned()), Some("10.0.0.2:1".to_owned()), None],
            quorums: "majority".to_owned(),
            n: 3,
            ttl_least_ms: 100,
            ttl_most_ms: 60_000,
            drift_ppm: 500,
        };
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
        let later = Attached { voters: vec![Some("10.0.0.9:1".to_owned())], ..attached };
        addresses.learn(&later);
        assert_eq!(addresses.address_of(ProcessId::new(0), 0).as_deref(), Some("10.0.0.9:1"));
    }
}
