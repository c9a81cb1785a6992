//! Limits on connections of clients: in total, and for each address.
//!
//! A connection is *unadmitted* until its client is admitted. If there is no room, the oldest unadmitted connection is
//! evicted, so that connections that were merely opened cannot keep clients out. An unadmitted connection is also closed if
//! it is not admitted in time.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quorate_core::SortedMap;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Timeout for admission, counted from the last request that the connection has completed.
pub(crate) const ADMISSION_TIMEOUT: Duration = Duration::from_secs(15);

/// All connections of clients.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    most_per_address: usize,
    admission_timeout: Duration,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    open: SortedMap<u64, IpAddr>,
    per_address: SortedMap<IpAddr, usize>,
    /// Connections whose client is not admitted yet, the oldest first.
    unadmitted: SortedMap<u64, Arc<Notify>>,
}

/// One connection. It is counted until this is dropped, or until the connection is evicted.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    pub(crate) address: IpAddr,
    connections: Arc<Connections>,
    closed: Arc<Notify>,
    /// When the last request was completed.
    progress: Mutex<Instant>,
}

/// Reason why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectionLimit {
    #[error("too many connections from this address")]
    Address,
    #[error("too many connections to this node")]
    Node,
}

impl Connections {
    /// Creates the limits: the maximum number of connections, in total and from one address, and the timeout for admission.
    pub(crate) fn new(
        most: usize,
        most_per_address: usize,
        admission_timeout: Duration,
    ) -> Arc<Self> {
        Arc::new(Self { most, most_per_address, admission_timeout, table: Mutex::default() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a connection. If there is no room, an unadmitted connection is evicted for it.
    pub(crate) fn try_open(
        self: &Arc<Self>,
        address: IpAddr,
    ) -> Result<Arc<Connection>, ConnectionLimit> {
        let mut table = self.table();
        let from_there = table.per_address.get(&address).copied().unwrap_or(0);
        if from_there >= self.most_per_address && !table.evict(Some(address)) {
            return Err(ConnectionLimit::Address);
        }
        if table.open.len() >= self.most && !table.evict(None) {
            return Err(ConnectionLimit::Node);
        }
        let number = table.next;
        table.next += 1;
        table.open.insert(number, address);
        *table.per_address.entry(address).or_default() += 1;
        let closed = Arc::new(Notify::new());
        table.unadmitted.insert(number, Arc::clone(&closed));
        let progress = Mutex::new(Instant::now());
        Ok(Arc::new(Connection {
            number,
            address,
            connections: Arc::clone(self),
            closed,
            progress,
        }))
    }
}

impl Table {
    /// Evicts the oldest unadmitted connection, of this address if one is given; returns whether there was one.
    fn evict(&mut self, address: Option<IpAddr>) -> bool {
        let fits = |number: &u64| address.is_none() || self.open.get(number) == address.as_ref();
        let Some(oldest) = self.unadmitted.keys().copied().find(fits) else { return false };
        if let Some(closed) = self.unadmitted.get(&oldest) {
            closed.notify_one();
        }
        self.remove(oldest);
        true
    }

    fn remove(&mut self, number: u64) {
        self.unadmitted.remove(&number);
        let Some(address) = self.open.remove(&number) else { return };
        if let Some(count) = self.per_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.per_address.remove(&address);
            }
        }
    }
}

impl Connection {
    /// Admits the client, because it is authenticated or needs no authentication.
    pub(crate) fn admit(&self) {
        self.connections.table().unadmitted.remove(&self.number);
    }

    /// Records that a request was completed.
    pub(crate) fn progress(&self) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Waits until the connection has to be closed: because it was evicted, or because its client was not admitted in time.
    pub(crate) async fn closed(&self) {
        loop {
            let since = *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            tokio::select! {
                () = self.closed.notified() => return,
                () = sleep_until(since + self.connections.admission_timeout) => {}
            }
            if !self.connections.table().unadmitted.contains_key(&self.number) {
                return self.closed.notified().await;
            }
            let last = *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            if last == since {
                return;
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.connections.table().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn at(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    #[tokio::test]
    async fn strangers_make_room_the_oldest_first() {
        let all = Connections::new(3, 3, ADMISSION_TIMEOUT);
        let known = all.try_open(at(1)).expect("there is room");
        known.admit();
        let old = all.try_open(at(1)).expect("there is room");
        let young = all.try_open(at(1)).expect("there is room");
        let other = all.try_open(at(2)).expect("a stranger makes room");
        old.closed().await;
        drop(old);
        young.admit();
        other.admit();
        assert_eq!(all.try_open(at(3)).expect_err("all are admitted"), ConnectionLimit::Node);
        drop(young);
        all.try_open(at(3)).expect("one has left");
    }

    #[tokio::test]
    async fn one_address_does_not_keep_others_out() {
        let all = Connections::new(4, 2, ADMISSION_TIMEOUT);
        let many: Vec<_> = (0..2).map(|_| all.try_open(at(1)).expect("there is room")).collect();
        many.iter().for_each(|connection| connection.admit());
        assert_eq!(all.try_open(at(1)).expect_err("it has enough"), ConnectionLimit::Address);
        all.try_open(at(2)).expect("there is room for others");
        drop(many);
        assert!(all.table().per_address.is_empty());
    }

    #[tokio::test]
    async fn a_stranger_is_closed_in_time_and_a_client_is_not() {
        let all = Connections::new(4, 4, Duration::from_millis(30));
        let stranger = all.try_open(at(1)).expect("there is room");
        let client = all.try_open(at(1)).expect("there is room");
        client.admit();
        stranger.closed().await;
        assert!(tokio::time::timeout(Duration::from_millis(300), client.closed()).await.is_err());
    }
}
