//! Finds the values of variables for which a formula holds in a finite structure.
//!
//! A conjunction is solved like a query of a database: rows of a relation give values to several variables at once. Only
//! where no such row helps, all elements of a sort are tried.

use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::formula::{Formula, Kind, Slot, Term, Variable};
use super::signature::Signature;
use super::structure::{ElementId, Row, Structure};

/// The value of a variable that has none.
const UNBOUND: ElementId = ElementId::MAX;

/// Values of variables, by their numbers.
#[derive(Clone, Debug)]
pub(super) struct Binding(SmallVec<[ElementId; 16]>);

impl Binding {
    pub(super) fn new(slots: usize) -> Self {
        Self(SmallVec::from_elem(UNBOUND, slots))
    }

    pub(super) fn set(&mut self, slot: Slot, value: ElementId) {
        self.0[slot] = value;
    }

    pub(super) fn get(&self, slot: Slot) -> ElementId {
        self.0[slot]
    }

    fn is_bound(&self, slot: Slot) -> bool {
        self.0[slot] != UNBOUND
    }

    fn clear(&mut self, slot: Slot) {
        self.0[slot] = UNBOUND;
    }
}

/// Whether the term is a variable without a value. Rows give values to such variables, but not to arguments of functions.
fn is_unbound(term: &Term, binding: &Binding) -> bool {
    matches!(term, Term::Variable(slot) if !binding.is_bound(*slot))
}

/// Formulas that all have to hold.
type Conjuncts<'f> = SmallVec<[&'f Formula; 12]>;

/// Decides about a solution: continue with the next one, or stop.
type OnSolution<'c> = dyn FnMut(&Binding) -> ControlFlow<()> + 'c;

/// Evaluates formulas in a structure.
#[derive(Clone, Copy)]
pub(super) struct Solver<'s> {
    pub(super) signature: &'s Signature,
    pub(super) structure: &'s Structure,
}

/// The conjunct to solve next, and how.
enum Next {
    /// All variables have values.
    Test(usize),
    /// An equation gives a value to a variable.
    Assign(usize, Slot, ElementId),
    /// The rows of a relation give values to variables.
    Rows(usize),
    /// Each part of a disjunction is tried.
    Branch(usize),
    /// Variables of an "exists" are treated like free ones.
    Open(usize),
    /// All elements are tried as the value of this variable.
    Enumerate(Slot),
}

impl Solver<'_> {
    /// Calls `found` with each solution: values of these variables, and of others that help, for which all formulas hold.
    /// A solution may be found several times.
    pub(super) fn solve(
        &self,
        formulas: &[&Formula],
        variables: &[Variable],
        binding: &mut Binding,
        found: &mut OnSolution<'_>,
    ) -> ControlFlow<()> {
        let variables: SmallVec<[Variable; 12]> = variables.iter().copied().collect();
        self.conjunction(formulas.iter().copied().collect(), variables, binding, found)
    }

    /// Whether the formula holds, whose free variables all have values.
    pub(super) fn holds(&self, formula: &Formula, binding: &mut Binding) -> bool {
        match &formula.kind {
            Kind::Row { relation, terms, holds } => {
                self.has_row(*relation, terms, binding) == *holds
            }
            Kind::Equal { left, right, holds } => {
                (self.value(left, binding) == self.value(right, binding)) == *holds
            }
            Kind::And(parts) => parts.iter().all(|part| self.holds(part, binding)),
            Kind::Or(parts) => parts.iter().any(|part| self.holds(part, binding)),
            Kind::Exists { variables, body } => self.exists(variables, body, binding),
            Kind::ForAll { variables, negated } => !self.exists(variables, negated, binding),
        }
    }

    fn exists(&self, variables: &[Variable], body: &Formula, binding: &mut Binding) -> bool {
        let mut stop = |_: &Binding| ControlFlow::Break(());
        self.solve(&[body], variables, binding, &mut stop).is_break()
    }

    fn conjunction<'f>(
        &self,
        mut conjuncts: Conjuncts<'f>,
        mut variables: SmallVec<[Variable; 12]>,
        binding: &mut Binding,
        found: &mut OnSolution<'_>,
    ) -> ControlFlow<()> {
        // Variables that get a value here lose it in the end.
        let mut assigned: SmallVec<[Slot; 8]> = SmallVec::new();
        let flow = loop {
            match self.next(&conjuncts, &variables, binding) {
                None => break found(binding),
                Some(Next::Test(place)) => {
                    let formula = conjuncts.swap_remove(place);
                    if let Kind::And(parts) = &formula.kind {
                        conjuncts.extend(parts);
                    } else if !self.holds(formula, binding) {
                        break ControlFlow::Continue(());
                    }
                }
                Some(Next::Assign(place, slot, value)) => {
                    conjuncts.swap_remove(place);
                    binding.set(slot, value);
                    assigned.push(slot);
                }
                Some(Next::Open(place)) => {
                    let formula = conjuncts.swap_remove(place);
                    match &formula.kind {
                        Kind::Exists { variables: more, body } => {
                            variables.extend_from_slice(more);
                            conjuncts.push(body);
                        }
                        Kind::And(parts) => conjuncts.extend(parts),
                        _ => unreachable!("only these are opened"),
                    }
                }
                Some(Next::Branch(place)) => {
                    let formula = conjuncts.swap_remove(place);
                    let Kind::Or(parts) = &formula.kind else { unreachable!("only this branches") };
                    break parts.iter().try_for_each(|part| {
                        let mut branch = conjuncts.clone();
                        branch.push(part);
                        self.conjunction(branch, variables.clone(), binding, found)
                    });
                }
                Some(Next::Rows(place)) => {
                    break self.over_rows(place, &conjuncts, &variables, binding, found);
                }
                Some(Next::Enumerate(slot)) => {
                    let sort = variables.iter().find(|(known, _)| *known == slot);
                    let sort = sort.expect("a variable is declared before it is used").1;
                    let flow = self.structure.elements(sort).try_for_each(|value| {
                        binding.set(slot, value);
                        self.conjunction(conjuncts.clone(), variables.clone(), binding, found)
                    });
                    binding.clear(slot);
                    break flow;
                }
            }
        };
        assigned.iter().for_each(|slot| binding.clear(*slot));
        flow
    }

    /// The cheapest step. `None` if all formulas hold and all variables have values.
    fn next(
        &self,
        conjuncts: &Conjuncts<'_>,
        variables: &[Variable],
        binding: &Binding,
    ) -> Option<Next> {
        let mut fewest: Option<(usize, usize)> = None;
        let mut branch = None;
        for (place, formula) in conjuncts.iter().enumerate() {
            if formula.free.iter().all(|slot| binding.is_bound(*slot)) {
                return Some(Next::Test(place));
            }
            match &formula.kind {
                Kind::And(_) | Kind::Exists { .. } => return Some(Next::Open(place)),
                Kind::Equal { left, right, holds: true } => {
                    for (to, from) in [(left, right), (right, left)] {
                        if let (Term::Variable(slot), Some(value)) =
                            (to, self.known_value(from, binding))
                        {
                            return Some(Next::Assign(place, *slot, value));
                        }
                    }
                }
                Kind::Row { relation, terms, holds: true }
                    if !self.structure.is_computed(*relation)
                        && terms.iter().any(|term| is_unbound(term, binding)) =>
                {
                    let number = self.candidates(*relation, terms, binding).len();
                    if fewest.is_none_or(|(known, _)| number < known) {
                        fewest = Some((number, place));
                    }
                }
                Kind::Or(_) => branch = branch.or(Some(place)),
                _ => {}
            }
        }
        if let Some((_, place)) = fewest {
            return Some(Next::Rows(place));
        }
        if let Some(place) = branch {
            return Some(Next::Branch(place));
        }
        let unbound = variables.iter().find(|(slot, _)| !binding.is_bound(*slot));
        unbound.map(|(slot, _)| Next::Enumerate(*slot))
    }

    /// The rows that may match: those that begin with the values of the leading terms.
    fn candidates(&self, relation: usize, terms: &[Term], binding: &Binding) -> &[Row] {
        let known = terms.iter().map_while(|term| self.known_value(term, binding));
        let known: SmallVec<[ElementId; 6]> = known.collect();
        self.structure.rows(relation).beginning_with(&known)
    }

    fn over_rows<'f>(
        &self,
        place: usize,
        conjuncts: &Conjuncts<'f>,
        variables: &[Variable],
        binding: &mut Binding,
        found: &mut OnSolution<'_>,
    ) -> ControlFlow<()> {
        let Kind::Row { relation, terms, .. } = &conjuncts[place].kind else {
            unreachable!("only this has rows")
        };
        let mut rest = conjuncts.clone();
        // A function of a variable without a value is compared when the variable has one.
        let is_settled = |term: &Term| {
            matches!(term, Term::Variable(_)) || self.known_value(term, binding).is_some()
        };
        if terms.iter().all(is_settled) {
            rest.swap_remove(place);
        }
        self.candidates(*relation, terms, binding).iter().try_for_each(|row| {
            let mut assigned: SmallVec<[Slot; 6]> = SmallVec::new();
            let matches = terms.iter().zip(row).all(|(term, value)| match term {
                Term::Variable(slot) if is_unbound(term, binding) => {
                    binding.set(*slot, *value);
                    assigned.push(*slot);
                    true
                }
                _ => self.known_value(term, binding).is_none_or(|known| known == *value),
            });
            let flow = match matches {
                true => self.conjunction(
                    rest.clone(),
                    variables.iter().copied().collect(),
                    binding,
                    found,
                ),
                false => ControlFlow::Continue(()),
            };
            assigned.iter().for_each(|slot| binding.clear(*slot));
            flow
        })
    }

    fn known_value(&self, term: &Term, binding: &Binding) -> Option<ElementId> {
        match term {
            Term::Variable(slot) => Some(binding.get(*slot)).filter(|value| *value != UNBOUND),
            Term::Apply(function, terms) => {
                let mut arguments = Row::default();
                for (argument, term) in arguments.iter_mut().zip(terms) {
                    *argument = self.known_value(term, binding)?;
                }
                Some(self.structure.value(*function, &arguments))
            }
        }
    }

    fn value(&self, term: &Term, binding: &Binding) -> ElementId {
        self.known_value(term, binding).expect("the variables of a tested formula have values")
    }

    fn has_row(&self, relation: usize, terms: &[Term], binding: &Binding) -> bool {
        let mut row = Row::default();
        for (column, term) in row.iter_mut().zip(terms) {
            *column = self.value(term, binding);
        }
        self.structure.holds(relation, self.signature.relations[relation].columns[0], &row)
    }
}
