//! Named locks by votes that are leases, with the session as the candidate: locks outlive the nodes that granted them.
//!
//! - **Source**: Maekawa, "A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems", ACM TOCS 3(2), 1985,
//!   with leases as in Gray and Cheriton, "Leases", SOSP 1989, and fencing tokens. The rules for tokens, attempts,
//!   spare votes and restarts are our own; `docs/locks.md` justifies each of them.
//! - **Assumes**: a fixed set of voters and a coterie over them; clocks whose drift is within the terms. Links may
//!   lose, duplicate, delay and reorder. Voters may crash and restart with their vote file, or after they have
//!   forgotten their votes; at most a minority forgets at the same time without a durable mark. Clients may crash,
//!   pause and use several candidates.
//! - **Guarantees**: at most one client is valid inside a lock at any time (ME1), every later holder has a greater
//!   token, and every live client that waits eventually enters while a quorum of voters is reachable (ME2).
//! - **Costs**: with a quorum of K, 3K messages and one round trip per entry if the voters' numbers agree, 5K and two round
//!   trips if they do not; two message delays from a holder to the next. A beat and its echo per voter each third of a ttl.
//! - **Departs from the paper**: a vote lapses with its session. A candidate that is asked for a vote gives it back
//!   unless its client may be inside, so FAILED is not needed. A holder that is inside for more than a beat interval
//!   collects spare votes, so that it outlives any minority of voters.
//!
//! In the catalogue ([`LeasedQuorum`]) there is one lock, every process is a client, and the last three processes vote. In
//! [`LeasedQuorumChanging`] the voters change.
//!
//! ```text
//!   client           candidate                             voter
//!     | - wants -------> | ---- REQUEST (beat, stamp) -----> |   its vote is free, or will be
//!     |                  | <--- VOTE (number, echo) -------- |   written to the vote file first
//!     |                  | ---- RAISE (token) -------------> |   only where numbers differ
//!     |                  | <--- RAISED --------------------- |
//!     | <- granted ----- |                                   |
//!   inside               | ---- BEAT ----------------------> |   each third of a ttl
//!     |                  | <--- ECHO (beat, votes) --------- |   valid until sent(beat) + ttl (1-r)/(1+r)
//!     | - stops -------> | ---- RELEASE (token) -----------> |   the first of the queue is next
//! ```

mod ballot;
mod candidate;
mod chain;
mod client;
mod direct;
mod electorate;
mod id;
mod message;
mod process;
mod terms;
mod voter;
mod voter_session;
mod wire;

pub use ballot::{Ballot, GrantedVote};
pub use candidate::{Candidate, CandidateEffect, CandidateEffects};
pub use chain::{
    CannotPropose, Chain, ChainEffect, ChainEffects, ChainMessage, ChainState, Configuration, Lost,
    Progress, Round, Voters,
};
pub use client::{Client, ClientEvent};
pub use direct::{DirectClient, DirectEffect, DirectEffects};
pub use electorate::Electorate;
pub use id::{Beat, CandidateId, Claim, Epoch, RequestId, VoteId};
pub use message::{
    Call, Entry, Name, Part, Presented, Rank, Report, RequestStatus, ToCandidate, ToVoter, Wanted,
};
pub use process::{ChangingMessage, ChangingTimer, LeasedQuorumChanging, Members};
pub use process::{ClientName, FollowedClient, FollowedKind, FollowedLock, Restart};
pub use process::{LeasedQuorum, OverLocks, Timer};
pub use terms::Terms;
pub use voter::{Memory, PeerMessage, Record, RestartId, Voter, VoterEffect, VoterEffects};
pub use voter_session::VoterSession;
pub use wire::Message;
