//! Section of the performance page about locks.

use super::goals::{ALONE, HAND_OFFS};
use super::{ServiceComparison, setting};
use crate::format::{number, time};
use crate::measure::Measurement;
use crate::task::Task;

/// Guarantees of each service, which no measurement shows.
const GUARANTEES: &str = "\
| | next holder | token with a grant | tolerates | after all have restarted | relies on |
|---|---|---|---|---|---|
| quorate | the earliest request, by logical time | yes, in every grant, greater than every earlier token of that lock | the failure of a minority of the nodes | processes restarted: locks are kept; machines rebooted: locks are free after the longest time-to-live, and tokens continue to increase | clocks that run at about the right rate; with tokens that the resource checks, on nothing |
| etcd | the earliest request, by revision | not in the answer; the key's creation revision can be read afterwards | the failure of a minority of the nodes | on disk: locks and leases are kept | the rate of the leader's clock; 3.4 tells a waiter whose lease has expired that it holds the lock |
| ZooKeeper (Curator's recipe) | the earliest request, by sequence number | not in the recipe; the node's creation transaction can be read afterwards | the failure of a minority of the nodes | on disk: locks and sessions are kept | the rate of the leader's clock |
| Redis, one instance | any client that tries while the lock is free | no | no failure: without the instance there is no lock | with `fsync always`: kept; in memory: free, while the holder still relies on it | a clock that does not jump |
| Redlock, five instances | any client that tries while the lock is free | no | the failure of two of the five instances | with `fsync always`: kept; in memory: free, while the holder still relies on it | five clocks that neither jump nor differ in rate |
";

/// Settings of the services and their consequences.
const CAVEATS: &str = "\
- **Durability differs.** etcd, ZooKeeper and Redis with `fsync always` write every change to the disk before they answer. In
  memory, their folders are in `/dev/shm`: the same data is written, but to memory. quorate writes every vote to
  a file before it answers, but does not wait for the disk: the file is used after a restart of the process, not of the machine. A
  voter whose machine has rebooted waits until the votes that it has forgotten have expired. Numbers for tokens are reserved on the
  disk in blocks, before they are used.
- All servers and all clients share this machine, on loopback. A network adds the round trips between machines, and a service
  with fewer round trips has an advantage there.
- quorate is measured with mutual TLS between its nodes and in plain text; the other services use plain text. The clients of all
  services use plain text.
- The client of quorate is its Rust client, which asks the voters itself. All other clients are small Rust clients of this
  program with one connection to each server that they need. All clients of a task run on one thread: etcd's lock service over gRPC
  with a lease that is kept alive, ZooKeeper's recipe (an ephemeral sequential node that watches its predecessor), Redis'
  `SET NX PX` with a script that compares before it deletes, and Redlock as published, with requests to all five instances at
  once. Libraries that do more take longer.
- Redis has no queue: a waiting client retries after a random 0.2 to 2 ms, and a holder renews its lock after each third of its
  time-to-live. With the usual 100 to 300 ms there are about twenty hand-offs per second, whatever the server does.
- A *hand-off* counts only if another client holds the lock next. A lock without a queue mostly goes to the client that held it.
- etcd runs with its default settings, except for folders and addresses. Its minimum lease is two seconds, so the crash of a
  holder is detected later. ZooKeeper has a tick of 500 ms instead of two seconds, which allows sessions of one second. It is warmed up
  for longer before the measurement, since Java is slow at first.
- A killed holder had a time-to-live of one second, and had last renewed it up to a third of a second before.
";

impl ServiceComparison {
    /// Renders the section about locks; `chart` is the file name of the chart, if any.
    pub fn section(&self, chart: Option<&str>) -> String {
        let Some((wire, _)) = self.ours.first() else { return String::new() };
        let (ours, machine) = (setting(self.nodes, *wire), &self.machine);
        let mut page = format!(
            "## Locks\n\n{} cores ({}), shared by servers and clients. In the same run, the median time of a message of 64 bytes and \
             its answer was {:.1} us between threads on two cores and {:.1} us on one core. The former is called a round trip \
             below.\n\n",
            machine.cores,
            machine.processor,
            self.raw(),
            self.round_trip.one_core.percentile(50.0)
        );
        for note in machine.notes() {
            page += &format!("**Note:** {note}.\n\n");
        }
        page += &self.figures().markdown(2);
        page += &format!(
            "\n*alone*: one client and an uncontended lock, from the request to the grant. *apart*: {} clients, each with its own \
             lock, acquired and released. *together*: {} clients and one lock. *waiters*: all of them wait for one lock, until \
             each has held it once. *holder killed*: until the next client holds the lock.\n",
            self.config.apart, self.config.together
        );
        for error in self.problems() {
            page += &format!("\n{error}.\n");
        }
        if let Some(chart) = chart {
            page += &format!("\n![bar charts of the same results]({chart})\n");
        }
        page += &format!(
            "\n### How many times as good\n\nquorate with {ours}, compared with each:\n\n"
        );
        page += &self.ratios().markdown(2);
        page += &format!("\n### Goals\n\n{}", self.goals_table().markdown(2));
        page += &self.missed();
        page += &format!(
            "\n### How the time is spent\n\nProcessor time for each lock that is acquired and released, the share of the servers' \
             time in the kernel, and messages between nodes where they are counted. The rest of the time is waiting: for the \
             network, for the disk, or for one of the {} cores.\n\n{}",
            machine.cores,
            self.costs().markdown(2)
        );
        page += &format!(
            "\n### What each promises\n\n{GUARANTEES}\n### How it was measured\n\n{CAVEATS}"
        );
        page + &self.versions()
    }

    /// Explains each goal that is missed.
    fn missed(&self) -> String {
        let missed = self.goals().into_iter().filter(|goal| goal.met == Some(false));
        let lines: Vec<String> = missed
            .map(|goal| {
                let measured = goal.measured.map_or(String::new(), |value| goal.unit.format(value));
                let why = self.why(&goal.what);
                format!("- {}, against {}: {measured}. {why}\n", goal.what, goal.against)
            })
            .collect();
        if lines.is_empty() {
            return "\nEvery goal that could be measured is met.\n".to_owned();
        }
        format!("\nMissed goals, and how the time is spent:\n\n{}", lines.concat())
    }

    /// Explains where the time of one of our results is spent.
    fn why(&self, what: &str) -> String {
        let rows = self.rows();
        let Some(ours) = rows.first().filter(|row| row.peer.is_none()) else {
            return String::new();
        };
        let share =
            |done: &Measurement| format!("{:.0} % of that in the kernel", done.kernel_percent());
        let explain = |done: &Measurement| match done.work {
            "alone" => format!(
                "The client asks a quorum of voters at once, so a lock takes one round trip, {} of the {}. The rest is processor \
                 time and waiting for a core: client and voters share {} cores here. To acquire and release the lock, the nodes \
                 use {}, {}, and the client uses {}.",
                time(self.raw()),
                time(done.latency.percentile(50.0)),
                self.machine.cores,
                time(done.processor_us),
                share(done),
                time(done.client_us)
            ),
            _ => format!(
                "Servers and clients keep {:.1} of {} cores busy: each lock takes {} of processor time at the nodes, {}, and {} \
                 at the clients.",
                done.busy(),
                self.machine.cores,
                time(done.processor_us),
                share(done),
                time(done.client_us)
            ),
        };
        let task = match what {
            ALONE => Task::Alone,
            HAND_OFFS => Task::Together,
            _ => Task::Apart,
        };
        ours.measured(task).map_or(String::new(), explain)
    }

    fn versions(&self) -> String {
        let mut versions: Vec<&str> = self.rows().iter().filter_map(|row| row.version).collect();
        versions.dedup();
        match versions.is_empty() {
            true => String::new(),
            false => format!(
                "- Versions, as reported by the servers: {}. Each task lasts {} s.\n",
                versions.join("; "),
                number(self.config.time.as_secs_f64())
            ),
        }
    }
}
