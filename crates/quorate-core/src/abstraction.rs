//! Abstraction of processes to the states of a model: what trace validation compares with the actions of a proved model.
//!
//! A state of a model consists of relations over sorts such as processes and requests. Every element is owned by a process, or
//! by none. A process implies rows of relations that begin with elements of its own, and a message implies rows as long as it
//! is in flight.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Process, ProcessId, ProcessSet, Time};

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

/// Extent to which a process determines the rows of a relation that begin with an element of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// There are exactly these rows.
    Exactly,
    /// There are rows that begin like this, and no others. The process does not know the further columns.
    Beginnings,
    /// Not determined, but of the possible steps of the model one is taken that drops all other rows.
    Preferably,
}

/// A row that there is or is not, whatever else the relation has. `None` is a column that is not known, so it matches any element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Name of the relation.
    pub relation: &'static str,
    /// The columns that are known.
    pub row: Vec<Option<Element>>,
    /// Whether there is such a row.
    pub present: bool,
}

/// The rows that the state of one process implies. Its rows of relations that are not mentioned are not determined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbstractState {
    /// A relation, and its rows.
    pub relations: Vec<(&'static str, Extent, Vec<Vec<Element>>)>,
    /// Rows of relations that are determined in part.
    pub facts: Vec<Fact>,
    /// Relations and elements. The only rows that begin with the element are those of which a fact says that there is one.
    pub closed: Vec<(&'static str, Element)>,
    /// Name of the action that explains the input itself, if it is known. It is tried before other actions.
    pub action: Option<&'static str>,
    /// Further elements that actions may be about.
    pub mentioned: Vec<Element>,
}

impl AbstractState {
    /// Says that exactly these rows of the relation begin with elements of the process.
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

    /// Says that there is a row with these columns. `None` matches any element.
    pub fn has<const N: usize>(&mut self, relation: &'static str, row: [Option<Element>; N]) {
        self.facts.push(Fact { relation, row: row.to_vec(), present: true });
    }

    /// Says that there is no row with these columns. `None` matches any element.
    pub fn lacks<const N: usize>(&mut self, relation: &'static str, row: [Option<Element>; N]) {
        self.facts.push(Fact { relation, row: row.to_vec(), present: false });
    }

    /// Says that the only row of the relation that begins with this element is the given one, or that there is none.
    pub fn only<const N: usize>(
        &mut self,
        relation: &'static str,
        first: Element,
        row: Option<[Element; N]>,
    ) {
        self.closed.push((relation, first));
        row.into_iter().for_each(|row| self.has(relation, row.map(Some)));
    }

    /// Adds an element that actions may be about, although no row contains it.
    pub fn mention(&mut self, element: Element) {
        self.mentioned.push(element);
    }

    /// Adds what another part of the same owner implies.
    pub fn append(&mut self, other: Self) {
        let Self { relations, facts, closed, action, mentioned } = other;
        self.relations.extend(relations);
        self.facts.extend(facts);
        self.closed.extend(closed);
        self.action = action.or(self.action);
        self.mentioned.extend(mentioned);
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

/// The elements of a run: which process owns them, and what the static relations of the model say about them.
pub trait Elements {
    /// The process that owns an element. Elements that no process owns are those of the environment.
    fn owner(&self, element: &Element) -> Option<ProcessId> {
        (element.sort == "Process").then(|| ProcessId::new(element.key[0] as u32))
    }

    /// Adds the rows of static relations about an element that occurs for the first time.
    fn describe(&self, element: &Element, rows: &mut Rows);

    /// Name of an element in messages to people.
    fn name(&self, element: &Element) -> String;
}

/// Maps the processes and messages of an algorithm to rows of a model.
pub trait Abstraction: Elements {
    /// The processes of the algorithm.
    type Process: Process;

    /// The model, as `proofs/export.py` writes it.
    const MODEL: &'static str;

    /// The total orders among the static relations of the model.
    const ORDERS: &'static [(&'static str, ElementOrder)];

    /// Sorts of the elements that act. An action is one of the process that owns the first of its parameters of such a sort.
    const ACTORS: &'static [&'static str] = &["Process"];

    /// Takes note of a process that has handled an input, or has crashed. For what later states and messages refer to.
    fn observe(&mut self, process: &Self::Process, is_up: bool) {
        let _ = (process, is_up);
    }

    /// Adds rows that the model has from now on because time has passed. `clock` is what the clock of a process shows.
    fn time_passes(&mut self, clock: &dyn Fn(ProcessId) -> Time, rows: &mut Rows) {
        let _ = (clock, rows);
    }

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
}
