//! Description of a step that the model does not allow, or of a state in which a property does not hold.

use std::fmt::{self, Display};

/// The first step of a run that the model does not allow, or after which a property does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The input of the process, in words.
    pub input: String,
    /// The rule that is broken: the step or a property.
    pub problem: String,
    /// Rows that differ: what the process implies or has sent, and what the model has before the step.
    pub differences: Vec<String>,
    /// Actions of the model that were tried, with their parameters.
    pub tried: Vec<String>,
    /// The state of the model before the step, a line for each relation.
    pub before: Vec<String>,
    /// The state after the step, as the process implies it. Rows of other processes, and rows that are not determined, are
    /// those of the state before.
    pub after: Vec<String>,
}

impl Divergence {
    /// The problem, the input and the first difference, in one line.
    pub fn summary(&self) -> String {
        let difference = self.differences.first().map_or_else(String::new, |it| format!(": {it}"));
        format!("{}, {}{difference}", self.problem, self.input)
    }
}

impl Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.problem)?;
        writeln!(f, "input: {}", self.input)?;
        let parts = [
            ("difference", &self.differences),
            ("actions tried", &self.tried),
            ("state before", &self.before),
            ("state after", &self.after),
        ];
        for (title, lines) in parts.iter().filter(|(_, lines)| !lines.is_empty()) {
            writeln!(f, "{title}:")?;
            lines.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        Ok(())
    }
}
