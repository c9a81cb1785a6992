//! Section of the performance page about locks.

use super::goals::{ALONE, HAND_OFFS};
use super::{ServiceComparison, setting};
use crate::format::{number, time};
use crate::measure::Measurement;
use crate::task::Task;

/// Guarantees of each service, which no measurement shows.
const GUARANTEES: &str = "\
| | who is next | token with a grant | may fail | after all have restarted | relies on |
|---|---|---|---|---|---|
| quorate | whoever asked first, by logical time | yes, greater than all before of that lock, in every grant | a minority of the nodes | locks are free after a lease, and tokens go on from where they were | clocks that run at about the right rate; with tokens that the resource checks, on nothing |
| etcd | whoever asked first, by revision | not in the answer; the key's creation revision can be read afterwards | a minority of the nodes | on disk: locks and leases are as they were | the rate of the leader's clock; 3.4 tells a waiter whose lease is over that it has the lock |
| ZooKeeper (Curator's recipe) | whoever asked first, by number | not in the recipe; the node's creation transaction can be read afterwards | a minority of the nodes | on disk: locks and sessions are as they were | the rate of the leader's clock |
| Redis, one instance | whoever happens to try when it is free | no | nothing: without it there is no lock | with `fsync always`: as it was; in memory: free, while the holder believes that it has it | a clock that does not jump |
| Redlock, five instances | whoever happens to try when it is free | no | two of the five instances | with `fsync always`: as it was; in memory: free, while the holder believes that it has it | five clocks that neither jump nor differ in rate |
";

/// Settings of the services and their consequences.
const CAVEATS: &str = "\
- **Durability differs.** etcd, ZooKeeper and Redis with `fsync always` write every change to the disk before they answer. In
  memory their folders are in `/dev/shm`: what must be written is written, but to memory. quorate writes no grant to the disk:
  a vote is a lease that a node without memory waits out, and numbers for tokens are reserved on the disk in blocks, ahead of
  their use. It gives up what a log would give: after all nodes have restarted nobody has a lock.
- All servers and all clients share this machine, on loopback. On a network the round trips between machines come on top, and a
  service with fewer of them gains.
- quorate is measured with mutual TLS between its nodes and in plain text; the others talk in plain text. Clients talk in plain
  text to all of them.
- Clients are small ones of our own in Rust, a connection each, all on one thread: etcd's lock service over gRPC with a lease that
  is kept alive, ZooKeeper's recipe (an ephemeral sequential node, watching the one before), Redis' `SET NX PX` freed by a script
  that compares, Redlock as published, asking all five at once. Libraries that do more take longer.
- Redis has no queue: who waits tries again after a random 0.2 to 2 ms, renewing what it holds every third of its time. With the
  usual 100 to 300 ms there are some twenty hand-offs a second, whatever the server does.
- A *hand-off* counts only if another client has the lock next. A lock without a queue mostly goes to the client that had it.
- etcd as delivered, apart from folders and addresses: a lease is two seconds at least, so a killed holder is missed for longer.
  ZooKeeper has a tick of 500 ms instead of two seconds, which allows sessions of one second; it has worked for a while before
  anything was counted, since Java is slow at first.
- A killed holder had said that one second without a word is its end, and was last heard of up to a third of that before.
";

impl ServiceComparison {
    /// Renders the section about locks; `chart` is the file name of the chart, if any.
    pub fn section(&self, chart: Option<&str>) -> String {
        let Some((wire, _)) = self.ours.first() else { return String::new() };
        let (ours, machine) = (setting(self.nodes, *wire), &self.machine);
        let mut page = format!(
            "## Locks\n\n{} cores ({}), shared by servers and clients. A message of 64 bytes and its answer take {:.1} us at the \
             median between threads on two cores, which is what a round trip is below, and {:.1} us on one core, in the same \
             run.\n\n",
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
            "\n*alone*: one client and a lock that nobody else wants, from asking to having it. *apart*: {} clients, each with a \
             lock of its own, taken and freed. *together*: {} clients and one lock. *waiters*: all of them wait for one lock, \
             until each has had it once. *holder killed*: until the next one has the lock.\n",
            self.config.apart, self.config.together
        );
        for error in self.problems() {
            page += &format!("\n{error}.\n");
        }
        if let Some(chart) = chart {
            page += &format!("\n![the same as bars]({chart})\n");
        }
        page += &format!(
            "\n### How many times as good\n\nquorate with {ours}, compared with each:\n\n"
        );
        page += &self.ratios().markdown(2);
        page += &format!("\n### Goals\n\n{}", self.goals_table().markdown(2));
        page += &self.missed();
        page += &format!(
            "\n### What the time goes into\n\nProcessor time for each lock taken and freed, how much of the servers' was spent \
             in the kernel, and messages between nodes where they are counted. What is left of the time is waiting: for the network, for the disk, for a turn on one of the {} \
             cores.\n\n{}",
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
        format!("\nMissed, and where the time is:\n\n{}", lines.concat())
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
                "Of the {} two round trips take {}, one after the other, from the client to its node and from there to a \
                 voter; the rest is for three processes to wake up in turn and do their work. For the lock and for freeing it \
                 the nodes use {} of processor time, {}. On a network quorate has these two round trips as well, or one if the \
                 client is beside its node.",
                time(done.latency.percentile(50.0)),
                time(2.0 * self.raw()),
                time(done.processor_us),
                share(done)
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
                "- Versions, in the servers' own words: {}. Each task lasts {} s.\n",
                versions.join("; "),
                number(self.config.time.as_secs_f64())
            ),
        }
    }
}
