//! A transition system as it was exported from its proof.

use super::expression::Expression;
use super::formula::{Formula, FormulaReader, Kind, Slot, Term, Variable};
use super::signature::Signature;

/// A transition system: what never changes, initial states, actions, and what holds in every reachable state.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) signature: Signature,
    /// Formulas about static relations.
    pub(super) axioms: Vec<Property>,
    pub(super) initial: Vec<Property>,
    pub(super) actions: Vec<Action>,
    /// Invariants and safety properties.
    pub(super) properties: Vec<Property>,
}

/// A formula without free variables.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) name: String,
    /// The negation: what a violation satisfies.
    pub(super) violation: Formula,
    pub(super) slots: usize,
    /// Relations on which the property depends.
    pub(super) relations: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Action {
    pub(super) name: String,
    pub(super) parameters: Vec<Variable>,
    /// The conjunction of its guards.
    pub(super) guard: Formula,
    pub(super) changes: Vec<Change>,
    pub(super) slots: usize,
}

/// How an action changes a relation.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) relation: usize,
    /// Variables for the columns of a row.
    pub(super) row: Vec<Variable>,
    /// Formulas of the row and the parameters: what is added, and what is removed.
    pub(super) added: Option<Formula>,
    pub(super) removed: Option<Formula>,
}

impl Model {
    /// Reads an exported model.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = Expression::parse_all(text)?;
        let mut signature = Signature::default();
        for part in &parts {
            match part.form()? {
                ("static", [name, columns]) => {
                    signature.add_relation(name.word()?, columns, true)?;
                }
                ("relation", [name, columns]) => {
                    signature.add_relation(name.word()?, columns, false)?;
                }
                ("function", [name, _, range]) => {
                    signature.add_function(name.word()?, range.word()?);
                }
                _ => {}
            }
        }
        let mut model = Self {
            signature,
            axioms: Vec::new(),
            initial: Vec::new(),
            actions: Vec::new(),
            properties: Vec::new(),
        };
        for part in &parts {
            match part.form()? {
                ("static" | "relation" | "function", _) => {}
                ("axiom", [formula]) => {
                    let axiom = Property::read(&model.signature, "an axiom", formula)?;
                    model.axioms.push(axiom);
                }
                ("initial", [formula]) => {
                    let initial = Property::read(&model.signature, "an initial state", formula)?;
                    model.add(initial, |model| &mut model.initial);
                }
                ("action", [name, parameters, parts @ ..]) => {
                    let action = Action::read(&model.signature, name.word()?, parameters, parts)?;
                    model.actions.push(action);
                }
                ("invariant" | "safety", [name, formula]) => {
                    let property = Property::read(&model.signature, name.word()?, formula)?;
                    model.add(property, |model| &mut model.properties);
                }
                (form, _) => return Err(format!("unknown form `{form}`")),
            }
        }
        Ok(model)
    }

    /// Adds a property to a list, or to the axioms if it is about static relations only.
    fn add(&mut self, property: Property, list: fn(&mut Self) -> &mut Vec<Property>) {
        let info = |relation: &usize| &self.signature.relations[*relation];
        let is_static = property.relations.iter().all(|relation| info(relation).is_static);
        if is_static { &mut self.axioms } else { list(self) }.push(property);
    }

    pub(super) fn action(&self, name: &str) -> Option<usize> {
        self.actions.iter().position(|action| action.name == name)
    }

    /// Names of the actions.
    pub fn actions(&self) -> impl Iterator<Item = &str> {
        self.actions.iter().map(|action| action.name.as_str())
    }
}

impl Property {
    fn read(signature: &Signature, name: &str, formula: &Expression) -> Result<Self, String> {
        let mut reader = FormulaReader::new(signature);
        let violation = reader.formula(formula)?.negated();
        let mut relations = Vec::new();
        violation.relations(&mut relations);
        relations.sort_unstable();
        relations.dedup();
        Ok(Self { name: name.to_owned(), violation, slots: reader.slots(), relations })
    }
}

impl Action {
    fn read(
        signature: &Signature,
        name: &str,
        parameters: &Expression,
        parts: &[Expression],
    ) -> Result<Self, String> {
        let mut reader = FormulaReader::new(signature);
        let parameters = reader.declare(parameters)?;
        let (mut guards, mut changes) = (Vec::new(), Vec::new());
        for part in parts {
            match part.form()? {
                ("guard", [formula]) => guards.push(reader.formula(formula)?),
                ("change", [relation, row, formula]) => {
                    let relation = signature.relation(relation.word()?)?;
                    let row = reader.declare(row)?;
                    let after = reader.formula(formula)?;
                    reader.forget(row.len());
                    changes.push(Change::new(relation, row, after));
                }
                (form, _) => return Err(format!("unknown part `{form}` of the action {name}")),
            }
        }
        let guard = Formula::and(guards);
        Ok(Self { name: name.to_owned(), parameters, guard, changes, slots: reader.slots() })
    }
}

impl Change {
    /// `after` says of a row whether the relation has it after the action.
    fn new(relation: usize, row: Vec<Variable>, after: Formula) -> Self {
        let slots: Vec<Slot> = row.iter().map(|(slot, _)| *slot).collect();
        let is_before = |formula: &Formula, wanted: bool| match &formula.kind {
            Kind::Row { relation: of, terms, holds } => {
                let same = terms.iter().map(Term::as_variable).eq(slots.iter().copied().map(Some));
                *of == relation && same && *holds == wanted
            }
            _ => false,
        };
        // Most changes are of the form "before, or .." or "before, and not ..". Then only one of the two can happen.
        let added = match &after.kind {
            Kind::And(parts) if parts.iter().any(|part| is_before(part, true)) => None,
            Kind::Or(parts) => {
                let news = parts.iter().filter(|part| !is_before(part, true)).cloned().collect();
                Some(Formula::or(news))
            }
            _ => Some(after.clone()),
        };
        let negated = after.negated();
        let was_there =
            Formula::row(relation, slots.iter().map(|slot| Term::Variable(*slot)).collect());
        let removed = match &negated.kind {
            Kind::And(parts) if parts.iter().any(|part| is_before(part, false)) => None,
            Kind::Or(parts) => {
                let rest = parts.iter().filter(|part| !is_before(part, false)).cloned().collect();
                Some(Formula::and(vec![was_there, Formula::or(rest)]))
            }
            _ => Some(Formula::and(vec![was_there, negated.clone()])),
        };
        Self { relation, row, added, removed }
    }
}

impl Term {
    fn as_variable(&self) -> Option<Slot> {
        match self {
            Self::Variable(slot) => Some(*slot),
            Self::Apply(..) => None,
        }
    }
}
