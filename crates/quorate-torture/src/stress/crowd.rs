//! Many well-behaved clients.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quorate_client::{Client, Error, Failure, Guard, Moment, Session, SessionOptions};

/// Sessions, and the locks that they hold.
pub(super) type Crowd = Vec<(Session, Vec<Guard>)>;

fn patient() -> SessionOptions {
    let ttl = Duration::from_secs(120);
    SessionOptions { ttl, connect_timeout: Duration::from_secs(30), ..SessionOptions::default() }
}

async fn session(endpoint: &str) -> Result<Session, Error> {
    Client::new([endpoint]).session(patient()).await
}

/// Number of requests for names with a prefix that the voters know, at most `most`.
async fn requests(clients: &[String], prefix: &str, most: usize) -> Result<usize, Error> {
    let listed = Client::new([clients[0].as_str()]).list(prefix, most as u32).await?;
    Ok(listed.len())
}

/// Lets `waiters` connections wait for one lock, which then passes from one to the next.
pub(super) async fn wait_for_one(clients: &[String], waiters: usize) -> Vec<String> {
    let result = async {
        let first = session(&clients[0]).await?;
        let guard = first.lock("one")?.acquire().await?;
        let tokens = Arc::new(Mutex::new(vec![guard.token()]));
        let mut tasks = Vec::new();
        for waiter in 0..waiters {
            let session = session(&clients[waiter % clients.len()]).await?;
            let tokens = Arc::clone(&tokens);
            tasks.push(tokio::spawn(async move {
                let guard = session.lock("one")?.acquire().await?;
                tokens.lock().unwrap_or_else(PoisonError::into_inner).push(guard.token());
                guard.release().await?;
                Ok::<_, Error>(session)
            }));
        }
        let end = Moment::now().later(Duration::from_secs(60));
        loop {
            let seen = requests(clients, "one", 2 * waiters).await?;
            if seen > waiters {
                break;
            }
            if end.from_now().is_zero() {
                return Ok(vec![format!(
                    "only {seen} of {} requests wait after 60 s",
                    waiters + 1
                )]);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        guard.release().await?;
        let mut broken = Vec::new();
        for (waiter, task) in tasks.into_iter().enumerate() {
            match task.await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => broken.push(format!("waiter {waiter}: {error}")),
                Err(error) => broken.push(format!("waiter {waiter}: {error}")),
            }
        }
        let tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() != waiters + 1 || !tokens.is_sorted_by(|a, b| a < b) {
            broken.push(format!(
                "{} tokens for {} holders, or not in order",
                tokens.len(),
                waiters + 1
            ));
        }
        Ok::<_, Error>(broken)
    };
    result.await.unwrap_or_else(|error| vec![error.to_string()])
}

/// Takes and holds `locks` locks, a hundred per session. Sessions share ten connections to each node.
pub(super) async fn take_many(clients: &[String], locks: usize) -> (Crowd, Vec<String>) {
    let holders = locks.div_ceil(100);
    let connections: Vec<Client> =
        (0..10).flat_map(|_| clients).map(|endpoint| Client::new([endpoint.as_str()])).collect();
    let mut tasks = Vec::new();
    for holder in 0..holders {
        let client = connections[holder % connections.len()].clone();
        tasks.push(tokio::spawn(async move {
            let session = client.session(patient()).await?;
            let mut guards = Vec::new();
            for lock in (holder..locks).step_by(holders) {
                guards.push(session.lock(&format!("many/{lock}"))?.acquire().await?);
            }
            Ok::<_, Error>((session, guards))
        }));
    }
    let (mut crowd, mut broken) = (Crowd::new(), Vec::new());
    for task in tasks {
        match task.await {
            Ok(Ok(holder)) => crowd.push(holder),
            Ok(Err(error)) => broken.push(error.to_string()),
            Err(error) => broken.push(error.to_string()),
        }
    }
    broken.extend(try_some(clients, locks).await);
    (crowd, broken)
}

/// Requests some of the held locks. None of them may be granted.
async fn try_some(clients: &[String], locks: usize) -> Vec<String> {
    let result = async {
        let session = session(&clients[clients.len() - 1]).await?;
        let mut broken = Vec::new();
        for lock in (0..locks).step_by(locks.div_ceil(200)) {
            let name = format!("many/{lock}");
            match session.lock(&name)?.wait(Duration::ZERO).acquire().await {
                Err(Error::Failed(Failure::Busy)) => {}
                other => broken.push(format!("{name} is held, but a request for it got {other:?}")),
            }
        }
        Ok::<_, Error>(broken)
    };
    result.await.unwrap_or_else(|error| vec![error.to_string()])
}

/// Checks that no session has lost a lock, and releases all. In the end the nodes must not list any request.
pub(super) async fn free_all(clients: &[String], crowd: Crowd) -> Vec<String> {
    let mut broken = Vec::new();
    for (session, guards) in crowd {
        let lost = guards.iter().filter(|guard| !guard.is_held()).count();
        if lost > 0 {
            broken.push(format!(
                "a session lost {lost} of {} locks: {:?}",
                guards.len(),
                guards[0].loss()
            ));
        }
        // Closing the session releases all its locks together.
        let closed = session.close().await;
        broken.extend(closed.err().map(|error| error.to_string()));
        drop(guards);
    }
    broken.extend(await_none(clients).await.unwrap_or_else(|error| vec![error.to_string()]));
    broken
}

/// Waits until the nodes list no request for any of the many locks.
async fn await_none(clients: &[String]) -> Result<Vec<String>, Error> {
    for _ in 0..600 {
        if requests(clients, "many/", 10).await? == 0 {
            return Ok(Vec::new());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let left = requests(clients, "many/", usize::MAX >> 32).await?;
    Ok(vec![format!("{left} requests are left")])
}
