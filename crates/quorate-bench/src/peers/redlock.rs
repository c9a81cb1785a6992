//! Redlock: five Redis instances that know nothing of each other, by the published algorithm.
//!
//! Ask all of them for the same name and value; whoever has a majority, and time left after what asking took and what
//! clocks may have drifted, has the lock. Whoever has not frees what it got and tries again later. All five are asked at
//! once, as its author recommends.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::Absent;
use super::redis::{FREE, Instances, Renewal, random_value, retry_delay};
use super::resp::{Answer, Connection};
use crate::processes::Processes;
use crate::service::{LockClient, Service, Trouble};
use crate::storage::Storage;

const INSTANCES: usize = 5;
const MAJORITY: usize = INSTANCES / 2 + 1;

/// An instance that says nothing for so long does not count, so that a dead one delays nobody for long.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) struct Redlock(Instances);

impl Redlock {
    pub(super) async fn start(storage: Storage) -> Result<Self, Absent> {
        Ok(Self(Instances::start(INSTANCES, storage).await?))
    }

    pub(super) fn version(&self) -> &str {
        &self.0.version
    }
}

impl Service for Redlock {
    type Client = Holder;

    async fn connect(&self, _: usize, ttl: Duration) -> Result<Holder, Trouble> {
        let mut seats = Vec::new();
        for door in &self.0.doors {
            seats.push(Seat { door: *door, connection: Some(Connection::open(*door).await?) });
        }
        Ok(Holder { seats, renewal: Renewal::start(self.0.doors.clone(), ttl), ttl })
    }

    fn processes(&self) -> &Processes {
        &self.0.processes
    }

    async fn messages(&self) -> Option<u64> {
        None
    }
}

/// An instance as a client sees it: without a connection if it did not answer the last time.
struct Seat {
    door: SocketAddr,
    connection: Option<Connection>,
}

impl Seat {
    async fn send(&mut self, words: &[&str]) {
        if self.connection.is_none() {
            self.connection = Connection::open(self.door).await.ok();
        }
        if let Some(connection) = &mut self.connection
            && connection.send(words).await.is_err()
        {
            self.connection = None;
        }
    }

    async fn answer(&mut self) -> Option<Answer> {
        let answer = tokio::time::timeout(PATIENCE, self.connection.as_mut()?.answer()).await;
        match answer {
            Ok(Ok(answer)) => Some(answer),
            // An answer that comes later would be taken for that of the next question.
            _ => {
                self.connection = None;
                None
            }
        }
    }
}

pub(super) struct Holder {
    seats: Vec<Seat>,
    renewal: Renewal,
    ttl: Duration,
}

impl Holder {
    /// Asks all of them; how many did what was asked.
    async fn ask(&mut self, words: &[&str]) -> usize {
        for seat in &mut self.seats {
            seat.send(words).await;
        }
        let mut done = 0;
        for seat in &mut self.seats {
            let answer = seat.answer().await;
            done += usize::from(matches!(answer, Some(Answer::Text(_) | Answer::Number(1))));
        }
        done
    }

    async fn free(&mut self, name: &str, value: &str) {
        self.ask(&["EVAL", FREE, "1", name, value]).await;
    }
}

/// What is left of the time, clocks that drift by a hundredth taken into account.
fn validity(ttl: Duration, asking_took: Duration) -> Duration {
    let drift = ttl / 100 + Duration::from_millis(2);
    ttl.saturating_sub(asking_took).saturating_sub(drift)
}

impl LockClient for Holder {
    async fn acquire(&mut self, name: &str) -> Result<(), Trouble> {
        let ttl = self.ttl.as_millis().to_string();
        loop {
            let (value, asked) = (random_value()?, Instant::now());
            let votes = self.ask(&["SET", name, &value, "NX", "PX", &ttl]).await;
            if votes >= MAJORITY && !validity(self.ttl, asked.elapsed()).is_zero() {
                self.renewal.has(Some((name.to_owned(), value)));
                return Ok(());
            }
            self.free(name, &value).await;
            tokio::time::sleep(retry_delay()?).await;
        }
    }

    async fn release(&mut self) -> Result<(), Trouble> {
        if let Some((name, value)) = self.renewal.has(None) {
            self.free(&name, &value).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_for_too_long_has_nothing() {
        let ttl = Duration::from_secs(1);
        assert_eq!(validity(ttl, Duration::ZERO), Duration::from_millis(988));
        assert!(validity(ttl, Duration::from_millis(988)).is_zero());
        assert!(validity(Duration::from_millis(2), Duration::ZERO).is_zero());
    }
}
