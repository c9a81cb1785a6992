//! Three nodes on loopback that run Ricart and Agrawala's algorithm. The process is the one that is simulated and checked.
//!
//! `cargo run -p quorate-net --example mutex_over_tcp`

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};

use quorate_algorithms::mutex::RicartAgrawala;
use quorate_core::ProcessId;
use quorate_core::mutex::{Command, Output};
use quorate_net::driver::{DriveExit, DriveOptions, ProcessHandle, drive, host};
use quorate_net::{ClusterId, Config, Mesh, Network, Security, Tcp};
use tokio::task::{JoinSet, LocalSet, yield_now};

const NODES: usize = 3;
const ENTRIES: usize = 5;

/// Number of users that are inside the critical section.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A process need not be `Send`, so the nodes share this thread.
    LocalSet::new().run_until(run()).await
}

async fn run() -> Result<(), Box<dyn Error>> {
    let mut listeners = Vec::new();
    for id in ProcessId::all(NODES) {
        listeners.push((id, Tcp.listen("127.0.0.1:0").await?));
    }
    let mut addresses = Vec::new();
    for (id, listener) in &listeners {
        addresses.push((*id, listener.address()?.to_string()));
    }

    let (mut nodes, mut users) = (JoinSet::new(), JoinSet::new());
    for (id, listener) in listeners {
        // Plain text is permitted on loopback only. `Security::Tls` takes certificates.
        let config = Config::new(ClusterId(1), id, addresses.clone(), Security::Plain);
        let (mesh, mut events) = Mesh::start(config, Tcp, listener)?;
        let (mut process, handle) = host(RicartAgrawala::new(NODES, id), id, NODES);
        nodes.spawn_local(async move {
            let ended = drive(&mesh, &mut events, &mut process, &DriveOptions::default()).await;
            mesh.stop().await;
            ended
        });
        users.spawn(use_lock(id, handle));
    }

    // A process answers the others until its handle is dropped, so all handles are kept until the last user has finished.
    let handles = users.join_all().await;
    drop(handles);
    let ends = nodes.join_all().await;
    assert!(ends.iter().all(|end| *end == DriveExit::Finished), "{ends:?}");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what happens")]
async fn use_lock(
    id: ProcessId,
    handle: ProcessHandle<RicartAgrawala>,
) -> ProcessHandle<RicartAgrawala> {
    for entry in 1..=ENTRIES {
        handle.submit(Command::Acquire).await.expect("it is outside");
        assert_eq!(handle.next().await, Some(Output::Entered));
        assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "at most one process is inside");
        println!("{id} is inside for the {entry}. time");
        yield_now().await;
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        handle.submit(Command::Release).await.expect("it is inside");
    }
    handle
}

#[test]
fn the_example_runs() {
    main().expect("loopback is available");
}
