//! The sorts, relations and functions of a model.

use super::expression::Expression;

/// A relation, static or of a state.
#[derive(Clone, Debug)]
pub(super) struct RelationInfo {
    pub(super) name: String,
    /// Sorts of the columns.
    pub(super) columns: Vec<usize>,
    pub(super) is_static: bool,
}

/// A static function. Its columns are those of the rows that define it.
#[derive(Clone, Debug)]
pub(super) struct FunctionInfo {
    pub(super) name: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Signature {
    pub(super) sorts: Vec<String>,
    pub(super) relations: Vec<RelationInfo>,
    pub(super) functions: Vec<FunctionInfo>,
}

impl Signature {
    pub(super) fn sort(&self, name: &str) -> Result<usize, String> {
        let known = self.sorts.iter().position(|sort| sort == name);
        known.ok_or_else(|| format!("unknown sort `{name}`"))
    }

    pub(super) fn relation(&self, name: &str) -> Result<usize, String> {
        let known = self.relations.iter().position(|relation| relation.name == name);
        known.ok_or_else(|| format!("unknown relation `{name}`"))
    }

    pub(super) fn function(&self, name: &str) -> Result<usize, String> {
        let known = self.functions.iter().position(|function| function.name == name);
        known.ok_or_else(|| format!("unknown function `{name}`"))
    }

    /// Adds a relation such as `knows (Process Process)`, and the sorts that are new.
    pub(super) fn add_relation(
        &mut self,
        name: &str,
        columns: &Expression,
        is_static: bool,
    ) -> Result<(), String> {
        let columns = columns.list()?.iter().map(|sort| Ok(self.sort_or_new(sort.word()?)));
        let columns = columns.collect::<Result<_, String>>()?;
        self.relations.push(RelationInfo { name: name.to_owned(), columns, is_static });
        Ok(())
    }

    pub(super) fn add_function(&mut self, name: &str, range: &str) {
        self.sort_or_new(range);
        self.functions.push(FunctionInfo { name: name.to_owned() });
    }

    fn sort_or_new(&mut self, name: &str) -> usize {
        self.sort(name).unwrap_or_else(|_| {
            self.sorts.push(name.to_owned());
            self.sorts.len() - 1
        })
    }
}
