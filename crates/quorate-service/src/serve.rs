//! The door for clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::{Ask, Say, greeting};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use crate::keeper::Client;
use crate::node::{Inbox, Input};

/// So many clients may be connected.
const CONNECTIONS: usize = 16_384;

/// So much may wait for one client before it counts as one that does not read.
const OUTBOX: usize = 4_096;

/// How long a client has for its first words.
const GREETING: Duration = Duration::from_secs(5);

/// Lets clients in.
pub(crate) async fn accept(listener: TcpListener, inbox: Inbox) {
    let (room, clients) = (Arc::new(Semaphore::new(CONNECTIONS)), AtomicU64::new(0));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let client = Client(clients.fetch_add(1, Ordering::Relaxed));
                let inbox = inbox.clone();
                tokio::spawn(async move {
                    serve(stream, client, inbox).await;
                    drop(permit);
                });
            }
            // Too many files, say: others may close some.
            Err(error) => {
                tracing::warn!(%error, "a client could not be let in");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(mut stream: TcpStream, client: Client, inbox: Inbox) {
    let _ = stream.set_nodelay(true);
    let greeted = tokio::time::timeout(GREETING, greet(&mut stream)).await;
    if !matches!(greeted, Ok(Ok(()))) {
        return;
    }
    let (says, to_say) = mpsc::channel(OUTBOX);
    if inbox.send(Input::Come(client, says)).await.is_err() {
        return;
    }
    let (read, write) = stream.into_split();
    let mut reader = Reader::new(read, frame::ASK_MOST);
    let asks = async {
        loop {
            match reader.next::<Ask>().await {
                Ok(Some(ask)) => {
                    if inbox.send(Input::Ask(client, ask)).await.is_err() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(%error, "a client is not understood");
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = asks => {}
        () = say_all(write, to_say) => {}
    }
    let _ = inbox.send(Input::Gone(client)).await;
}

async fn greet(stream: &mut TcpStream) -> Result<(), greeting::Unfit> {
    let mut magic = [0; 4];
    stream.read_exact(&mut magic).await?;
    if magic != greeting::MAGIC {
        return Err(greeting::Unfit::Stranger);
    }
    greeting::hear(stream).await?;
    greeting::answer(stream, "").await?;
    Ok(())
}

/// Writes what is to be said, as much at once as there is.
async fn say_all(mut write: tokio::net::tcp::OwnedWriteHalf, mut to_say: mpsc::Receiver<Say>) {
    let (mut batch, mut bytes) = (Vec::new(), BytesMut::new());
    while to_say.recv_many(&mut batch, 256).await > 0 {
        batch.drain(..).for_each(|say| frame::put(&say, &mut bytes));
        if write.write_all(&bytes).await.is_err() {
            return;
        }
        bytes.clear();
    }
}
