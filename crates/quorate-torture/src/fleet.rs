//! All processes of a run: nodes, workers, long holders, the register and the monitor. They end with the run.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use quorate_client::Moment;
use quorate_core::ProcessId;
use quorate_net::certs;

use crate::clients::{ClientKinds, kinds};
use crate::disks::{self, Disks};
use crate::hosts::Hosts;
use crate::log::{self, Tail};
use crate::outages::{OutageCause, Outages};
use crate::process::ManagedProcess;
use crate::wait;

/// Size and settings of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct FleetConfig {
    pub(crate) nodes: usize,
    pub(crate) workers: usize,
    pub(crate) kinds: ClientKinds,
    /// Whether there is a long holder of each kind, and a monitor.
    pub(crate) holders: bool,
    /// Maximum time-to-live of a session.
    pub(crate) ttl_most_ms: u64,
    /// Upper bound on the time in which nodes answer each other.
    pub(crate) answer_ms: u64,
    /// Address of a configured node that is never started.
    pub(crate) absent: Option<String>,
    /// An earlier build of this program, with which nodes and every second worker of a kind begin.
    pub(crate) from: Option<PathBuf>,
}

/// Greatest number of a node, and one: what a cluster admits.
const NUMBERS_MOST: usize = 256;

/// Maximum time for a node to leave after SIGTERM, in milliseconds.
const LEAVE_MS: u64 = 8_000;

/// All processes of a run.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) hosts: Hosts,
    pub(crate) kinds: ClientKinds,
    folder: PathBuf,
    program: PathBuf,
    /// An earlier build of this program, and the nodes that still run it.
    former: Option<(PathBuf, BTreeSet<usize>)>,
    nodes: Vec<ManagedProcess>,
    /// Number of the node on each host in the cluster. A machine that replaces another one has a new number.
    numbers: Vec<u32>,
    /// Text of a node's file before its number, its address and its members.
    terms: String,
    workers: Vec<ManagedProcess>,
    holders: Vec<ManagedProcess>,
    /// Present only with long holders.
    monitor: Option<ManagedProcess>,
    register: ManagedProcess,
    /// Data folders on file systems of their own, so that they can be filled. Empty if they cannot be mounted.
    disks: Disks,
    peers: Vec<String>,
    clients: Vec<String>,
    register_at: String,
    /// Periods in which nodes did not work because of faults.
    pub(crate) outages: Outages,
    /// Current state of each worker, according to its log.
    worker_states: Vec<WorkerState>,
}

impl Fleet {
    /// Writes the files of a cluster and starts all processes.
    pub(crate) fn start(hosts: Hosts, folder: &Path, config: &FleetConfig) -> io::Result<Self> {
        let FleetConfig { nodes, workers, .. } = *config;
        let holders = if config.holders { config.kinds.iter().len() } else { 0 };
        let address = |host: usize, port: u16| format!("{}:{port}", hosts.address(host));
        let register_at = address(nodes + workers, 7482);
        let peers =
            (0..nodes).map(|node| address(node, 7481)).chain(config.absent.clone()).collect();
        let clients = (0..nodes).map(|node| address(node, 7480)).collect();
        let processes = |what: &str, count: usize| {
            (0..count).map(|number| ManagedProcess::new(format!("{what} {number}"))).collect()
        };
        let mut fleet = Self {
            hosts,
            kinds: config.kinds.clone(),
            folder: folder.to_owned(),
            program: std::env::current_exe()?,
            former: config.from.clone().map(|program| (program, (0..nodes).collect())),
            nodes: processes("node", nodes),
            numbers: (0..nodes as u32).collect(),
            terms: format!(
                "ttl_most_ms = {}\nanswer_ms = {}\nplain_clients = true\ncalls_per_second = 0\n",
                config.ttl_most_ms, config.answer_ms
            ),
            workers: processes("worker", workers),
            holders: processes("long holder", holders),
            monitor: (holders > 0).then(|| ManagedProcess::new("the monitor".to_owned())),
            register: ManagedProcess::new("the register".to_owned()),
            disks: Disks::default(),
            peers,
            clients,
            register_at,
            outages: Outages::default(),
            worker_states: (0..workers).map(|_| WorkerState::default()).collect(),
        };
        fleet.write_files()?;
        if holders > 0 {
            let folders = (0..nodes).map(|node| fleet.data(node));
            fleet.disks = Disks::mount(folders).unwrap_or_else(|why| {
                eprintln!("WITHOUT FULL DISKS: data folders cannot be mounted ({why})");
                Disks::default()
            });
        }
        fleet.start_register()?;
        (0..nodes).try_for_each(|node| fleet.start_node_as(node, 0, "new"))?;
        (0..workers).try_for_each(|worker| fleet.start_worker(worker))?;
        (0..holders).try_for_each(|holder| fleet.start_holder(holder))?;
        fleet.start_monitor()?;
        Ok(fleet)
    }

    /// Number of hosts that a cluster needs: for nodes, workers, the register, long holders and the monitor.
    pub(crate) fn hosts_wanted(nodes: usize, workers: usize, holders: usize) -> usize {
        nodes + workers + 1 + holders + 1
    }

    fn start_register(&mut self) -> io::Result<()> {
        let host = self.nodes.len() + self.workers.len();
        let mut command = self.hosts.command(host, &self.program);
        command.args(["register", &self.register_at]).arg(create_file(self.register_log())?);
        self.register.start(&mut command, &self.folder.join("register.err"), 0)
    }

    fn start_monitor(&mut self) -> io::Result<()> {
        let host = self.holder_host(self.holders.len());
        let mut command = self.hosts.command(host, &self.program);
        command.args(["monitor", &self.clients.join(",")]).arg(create_file(self.monitor_log())?);
        match &mut self.monitor {
            Some(monitor) => monitor.start(&mut command, &self.folder.join("monitor.err"), 0),
            None => Ok(()),
        }
    }

    fn start_holder(&mut self, holder: usize) -> io::Result<()> {
        let mut command = self.hosts.command(self.holder_host(holder), &self.program);
        let kind = self.kinds.of_worker(holder).to_string();
        command.args(["holder", &kind, &self.clients.join(",")]);
        command
            .arg(create_file(self.holder_log(holder))?)
            .arg(kinds::locker(&self.folder))
            .process_group(0);
        let errors = self.folder.join(format!("holder-{holder}.err"));
        self.holders[holder].start(&mut command, &errors, 0)
    }

    /// Marks the data of the nodes as not needed after the run.
    pub(crate) fn discard_data(&mut self) {
        self.disks.discard();
    }

    /// Whether the disks of nodes can be filled.
    pub(crate) fn can_fill(&self) -> bool {
        !self.disks.is_empty()
    }

    /// Fills the disk of a node.
    pub(crate) fn fill(&mut self, node: usize) -> io::Result<()> {
        self.outages.begin(node, OutageCause::FullDisk);
        disks::fill(&self.data(node))
    }

    /// Frees space on the disk of a node.
    pub(crate) fn empty(&mut self, node: usize) -> io::Result<()> {
        disks::empty(&self.data(node))?;
        self.outages.end(node, OutageCause::FullDisk);
        Ok(())
    }

    fn data(&self, node: usize) -> PathBuf {
        self.folder.join(format!("data-{node}"))
    }

    fn write_files(&self) -> io::Result<()> {
        // Those of machines that replace others, too.
        let nodes = ProcessId::all(NUMBERS_MOST).map(|node| (node, Vec::new())).collect();
        let wanted = certs::CertsSpec { nodes, clients: Vec::new(), days: 1, renew: false };
        certs::make(&self.folder.join("certs"), &wanted).map_err(io::Error::other)?;
        let peers = self.peers.iter().enumerate();
        let peers: String =
            peers.map(|(peer, address)| format!("{peer} = \"{address}\"\n")).collect();
        let members = format!("[peers]\n{peers}");
        (0..self.nodes.len()).try_for_each(|node| self.write_file(node, &members))
    }

    fn write_file(&self, node: usize, members: &str) -> io::Result<()> {
        let (clients, number) = (&self.clients[node], self.numbers[node]);
        let text = format!(
            "cluster = \"70\"\nid = {number}\nclients = \"{clients}\"\ndata = \"data-{node}\"\n{}{members}[tls]\nauthority = \"certs/ca.pem\"\ncertificate = \"certs/node-{number}.pem\"\nkey = \"certs/node-{number}.key\"\n",
            self.terms
        );
        fs::write(self.folder.join(format!("node-{node}.toml")), text)
    }

    /// Puts a new machine in place of one that is dead: another number, no data, the same addresses. Returns the violation if the
    /// members cannot be changed.
    pub(crate) fn replace_node(&mut self, node: usize) -> io::Result<Option<String>> {
        let (former, number) = (self.numbers[node], self.next_number());
        self.forget(node)?;
        self.numbers[node] = number;
        self.write_file(node, &format!("listen = \"{}\"\n", self.peers[node]))?;
        self.start_node_as(node, 0, "joins")?;
        let others = self.clients.iter().enumerate().filter(|(other, _)| *other != node);
        let others = others.map(|(_, address)| address.as_str()).collect::<Vec<_>>().join(",");
        let mut change = self.hosts.command(self.worker_host(0), &self.program);
        change.args(["replace", &others, &former.to_string()]);
        change.args([&number.to_string(), &self.peers[node]]);
        let output = change.stdin(Stdio::null()).output()?;
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let broken = || format!("node {former} was not replaced by {number}: {why}");
        Ok((!output.status.success()).then(broken))
    }

    fn next_number(&self) -> u32 {
        1 + self.numbers.iter().copied().max().unwrap_or(0)
    }

    /// Whether there is a number for another machine.
    pub(crate) fn can_replace(&self) -> bool {
        (self.next_number() as usize) < NUMBERS_MOST
    }

    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn worker_count(&self) -> usize {
        self.workers.len()
    }

    /// The host of a worker. The host of a node has the node's number.
    pub(crate) fn worker_host(&self, worker: usize) -> usize {
        self.nodes.len() + worker
    }

    /// Hosts of all clients, workers and long holders.
    pub(crate) fn client_hosts(&self) -> Vec<usize> {
        let holders = (0..self.holders.len()).map(|holder| self.holder_host(holder));
        (0..self.workers.len()).map(|worker| self.worker_host(worker)).chain(holders).collect()
    }

    fn holder_host(&self, holder: usize) -> usize {
        self.nodes.len() + self.workers.len() + 1 + holder
    }

    pub(crate) fn holder_count(&self) -> usize {
        self.holders.len()
    }

    pub(crate) fn holder_log(&self, holder: usize) -> PathBuf {
        self.folder.join(format!("holder-{holder}.log"))
    }

    pub(crate) fn monitor_log(&self) -> PathBuf {
        self.folder.join("monitor.log")
    }

    pub(crate) fn register_log(&self) -> PathBuf {
        self.folder.join("register.log")
    }

    /// The records of each start of a node, and the clock error in seconds at that start.
    pub(crate) fn records(&self, node: usize) -> Vec<(PathBuf, i64)> {
        let starts = self.nodes[node].shifts().iter().enumerate();
        starts.map(|(start, shift)| (self.record(node, start), *shift)).collect()
    }

    fn record(&self, node: usize, start: usize) -> PathBuf {
        self.folder.join(format!("node-{node}-{start}.records"))
    }

    /// The logs of each start of a worker.
    pub(crate) fn logs(&self, worker: usize) -> Vec<PathBuf> {
        let starts = self.workers[worker].shifts().len();
        (0..starts).map(|start| self.log(worker, start)).collect()
    }

    fn log(&self, worker: usize, start: usize) -> PathBuf {
        self.folder.join(format!("worker-{worker}-{start}.log"))
    }

    /// Starts a node that is down, with a clock that is wrong by `shift` seconds.
    pub(crate) fn start_node(&mut self, node: usize, shift: i64) -> io::Result<()> {
        self.start_node_as(node, shift, "again")
    }

    fn start_node_as(&mut self, node: usize, shift: i64, age: &str) -> io::Result<()> {
        if !self.nodes[node].is_running() {
            // A node that cannot write to its disk at its start exits with an error.
            self.empty(node)?;
        }
        let start = self.nodes[node].shifts().len();
        let program = match &self.former {
            Some((former, nodes)) if nodes.contains(&node) => former,
            _ => &self.program,
        };
        let mut command = match shift {
            0 => self.hosts.command(node, program),
            _ => {
                let mut command = self.hosts.command(node, Path::new("unshare"));
                command.args(["--time", "--boottime", &shift.to_string()]).arg(program);
                command
            }
        };
        let config = self.folder.join(format!("node-{node}.toml"));
        command.arg("node").arg(config).arg(create_file(self.record(node, start))?).arg(age);
        let errors = self.folder.join(format!("node-{node}.err"));
        self.nodes[node].start(&mut command, &errors, shift)?;
        self.outages.end(node, OutageCause::Down);
        self.outages.end(node, OutageCause::Lost);
        Ok(())
    }

    /// Starts a worker that is down.
    pub(crate) fn start_worker(&mut self, worker: usize) -> io::Result<()> {
        let start = self.workers[worker].shifts().len();
        let is_second = worker / self.kinds.iter().len() % 2 == 1;
        let program = match &self.former {
            Some((former, _)) if is_second => former,
            _ => &self.program,
        };
        let mut command = self.hosts.command(self.worker_host(worker), program);
        let (kind, number) = (self.kinds.of_worker(worker).to_string(), worker.to_string());
        command.args(["worker", &kind, &number, &self.clients.join(","), &self.register_at]);
        command
            .arg(create_file(self.log(worker, start))?)
            .arg(kinds::locker(&self.folder))
            .process_group(0);
        let errors = self.folder.join(format!("worker-{worker}.err"));
        self.workers[worker].start(&mut command, &errors, 0)
    }

    /// The next node that still runs the earlier build of this program.
    pub(crate) fn next_upgrade(&self) -> Option<usize> {
        self.former.iter().find_map(|(_, nodes)| nodes.first().copied())
    }

    /// From its next start on, a node runs the present build of this program.
    pub(crate) fn upgrade(&mut self, node: usize) {
        if let Some((_, nodes)) = &mut self.former {
            nodes.remove(&node);
        }
    }

    pub(crate) fn kill_node(&mut self, node: usize) {
        self.outages.begin(node, OutageCause::Down);
        self.nodes[node].kill();
        self.outages.end(node, OutageCause::Stopped);
    }

    /// An outage of these nodes begins.
    pub(crate) fn begin(&mut self, nodes: &[usize], cause: OutageCause) {
        nodes.iter().for_each(|node| self.outages.begin(*node, cause));
    }

    /// An outage of a node ends.
    pub(crate) fn end(&mut self, node: usize, cause: OutageCause) {
        self.outages.end(node, cause);
    }

    pub(crate) fn kill_worker(&mut self, worker: usize) {
        self.workers[worker].kill();
    }

    /// Deletes the data of a node that is down.
    pub(crate) fn forget(&mut self, node: usize) -> io::Result<()> {
        self.outages.begin(node, OutageCause::Lost);
        // The folder itself may be a mount point.
        for entry in fs::read_dir(self.data(node))? {
            let path = entry?.path();
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        Ok(())
    }

    /// Kills all clients, so that their logs are complete.
    pub(crate) fn kill_clients(&mut self) {
        self.workers.iter_mut().chain(&mut self.holders).for_each(ManagedProcess::kill);
    }

    /// Makes a node leave with SIGTERM, and waits until it has exited. Returns an error if its exit is wrong.
    pub(crate) fn terminate_node(&mut self, node: usize) -> Result<(), String> {
        self.outages.begin(node, OutageCause::Down);
        self.nodes[node].terminate(LEAVE_MS)
    }

    /// Waits at most `millis` until a node reports ready to a poll sent from now on.
    pub(crate) fn await_ready(&self, node: usize, millis: u64) -> io::Result<bool> {
        let (since, mut log) = (Moment::now().0, Tail::from_end(self.monitor_log())?);
        for _ in 0..millis / 20 {
            wait::check()?;
            wait::pause(20);
            let ready = ready_times(&log.lines()?);
            if ready.iter().any(|(sent, of)| *sent >= since && *of == node) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Times of the monitor's polls that found a node ready, with the node.
    pub(crate) fn ready_times(&self) -> io::Result<Vec<(u64, usize)>> {
        Ok(ready_times(&log::lines(&self.monitor_log())?))
    }

    pub(crate) fn stop_node(&mut self, node: usize) {
        self.outages.begin(node, OutageCause::Stopped);
        self.nodes[node].stop();
    }

    pub(crate) fn continue_node(&mut self, node: usize) {
        self.nodes[node].resume();
        self.outages.end(node, OutageCause::Stopped);
    }

    pub(crate) fn stop_worker(&mut self, worker: usize) {
        self.workers[worker].stop();
    }

    pub(crate) fn continue_worker(&mut self, worker: usize) {
        self.workers[worker].resume();
    }

    /// Stops the worker that holds the lock while it holds it. Returns the worker and the node through which it was
    /// granted.
    pub(crate) fn catch_holder(&mut self) -> io::Result<Option<(usize, usize)>> {
        for worker in 0..self.workers.len() {
            if self.workers[worker].is_stopped() || !self.holds_lock(worker)? {
                continue;
            }
            self.stop_worker(worker);
            // It may have continued until it was stopped.
            if self.holds_lock(worker)? {
                return Ok(Some((worker, self.host_of(self.worker_states[worker].node))));
            }
            self.continue_worker(worker);
        }
        Ok(None)
    }

    /// The host of the node with this number; the first host if it has been replaced.
    fn host_of(&self, number: usize) -> usize {
        self.numbers.iter().position(|it| *it as usize == number).unwrap_or(0)
    }

    fn holds_lock(&mut self, worker: usize) -> io::Result<bool> {
        let Some(log) = self.logs(worker).pop() else { return Ok(false) };
        let is_running = self.workers[worker].id().is_some();
        Ok(self.worker_states[worker].read(&log)? && is_running)
    }

    /// The nodes that do not vote or are not connected to all others.
    pub(crate) fn absent(&self) -> Vec<usize> {
        let absent = (self.peers.len() - self.nodes.len()).to_string();
        let is_absent = |node: &usize| {
            let mut check = self.hosts.command(*node, &self.program);
            check.args(["look", &self.clients[*node], &absent]).stderr(Stdio::null());
            !check.status().is_ok_and(|status| status.success())
        };
        (0..self.nodes.len()).filter(is_absent).collect()
    }

    /// Exits of processes so far that were caused neither by a fault nor by the end of the run.
    pub(crate) fn exits(&mut self) -> Vec<String> {
        self.processes().flat_map(|process| process.exits().to_vec()).collect()
    }

    fn processes(&mut self) -> impl Iterator<Item = &mut ManagedProcess> {
        let clients = self.workers.iter_mut().chain(&mut self.holders);
        clients.chain(&mut self.nodes).chain(&mut self.monitor).chain([&mut self.register])
    }

    /// Process ids of the nodes.
    pub(crate) fn node_ids(&self) -> Vec<u32> {
        self.nodes.iter().filter_map(ManagedProcess::id).collect()
    }

    pub(crate) fn clients(&self) -> &[String] {
        &self.clients
    }

    pub(crate) fn peers(&self) -> &[String] {
        &self.peers
    }
}

/// Times of the monitor's polls that found a node ready, by lines of its log.
fn ready_times(lines: &[Vec<String>]) -> Vec<(u64, usize)> {
    let ready = lines.iter().filter(|words| words[0] == "ready");
    ready.filter_map(|words| Some((words[1].parse().ok()?, words[2].parse().ok()?))).collect()
}

/// Current state of a worker, according to its log.
#[derive(Debug, Default)]
struct WorkerState {
    log: Option<Tail>,
    holds_lock: bool,
    /// The node through which it was granted the lock.
    node: usize,
}

impl WorkerState {
    /// Reads the new lines of the log, which is another file after each start of the worker. Returns whether the worker
    /// holds the lock.
    fn read(&mut self, path: &Path) -> io::Result<bool> {
        if self.log.as_ref().is_none_or(|log| log.path() != path) {
            *self = Self { log: Some(Tail::new(path.to_owned())), ..Self::default() };
        }
        let lines = self.log.as_mut().map_or(Ok(Vec::new()), Tail::lines)?;
        for words in lines {
            let holding = ["granted", "held", "wrote", "refused", "plain"];
            self.holds_lock = holding.contains(&words[0].as_str());
            if words[0] == "granted" {
                self.node = words.get(5).and_then(|node| node.parse().ok()).unwrap_or(0);
            }
        }
        Ok(self.holds_lock)
    }
}

/// Creates an empty file, unless it exists. A process may be killed before it has opened its log, so the log is created
/// before the process is started: a log that is missing later is an error.
fn create_file(path: PathBuf) -> io::Result<PathBuf> {
    fs::OpenOptions::new().create(true).append(true).open(&path)?;
    Ok(path)
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Before the disks are unmounted, which happens when they are dropped.
        self.processes().for_each(ManagedProcess::kill);
        if wait::check().is_err() {
            self.discard_data();
        }
    }
}
