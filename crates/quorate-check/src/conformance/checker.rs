//! The state of a model that follows a run, and what the processes of the run imply about it.

use std::ops::ControlFlow;

use quorate_core::abstraction::{AbstractState, Element, ElementOrder, Extent, Fact, Rows};
use quorate_core::{ProcessId, SortedMap, SortedSet};

use super::divergence::Divergence;
use super::model::{Model, Property};
use super::ownership::{Owner, Ownership};
use super::solve::{Binding, Solver};
use super::structure::{ANY, COLUMNS_MOST, ElementId, Row, RowSet, Structure, matches, row_of};

/// Functions that describe and name the elements of a run, and that name their owners.
pub(super) struct ElementGuide<'g> {
    pub(super) describe: &'g dyn Fn(&Element, &mut Rows),
    pub(super) name: &'g dyn Fn(&Element) -> String,
    pub(super) owner: &'g dyn Fn(&Element) -> Option<ProcessId>,
}

/// Extent to which the run determines the rows of a relation that begin with elements of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    /// Exactly the rows of `Checker::implied`.
    Exactly,
    /// Rows that begin with this number of columns of a row of `Checker::implied`, at least one for each of them.
    Beginnings(usize),
}

/// Rows of one relation that a process implies.
#[derive(Clone, Debug)]
pub(super) struct Implied {
    known: Known,
    rows: RowSet,
}

impl Default for Implied {
    fn default() -> Self {
        Self { known: Known::Nothing, rows: RowSet::default() }
    }
}

/// Rows that the process of the present step has or lacks, whatever else their relations have.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// Patterns of each relation, and whether there is a row that matches.
    patterns: Vec<Vec<(Row, bool)>>,
    /// Relations and first columns. All rows that begin like this match a pattern.
    closed: SortedSet<(usize, ElementId)>,
}

/// A difference between the state of the model and what the run implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Goal {
    pub(super) relation: usize,
    /// The row. Columns that are not known are [`ANY`].
    pub(super) row: Row,
    /// Whether a row has to be there.
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
    pub(super) ownership: Ownership,
    /// Rows of each relation that the owners imply.
    implied: Vec<Vec<Implied>>,
    facts: Facts,
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
            ownership: Ownership::new(model.signature.sorts.len()),
            implied: vec![Vec::new(); relations],
            facts: Facts::default(),
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
            self.ownership.add(sort, number, (guide.owner)(element));
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

    pub(super) fn has_sort(&self, name: &str) -> bool {
        self.model.signature.sort(name).is_ok()
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

    /// Replaces what an owner implies.
    pub(super) fn imply(&mut self, actor: Owner, state: &AbstractState, guide: &ElementGuide<'_>) {
        for implied in &mut self.implied {
            if implied.len() <= actor.index() {
                implied.resize(actor.index() + 1, Implied::default());
            }
            implied[actor.index()] = Implied::default();
        }
        state.mentioned.iter().for_each(|element| {
            self.intern(element, guide);
        });
        self.preferred.clear();
        for (name, extent, rows) in &state.relations {
            let relation = self.relation(name);
            let mut numbered = RowSet::default();
            for row in rows {
                numbered.insert(self.row(row, guide));
            }
            let known = match extent {
                Extent::Preferably => {
                    self.preferred.push((relation, numbered));
                    continue;
                }
                Extent::Exactly => Known::Exactly,
                Extent::Beginnings => Known::Beginnings(rows.first().map_or(1, Vec::len)),
            };
            let is_own = |row: &Row| self.owner_of(relation, row) == actor;
            assert!(
                numbered.all().iter().all(is_own),
                "a process implies rows of {name} that begin with elements of its own"
            );
            self.implied[relation][actor.index()] = Implied { known, rows: numbered };
        }
        self.take_facts(state, guide);
    }

    fn take_facts(&mut self, state: &AbstractState, guide: &ElementGuide<'_>) {
        let mut facts =
            Facts { patterns: vec![Vec::new(); self.implied.len()], ..Facts::default() };
        for Fact { relation: name, row, present } in &state.facts {
            let relation = self.relation(name);
            let mut pattern = Row::default();
            for (column, element) in pattern.iter_mut().zip(row) {
                *column = element.map_or(ANY, |element| self.intern(&element, guide));
            }
            facts.patterns[relation].push((pattern, *present));
        }
        for (name, first) in &state.closed {
            let (relation, first) = (self.relation(name), self.intern(first, guide));
            facts.closed.insert((relation, first));
        }
        self.facts = facts;
    }

    fn owner_of(&self, relation: usize, row: &Row) -> Owner {
        self.ownership.owner(self.model.signature.relations[relation].columns[0], row[0])
    }

    /// Differences between the model and the run that depend on this row, and whether they are there. A change of the row can
    /// make a difference or remove it.
    pub(super) fn goals_of(&self, relation: usize, row: &Row, found: &mut Vec<(Goal, bool)>) {
        let rows = self.structure.rows(relation);
        let is_there = rows.contains(row);
        let goal = |present| (Goal { relation, row: *row, present }, present != is_there);
        if self.demanded.contains_key(&(relation, *row)) {
            found.push(goal(true));
        } else if self.forbidden.contains_key(&(relation, *row)) {
            found.push(goal(false));
        } else if let Some(its) = self.implied[relation].get(self.owner_of(relation, row).index()) {
            match its.known {
                Known::Nothing => {}
                Known::Exactly => found.push(goal(its.rows.contains(row))),
                Known::Beginnings(columns) => {
                    let mut beginning = row_of(&row[..columns]);
                    let present = its.rows.contains(&beginning);
                    let is_there = !rows.beginning_with(&row[..columns]).is_empty();
                    let number = self.model.signature.relations[relation].columns.len();
                    beginning[columns..number].fill(ANY);
                    found.push((Goal { relation, row: beginning, present }, present != is_there));
                }
            }
        }
        let mut is_open = !self.facts.closed.contains(&(relation, row[0]));
        let patterns = self.facts.patterns.get(relation);
        for (pattern, present) in patterns.into_iter().flatten().filter(|(it, _)| matches(it, row))
        {
            is_open |= *present;
            found.push(self.goal_of_fact(relation, pattern, *present));
        }
        if !is_open {
            found.push(goal(false));
        }
    }

    fn goal_of_fact(&self, relation: usize, pattern: &Row, present: bool) -> (Goal, bool) {
        let is_there = self.structure.rows(relation).matching(pattern).next().is_some();
        (Goal { relation, row: *pattern, present }, is_there != present)
    }

    /// All differences that an input of this owner can have made.
    pub(super) fn goals(&self, actor: Owner, sent: &[NumberedRow]) -> SortedSet<Goal> {
        let mut found = Vec::new();
        for (relation, implied) in self.implied.iter().enumerate() {
            let Some(implied) = implied.get(actor.index()) else { continue };
            if implied.known == Known::Nothing {
                continue;
            }
            let sort = self.model.signature.relations[relation].columns[0];
            let own = self.ownership.owned(sort, actor).iter();
            let present =
                own.flat_map(|first| self.structure.rows(relation).beginning_with(&[*first]));
            for row in present.chain(implied.rows.all()) {
                self.goals_of(relation, row, &mut found);
            }
        }
        for (relation, row) in sent {
            self.goals_of(*relation, row, &mut found);
        }
        for (relation, patterns) in self.facts.patterns.iter().enumerate() {
            for (pattern, present) in patterns {
                found.push(self.goal_of_fact(relation, pattern, *present));
            }
        }
        for (relation, first) in self.facts.closed.iter() {
            for row in self.structure.rows(*relation).beginning_with(&[*first]) {
                self.goals_of(*relation, row, &mut found);
            }
        }
        found.into_iter().filter(|(_, differs)| *differs).map(|(goal, _)| goal).collect()
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
            let texts: Vec<String> =
                rows.iter().map(|row| self.row_text(relation, row, guide)).collect();
            (!texts.is_empty()).then(|| format!("{}: {}", info.name, texts.join(" ")))
        });
        lines.collect()
    }

    pub(super) fn row_text(&self, relation: usize, row: &Row, guide: &ElementGuide<'_>) -> String {
        let name = |(sort, number): (&usize, &ElementId)| match *number {
            ANY => "_".to_owned(),
            number => (guide.name)(self.structure.element(*sort, number)),
        };
        let sorts = &self.model.signature.relations[relation].columns;
        let names: Vec<String> = sorts.iter().zip(row).map(name).collect();
        format!("({})", names.join(", "))
    }

    pub(super) fn goal_text(&self, goal: &Goal, guide: &ElementGuide<'_>) -> String {
        let name = &self.model.signature.relations[goal.relation].name;
        let row = self.row_text(goal.relation, &goal.row, guide);
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
                let matching: Vec<Row> = rows.matching(&goal.row).copied().collect();
                matching.iter().for_each(|row| {
                    rows.remove(row);
                });
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
