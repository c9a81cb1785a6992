//! A finite structure: the elements of each sort, the rows of each relation, and the values of static functions.

use std::cmp::Ordering;

use quorate_core::SortedMap;
use quorate_core::abstraction::{Element, ElementOrder};

use super::signature::Signature;

/// Number of an element within its sort.
pub(super) type ElementId = u16;

/// Maximum number of columns of a relation.
pub(super) const COLUMNS_MOST: usize = 6;

/// A row of a relation. Columns that the relation does not have are zero.
pub(super) type Row = [ElementId; COLUMNS_MOST];

/// The value of a column that is not known. No element has this number.
pub(super) const ANY: ElementId = ElementId::MAX;

/// Whether a row has all known columns of a pattern.
pub(super) fn matches(pattern: &Row, row: &Row) -> bool {
    pattern.iter().zip(row).all(|(known, column)| *known == ANY || known == column)
}

/// Makes a row of its columns.
pub(super) fn row_of(columns: &[ElementId]) -> Row {
    let mut row = [0; COLUMNS_MOST];
    row[..columns.len()].copy_from_slice(columns);
    row
}

/// Rows in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RowSet {
    rows: Vec<Row>,
}

impl RowSet {
    pub(super) fn contains(&self, row: &Row) -> bool {
        self.rows.binary_search(row).is_ok()
    }

    /// Returns `true` if the row was not in the set.
    pub(super) fn insert(&mut self, row: Row) -> bool {
        match self.rows.binary_search(&row) {
            Ok(_) => false,
            Err(place) => {
                self.rows.insert(place, row);
                true
            }
        }
    }

    /// Returns `true` if the row was in the set.
    pub(super) fn remove(&mut self, row: &Row) -> bool {
        match self.rows.binary_search(row) {
            Ok(place) => {
                self.rows.remove(place);
                true
            }
            Err(_) => false,
        }
    }

    pub(super) fn all(&self) -> &[Row] {
        &self.rows
    }

    /// The rows that begin with these columns.
    pub(super) fn beginning_with(&self, columns: &[ElementId]) -> &[Row] {
        let compare = |row: &Row| row[..columns.len()].cmp(columns);
        let first = self.rows.partition_point(|row| compare(row) == Ordering::Less);
        let end = self.rows[first..].partition_point(|row| compare(row) == Ordering::Equal);
        &self.rows[first..first + end]
    }

    /// The rows that match a pattern, whose unknown columns are [`ANY`].
    pub(super) fn matching(&self, pattern: &Row) -> impl Iterator<Item = &Row> {
        let known = pattern.iter().take_while(|column| **column != ANY).count();
        let rows = self.beginning_with(&pattern[..known]).iter();
        rows.filter(|row| matches(pattern, row))
    }
}

/// The elements of a sort.
#[derive(Clone, Debug, Default)]
struct Universe {
    elements: Vec<Element>,
    by_element: SortedMap<Element, ElementId>,
}

/// The rows of all relations.
#[derive(Clone, Debug)]
pub(super) struct Structure {
    universes: Vec<Universe>,
    relations: Vec<RowSet>,
    /// The order by which a relation is computed, if it is.
    orders: Vec<Option<ElementOrder>>,
    /// Values of each function.
    functions: Vec<SortedMap<Row, ElementId>>,
}

impl Structure {
    pub(super) fn new(signature: &Signature, orders: &[(&str, ElementOrder)]) -> Self {
        let order_of = |name: &str| orders.iter().find(|(known, _)| *known == name);
        let relations = signature.relations.iter();
        Self {
            universes: signature.sorts.iter().map(|_| Universe::default()).collect(),
            relations: relations.clone().map(|_| RowSet::default()).collect(),
            orders: relations
                .map(|relation| order_of(&relation.name).map(|(_, order)| *order))
                .collect(),
            functions: signature.functions.iter().map(|_| SortedMap::new()).collect(),
        }
    }

    /// The number of an element, and whether it is new.
    pub(super) fn intern(&mut self, sort: usize, element: &Element) -> (ElementId, bool) {
        let universe = &mut self.universes[sort];
        if let Some(known) = universe.by_element.get(element) {
            return (*known, false);
        }
        let number = ElementId::try_from(universe.elements.len()).ok();
        let number = number.filter(|number| *number < ANY);
        let number = number.expect("a run has fewer than 65,535 elements of a sort");
        universe.elements.push(*element);
        universe.by_element.insert(*element, number);
        (number, true)
    }

    pub(super) fn element(&self, sort: usize, number: ElementId) -> &Element {
        &self.universes[sort].elements[usize::from(number)]
    }

    /// Numbers of all elements of a sort.
    pub(super) fn elements(&self, sort: usize) -> std::ops::Range<ElementId> {
        0..self.universes[sort].elements.len() as ElementId
    }

    pub(super) fn rows(&self, relation: usize) -> &RowSet {
        &self.relations[relation]
    }

    pub(super) fn rows_mut(&mut self, relation: usize) -> &mut RowSet {
        &mut self.relations[relation]
    }

    /// Whether the rows of the relation are computed, and not listed.
    pub(super) fn is_computed(&self, relation: usize) -> bool {
        self.orders[relation].is_some()
    }

    /// Whether the row is in the relation. `sort` is that of the first column.
    pub(super) fn holds(&self, relation: usize, sort: usize, row: &Row) -> bool {
        match self.orders[relation] {
            None => self.relations[relation].contains(row),
            Some(ElementOrder::ByOccurrence) => row[0] <= row[1],
            Some(ElementOrder::ByKey) => self.element(sort, row[0]) <= self.element(sort, row[1]),
        }
    }

    pub(super) fn define(&mut self, function: usize, arguments: Row, value: ElementId) {
        self.functions[function].insert(arguments, value);
    }

    /// The value of a function. Every element is described when it occurs, so there is one.
    pub(super) fn value(&self, function: usize, arguments: &Row) -> ElementId {
        let value = self.functions[function].get(arguments);
        *value.expect("the abstraction describes every element that has a value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_first_columns() {
        let mut rows = RowSet::default();
        for columns in [[2, 1], [1, 7], [1, 3], [3, 0]] {
            assert!(rows.insert(row_of(&columns)));
        }
        assert!(!rows.insert(row_of(&[1, 3])));
        assert_eq!(rows.beginning_with(&[1]), [row_of(&[1, 3]), row_of(&[1, 7])]);
        assert_eq!(rows.beginning_with(&[4]), [] as [Row; 0]);
        let pattern = [ANY, 1, 0, 0, 0, 0];
        assert_eq!(rows.matching(&pattern).collect::<Vec<_>>(), [&row_of(&[2, 1])]);
        assert!(rows.remove(&row_of(&[1, 3])) && !rows.contains(&row_of(&[1, 3])));
    }
}
