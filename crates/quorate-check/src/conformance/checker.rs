//! The state of a model that follows a run, and what the processes of the run imply about it.

use quorate_core::abstraction::{AbstractState, Element, ElementOrder, Extent, Rows};
use quorate_core::{SortedMap, SortedSet};

use super::divergence::Divergence;
use super::model::{Model, Property};
use super::solve::{Binding, Solver};
use super::structure::{COLUMNS_MOST, ElementId, Row, RowSet, Structure, row_of};
use std::ops::ControlFlow;

/// Functions that describe and name the elements of a run.
pub(super) struct ElementGuide<'g> {
    pub(super) describe: &'g dyn Fn(&Element, &mut Rows),
    pub(super) name: &'g dyn Fn(&Element) -> String,
}

/// Extent to which the run determines the rows of a relation that begin with one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    /// Exactly the rows of `Checker::implied`.
    Exactly,
    /// Rows that begin with this number of columns of a row of `Checker::implied`, at least one for each of them.
    Beginnings(usize),
}

/// A difference between the state of the model and what the run implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Goal {
    pub(super) relation: usize,
    pub(super) row: Row,
    /// Number of columns of the row that are known.
    pub(super) columns: usize,
    /// Whether the row has to be there.
    pub(super) present: bool,
}

/// Counts of a checker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of inputs that processes have handled.
    pub inputs: u64,
    /// Number of inputs that changed the state of the model.
    pub steps: u64,
    /// Number of times that each action was taken.
    pub actions: SortedMap<String, u64>,
}

impl Statistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.steps += other.steps;
        for (action, number) in other.actions.iter() {
            *self.actions.entry(action.clone()).or_insert(0) += number;
        }
    }
}

/// Follows a run in a model.
#[derive(Clone, Debug)]
pub struct Checker<'m> {
    pub(super) model: &'m Model,
    /// The state of the model.
    pub(super) structure: Structure,
    /// Extent to which each relation is determined, by the element in its first column.
    pub(super) known: Vec<Vec<Known>>,
    /// Rows of each relation that the processes imply.
    pub(super) implied: Vec<RowSet>,
    /// Rows of the process that has handled the last input, where the model may have more.
    pub(super) preferred: Vec<(usize, RowSet)>,
    /// Rows that messages imply, with the number of messages. The model may have more rows.
    pub(super) demanded: SortedMap<(usize, Row), u32>,
    /// Rows that the model must not have before a message has arrived. Otherwise a step might be explained by another message.
    forbidden: SortedMap<(usize, Row), u32>,
    pub(super) statistics: Statistics,
    /// Elements that were added since the axioms were last evaluated.
    is_extended: bool,
}

/// A row whose elements have numbers.
pub(super) type NumberedRow = (usize, Row);

impl<'m> Checker<'m> {
    /// Creates a checker in the initial state of the model, in which no relation has a row.
    pub(super) fn new(model: &'m Model, orders: &[(&str, ElementOrder)]) -> Self {
        let relations = model.signature.relations.len();
        let checker = Self {
            model,
            structure: Structure::new(&model.signature, orders),
            known: vec![Vec::new(); relations],
            implied: vec![RowSet::default(); relations],
            preferred: Vec::new(),
            demanded: SortedMap::new(),
            forbidden: SortedMap::new(),
            statistics: Statistics::default(),
            is_extended: false,
        };
        let is_initial = checker.violated(&model.initial).is_none();
        assert!(is_initial, "in an initial state of the model no relation has a row");
        checker
    }

    /// Counts of inputs and actions so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub(super) fn solver(&self) -> Solver<'_> {
        Solver { signature: &self.model.signature, structure: &self.structure }
    }

    /// The number of an element. A new one is described first.
    pub(super) fn intern(&mut self, element: &Element, guide: &ElementGuide<'_>) -> ElementId {
        let sort = self.model.signature.sort(element.sort);
        let sort = sort.expect("the abstraction uses the sorts of the model");
        let (number, is_new) = self.structure.intern(sort, element);
        if is_new {
            self.is_extended = true;
            let mut rows = Rows::default();
            (guide.describe)(element, &mut rows);
            for (name, row) in rows.0 {
                let numbers: Vec<ElementId> =
                    row.iter().map(|part| self.intern(part, guide)).collect();
                if let Ok(function) = self.model.signature.function(name) {
                    let (value, arguments) = numbers.split_last().expect("a function has a value");
                    self.structure.define(function, row_of(arguments), *value);
                } else {
                    let relation = self.relation(name);
                    self.structure.rows_mut(relation).insert(row_of(&numbers));
                }
            }
        }
        number
    }

    pub(super) fn relation(&self, name: &str) -> usize {
        let relation = self.model.signature.relation(name);
        relation.expect("the abstraction uses the relations of the model")
    }

    pub(super) fn number(&mut self, rows: &Rows, guide: &ElementGuide<'_>) -> Vec<NumberedRow> {
        let rows = rows.0.iter();
        rows.map(|(name, row)| (self.relation(name), self.row(row, guide))).collect()
    }

    fn row(&mut self, elements: &[Element], guide: &ElementGuide<'_>) -> Row {
        let mut row = Row::default();
        for (column, element) in row.iter_mut().zip(elements) {
            *column = self.intern(element, guide);
        }
        row
    }

    /// Requires rows as long as a message is in flight.
    pub(super) fn demand(&mut self, rows: &[NumberedRow]) {
        rows.iter().for_each(|row| *self.demanded.entry(*row).or_insert(0) += 1);
    }

    /// Ends what was required for a message that is no longer in flight.
    pub(super) fn release(&mut self, rows: &[NumberedRow]) {
        count_down(&mut self.demanded, rows);
    }

    /// Forbids rows as long as a message is in flight.
    pub(super) fn forbid(&mut self, rows: &[NumberedRow]) {
        rows.iter().for_each(|row| *self.forbidden.entry(*row).or_insert(0) += 1);
    }

    /// Allows rows of a message that is no longer in flight.
    pub(super) fn allow(&mut self, rows: &[NumberedRow]) {
        count_down(&mut self.forbidden, rows);
    }

    /// Replaces what a process implies.
    pub(super) fn imply(
        &mut self,
        actor: ElementId,
        state: &AbstractState,
        guide: &ElementGuide<'_>,
    ) {
        for known in &mut self.known {
            let place = usize::from(actor);
            if known.len() <= place {
                known.resize(place + 1, Known::Nothing);
            }
            known[place] = Known::Nothing;
        }
        for implied in &mut self.implied {
            for row in implied.beginning_with(&[actor]).to_vec() {
                implied.remove(&row);
            }
        }
        state.mentioned.iter().for_each(|element| {
            self.intern(element, guide);
        });
        self.preferred.clear();
        for (name, extent, rows) in &state.relations {
            let relation = self.relation(name);
            if *extent == Extent::Preferably {
                let mut preferred = RowSet::default();
                for row in rows {
                    preferred.insert(self.row(row, guide));
                }
                self.preferred.push((relation, preferred));
                continue;
            }
            let columns = self.model.signature.relations[relation].columns.len();
            self.known[relation][usize::from(actor)] = match extent {
                Extent::Exactly => Known::Exactly,
                Extent::Preferably => Known::Nothing,
                Extent::Beginnings => Known::Beginnings(rows.first().map_or(1, Vec::len)),
            };
            for row in rows {
                assert!(row.len() <= columns, "a row of {name} has at most {columns} columns");
                let row = self.row(row, guide);
                assert_eq!(
                    row[0], actor,
                    "a process implies rows of {name} that begin with itself"
                );
                self.implied[relation].insert(row);
            }
        }
    }

    /// Extent to which the rows that begin with this element are determined.
    pub(super) fn known(&self, relation: usize, first: ElementId) -> Known {
        self.known[relation].get(usize::from(first)).copied().unwrap_or(Known::Nothing)
    }

    /// The difference of this row between the model and the run, if there is one. A change of the row can make a difference
    /// or remove it.
    pub(super) fn goal_of(&self, relation: usize, row: &Row) -> (Goal, bool) {
        let columns = self.model.signature.relations[relation].columns.len();
        let rows = self.structure.rows(relation);
        let (is_there, demanded) =
            (rows.contains(row), self.demanded.contains_key(&(relation, *row)));
        match self.known(relation, row[0]) {
            _ if demanded => (Goal { relation, row: *row, columns, present: true }, !is_there),
            _ if self.forbidden.contains_key(&(relation, *row)) => {
                (Goal { relation, row: *row, columns, present: false }, is_there)
            }
            Known::Nothing => (Goal { relation, row: *row, columns, present: !is_there }, false),
            Known::Exactly => {
                let present = self.implied[relation].contains(row);
                (Goal { relation, row: *row, columns, present }, present != is_there)
            }
            Known::Beginnings(columns) => {
                let beginning = row_of(&row[..columns]);
                let present = self.implied[relation].contains(&beginning);
                let is_there = !rows.beginning_with(&row[..columns]).is_empty();
                (Goal { relation, row: beginning, columns, present }, present != is_there)
            }
        }
    }

    /// All differences that an input of this process can have made.
    pub(super) fn goals(&self, actor: ElementId, sent: &[NumberedRow]) -> SortedSet<Goal> {
        let mut goals = SortedSet::new();
        for relation in 0..self.known.len() {
            if self.known(relation, actor) == Known::Nothing {
                continue;
            }
            let present = self.structure.rows(relation).beginning_with(&[actor]);
            let implied = self.implied[relation].beginning_with(&[actor]);
            for row in present.iter().chain(implied) {
                let (goal, differs) = self.goal_of(relation, row);
                if differs {
                    goals.insert(goal);
                }
            }
        }
        for (relation, row) in sent {
            let (goal, differs) = self.goal_of(*relation, row);
            if differs {
                goals.insert(goal);
            }
        }
        goals
    }

    /// The first property of this list that does not hold.
    pub(super) fn violated<'p>(
        &self,
        properties: impl IntoIterator<Item = &'p Property>,
    ) -> Option<&'p Property> {
        properties.into_iter().find(|property| {
            let mut stop = |_: &Binding| ControlFlow::Break(());
            let mut binding = Binding::new(property.slots);
            self.solver().solve(&[&property.violation], &[], &mut binding, &mut stop).is_break()
        })
    }

    /// Checks the axioms about the static part, if there are new elements.
    pub(super) fn check_axioms(&mut self) -> Result<(), String> {
        if !std::mem::take(&mut self.is_extended) {
            return Ok(());
        }
        // Orders are computed, so they are orders.
        let listed = |axiom: &&Property| {
            axiom.relations.iter().all(|relation| !self.structure.is_computed(*relation))
        };
        match self.violated(self.model.axioms.iter().filter(listed)) {
            None => Ok(()),
            Some(axiom) => Err(format!("{} of the model does not hold", axiom.name)),
        }
    }

    /// The state of the model, a line for each relation that has rows.
    pub(super) fn describe(&self, structure: &Structure, guide: &ElementGuide<'_>) -> Vec<String> {
        let relations = self.model.signature.relations.iter().enumerate();
        let of_state = relations.filter(|(_, info)| !info.is_static);
        let lines = of_state.filter_map(|(relation, info)| {
            let rows = structure.rows(relation).all();
            let columns = info.columns.len();
            let texts: Vec<String> =
                rows.iter().map(|row| self.row_text(relation, row, columns, guide)).collect();
            (!texts.is_empty()).then(|| format!("{}: {}", info.name, texts.join(" ")))
        });
        lines.collect()
    }

    pub(super) fn row_text(
        &self,
        relation: usize,
        row: &Row,
        columns: usize,
        guide: &ElementGuide<'_>,
    ) -> String {
        let sorts = &self.model.signature.relations[relation].columns[..columns];
        let names: Vec<String> = sorts
            .iter()
            .zip(row)
            .map(|(sort, number)| (guide.name)(self.structure.element(*sort, *number)))
            .collect();
        format!("({})", names.join(", "))
    }

    pub(super) fn goal_text(&self, goal: &Goal, guide: &ElementGuide<'_>) -> String {
        let name = &self.model.signature.relations[goal.relation].name;
        let row = self.row_text(goal.relation, &goal.row, goal.columns, guide);
        match goal.present {
            true => format!("the run has {name}{row}, the model does not"),
            false => format!("the model has {name}{row}, the run does not"),
        }
    }

    /// The state that the run implies: that of the model without the differences.
    pub(super) fn implied_structure(&self, goals: &SortedSet<Goal>) -> Structure {
        let mut structure = self.structure.clone();
        for goal in goals.iter() {
            let rows = structure.rows_mut(goal.relation);
            if goal.present {
                rows.insert(goal.row);
            } else {
                for row in rows.beginning_with(&goal.row[..goal.columns]).to_vec() {
                    rows.remove(&row);
                }
            }
        }
        structure
    }

    pub(super) fn divergence(
        &self,
        input: String,
        problem: String,
        goals: &SortedSet<Goal>,
        tried: Vec<String>,
        guide: &ElementGuide<'_>,
    ) -> Box<Divergence> {
        Box::new(Divergence {
            input,
            problem,
            differences: goals.iter().map(|goal| self.goal_text(goal, guide)).collect(),
            tried,
            before: self.describe(&self.structure, guide),
            after: self.describe(&self.implied_structure(goals), guide),
        })
    }
}

fn count_down(numbers: &mut SortedMap<NumberedRow, u32>, rows: &[NumberedRow]) {
    for row in rows {
        let Some(number) = numbers.get_mut(row) else { continue };
        *number -= 1;
        if *number == 0 {
            numbers.remove(row);
        }
    }
}

const _: () = assert!(COLUMNS_MOST >= 4, "relations have up to four columns");
