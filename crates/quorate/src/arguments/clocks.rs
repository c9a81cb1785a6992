//! Flags of `quorate clocks`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `quorate clocks`.
#[derive(Debug, Args)]
#[command(after_help = "\
Events are written one process per line, or separated by `;`. `m!` sends message m, `m?` receives \
it, and any other word is an internal event.

Examples:
  quorate clocks 'p: a m1!; q: m1? c m2!; r: e m2?'
  quorate clocks 'p: a m!; q: b m? c' --compare a c
  quorate clocks 'p: a m!; q: b m? c' --cut p=1,q=2
  quorate clocks --file events.txt --json
  quorate sim central -n 3 --requesters all --trace run.jsonl && quorate clocks --trace run.jsonl
  quorate clocks --exercise --seed 7
  quorate clocks --exercise --seed 7 --answers")]
pub(crate) struct ClocksFlags {
    /// Events and messages of the processes
    #[arg(required_unless_present_any = ["file", "trace", "exercise"])]
    pub(crate) events: Option<String>,
    /// Read the events from a file; `-` is the standard input
    #[arg(long, value_name = "FILE", conflicts_with = "events")]
    pub(crate) file: Option<PathBuf>,
    /// Take the events of a run, from a trace written by `--trace FILE.jsonl`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["events", "file"])]
    pub(crate) trace: Option<PathBuf>,
    /// Say whether one event happened before another; `p.2` is the second event of p
    #[arg(long, num_args = 2, value_names = ["EVENT", "EVENT"])]
    pub(crate) compare: Option<Vec<String>>,
    /// Say whether a cut is consistent: the number of events of each process, as in p=2,q=1
    #[arg(long, value_name = "COUNTS")]
    pub(crate) cut: Option<String>,
    /// Print a random computation without its stamps, as an exercise
    #[arg(long, conflicts_with_all = ["events", "file", "trace", "compare", "cut"])]
    pub(crate) exercise: bool,
    /// Print the stamps of the exercise
    #[arg(long, requires = "exercise")]
    pub(crate) answers: bool,
    /// Number of processes of the exercise
    #[arg(short = 'n', value_name = "N", default_value_t = 3, requires = "exercise",
          value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) processes: u8,
    /// Number of events of the exercise, without the last receipts
    #[arg(long = "length", value_name = "N", default_value_t = 10, requires = "exercise",
          value_parser = clap::value_parser!(u8).range(1..=60))]
    pub(crate) length: u8,
    /// Seed of the exercise
    #[arg(long, default_value_t = 0, requires = "exercise")]
    pub(crate) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
