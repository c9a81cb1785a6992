//! Simulation of whole node cores under broken connections, late messages, cuts, pauses, drifting clocks and every kind of
//! restart. Clients change nodes, and use the native protocol, HTTP and etcd's API.
//!
//! "Valid" is judged by the *client*: from when it enters until it stops or its own clock passes its own deadline, whatever
//! any node believes. After every event at most one client is valid per lock. Tokens grow from holder to holder, and the
//! token of a client that changes nodes never shrinks. In gentle weather no lock is lost. Once the faults stop, every live
//! client that waits must enter.

mod calls;
mod changes;
mod clients;
mod faults;
mod links;
mod nodes;
pub(super) mod rng;
mod world;

use world::{Counts, Setup, World};

/// Runs one world per seed. `QUORATE_STORMS=20000 cargo test --release -p quorate-service --lib storm` runs a campaign;
/// `QUORATE_STORMS_FROM` is its first seed. `QUORATE_STORM_LOG` logs every event.
fn storms(setup: Setup, (first, count): (u64, u64)) -> Counts {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("QUORATE_STORMS_FROM").unwrap_or(first);
    let logs = std::env::var_os("QUORATE_STORM_LOG").is_some();
    let (mut total, mut failed) = (Counts::default(), Vec::new());
    for seed in first..first + number("QUORATE_STORMS").unwrap_or(count) {
        match std::panic::catch_unwind(|| World::new(seed, setup, logs).run()) {
            Ok(counts) => total.add(counts),
            Err(_) => {
                print(&format!("{setup:?}: seed {seed} failed"));
                failed.push(seed);
            }
        }
    }
    if number("QUORATE_STORMS").is_some() {
        print(&format!("{setup:?}: {total:?}"));
    }
    assert!(failed.is_empty(), "{setup:?}, seeds {failed:?}");
    total
}

#[expect(clippy::print_stderr, reason = "a campaign says what it has covered")]
fn print(text: &str) {
    eprintln!("{text}");
}

/// Fails if the storm has exercised too little: a storm without events proves nothing.
fn assert_busy(total: Counts, worlds: u64) {
    let Counts { entries, leased, kept, switches, restarts, .. } = total;
    assert!(entries > 10 * worlds && leased > worlds && kept > 2 * worlds, "{total:?}");
    assert!(switches > 10 * worlds && restarts > 3 * worlds, "{total:?}");
}

#[test]
fn three_nodes_in_rough_weather() {
    let total = storms(
        Setup { nodes: 3, gentle: false, hasty: false, trusting: false, spares: 0 },
        (0, 25),
    );
    assert_busy(total, 25);
    assert!(total.forgotten > 0 && total.lost > 0, "{total:?}");
}

#[test]
fn five_nodes_in_rough_weather() {
    assert_busy(
        storms(Setup { nodes: 5, gentle: false, hasty: false, trusting: false, spares: 0 }, (0, 6)),
        6,
    );
}

#[test]
fn no_lock_is_lost_in_gentle_weather() {
    let gentle = Setup { nodes: 3, gentle: true, hasty: false, trusting: false, spares: 0 };
    let mut total = storms(gentle, (0, 40));
    total.add(storms(Setup { nodes: 5, ..gentle }, (0, 10)));
    assert_busy(total, 50);
    assert_eq!(total.lost, 0);
}

/// Clients that request a lock again immediately. A voter that the release has not reached yet still has the vote and the
/// record of the earlier turn.
#[test]
fn clients_that_ask_again_at_once() {
    let total =
        storms(Setup { nodes: 3, gentle: false, hasty: true, trusting: false, spares: 0 }, (0, 25));
    assert_busy(total, 25);
}

/// Clients with a lease that rely on every answer to a keep-alive, however late it is sent. No lease may be revived whose
/// locks another client has got.
#[test]
fn clients_that_trust_every_keep_alive() {
    let rough = Setup { nodes: 3, gentle: false, hasty: false, trusting: true, spares: 0 };
    let mut total = storms(rough, (0, 25));
    total.add(storms(Setup { nodes: 5, ..rough }, (0, 6)));
    assert!(total.revived > 10 && total.lost > 10, "{total:?}");
}

/// Operators add and remove nodes at any time, two of them at once, too. Clients with a lease rely on every answer.
#[test]
fn members_that_change() {
    let rough = Setup { nodes: 3, gentle: false, hasty: false, trusting: false, spares: 5 };
    let mut total = storms(rough, (0, 25));
    total.add(storms(Setup { trusting: true, ..rough }, (0, 15)));
    total.add(storms(Setup { hasty: true, ..rough }, (0, 15)));
    assert!(total.changes > 100 && total.entries > 500 && total.kept > 100, "{total:?}");
    assert!(total.longer > 5, "{total:?}");
}

#[test]
fn no_lock_is_lost_when_the_members_change_in_gentle_weather() {
    let gentle = Setup { nodes: 3, gentle: true, hasty: false, trusting: false, spares: 5 };
    let total = storms(gentle, (0, 20));
    assert!(total.changes > 40 && total.kept > 40, "{total:?}");
    assert_eq!(total.lost, 0, "{total:?}");
}

/// Worlds in which an earlier version failed.
#[test]
fn worlds_that_failed_before() {
    // A relay adopted a greater token before a quorum had recorded it. The token of the next holder was smaller.
    for seed in [20_301, 20_496] {
        World::new(
            seed,
            Setup { nodes: 5, gentle: false, hasty: false, trusting: false, spares: 0 },
            false,
        )
        .run();
    }
    // A relay counted the validity of a grant from its arrival instead of from its beat. It requested votes as if its
    // client were inside, after other clients had been inside.
    World::new(
        21_292,
        Setup { nodes: 3, gentle: false, hasty: false, trusting: false, spares: 0 },
        false,
    )
    .run();
    // A relay that did not know of a release took over the client's next turn, with the token of the earlier turn.
    World::new(
        60_892,
        Setup { nodes: 3, gentle: false, hasty: false, trusting: false, spares: 0 },
        false,
    )
    .run();
    // A lease lost its lock because voters had forgotten it, and took it back after another client. Its client was told that
    // the lease was alive.
    World::new(
        113,
        Setup { nodes: 3, gentle: false, hasty: false, trusting: true, spares: 0 },
        false,
    )
    .run();
}

/// The actions of all nodes in a few storms, as four digits for each seed. They change with any rule that a storm reaches, and
/// do not say which one it is.
#[test]
fn pinned_storms() {
    let rough = Setup { nodes: 3, gentle: false, hasty: false, trusting: false, spares: 0 };
    let setups = [
        ("rough", rough),
        ("gentle", Setup { gentle: true, ..rough }),
        ("hasty", Setup { hasty: true, ..rough }),
        ("trusting", Setup { trusting: true, ..rough }),
        ("five nodes", Setup { nodes: 5, ..rough }),
    ];
    let mut rows = Vec::new();
    for (name, setup) in setups {
        let seeds = (0..5).map(|seed| (seed, World::new(seed, setup, false).run_digested()));
        let digits: String = seeds.map(|(seed, digits)| format!(" {seed}:{digits}")).collect();
        rows.push(format!("{name}:{digits}"));
    }
    insta::assert_snapshot!(rows.join("\n"));
}
