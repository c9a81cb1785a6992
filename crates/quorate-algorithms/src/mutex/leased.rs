//! Named locks among members that no detector can be trusted about: votes of a coterie that are leases, and numbers that
//! only grow.
//!
//! - **Source**: Maekawa, "A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems", ACM TOCS 3(2), 1985, with
//!   leases as in Gray and Cheriton, "Leases", SOSP 1989, and fencing tokens; the rules for tokens and for members that
//!   come back are our own.
//! - **Assumes**: fixed membership and a fixed coterie; clocks that gain or lose no more than is known; links that keep their
//!   order and do not duplicate as long as both ends live. They may lose, be cut and heal; members may crash, pause, and
//!   come back having forgotten everything but that they have lived before. Detectors may err: they cost time only.
//! - **Guarantees**: of the requests for one lock one at most may rely on having it at any moment, and whoever has it later
//!   has a greater token. Whoever asks has it in the end, in the order of logical time, while a quorum of members can talk.
//! - **Costs**: for a quorum of K, 3K messages and one round trip where the voters have come equally far, 5K and two where
//!   they have not; two message delays from the holder to its successor. A word each eighth of
//!   a lease to every voter that was asked by somebody who has or wants a lock; nothing where nobody does. A voter forgets
//!   locks that nobody uses once there are many, and begins again where the furthest of them was.
//! - **Departs from the paper**: a candidate asked for a vote gives it back unless it is inside, so nobody is told that it has
//!   failed. All requests for one lock ask the same members while these are up, so that voters come equally far.
//!
//! A vote has a number, one more than the last of its voter for this lock. The token of a grant is the largest of the votes
//! that make a quorum, and before anybody enters, every voter of a quorum has come at least as far (RAISE). A later quorum
//! shares a voter with it, whose vote is then larger. A member that has forgotten does not vote until nobody can rely on
//! what it gave, and then starts behind whatever a quorum of the others has come to.
//!
//! Who is told what:
//!
//! ```text
//!   candidate                          voter
//!      | ---- REQUEST (sign of life) ---> |   its vote is free, or will be
//!      | <--- VOTE (number, lease) ------ |
//!      | ---- RAISE (token) ------------> |   only where votes differ
//!      | <--- RAISED -------------------- |
//!    inside
//!      | ---- RELEASE ------------------> |   the first of its queue is next
//! ```

mod ballot;
mod candidate;
mod lease;
mod member;
mod message;
mod terms;
mod voters;
mod votes;

pub use ballot::{Ballot, Vote};
pub use candidate::Candidate;
pub use member::{Command, Locks, Misuse, Output, Timer};
pub use message::{Epoch, Extension, Message, Name, Sign, Ticket};
pub use terms::Terms;
