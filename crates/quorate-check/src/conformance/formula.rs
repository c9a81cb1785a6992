//! Formulas of first-order logic in negation normal form: a formula and its negation are both made of literals.

use super::expression::Expression;
use super::signature::Signature;

/// Number of a variable. Variables of one formula have different numbers.
pub(super) type Slot = usize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Variable(Slot),
    /// A static function, applied to terms.
    Apply(usize, Vec<Term>),
}

/// A variable and its sort.
pub(super) type Variable = (Slot, usize);

#[derive(Clone, Debug)]
pub(super) struct Formula {
    pub(super) kind: Kind,
    /// Variables that occur free, in ascending order.
    pub(super) free: Vec<Slot>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Whether a row is in a relation.
    Row {
        relation: usize,
        terms: Vec<Term>,
        holds: bool,
    },
    /// Whether two terms are equal.
    Equal {
        left: Term,
        right: Term,
        holds: bool,
    },
    And(Vec<Formula>),
    Or(Vec<Formula>),
    Exists {
        variables: Vec<Variable>,
        body: Box<Formula>,
    },
    /// There are no values of the variables for which the body, which is negated, holds.
    ForAll {
        variables: Vec<Variable>,
        negated: Box<Formula>,
    },
}

impl Term {
    fn variables(&self, found: &mut Vec<Slot>) {
        match self {
            Self::Variable(slot) => found.push(*slot),
            Self::Apply(_, terms) => terms.iter().for_each(|term| term.variables(found)),
        }
    }
}

impl Formula {
    fn new(kind: Kind) -> Self {
        let mut free = Vec::new();
        match &kind {
            Kind::Row { terms, .. } => terms.iter().for_each(|term| term.variables(&mut free)),
            Kind::Equal { left, right, .. } => {
                left.variables(&mut free);
                right.variables(&mut free);
            }
            Kind::And(parts) | Kind::Or(parts) => {
                parts.iter().for_each(|part| free.extend(&part.free));
            }
            Kind::Exists { variables, body } | Kind::ForAll { variables, negated: body } => {
                let bound = |slot: &&Slot| variables.iter().any(|(bound, _)| bound == *slot);
                free.extend(body.free.iter().filter(|slot| !bound(slot)));
            }
        }
        free.sort_unstable();
        free.dedup();
        Self { kind, free }
    }

    /// The row is in the relation.
    pub(super) fn row(relation: usize, terms: Vec<Term>) -> Self {
        Self::new(Kind::Row { relation, terms, holds: true })
    }

    pub(super) fn and(parts: Vec<Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part.kind {
                Kind::And(inner) => flat.extend(inner),
                _ => flat.push(part),
            }
        }
        match <[Self; 1]>::try_from(flat) {
            Ok([only]) => only,
            Err(parts) => Self::new(Kind::And(parts)),
        }
    }

    pub(super) fn or(parts: Vec<Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part.kind {
                Kind::Or(inner) => flat.extend(inner),
                _ => flat.push(part),
            }
        }
        match <[Self; 1]>::try_from(flat) {
            Ok([only]) => only,
            Err(parts) => Self::new(Kind::Or(parts)),
        }
    }

    pub(super) fn negated(&self) -> Self {
        let all = |parts: &[Self]| parts.iter().map(Self::negated).collect();
        Self::new(match &self.kind {
            Kind::Row { relation, terms, holds } => {
                Kind::Row { relation: *relation, terms: terms.clone(), holds: !holds }
            }
            Kind::Equal { left, right, holds } => {
                Kind::Equal { left: left.clone(), right: right.clone(), holds: !holds }
            }
            Kind::And(parts) => return Self::or(all(parts)),
            Kind::Or(parts) => return Self::and(all(parts)),
            Kind::Exists { variables, body } => {
                Kind::ForAll { variables: variables.clone(), negated: body.clone() }
            }
            Kind::ForAll { variables, negated } => {
                Kind::Exists { variables: variables.clone(), body: negated.clone() }
            }
        })
    }

    /// Adds all relations that occur in the formula.
    pub(super) fn relations(&self, found: &mut Vec<usize>) {
        match &self.kind {
            Kind::Row { relation, .. } => found.push(*relation),
            Kind::Equal { .. } => {}
            Kind::And(parts) | Kind::Or(parts) => {
                parts.iter().for_each(|part| part.relations(found));
            }
            Kind::Exists { body, .. } | Kind::ForAll { negated: body, .. } => body.relations(found),
        }
    }
}

/// Reads formulas, and numbers their variables.
pub(super) struct FormulaReader<'s> {
    signature: &'s Signature,
    /// Names of the variables in scope, the innermost last.
    scope: Vec<(String, Slot)>,
    slots: usize,
}

impl<'s> FormulaReader<'s> {
    pub(super) fn new(signature: &'s Signature) -> Self {
        Self { signature, scope: Vec::new(), slots: 0 }
    }

    /// Number of variables so far.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Adds variables such as `((process Process))` to the scope.
    pub(super) fn declare(&mut self, variables: &Expression) -> Result<Vec<Variable>, String> {
        let mut declared = Vec::new();
        for variable in variables.list()? {
            let (name, sort) = variable.form()?;
            let sort = sort.first().ok_or("a variable without a sort")?.word()?;
            let slot = self.slots;
            self.slots += 1;
            self.scope.push((name.to_owned(), slot));
            declared.push((slot, self.signature.sort(sort)?));
        }
        Ok(declared)
    }

    /// Removes the innermost variables from the scope.
    pub(super) fn forget(&mut self, variables: usize) {
        self.scope.truncate(self.scope.len() - variables);
    }

    pub(super) fn formula(&mut self, expression: &Expression) -> Result<Formula, String> {
        match expression {
            Expression::Word(word) if word == "true" => return Ok(Formula::and(Vec::new())),
            Expression::Word(word) if word == "false" => return Ok(Formula::or(Vec::new())),
            _ => {}
        }
        let (head, rest) = expression.form()?;
        Ok(match (head, rest) {
            ("and", parts) => Formula::and(self.formulas(parts)?),
            ("or", parts) => Formula::or(self.formulas(parts)?),
            ("not", [part]) => self.formula(part)?.negated(),
            ("implies", [condition, conclusion]) => {
                let condition = self.formula(condition)?.negated();
                Formula::or(vec![condition, self.formula(conclusion)?])
            }
            ("=", [left, right]) if self.is_formula(left) => {
                let (left, right) = (self.formula(left)?, self.formula(right)?);
                Formula::and(vec![
                    Formula::or(vec![left.negated(), right.clone()]),
                    Formula::or(vec![left, right.negated()]),
                ])
            }
            ("=", [left, right]) => self.equal(left, right, true)?,
            ("distinct", [left, right]) => self.equal(left, right, false)?,
            ("exists", [variables, body]) => {
                let variables = self.declare(variables)?;
                let body = Box::new(self.formula(body)?);
                self.forget(variables.len());
                Formula::new(Kind::Exists { variables, body })
            }
            ("forall", [variables, body]) => {
                let variables = self.declare(variables)?;
                let negated = Box::new(self.formula(body)?.negated());
                self.forget(variables.len());
                Formula::new(Kind::ForAll { variables, negated })
            }
            (name, columns) => {
                let relation = self.signature.relation(name)?;
                if self.signature.relations[relation].columns.len() != columns.len() {
                    return Err(format!("`{name}` has another number of columns"));
                }
                let terms =
                    columns.iter().map(|column| self.term(column)).collect::<Result<_, _>>();
                Formula::new(Kind::Row { relation, terms: terms?, holds: true })
            }
        })
    }

    fn formulas(&mut self, parts: &[Expression]) -> Result<Vec<Formula>, String> {
        parts.iter().map(|part| self.formula(part)).collect()
    }

    fn equal(&self, left: &Expression, right: &Expression, holds: bool) -> Result<Formula, String> {
        let (left, right) = (self.term(left)?, self.term(right)?);
        Ok(Formula::new(Kind::Equal { left, right, holds }))
    }

    fn is_formula(&self, expression: &Expression) -> bool {
        let is_function = |name: &str| self.signature.function(name).is_ok();
        expression.form().is_ok_and(|(head, _)| !is_function(head))
    }

    fn term(&self, expression: &Expression) -> Result<Term, String> {
        if let Expression::Word(name) = expression {
            let known = self.scope.iter().rev().find(|(known, _)| known == name);
            let (_, slot) = known.ok_or_else(|| format!("unknown variable `{name}`"))?;
            return Ok(Term::Variable(*slot));
        }
        let (function, terms) = expression.form()?;
        let terms = terms.iter().map(|term| self.term(term)).collect::<Result<_, _>>()?;
        Ok(Term::Apply(self.signature.function(function)?, terms))
    }
}
