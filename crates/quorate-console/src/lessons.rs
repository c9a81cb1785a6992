//! The course: scenarios in order, each with a text, a hint, a question and an answer, in three languages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::assets::{CONSOLE_FILES, SCENARIO_FILES};

/// Text in each language of the console: `en`, `pt` and `es`.
type Texts = BTreeMap<String, String>;

/// Lesson, as in its file under `console/lessons/`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// Part of the course that the lesson belongs to.
    pub chapter: String,
    /// Path of the scenario under `scenarios/`.
    pub scenario: String,
    /// Heading of the lesson.
    pub title: Texts,
    /// Explanation of the topic.
    pub text: Texts,
    /// Hint on what to watch in the run.
    pub look: Texts,
    /// Question for the reader.
    pub question: Texts,
    /// Answer to the question.
    pub answer: Texts,
}

/// Returns the lessons and the texts of their scenarios, ordered by file name. An error names the invalid file.
pub fn lessons() -> Result<Vec<(Lesson, String)>, String> {
    let files = CONSOLE_FILES.names().filter(|path| path.starts_with("lessons/"));
    files.map(|path| lesson(path).map_err(|problem| format!("{path}: {problem}"))).collect()
}

/// Reads a lesson and the text of its scenario.
fn lesson(path: &str) -> Result<(Lesson, String), String> {
    let file = CONSOLE_FILES.get(path).ok_or("the file does not exist")?;
    let text = str::from_utf8(&file).map_err(|error| error.to_string())?;
    let lesson: Lesson = toml::from_str(text).map_err(|error| error.to_string())?;
    let scenario = SCENARIO_FILES
        .get(&lesson.scenario)
        .ok_or_else(|| format!("there is no scenario {}", lesson.scenario))?;
    let scenario = String::from_utf8(scenario).map_err(|error| error.to_string())?;
    Ok((lesson, scenario))
}
