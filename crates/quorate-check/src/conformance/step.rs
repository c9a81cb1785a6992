//! The search for actions of the model that explain one step of the code.
//!
//! The search goes from the state before the step. Actions that remove a difference are tried first, in the order in which
//! the model defines them, which is roughly the order in which the code acts. Others are tried only if these do not suffice.

use std::ops::ControlFlow;

use quorate_core::SortedSet;
use quorate_core::abstraction::AbstractState;
use smallvec::SmallVec;

use super::checker::{Checker, ElementGuide, Goal, NumberedRow};
use super::divergence::Divergence;
use super::formula::{Formula, Variable};
use super::ownership::Owner;
use super::solve::Binding;
use super::structure::{ANY, ElementId, Row};

/// Maximum number of actions in a step that remove no difference.
const DETOURS_MOST: usize = 2;

/// Maximum number of states that the search visits.
const VISITED_MOST: usize = 3_000;

/// Maximum number of actions that a failure lists.
const TRIED_MOST: usize = 40;

/// An action with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Instance {
    action: usize,
    parameters: SmallVec<[ElementId; 6]>,
}

/// A row that an action has added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RowChange {
    relation: usize,
    row: Row,
    added: bool,
}

/// An input of a process and what came of it.
pub(super) struct StepInput<'a> {
    pub(super) actor: Owner,
    /// Sorts of the parameters that act.
    pub(super) actors: &'a [&'static str],
    /// Rows that the process implies afterwards.
    pub(super) state: &'a AbstractState,
    /// Rows that the messages imply which the process has sent.
    pub(super) sent: &'a [NumberedRow],
    /// Rows that are no longer needed because the message has arrived.
    pub(super) consumed: &'a [NumberedRow],
}

struct Search<'c, 'm> {
    checker: &'c mut Checker<'m>,
    actor: Owner,
    /// Index of the acting parameter of each action.
    acting: Vec<Option<usize>>,
    /// The action that is tried first.
    first: Option<usize>,
    goals: SortedSet<Goal>,
    /// Rows that the model need not lose, but that an action should remove if it can.
    wishes: Vec<Goal>,
    /// Net changes of the visited states.
    visited: SortedSet<Vec<RowChange>>,
    /// Changes since the state before the step, in ascending order.
    changes: Vec<RowChange>,
    taken: Vec<Instance>,
    tried: SortedSet<Instance>,
}

impl Checker<'_> {
    /// Follows one input of a process.
    pub(super) fn step(
        &mut self,
        input: &StepInput<'_>,
        describe: impl FnOnce() -> String,
        guide: &ElementGuide<'_>,
    ) -> Result<(), Box<Divergence>> {
        self.statistics.inputs += 1;
        self.imply(input.actor, input.state, guide);
        let goals = self.goals(input.actor, input.sent);
        if let Err(problem) = self.check_axioms() {
            return Err(self.divergence(describe(), problem, &goals, Vec::new(), guide));
        }
        let wishes = self.wishes(input.actor, input.consumed);
        if goals.is_empty() && wishes.is_empty() {
            return Ok(());
        }
        let before = goals.clone();
        let model = self.model;
        let is_actor =
            |(_, sort): &Variable| input.actors.contains(&model.signature.sorts[*sort].as_str());
        let actions = model.actions.iter();
        let acting = actions.map(|action| action.parameters.iter().position(is_actor));
        let mut search = Search {
            acting: acting.collect(),
            first: input.state.action.and_then(|name| model.action(name)),
            checker: self,
            actor: input.actor,
            goals,
            wishes,
            visited: SortedSet::new(),
            changes: Vec::new(),
            taken: Vec::new(),
            tried: SortedSet::new(),
        };
        let is_explained = (0..=DETOURS_MOST).any(|detours| {
            search.visited.clear();
            search.run(detours)
        });
        let Search { taken, tried, changes, .. } = search;
        if !is_explained {
            let names = tried.iter().take(TRIED_MOST).map(|instance| self.text(instance, guide));
            let mut names: Vec<String> = names.collect();
            if tried.len() > TRIED_MOST {
                names.push(format!("and {} more", tried.len() - TRIED_MOST));
            }
            let problem = "the model does not allow this step".to_owned();
            return Err(self.divergence(describe(), problem, &before, names, guide));
        }
        self.statistics.steps += u64::from(!taken.is_empty());
        for instance in &taken {
            let name = &self.model.actions[instance.action].name;
            *self.statistics.actions.entry(name.clone()).or_insert(0) += 1;
        }
        let is_changed =
            |relation: &usize| changes.iter().any(|change| change.relation == *relation);
        let concerned = self.model.properties.iter();
        let concerned = concerned.filter(|property| property.relations.iter().any(is_changed));
        if let Some(property) = self.violated(concerned) {
            let problem = format!("\"{}\" does not hold after this step", property.name);
            let names = taken.iter().map(|instance| self.text(instance, guide)).collect();
            return Err(self.divergence(describe(), problem, &SortedSet::new(), names, guide));
        }
        Ok(())
    }

    /// Rows that should be gone after the step: those that the message of the input has implied and no other message implies,
    /// and those that the process does not have, although it does not determine them.
    fn wishes(&self, actor: Owner, consumed: &[NumberedRow]) -> Vec<Goal> {
        let is_free = |row: &&NumberedRow| {
            !self.demanded.contains_key(row) && self.structure.rows(row.0).contains(&row.1)
        };
        let goal =
            |(relation, row): &NumberedRow| Goal { relation: *relation, row: *row, present: false };
        let mut unwanted: Vec<NumberedRow> = consumed.iter().filter(is_free).copied().collect();
        for (relation, preferred) in &self.preferred {
            let sort = self.model.signature.relations[*relation].columns[0];
            let own = self.ownership.owned(sort, actor).iter();
            let present =
                own.flat_map(|first| self.structure.rows(*relation).beginning_with(&[*first]));
            let others = present.filter(|row| !preferred.contains(row));
            unwanted.extend(others.map(|row| (*relation, *row)));
        }
        unwanted.iter().map(goal).collect()
    }

    fn text(&self, instance: &Instance, guide: &ElementGuide<'_>) -> String {
        let action = &self.model.actions[instance.action];
        let parameters = action.parameters.iter().zip(&instance.parameters);
        let names: Vec<String> = parameters
            .map(|((_, sort), number)| (guide.name)(self.structure.element(*sort, *number)))
            .collect();
        format!("{}({})", action.name, names.join(", "))
    }
}

impl Search<'_, '_> {
    /// Searches with this number of detours. Leaves the state of the model as it is after the actions that were found.
    fn run(&mut self, detours: usize) -> bool {
        if self.visited.len() >= VISITED_MOST || !self.visited.insert(self.changes.clone()) {
            return false;
        }
        let goals: Vec<Goal> = self.goals.iter().copied().chain(self.unfulfilled()).collect();
        let mut towards = SortedSet::new();
        if let Some(first) = self.first {
            let chosen = goals.iter().flat_map(|goal| self.towards(goal));
            let chosen: Vec<Instance> = chosen.filter(|it| it.action == first).collect();
            if self.any(chosen, &mut towards, detours) {
                return true;
            }
        }
        // Most goals have one action that is right whatever comes first. So the actions of later goals need not be known yet.
        for goal in &goals {
            if self.any(self.towards(goal), &mut towards, detours) {
                return true;
            }
        }
        // Wishes are fulfilled if an action can do that, even if there is no other difference.
        if self.goals.is_empty() {
            return true;
        }
        if detours == 0 {
            return false;
        }
        let others = self.enabled();
        self.any(others, &mut towards, detours - 1)
    }

    /// Whether the search succeeds with one of these actions as the next one. Actions that were tried already are left out.
    fn any(
        &mut self,
        instances: impl IntoIterator<Item = Instance>,
        known: &mut SortedSet<Instance>,
        detours: usize,
    ) -> bool {
        let mut instances = instances.into_iter();
        instances
            .any(|instance| known.insert(instance.clone()) && self.run_with(&instance, detours))
    }

    /// Rows that the model still has, and should not have.
    fn unfulfilled(&self) -> impl Iterator<Item = Goal> {
        let rows = |goal: &&Goal| self.checker.structure.rows(goal.relation).contains(&goal.row);
        self.wishes.iter().filter(rows).copied()
    }

    fn run_with(&mut self, instance: &Instance, detours: usize) -> bool {
        self.tried.insert(instance.clone());
        let changes = self.effect(instance);
        if changes.is_empty() {
            return false;
        }
        changes.iter().for_each(|change| self.apply(*change));
        self.taken.push(instance.clone());
        if self.run(detours) {
            return true;
        }
        self.taken.pop();
        let undone = |change: &RowChange| RowChange { added: !change.added, ..*change };
        changes.iter().rev().for_each(|change| self.apply(undone(change)));
        false
    }

    fn apply(&mut self, change: RowChange) {
        let RowChange { relation, row, added } = change;
        let rows = self.checker.structure.rows_mut(relation);
        match added {
            true => rows.insert(row),
            false => rows.remove(&row),
        };
        let opposite = RowChange { added: !added, ..change };
        match self.changes.binary_search(&opposite) {
            Ok(place) => {
                self.changes.remove(place);
            }
            Err(_) => {
                let place = self.changes.partition_point(|known| *known < change);
                self.changes.insert(place, change);
            }
        }
        let mut concerned = Vec::new();
        self.checker.goals_of(relation, &row, &mut concerned);
        for (goal, differs) in concerned {
            match differs {
                true => self.goals.insert(goal),
                false => self.goals.remove(&goal),
            };
        }
    }

    /// Possible actions that remove a difference, without duplicates.
    fn towards(&self, goal: &Goal) -> SortedSet<Instance> {
        let mut found = SortedSet::new();
        for (number, action) in self.checker.model.actions.iter().enumerate() {
            for change in action.changes.iter().filter(|change| change.relation == goal.relation) {
                let formula = if goal.present { &change.added } else { &change.removed };
                let Some(formula) = formula else { continue };
                let mut binding = self.binding(number);
                let mut variables = action.parameters.clone();
                for (column, value) in change.row.iter().zip(&goal.row) {
                    match *value {
                        ANY => variables.push(*column),
                        value => binding.set(column.0, value),
                    }
                }
                let formulas = [&action.guard, formula];
                self.collect(number, &formulas, &variables, binding, &mut found);
            }
        }
        found
    }

    /// All possible actions of the process.
    fn enabled(&self) -> SortedSet<Instance> {
        let mut found = SortedSet::new();
        for (number, action) in self.checker.model.actions.iter().enumerate() {
            let binding = self.binding(number);
            self.collect(number, &[&action.guard], &action.parameters, binding, &mut found);
        }
        found
    }

    /// A binding in which the acting parameter has its value, if there is only one that the owner of the step has.
    fn binding(&self, number: usize) -> Binding {
        let action = &self.checker.model.actions[number];
        let mut binding = Binding::new(action.slots);
        if let Some((slot, sort)) = self.acting[number].map(|place| action.parameters[place])
            && let [only] = self.checker.ownership.owned(sort, self.actor)
        {
            binding.set(slot, *only);
        }
        binding
    }

    /// Whether the action is one of the owner that takes the step.
    fn acts(&self, instance: &Instance) -> bool {
        self.acting[instance.action].is_none_or(|place| {
            let (_, sort) = self.checker.model.actions[instance.action].parameters[place];
            self.checker.ownership.owner(sort, instance.parameters[place]) == self.actor
        })
    }

    fn collect(
        &self,
        number: usize,
        formulas: &[&Formula],
        variables: &[(usize, usize)],
        mut binding: Binding,
        found: &mut SortedSet<Instance>,
    ) {
        let parameters = &self.checker.model.actions[number].parameters;
        let mut add = |solution: &Binding| {
            let values = parameters.iter().map(|(slot, _)| solution.get(*slot)).collect();
            let instance = Instance { action: number, parameters: values };
            if self.acts(&instance) {
                found.insert(instance);
            }
            ControlFlow::Continue(())
        };
        let _ = self.checker.solver().solve(formulas, variables, &mut binding, &mut add);
    }

    /// The rows that an action adds and removes.
    fn effect(&self, instance: &Instance) -> Vec<RowChange> {
        let action = &self.checker.model.actions[instance.action];
        let mut binding = Binding::new(action.slots);
        let parameters = action.parameters.iter().zip(&instance.parameters);
        parameters.for_each(|((slot, _), value)| binding.set(*slot, *value));
        let mut found = SortedSet::new();
        for change in &action.changes {
            let rows = self.checker.structure.rows(change.relation);
            for (formula, added) in [(&change.added, true), (&change.removed, false)] {
                let Some(formula) = formula else { continue };
                let mut add = |solution: &Binding| {
                    let mut row = Row::default();
                    let columns = row.iter_mut().zip(&change.row);
                    columns.for_each(|(column, (slot, _))| *column = solution.get(*slot));
                    if rows.contains(&row) != added {
                        found.insert(RowChange { relation: change.relation, row, added });
                    }
                    ControlFlow::Continue(())
                };
                let formulas = [formula];
                let _ = self.checker.solver().solve(&formulas, &change.row, &mut binding, &mut add);
            }
        }
        found.iter().copied().collect()
    }
}
