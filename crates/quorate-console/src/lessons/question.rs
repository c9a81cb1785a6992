//! Questions of a lesson that are answered before the page shows the answer.

use quorate_core::Property;
use serde::{Deserialize, Serialize};

use super::Texts;

/// Maximum number of options of a question.
const OPTIONS_MOST: usize = 12;
/// Maximum number of hints of a question.
const HINTS_MOST: usize = 8;

/// Question about the run of a lesson.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// Choice among options, of which one or several are right.
    Choice {
        /// Text of the question.
        ask: Texts,
        /// Options in the order in which they are shown.
        options: Vec<ChoiceOption>,
    },
    /// Prediction of a value in the report of the run. The file contains no answer: it is computed from the run.
    Predict {
        /// Text of the question.
        ask: Texts,
        /// Path of the value in the report, such as `messages.total`.
        value: String,
        /// Meaning of the value.
        #[serde(default)]
        unit: Unit,
        /// Time at which the run stops to ask.
        #[serde(default)]
        at: Option<String>,
        /// Explanation that is shown with the answer.
        why: Texts,
    },
    /// Task to change the run until it violates a property. The report of the changed run is the judge.
    Break {
        /// Text of the task.
        ask: Texts,
        /// Identifier of the property to violate.
        property: String,
        /// Whether the run has to keep the assumptions of the algorithm.
        #[serde(default)]
        within: bool,
        /// Hints in the order in which they are given.
        #[serde(default)]
        hints: Vec<Texts>,
        /// Keys of the scenario that solve the task.
        solution: toml::Table,
        /// Explanation that is shown with the solution.
        why: Texts,
    },
}

/// Option of a choice.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChoiceOption {
    /// Text of the option.
    pub text: Texts,
    /// Whether the option is right.
    #[serde(default)]
    pub right: bool,
    /// Reason why the option is right or wrong.
    pub why: Texts,
}

/// Meaning of a predicted value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A plain number or word.
    #[default]
    Plain,
    /// Number of a process.
    Process,
    /// Time in the report, which is in nanoseconds; asked in milliseconds.
    Ms,
    /// Identifier of a property.
    Property,
}

impl Question {
    /// All texts of the question.
    pub fn texts(&self) -> Vec<&Texts> {
        match self {
            Self::Choice { ask, options } => {
                [ask].into_iter().chain(options.iter().flat_map(|it| [&it.text, &it.why])).collect()
            }
            Self::Predict { ask, why, .. } => vec![ask, why],
            Self::Break { ask, hints, why, .. } => [ask, why].into_iter().chain(hints).collect(),
        }
    }

    /// Checks what the notation alone does not ensure.
    pub(super) fn validate(&self) -> Result<(), String> {
        if self.texts().into_iter().any(Texts::has_gap) {
            return Err("a text is empty".to_owned());
        }
        match self {
            Self::Choice { options, .. } => {
                if !(2..=OPTIONS_MOST).contains(&options.len()) {
                    return Err(format!(
                        "expected 2 to {OPTIONS_MOST} options, found {}",
                        options.len()
                    ));
                }
                let right = options.iter().filter(|option| option.right).count();
                if right == 0 {
                    return Err("no option is right".to_owned());
                }
            }
            Self::Predict { value, .. } => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "._- ".contains(c);
                if value.is_empty() || value.len() > 100 || !value.chars().all(is_plain) {
                    return Err(format!(
                        "`{value}` is no path in a report, such as messages.total"
                    ));
                }
            }
            Self::Break { property, hints, .. } => {
                if !Property::ALL.iter().any(|known| known.id() == property) {
                    return Err(format!("there is no property `{property}`"));
                }
                if hints.len() > HINTS_MOST {
                    return Err(format!("expected at most {HINTS_MOST} hints"));
                }
            }
        }
        Ok(())
    }
}
