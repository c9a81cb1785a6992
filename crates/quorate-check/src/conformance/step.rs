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
use super::formula::Formula;
use super::model::Action;
use super::solve::Binding;
use super::structure::{ElementId, Row};

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
    pub(super) actor: ElementId,
    /// Rows that the process implies afterwards.
    pub(super) state: &'a AbstractState,
    /// Rows that the messages imply which the process has sent.
    pub(super) sent: &'a [NumberedRow],
    /// Rows that are no longer needed because the message has arrived.
    pub(super) consumed: &'a [NumberedRow],
}

struct Search<'c, 'm> {
    checker: &'c mut Checker<'m>,
    actor: ElementId,
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
        let mut search = Search {
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
    fn wishes(&self, actor: ElementId, consumed: &[NumberedRow]) -> Vec<Goal> {
        let is_free = |row: &&NumberedRow| {
            !self.demanded.contains_key(row) && self.structure.rows(row.0).contains(&row.1)
        };
        let goal = |(relation, row): &NumberedRow| Goal {
            relation: *relation,
            row: *row,
            columns: self.model.signature.relations[*relation].columns.len(),
            present: false,
        };
        let mut unwanted: Vec<NumberedRow> = consumed.iter().filter(is_free).copied().collect();
        for (relation, preferred) in &self.preferred {
            let present = self.structure.rows(*relation).beginning_with(&[actor]);
            let others = present.iter().filter(|row| !preferred.contains(row));
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
        let towards = self.towards_goals();
        // Wishes are fulfilled if an action can do that, even if there is no other difference.
        if self.goals.is_empty() && towards.is_empty() {
            return true;
        }
        if towards.iter().any(|instance| self.run_with(instance, detours)) || self.goals.is_empty()
        {
            return true;
        }
        if detours == 0 {
            return false;
        }
        let others = self.enabled();
        let others = others.iter().filter(|instance| !towards.contains(*instance));
        let others: Vec<Instance> = others.cloned().collect();
        others.iter().any(|instance| self.run_with(instance, detours - 1))
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
        let (goal, differs) = self.checker.goal_of(relation, &row);
        match differs {
            true => self.goals.insert(goal),
            false => self.goals.remove(&goal),
        };
        // The opposite difference is gone in any case.
        self.goals.remove(&Goal { present: !goal.present, ..goal });
    }

    /// Possible actions that remove a difference, without duplicates.
    fn towards_goals(&self) -> SortedSet<Instance> {
        let mut found = SortedSet::new();
        let wishes = self
            .wishes
            .iter()
            .filter(|goal| self.checker.structure.rows(goal.relation).contains(&goal.row));
        for goal in self.goals.iter().chain(wishes) {
            for (number, action) in self.checker.model.actions.iter().enumerate() {
                for change in
                    action.changes.iter().filter(|change| change.relation == goal.relation)
                {
                    let formula = if goal.present { &change.added } else { &change.removed };
                    let Some(formula) = formula else { continue };
                    let mut binding = self.binding(action);
                    let columns = change.row.iter().zip(&goal.row).take(goal.columns);
                    columns.for_each(|((slot, _), value)| binding.set(*slot, *value));
                    let mut variables = action.parameters.clone();
                    variables.extend(&change.row[goal.columns..]);
                    let formulas = [&action.guard, formula];
                    self.collect(number, &formulas, &variables, binding, &mut found);
                }
            }
        }
        found
    }

    /// All possible actions of the process.
    fn enabled(&self) -> SortedSet<Instance> {
        let mut found = SortedSet::new();
        for (number, action) in self.checker.model.actions.iter().enumerate() {
            let binding = self.binding(action);
            self.collect(number, &[&action.guard], &action.parameters, binding, &mut found);
        }
        found
    }

    /// A binding in which the first process among the parameters is the one that takes the step.
    fn binding(&self, action: &Action) -> Binding {
        let mut binding = Binding::new(action.slots);
        let is_process = |sort: usize| self.checker.model.signature.sorts[sort] == "Process";
        let acting = action.parameters.iter().find(|(_, sort)| is_process(*sort));
        acting.into_iter().for_each(|(slot, _)| binding.set(*slot, self.actor));
        binding
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
            found.insert(Instance { action: number, parameters: values });
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
