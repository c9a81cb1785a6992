//! A well-behaved client beside the load: it takes and releases a lock of its own, and measures the duration.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use quorate_client::{Client, Error, Moment, Session, SessionOptions};

/// Durations of turns, and violations.
type TurnReport = (Vec<u64>, Vec<String>);

/// The bystander, which runs in its own thread.
#[derive(Debug)]
pub(super) struct Bystander {
    requests: Sender<Sender<TurnReport>>,
    _thread: JoinHandle<()>,
}

impl Bystander {
    pub(super) fn start(endpoint: &str) -> Self {
        let (requests, request_receiver) = channel();
        let endpoint = endpoint.to_owned();
        let _thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(run(&endpoint, &request_receiver));
            }
        });
        Self { requests, _thread }
    }

    /// Turns since the last call. They are collected between two turns, so that a long turn is included.
    pub(super) fn next_phase(&self) -> TurnReport {
        let (reply_sender, reply_receiver) = channel();
        let _ = self.requests.send(reply_sender);
        let gone = || (Vec::new(), vec!["the bystander could not continue".to_owned()]);
        reply_receiver.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| gone())
    }
}

async fn run(endpoint: &str, requests: &Receiver<Sender<TurnReport>>) {
    let (client, mut last) = (Client::new([endpoint]), 0);
    let mut report: TurnReport = Default::default();
    let mut session = client.session(SessionOptions::default()).await;
    loop {
        while let Ok(reply_sender) = requests.try_recv() {
            report.0.sort_unstable();
            let _ = reply_sender.send(std::mem::take(&mut report));
        }
        let turn = match &session {
            Ok(session) => turn(session).await,
            Err(error) => Err(error.to_string()),
        };
        match turn {
            Ok((token, micros)) => {
                if token <= last {
                    report.1.push(format!("the bystander got token {token} after {last}"));
                }
                last = token;
                report.0.push(micros);
            }
            Err(error) => {
                report.1.push(format!("the bystander: {error}"));
                session = client.session(SessionOptions::default()).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn turn(session: &Session) -> Result<(u64, u64), String> {
    let from = Moment::now().0;
    let one = async {
        let guard = session.lock("bystander")?.acquire().await?;
        let token = guard.token();
        guard.release().await?;
        Ok(token)
    };
    let done = tokio::time::timeout(Duration::from_secs(30), one).await;
    let token = done.map_err(|_| "no grant within 30 s".to_owned())?;
    let token = token.map_err(|error: Error| error.to_string())?;
    Ok((token, Moment::now().0 - from))
}
