//! The course: scenarios in order, each with a text, what to look at and a question, in three languages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::assets::{ConsoleFiles, ScenarioFiles};

/// A text in each of the console's languages: `en`, `pt` and `es`.
type Texts = BTreeMap<String, String>;

/// A lesson, as its file under `console/lessons/` says it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The part of the course that it belongs to.
    pub chapter: String,
    /// The scenario, as its path under `scenarios/`.
    pub scenario: String,
    /// What it is called.
    pub title: Texts,
    /// What there is to know.
    pub text: Texts,
    /// What to look at.
    pub look: Texts,
    /// Something to think about.
    pub question: Texts,
    /// An answer.
    pub answer: Texts,
}

/// The lessons in the order of their files' names; an error names the file that is wrong.
pub fn lessons() -> Result<Vec<(Lesson, String)>, String> {
    let mut files: Vec<String> = ConsoleFiles::iter()
        .filter(|path| path.starts_with("lessons/"))
        .map(|path| path.into_owned())
        .collect();
    files.sort();
    files.iter().map(|path| lesson(path).map_err(|problem| format!("{path}: {problem}"))).collect()
}

/// A lesson and the text of its scenario.
fn lesson(path: &str) -> Result<(Lesson, String), String> {
    let file = ConsoleFiles::get(path).ok_or("it is not there")?;
    let text = str::from_utf8(&file.data).map_err(|error| error.to_string())?;
    let lesson: Lesson = toml::from_str(text).map_err(|error| error.to_string())?;
    let scenario = ScenarioFiles::get(&lesson.scenario)
        .ok_or_else(|| format!("there is no scenario {}", lesson.scenario))?;
    let scenario =
        String::from_utf8(scenario.data.into_owned()).map_err(|error| error.to_string())?;
    Ok((lesson, scenario))
}
