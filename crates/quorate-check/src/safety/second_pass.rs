//! Second pass, depth first: whether every run ends, if the first pass could not tell.
//!
//! Breadth first, a step to a state that is no deeper is noticed, but it need not be part of a cycle: runs of different lengths may
//! lead to one state. So all states are visited once more, on one thread, and a step to a state that is still being visited is a
//! cycle. The table of visited states has room for the marks, and only the states of one path are kept with their successors.
//!
//! The pass follows reduced successors only. If these have no cycle, no action is postponed forever, so the first pass has
//! expanded no state in full, and the graph without reductions has no cycle either (`world/reduction.rs`). A state that stands for
//! its renamings recurs if one of them does.

use crate::{Fingerprint, PackedModel};

use super::table::Table;

/// Marks of states, in the place of the tags of the first pass.
const NEW: u64 = 0;
const OPEN: u64 = 1;
const DONE: u64 = 2;

/// Maximum length of a path. A longer one is taken for endless.
const PATH_MOST: usize = 100_000;

/// Number of states between two questions whether to go on.
const ASKED_AFTER: u64 = 1 << 16;

/// A state on the path, and its successors that were not visited yet.
struct OnPath<S> {
    print: Fingerprint,
    successors: Vec<S>,
}

/// Whether every run of a model ends. All its states are in the table, whose tags are lost. `false` if this cannot be told, or if
/// `goes_on` tells to stop.
pub(super) fn every_run_ends<M: PackedModel + ?Sized>(
    model: &M,
    table: &mut Table,
    mut goes_on: impl FnMut() -> bool,
) -> bool {
    table.clear_tags();
    let (mut path, mut opened, mut found) = (Vec::new(), 0_u64, Vec::new());
    let mut waiting = model.initial_states();
    loop {
        let next = match path.last_mut() {
            None => waiting.pop(),
            Some(OnPath { successors, .. }) => successors.pop(),
        };
        let Some(state) = next else {
            let Some(done) = path.pop() else { return true };
            let OnPath { print, .. } = done;
            table.replace_tag(print, DONE);
            continue;
        };
        let print = model.fingerprint(&state);
        match table.replace_tag(print, OPEN) {
            Some(NEW) => {}
            Some(DONE) => {
                table.replace_tag(print, DONE);
                continue;
            }
            _ => return false,
        }
        model.successors(&state, &mut found);
        let successors = found.drain(..).map(|successor| successor.state).collect();
        path.push(OnPath { print, successors });
        opened += 1;
        if path.len() > PATH_MOST || (opened.is_multiple_of(ASKED_AFTER) && !goes_on()) {
            return false;
        }
    }
}
