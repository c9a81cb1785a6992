//! `/readyz` and `status` report why a node grants no locks.

use std::time::Duration;

use crate::support::files::{Cluster, SHORT};
use quorate_client::SessionOptions;
use quorate_service::{Extras, FirstStart, launch};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_write_is_retried_and_shown() {
    let mut cluster = Cluster::start(1).await;
    cluster.stop(1).await;
    std::fs::remove_dir_all(cluster.data(1)).expect("it is there");
    cluster.launch(1, false).await;
    let abstains = cluster.readyz(1, "not ready").await;
    assert!(abstains.contains("503") && abstains.contains("lost: "), "{abstains}");
    // A folder in place of the temporary file makes every write fail, even for root.
    let in_the_way = cluster.data(1).join("node.new");
    std::fs::create_dir(&in_the_way).expect("a disk");
    cluster.until_ready().await;
    assert!(cluster.web(1).text("/readyz").await.ends_with("ready\n"));
    // Only node 0 and node 1, which has no numbers left on its disk, can vote now.
    cluster.stop(2).await;
    let ((), token) = tokio::join!(
        async {
            let why = cluster.readyz(1, "disk: ").await;
            assert!(why.contains("503") && why.contains("node.state"), "{why}");
            let status = cluster.client(1).status().await.expect("it answers");
            assert!(status.reasons.iter().any(|why| why.starts_with("disk: ")), "{status:?}");
            let counted = cluster.web(1).text("/metrics").await;
            let counted =
                counted.lines().find(|line| line.starts_with("quorate_disk_failures_total"));
            assert!(counted.is_some_and(|line| !line.ends_with(" 0")), "{counted:?}");
            std::fs::remove_dir(&in_the_way).expect("it is there");
        },
        cluster.token(0),
    );
    assert!(token > 0);
    cluster.readyz(1, "200 OK").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_a_quorum_says_so() {
    let mut cluster = Cluster::start(2).await;
    cluster.readyz(0, "200 OK").await;
    cluster.stop(1).await;
    cluster.stop(2).await;
    let why = cluster.readyz(0, "no-quorum: 1 of 3").await;
    assert!(why.contains("503"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_comes_back_waits_for_the_clients_of_its_votes() {
    let mut cluster = Cluster::new(7);
    cluster.settings = ["lease_ms = 2000\nanswer_ms = 50\n"; 3];
    for node in 0..3 {
        cluster.launch(node, true).await;
    }
    cluster.until_ready().await;
    let stays = cluster.client(0).session(SessionOptions::default()).await.expect("a session");
    let kept = stays.lock("kept").expect("a name").acquire().await.expect("it is free");
    let goes = cluster.client(0).session(SessionOptions::default()).await.expect("a session");
    let guard = goes.lock("x").expect("a name").acquire().await.expect("it is free");
    // After a beat interval both locks have the votes of all nodes.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    cluster.stop(1).await;
    drop(guard);
    goes.close().await.expect("two nodes hear it");
    cluster.launch(1, false).await;
    let why = cluster.readyz(1, "restarted: 1 votes").await;
    assert!(why.contains("503"), "{why}");
    cluster.readyz(1, "200 OK").await;
    assert!(kept.is_held());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_with_different_terms_refuse_each_other() {
    let mut cluster = Cluster::new(3);
    cluster.settings[2] = "lease_ms = 1200\nanswer_ms = 50\nquorums = \"tree\"\n";
    for node in 0..3 {
        cluster.launch(node, true).await;
    }
    for node in 0..2 {
        cluster.readyz(node, "200 OK").await;
    }
    let why = cluster.readyz(2, "terms: ").await;
    assert!(why.contains("503"), "{why}");
    let both = |other| {
        why.contains(&format!("p2 has quorums = tree, ttl_most_ms = 1200; {other} has"))
            && why.contains(&format!("{other} has quorums = majority, ttl_most_ms = 400"))
    };
    assert!(both("p0") || both("p1"), "{why}");
    for (node, other) in [(0, 2), (1, 2), (2, 0)] {
        let mut last_error = None;
        for _ in 0..250 {
            let status = cluster.client(node).status().await.expect("it answers");
            assert!(!status.members[other].up);
            last_error = status.members[other].last_error.clone();
            if last_error.as_ref().is_some_and(|last_error| last_error.contains("terms differ")) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let last_error = last_error.expect("it is down");
        assert!(last_error.contains("1200") && last_error.contains("400"), "{node}: {last_error}");
    }
    // The two nodes that agree grant locks.
    cluster.token(0).await;
    // With the terms of the other nodes it takes part.
    cluster.stop(2).await;
    cluster.settings[2] = SHORT;
    cluster.launch(2, false).await;
    cluster.until_ready().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_know_another_third_node_refuse_each_other() {
    let mut cluster = Cluster::new(4);
    cluster.launch(0, true).await;
    let mut config = cluster.config(1);
    config.peers.insert("2".to_owned(), format!("{}:7499", cluster.address));
    let (other, _) =
        launch(&config, FirstStart::of_cluster(true), Extras::default()).await.expect("it starts");
    cluster.nodes[1] = Some(other);
    let why = cluster.readyz(0, "terms: ").await;
    assert!(why.contains("7499") && why.contains("7492"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_belongs_to_one_node() {
    let cluster = Cluster::start(5).await;
    let again = launch(&cluster.config(0), FirstStart::of_cluster(false), Extras::default()).await;
    let why = again.err().expect("it is in use").to_string();
    assert!(why.contains("in use by another process") && !why.contains('\n'), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_of_another_node_or_with_a_truncated_file_is_refused() {
    let mut cluster = Cluster::start(6).await;
    cluster.stop(0).await;
    let mut config = cluster.config(0);
    config.data = Some(cluster.data(2));
    cluster.stop(2).await;
    let why = launch(&config, FirstStart::of_cluster(false), Extras::default())
        .await
        .err()
        .expect("it is foreign");
    assert!(why.to_string().contains("belongs to node 2"), "{why}");
    let file = cluster.data(0).join("node.state");
    let text = std::fs::read(&file).expect("it is there");
    std::fs::write(&file, &text[..text.len() - 3]).expect("a disk");
    let why =
        launch(&cluster.config(0), FirstStart::of_cluster(false), Extras::default()).await.err();
    let why = why.expect("it is truncated").to_string();
    assert!(why.contains("is not a valid node state file") && !why.contains('\n'), "{why}");
}
