//! Nodes that have lost their data folder, with everything in it.

use crate::support::files::Cluster;
use quorate_service::Disk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_its_folder_takes_part_again() {
    let mut cluster = Cluster::start(1).await;
    cluster.restart(1).await;
    cluster.token(0).await;
    cluster.stop(1).await;
    std::fs::remove_dir_all(cluster.data(1)).expect("it is there");
    cluster.launch(1, false).await;
    cluster.until_ready().await;
    // The node can be restarted normally afterwards.
    cluster.restart(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_votes_after_it_has_forgotten_is_on_its_disk() {
    let mut cluster = Cluster::start(2).await;
    // Node 0 restarts several times with its vote file.
    for _ in 0..3 {
        cluster.restart(0).await;
    }
    cluster.stop(2).await;
    let before = cluster.token(0).await;
    cluster.launch(2, false).await;
    cluster.until_ready().await;
    cluster.stop(1).await;
    std::fs::remove_dir_all(cluster.data(1)).expect("it is there");
    cluster.launch(1, false).await;
    let disk = Disk::open(&cluster.data(1)).expect("a folder");
    let early = disk.read().expect("readable").expect("it has started");
    assert_eq!(early.mark, None, "nobody has told it how far it had come");
    cluster.until_ready().await;
    // Only this node and node 0 are left to vote.
    cluster.stop(2).await;
    let after = cluster.token(0).await;
    assert!(after > before, "{after} after {before}");
    let late = disk.read().expect("readable").expect("it is there");
    assert!(late.mark >= Some(after), "{late:?} and it has voted for {after}");
    // The next incarnation does not fall back, although node 0, which knows greater numbers, is stopped.
    cluster.stop(1).await;
    cluster.launch(1, false).await;
    cluster.launch(2, false).await;
    cluster.stop(0).await;
    cluster.until_ready().await;
    let last = cluster.token(1).await;
    assert!(last > after, "{last} after {after}");
}
