//! Text drawing of a quorum in the structure of its system: clusters, a grid, a tree or a row.

use std::io::{self, Write};

use quorate_core::quorum::{
    AnyCoterie, AnyMonotone, AnyPerView, AnySystem, QuorumSystem, Wall, columns_and_rows,
};
use quorate_core::{ProcessId, ProcessSet, VCube};

use super::in_braces;
use crate::print::style::{BAD, FAINT, GOOD};

/// Maximum number of processes drawn; with more a text drawing is unreadable.
const DRAWN_MOST: usize = 256;
/// Maximum number of processes per line.
const LINE_MOST: usize = 16;

/// Draws the quorum of one process.
pub(super) fn write(
    out: &mut impl Write,
    system: &AnySystem,
    failed: &ProcessSet,
    shown: ProcessId,
) -> io::Result<()> {
    let n = system.processes();
    let quorum = if failed.contains(shown) { None } else { system.quorum(shown, failed) };
    match &quorum {
        _ if failed.contains(shown) => writeln!(out, "{shown} has failed and has no quorum")?,
        None => writeln!(out, "{shown} has no quorum")?,
        Some(quorum) => {
            let members: Vec<u32> = quorum.iter().map(ProcessId::number).collect();
            writeln!(out, "quorum of {shown}: {}", in_braces(&members))?;
        }
    }
    if n > DRAWN_MOST {
        return writeln!(out, "  (not drawn: more than {DRAWN_MOST} processes)\n");
    }
    let quorum = quorum.unwrap_or_default();
    let drawing = Drawing { n, quorum: &quorum, failed };
    match system {
        AnySystem::PerView(AnyPerView::Monotone(AnyMonotone::VCubeHalves(_))) => {
            drawing.clusters(out, shown)?;
        }
        AnySystem::PerView(AnyPerView::Monotone(AnyMonotone::Grid(_)))
        | AnySystem::Fixed(AnyCoterie::FixedGrid(_)) => {
            drawing.rows(out, columns_and_rows(n).0)?;
        }
        AnySystem::PerView(AnyPerView::Monotone(AnyMonotone::Wall(wall))) => {
            drawing.wall(out, wall)?;
        }
        AnySystem::Fixed(AnyCoterie::Tree(_)) => drawing.tree(out, 0, "  ", "  ")?,
        AnySystem::Fixed(_) | AnySystem::PerView(_) => {
            drawing.rows(out, n.min(LINE_MOST))?;
        }
    }
    writeln!(out, "  {FAINT}[p] in the quorum   p not in it   ✗p failed{FAINT:#}\n")
}

struct Drawing<'a> {
    n: usize,
    quorum: &'a ProcessSet,
    failed: &'a ProcessSet,
}

impl Drawing<'_> {
    /// Formats a process with its mark, padded to a common width.
    fn cell(&self, process: ProcessId) -> String {
        let width = (self.n - 1).to_string().len();
        let number = process.number();
        let space = width - number.to_string().len();
        let cell = match (self.quorum.contains(process), self.failed.contains(process)) {
            (true, _) => format!("{GOOD}[{number}]{GOOD:#}"),
            (false, true) => format!("{BAD}✗{number}{BAD:#} "),
            (false, false) => format!(" {number} "),
        };
        format!("{:space$}{cell}", "")
    }

    /// Draws all processes in rows with this number of columns.
    fn rows(&self, out: &mut impl Write, columns: usize) -> io::Result<()> {
        let all: Vec<ProcessId> = ProcessId::all(self.n).collect();
        for row in all.chunks(columns) {
            self.row(out, "", row)?;
        }
        Ok(())
    }

    /// Draws the rows of a wall.
    fn wall(&self, out: &mut impl Write, wall: &Wall) -> io::Result<()> {
        for (start, width) in wall.rows() {
            let row: Vec<ProcessId> = (start..start + width).map(ProcessId::from_index).collect();
            self.row(out, "", &row)?;
        }
        Ok(())
    }

    fn row(&self, out: &mut impl Write, title: &str, row: &[ProcessId]) -> io::Result<()> {
        let cells: Vec<String> = row.iter().map(|process| self.cell(*process)).collect();
        writeln!(out, "  {title}{}", cells.join(" ").trim_end())
    }

    /// Draws the clusters of a process, with members in the order in which it contacts them.
    fn clusters(&self, out: &mut impl Write, shown: ProcessId) -> io::Result<()> {
        let vcube = VCube::new(self.n);
        self.row(out, "itself      ", &[shown])?;
        for s in vcube.clusters() {
            let members: Vec<ProcessId> = vcube.cluster(shown, s).collect();
            for (index, line) in members.chunks(LINE_MOST).enumerate() {
                let title = if index == 0 { format!("cluster {s}") } else { String::new() };
                self.row(out, &format!("{title:<12}"), line)?;
            }
        }
        Ok(())
    }

    /// Draws the subtree at a node. `first` precedes the node, `rest` precedes the lines below it.
    fn tree(&self, out: &mut impl Write, node: usize, first: &str, rest: &str) -> io::Result<()> {
        writeln!(out, "{first}{}", self.cell(ProcessId::from_index(node)).trim_end())?;
        let children: Vec<usize> =
            [2 * node + 1, 2 * node + 2].into_iter().filter(|child| *child < self.n).collect();
        for child in &children {
            let is_last = children.last() == Some(child);
            let (branch, below) = if is_last { (" └─", "   ") } else { (" ├─", " │ ") };
            self.tree(out, *child, &format!("{rest}{branch}"), &format!("{rest}{below}"))?;
        }
        Ok(())
    }
}
