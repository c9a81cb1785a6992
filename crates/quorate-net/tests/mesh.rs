//! Well-behaved nodes on loopback: messages arrive exactly once and in order, whatever happens to connections and nodes.

mod support;

use std::time::Duration;

use quorate_net::{
    Config, DisconnectReason, Event, Incarnation, Mesh, Network, Security, SendError, StartError,
    Tcp, Versions,
};
use support::{
    Node, address, certified, config, eventually, in_time, listen_again, listener, p, pair,
    quick_limits,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn number(payload: &[u8]) -> u64 {
    u64::from_be_bytes(payload.try_into().expect("eight bytes"))
}

async fn exchange_messages(a: Config, b: Config) {
    const COUNT: u64 = 5_000;
    let (mut a, mut b) = pair(a, b).await;
    let (to_b, to_a) = (a.mesh.clone(), b.mesh.clone());
    let sender = tokio::spawn(async move {
        for n in 0..COUNT {
            to_b.send(p(1), n.to_be_bytes().to_vec()).await.expect("sent");
            to_a.send(p(0), n.to_be_bytes().to_vec()).await.expect("sent");
        }
    });
    for node in [&mut a, &mut b] {
        assert!(matches!(node.next().await, Event::Up { fresh: true, version: 1, .. }));
        let numbers: Vec<u64> =
            node.messages(COUNT as usize).await.iter().map(|m| number(m)).collect();
        assert!(numbers.into_iter().eq(0..COUNT));
    }
    sender.await.expect("done");
    let stopped = tokio::spawn(async move { a.mesh.stop().await });
    assert_eq!(in_time(stopped).await.expect("done"), 0);
    assert_eq!(b.next().await, Event::Down { peer: p(0), why: DisconnectReason::Stopped });
}

#[tokio::test]
async fn messages_arrive_once_and_in_order_over_plain_tcp() {
    exchange_messages(config(0, 1, Security::Plain), config(1, 1, Security::Plain)).await;
}

#[tokio::test]
async fn messages_arrive_once_and_in_order_over_tls() {
    let [a, b] = certified([0, 1]);
    exchange_messages(config(0, 1, a), config(1, 1, b)).await;
}

/// Forwards connections, and cuts each after a while, in the middle of a message.
async fn cutting_proxy(to: String) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    tokio::spawn(async move {
        for round in 1.. {
            let Ok((mut near, _)) = listener.accept().await else { return };
            let Ok(mut far) = tokio::net::TcpStream::connect(&to).await else { continue };
            let mut budget = 700 * round + 13;
            let (mut one, mut two) = (vec![0; 512], vec![0; 512]);
            while budget > 0 {
                let (count, copied) = tokio::select! {
                    read = near.read(&mut one) => {
                        let count = read.unwrap_or(0);
                        (count, far.write_all(&one[..count.min(budget)]).await)
                    }
                    read = far.read(&mut two) => {
                        let count = read.unwrap_or(0);
                        (count, near.write_all(&two[..count.min(budget)]).await)
                    }
                };
                if count == 0 || copied.is_err() {
                    break;
                }
                budget = budget.saturating_sub(count);
            }
        }
    });
    address
}

#[tokio::test]
async fn connections_that_break_lose_and_repeat_nothing() {
    const COUNT: u64 = 4_000;
    let (mut a, mut b) = (config(0, 1, Security::Plain), config(1, 1, Security::Plain));
    let (at, bt) = (listener().await, listener().await);
    a.peers.insert(p(1), cutting_proxy(address(&*bt)).await);
    b.peers.insert(p(0), address(&*at));
    let (mut a, mut b) = (Node::start(a, at), Node::start(b, bt));
    let (to_b, to_a) = (a.mesh.clone(), b.mesh.clone());
    tokio::spawn(async move {
        for n in 0..COUNT {
            to_b.send(p(1), n.to_be_bytes().to_vec()).await.expect("sent");
            to_a.send(p(0), n.to_be_bytes().to_vec()).await.expect("sent");
        }
    });
    for node in [&mut a, &mut b] {
        let numbers: Vec<u64> =
            node.messages(COUNT as usize).await.iter().map(|m| number(m)).collect();
        assert!(numbers.into_iter().eq(0..COUNT));
    }
    assert!(a.mesh.status()[0].connections > 5, "{:?}", a.mesh.status());
}

#[tokio::test]
async fn the_owner_is_told_of_a_new_life_and_the_old_ones_messages_are_dropped() {
    let (mut a, mut b) = (config(0, 1, Security::Plain), config(1, 1, Security::Plain));
    let (at, bt) = (listener().await, listener().await);
    let b_at = address(&*bt);
    a.peers.insert(p(1), b_at.clone());
    b.peers.insert(p(0), address(&*at));
    let mut a = Node::start(a, at);
    a.mesh.try_send(p(1), &b"before it was ever there"[..]).expect("queued");
    let mut first = Node::start(b.clone(), bt);
    assert_eq!(a.up().await, (Incarnation(1), true, 1));
    assert_eq!(first.messages(1).await, [b"before it was ever there"]);
    drop(first);
    assert!(matches!(a.next().await, Event::Down { .. }));
    a.mesh.try_send(p(1), &b"for the one that is gone"[..]).expect("queued");
    b.incarnation = Incarnation(2);
    let mut second = Node::start(b.clone(), listen_again(&b_at).await);
    assert_eq!(a.up().await, (Incarnation(2), true, 1));
    a.mesh.try_send(p(1), &b"for the new one"[..]).expect("queued");
    assert_eq!(second.messages(1).await, [b"for the new one"]);
    drop(second);
    b.incarnation = Incarnation(1);
    let _third = Node::start(b, listen_again(&b_at).await);
    a.expect_error("incarnation 1 is stale").await;
}

#[tokio::test]
async fn a_full_queue_is_felt_and_nothing_is_lost() {
    let (mut a, mut b) = (config(0, 1, Security::Plain), config(1, 1, Security::Plain));
    a.limits.message = 10_000;
    a.limits.queue = 100_000;
    b.limits.events = 4;
    // The peer is not to blame for silence caused by a slow owner.
    b.limits.silence = Duration::from_millis(100);
    let (a, mut b) = pair(a, b).await;
    let payload = |n: u64| [&n.to_be_bytes()[..], &[0; 9_000]].concat();
    let mut sent = 0;
    eventually("the queue is full", || match a.mesh.try_send(p(1), payload(sent)) {
        Ok(()) => {
            sent += 1;
            false
        }
        Err(error) => error == SendError::Full(p(1)) && sent >= 10,
    })
    .await;
    let mesh = a.mesh.clone();
    let waiting = tokio::spawn(async move { mesh.send(p(1), payload(sent)).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    let numbers: Vec<u64> =
        b.messages(sent as usize + 1).await.iter().map(|m| number(&m[..8])).collect();
    assert!(numbers.into_iter().eq(0..=sent));
    in_time(waiting).await.expect("done").expect("sent");
    assert_eq!(a.mesh.status()[0].connections, 1);
}

#[tokio::test]
async fn a_stop_flushes_what_is_queued_and_says_farewell() {
    let [a, b] = certified([0, 1]);
    let (mut a, mut b) = pair(config(0, 1, a), config(1, 1, b)).await;
    a.up().await;
    for n in 0..1000u64 {
        a.mesh.try_send(p(1), n.to_be_bytes().to_vec()).expect("queued");
    }
    assert_eq!(in_time(a.mesh.stop()).await, 0);
    assert_eq!(a.mesh.try_send(p(1), &b"late"[..]), Err(SendError::Stopped));
    assert_eq!(b.messages(1000).await.len(), 1000);
    assert_eq!(b.next().await, Event::Down { peer: p(0), why: DisconnectReason::Stopped });
    while in_time(a.events.next()).await.is_some() {}
}

#[tokio::test]
async fn peers_come_and_go_while_it_runs() {
    let (mut a, mut b) = pair(config(0, 1, Security::Plain), config(1, 1, Security::Plain)).await;
    a.up().await;
    a.mesh.try_send(p(1), &b"one"[..]).expect("queued");
    b.mesh.try_send(p(0), &b"two"[..]).expect("queued");
    assert_eq!(
        (a.messages(1).await, b.messages(1).await),
        (vec![b"two".to_vec()], vec![b"one".to_vec()])
    );
    a.mesh.set_peers([].into());
    assert_eq!(a.next().await, Event::Down { peer: p(1), why: DisconnectReason::Removed });
    assert_eq!(a.mesh.try_send(p(1), &b""[..]), Err(SendError::Unknown(p(1))));
    b.mesh.try_send(p(0), &b"three"[..]).expect("queued");
    a.mesh.set_peers([(p(1), b.mesh.address().to_string())].into());
    a.mesh.try_send(p(1), &b"four"[..]).expect("queued");
    assert_eq!(a.up().await, (Incarnation(1), true, 1));
    assert_eq!(
        (a.messages(1).await, b.messages(1).await),
        (vec![b"three".to_vec()], vec![b"four".to_vec()])
    );
}

#[tokio::test]
async fn two_versions_speak_the_newest_that_both_know_or_say_why_not() {
    let (mut a, mut b) = (config(0, 1, Security::Plain), config(1, 1, Security::Plain));
    a.messages = Versions { oldest: 1, newest: 2 };
    b.messages = Versions { oldest: 2, newest: 3 };
    let (mut a, _b) = pair(a, b).await;
    assert_eq!(a.up().await.2, 2);
    let (a, mut b) = (config(0, 1, Security::Plain), config(1, 1, Security::Plain));
    b.messages = Versions { oldest: 2, newest: 3 };
    let (a, _b) = pair(a, b).await;
    a.expect_error("p0 speaks versions 1 of the messages, p1 speaks 2 to 3").await;
    let (a, mut b) = (config(0, 1, Security::Plain), config(1, 1, Security::Plain));
    b.frames = Versions::only(7);
    let (a, _b) = pair(a, b).await;
    a.expect_error("p0 speaks versions 1 of the frames, p1 speaks 7").await;
}

#[tokio::test]
async fn plain_tcp_is_for_loopback_only() {
    let everywhere = Tcp.listen("0.0.0.0:0").await.expect("a port");
    let refused =
        Mesh::start(config(0, 1, Security::Plain), Tcp, everywhere).err().expect("refused");
    assert!(matches!(refused, StartError::NotHostLocal(_)), "{refused}");
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_at_once() {
    let (a, _b) = pair(config(0, 1, Security::Plain), config(1, 1, Security::Plain)).await;
    let max = quick_limits().message;
    let large = vec![0; max + 1];
    assert_eq!(a.mesh.send(p(1), large).await, Err(SendError::TooLarge { size: max + 1, max }));
    assert_eq!(a.mesh.try_send(p(9), &b""[..]), Err(SendError::Unknown(p(9))));
}

/// Nodes that have no other reason to write than messages and acknowledgements.
fn without_pings(me: u32) -> Config {
    let mut config = config(me, 1, Security::Plain);
    (config.limits.ping, config.limits.silence) =
        (Duration::from_secs(60), Duration::from_secs(90));
    config
}

#[tokio::test]
async fn an_acknowledgement_does_not_wait_for_a_ping() {
    let (a, mut b) = pair(without_pings(0), without_pings(1)).await;
    in_time(a.mesh.send(p(1), vec![1])).await.expect("sent");
    assert_eq!(b.messages(1).await, [[1]]);
    eventually("acknowledged", || a.mesh.status()[0].queued == 0).await;
    a.mesh.send(p(1), vec![2]).await.expect("sent");
    assert_eq!(in_time(a.mesh.stop()).await, 0, "a stop waits for the last acknowledgement only");
}

#[tokio::test]
async fn a_sender_that_waits_learns_that_the_peer_was_removed() {
    let mut a = config(0, 1, Security::Plain);
    (a.limits.message, a.limits.queue) = (1, 65);
    a.peers.insert(p(1), "127.0.0.1:1".to_owned());
    let a = Node::start(a, listener().await);
    a.mesh.try_send(p(1), vec![1]).expect("there is room for one");
    let waits = a.mesh.send(p(1), vec![2]);
    let removal = async { a.mesh.set_peers([].into()) };
    let (sent, ()) = in_time(async { tokio::join!(waits, removal) }).await;
    assert_eq!(sent, Err(SendError::Unknown(p(1))));
}
