//! Follows state machines in a model: those of a simulator, or of another driver that calls it after each input.

use quorate_core::ProcessId;
use quorate_core::abstraction::{AbstractState, Element, ElementOrder, Elements, Rows};

use super::checker::{Checker, ElementGuide, NumberedRow, Statistics};
use super::divergence::Divergence;
use super::model::Model;
use super::ownership::Owner;
use super::step::StepInput;

/// An input that a state machine has handled.
#[derive(Clone, Copy, Debug)]
pub struct FollowedInput<'a> {
    /// The owner of the elements of the state machine. `None` if nothing but time has passed.
    pub owner: Option<ProcessId>,
    /// Rows that the state of the state machine implies afterwards.
    pub state: &'a AbstractState,
    /// Rows that the messages imply which it has sent.
    pub sent: &'a Rows,
}

/// Follows a run in a model.
#[derive(Clone, Debug)]
pub struct Follower<'m> {
    pub(super) checker: Checker<'m>,
    /// Sorts of the parameters that act.
    actors: &'static [&'static str],
}

impl<'m> Follower<'m> {
    /// Follows a run from the initial state of the model. `orders` and `actors` are as in
    /// [`quorate_core::abstraction::Abstraction`].
    pub fn new(
        model: &'m Model,
        orders: &[(&str, ElementOrder)],
        actors: &'static [&'static str],
    ) -> Self {
        Self { checker: Checker::new(model, orders), actors }
    }

    /// Counts of inputs and actions so far.
    pub fn statistics(&self) -> &Statistics {
        self.checker.statistics()
    }

    /// Follows one input. Fails if the model does not allow the step, or if a property does not hold after it. The rows of
    /// messages have to be rows that the model never loses.
    pub fn follow(
        &mut self,
        input: &FollowedInput<'_>,
        elements: &dyn Elements,
        describe: impl FnOnce() -> String,
    ) -> Result<(), Box<Divergence>> {
        let functions = ElementFunctions::new(elements);
        let sent = self.checker.number(input.sent, &functions.guide());
        self.checker.demand(&sent);
        let owner = input.owner.map_or(Owner::ENVIRONMENT, Owner::process);
        let result = self.step(owner, input.state, (&sent, &[]), elements, describe);
        self.checker.release(&sent);
        result
    }

    /// Follows a step with the rows of the messages that were sent, and of the one that has arrived.
    pub(super) fn step(
        &mut self,
        actor: Owner,
        state: &AbstractState,
        (sent, consumed): (&[NumberedRow], &[NumberedRow]),
        elements: &dyn Elements,
        describe: impl FnOnce() -> String,
    ) -> Result<(), Box<Divergence>> {
        let functions = ElementFunctions::new(elements);
        let step = StepInput { actor, actors: self.actors, state, sent, consumed };
        self.checker.step(&step, describe, &functions.guide())
    }
}

type Describe<'a> = Box<dyn Fn(&Element, &mut Rows) + 'a>;
type Name<'a> = Box<dyn Fn(&Element) -> String + 'a>;
type OwnerOf<'a> = Box<dyn Fn(&Element) -> Option<ProcessId> + 'a>;

/// Functions of an abstraction about elements.
pub(super) struct ElementFunctions<'a> {
    describe: Describe<'a>,
    name: Name<'a>,
    owner: OwnerOf<'a>,
}

impl<'a> ElementFunctions<'a> {
    pub(super) fn new(elements: &'a dyn Elements) -> Self {
        Self {
            describe: Box::new(|element, rows| elements.describe(element, rows)),
            name: Box::new(|element| elements.name(element)),
            owner: Box::new(|element| elements.owner(element)),
        }
    }

    pub(super) fn guide(&self) -> ElementGuide<'_> {
        ElementGuide { describe: &self.describe, name: &self.name, owner: &self.owner }
    }
}
