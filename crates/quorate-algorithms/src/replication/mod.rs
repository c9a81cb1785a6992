//! Replication: logs of commands that all replicas apply in the same order, although some of them crash or lie.

mod common;
mod multi_paxos;
mod pbft;
mod raft;
mod raft_commits_old_terms;

pub use multi_paxos::MultiPaxos;
pub use pbft::Pbft;
pub use raft::Raft;
pub use raft_commits_old_terms::RaftCommitsOldTerms;
