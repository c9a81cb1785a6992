//! A resource that refuses stale tokens: a counter that clients increment under a lock.
//!
//! ```text
//! quorate up                                                     # a cluster, in another terminal
//! cargo run -p quorate-client --example guarded_register         # three clients and the counter
//! ```
//!
//! One of the clients is careless: while it holds the lock, it sleeps until its session is over and another client has held
//! the lock. Then it writes the value that it computed before. The counter refuses the write.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

mod guarded;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guarded::{Guarded, Stale};
use quorate_client::{Client, DEFAULT_ENDPOINT, Error, SessionOptions};

/// In a real system this is another program, called over the network with the token in every request.
type Resource = Arc<Mutex<Guarded>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let endpoint =
        std::env::var("QUORATE_ENDPOINT").unwrap_or_else(|_| DEFAULT_ENDPOINT.to_owned());
    let resource = Resource::default();
    let careless = tokio::spawn(increment(endpoint.clone(), Arc::clone(&resource), true));
    tokio::time::sleep(Duration::from_millis(200)).await;
    for _ in 0..2 {
        increment(endpoint.clone(), Arc::clone(&resource), false).await?;
    }
    careless.await.map_err(|_| Error::Closed)?
}

async fn increment(endpoint: String, resource: Resource, careless: bool) -> Result<(), Error> {
    let register = || resource.lock().unwrap_or_else(PoisonError::into_inner);
    let client_name = if careless { "the careless client" } else { "a careful client" };
    let ttl = Duration::from_secs(1);
    let client = Client::new([endpoint]);
    let session = client.session(SessionOptions { ttl, ..SessionOptions::default() }).await?;
    let guard = session.lock("counter")?.acquire().await?;
    let token = guard.token();
    let Ok(value) = register().read(token) else { return Ok(()) };
    println!("{client_name} has token {token} and reads {value}");
    if careless {
        // Simulates a paused program: its session ends, as if it had expired without keep-alives.
        session.close().await?;
        tokio::time::sleep(2 * ttl).await;
    }
    match register().write(token, value + 1) {
        Ok(()) => println!("{client_name} writes {}", value + 1),
        Err(Stale { greatest }) => {
            println!(
                "{client_name} is refused: token {token} is stale, the counter has seen {greatest}"
            );
        }
    }
    if guard.is_held() { guard.release().await } else { Ok(()) }
}
