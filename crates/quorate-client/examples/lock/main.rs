//! Holds a lock of a running cluster while it works.
//!
//! ```text
//! quorate up                                        # a cluster, in another terminal
//! cargo run -p quorate-client --example lock        # several of these take turns
//! ```

mod with_lock;

use std::process::ExitCode;
use std::time::Duration;

use quorate_client::{Client, DEFAULT_ENDPOINT, Error};
use with_lock::with_lock;

#[expect(clippy::print_stderr, reason = "an example shows what happens")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let endpoint =
        std::env::var("QUORATE_ENDPOINT").unwrap_or_else(|_| DEFAULT_ENDPOINT.to_owned());
    match deploy(&endpoint).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "an example shows what happens")]
async fn deploy(endpoint: &str) -> Result<(), String> {
    let work = async |token| {
        println!("holding the lock `deploy` with token {token}");
        tokio::time::sleep(Duration::from_secs(2)).await;
    };
    match with_lock(&Client::new([endpoint]), "deploy", work).await {
        Ok(Some(())) => {
            println!("the work is done and the lock is released");
            Ok(())
        }
        Ok(None) => Err("the lock was lost before the work was done".to_owned()),
        Err(Error::Unreachable(_)) => {
            Err(format!("no cluster answers at {endpoint}; start one with: quorate up"))
        }
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn without_a_cluster_it_says_how_to_start_one() {
    // The port was free a moment ago, and nothing listens on it now.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let endpoint = listener.local_addr().expect("bound").to_string();
    drop(listener);
    let expected = format!("no cluster answers at {endpoint}; start one with: quorate up");
    assert_eq!(deploy(&endpoint).await, Err(expected));
}
