//! The course: scenarios in order, each with a text, a hint, a question and an answer, in three languages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::assets::{ConsoleFiles, ScenarioFiles};

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
    let mut files: Vec<String> = ConsoleFiles::iter()
        .filter(|path| path.starts_with("lessons/"))
        .map(|path| path.into_owned())
        .collect();
    files.sort();
    files.iter().map(|path| lesson(path).map_err(|problem| format!("{path}: {problem}"))).collect()
}

/// Reads a lesson and the text of its scenario.
fn lesson(path: &str) -> Result<(Lesson, String), String> {
    let file = ConsoleFiles::get(path).ok_or("the file does not exist")?;
    let text = str::from_utf8(&file.data).map_err(|error| error.to_string())?;
    let lesson: Lesson = toml::from_str(text).map_err(|error| error.to_string())?;
    let scenario = ScenarioFiles::get(&lesson.scenario)
        .ok_or_else(|| format!("there is no scenario {}", lesson.scenario))?;
    let scenario =
        String::from_utf8(scenario.data.into_owned()).map_err(|error| error.to_string())?;
    Ok((lesson, scenario))
}
