//! Abstraction of processes to the states of a model: what trace validation compares with the actions of a proved model.
//!
//! A state of a model consists of relations over sorts such as processes and requests. A process implies the rows of some
//! relations that begin with the process itself, and a message implies rows as long as it is in flight.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Process, ProcessId, ProcessSet};

/// Number of bits in a word of a key.
const WORD: usize = u64::BITS as usize;

/// An element of a sort. Equal elements are the same element of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element {
    /// Name of the sort in the model.
    pub sort: &'static str,
    /// Identity of the element within its sort. The abstraction defines its meaning.
    pub key: [u64; 4],
}

impl Element {
    /// An element of a sort.
    pub const fn new(sort: &'static str, key: [u64; 4]) -> Self {
        Self { sort, key }
    }

    /// A process, as an element of the sort `Process`.
    pub const fn process(id: ProcessId) -> Self {
        Self::new("Process", [id.number() as u64, 0, 0, 0])
    }

    /// A set of processes. Processes whose number exceeds [`Element::PROCESSES_MOST`] are left out.
    pub fn of_set(sort: &'static str, members: &ProcessSet) -> Self {
        let mut key = [0; 4];
        for member in members {
            if let Some(word) = key.get_mut(member.index() / WORD) {
                *word |= 1 << (member.index() % WORD);
            }
        }
        Self::new(sort, key)
    }

    /// The processes of an element that is a set.
    pub fn members(&self) -> ProcessSet {
        let word = |id: &ProcessId| self.key[id.index() / WORD];
        let is_member = |id: &ProcessId| word(id) >> (id.index() % WORD) & 1 == 1;
        ProcessId::all(Self::PROCESSES_MOST).filter(is_member).collect()
    }

    /// Maximum number of processes of which an element can be a set.
    pub const PROCESSES_MOST: usize = 4 * WORD;
}

/// Rows of relations, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(pub Vec<(&'static str, Vec<Element>)>);

impl Rows {
    /// Adds a row of a relation.
    pub fn add<const N: usize>(&mut self, relation: &'static str, row: [Element; N]) {
        self.0.push((relation, row.to_vec()));
    }
}

/// Extent to which a process determines the rows of a relation that begin with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// There are exactly these rows.
    Exactly,
    /// There are rows that begin like this, and no others. The process does not know the further columns.
    Beginnings,
    /// Not determined, but of the possible steps of the model one is taken that drops all other rows.
    Preferably,
}

/// The rows that the state of one process implies. Its rows of relations that are not mentioned are not determined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbstractState {
    /// A relation, and its rows.
    pub relations: Vec<(&'static str, Extent, Vec<Vec<Element>>)>,
    /// Further elements that actions may be about.
    pub mentioned: Vec<Element>,
}

impl AbstractState {
    /// Says that exactly these rows of the relation begin with the process.
    pub fn exactly<const N: usize>(
        &mut self,
        relation: &'static str,
        rows: impl IntoIterator<Item = [Element; N]>,
    ) {
        self.add(relation, Extent::Exactly, rows);
    }

    /// Says that the rows of the relation that begin with the process begin like these, and that there is one for each.
    pub fn beginnings<const N: usize>(
        &mut self,
        relation: &'static str,
        rows: impl IntoIterator<Item = [Element; N]>,
    ) {
        self.add(relation, Extent::Beginnings, rows);
    }

    /// Says that the process has only these rows of the relation, although the model may keep others.
    pub fn preferably<const N: usize>(
        &mut self,
        relation: &'static str,
        rows: impl IntoIterator<Item = [Element; N]>,
    ) {
        self.add(relation, Extent::Preferably, rows);
    }

    /// Adds an element that actions may be about, although no row contains it.
    pub fn mention(&mut self, element: Element) {
        self.mentioned.push(element);
    }

    fn add<const N: usize>(
        &mut self,
        relation: &'static str,
        extent: Extent,
        rows: impl IntoIterator<Item = [Element; N]>,
    ) {
        let rows = rows.into_iter().map(|row| row.to_vec()).collect();
        self.relations.push((relation, extent, rows));
    }
}

/// How the elements of a sort are ordered, where the model only says that they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementOrder {
    /// Elements with smaller keys come first.
    ByKey,
    /// In the order in which they first occur in messages and states.
    ByOccurrence,
}

/// A message on its way from one process to another.
#[derive(Debug)]
pub struct MessageInFlight<'m, M> {
    /// Number of the event in which it was sent.
    pub event: u64,
    /// The process that has sent it.
    pub from: ProcessId,
    /// The process to which it is sent.
    pub to: ProcessId,
    /// Contents of the message in flight.
    pub message: &'m M,
}

/// Maps the processes and messages of an algorithm to rows of a model.
pub trait Abstraction {
    /// The processes of the algorithm.
    type Process: Process;

    /// The model, as `proofs/export.py` writes it.
    const MODEL: &'static str;

    /// The total orders among the static relations of the model.
    const ORDERS: &'static [(&'static str, ElementOrder)];

    /// The rows that the state of a process implies.
    fn state(&self, process: &Self::Process, is_up: bool) -> AbstractState;

    /// Adds the rows that the model has at least as long as the message is in flight.
    fn in_flight(
        &self,
        sent: &MessageInFlight<'_, <Self::Process as Process>::Message>,
        rows: &mut Rows,
    );

    /// Adds the rows that the model has from when a process has handled the message, and not before.
    fn handled(
        &self,
        sent: &MessageInFlight<'_, <Self::Process as Process>::Message>,
        rows: &mut Rows,
    ) {
        let _ = (sent, rows);
    }

    /// Adds the rows of static relations about an element that occurs for the first time.
    fn describe(&self, element: &Element, rows: &mut Rows);

    /// Name of an element in messages to people.
    fn name(&self, element: &Element) -> String;
}
