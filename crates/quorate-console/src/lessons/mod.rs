//! The course: scenarios in order, each with a text and questions. The built-in lessons are in three languages; a teacher's
//! folder adds lessons of its own.

mod expected;
mod folder;
mod markdown;
mod question;
mod texts;

use serde::{Deserialize, Serialize};

use crate::assets::{CONSOLE_FILES, SCENARIO_FILES};

pub use expected::{expected_value, solved_scenario};
pub(crate) use folder::LessonSource;
pub use folder::{LessonError, read_lesson_folder};
pub use markdown::Block;
pub use question::{ChoiceOption, Question, Unit};
pub use texts::Texts;

/// Lesson, as in its file under `console/lessons/`, or as read from a teacher's folder.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// Part of the course that the lesson belongs to.
    pub chapter: String,
    /// Path of the scenario under `scenarios/`, or file name in a teacher's folder.
    pub scenario: String,
    /// Whether the diagram shows logical times at first.
    #[serde(default)]
    pub stamps: bool,
    /// Heading of the lesson.
    pub title: Texts,
    /// Explanation of the topic.
    pub text: Texts,
    /// Hint on what to watch in the run.
    pub look: Texts,
    /// Question for the reader that is not judged.
    pub question: Texts,
    /// Answer to the question.
    pub answer: Texts,
    /// Questions that the page judges.
    #[serde(default)]
    pub questions: Vec<Question>,
    /// Explanation of a teacher's lesson, in place of the text.
    #[serde(skip_deserializing)]
    pub body: Vec<Block>,
}

/// Lesson with its name in addresses and the text of its scenario.
#[derive(Clone, Debug)]
pub struct NamedLesson {
    /// Name in addresses, which stays the same if lessons are added before this one.
    pub name: String,
    /// Contents of the lesson.
    pub lesson: Lesson,
    /// Text of the scenario file.
    pub scenario: String,
}

/// Returns the built-in lessons, ordered by file name. An error names the invalid file.
pub fn lessons() -> Result<Vec<NamedLesson>, String> {
    let files = CONSOLE_FILES.names().filter(|path| path.starts_with("lessons/"));
    files.map(|path| built_in(path).map_err(|problem| format!("{path}: {problem}"))).collect()
}

/// Reads a built-in lesson and the text of its scenario.
fn built_in(path: &str) -> Result<NamedLesson, String> {
    let file = CONSOLE_FILES.get(path).ok_or("the file does not exist")?;
    let text = str::from_utf8(&file).map_err(|error| error.to_string())?;
    let lesson: Lesson = toml::from_str(text).map_err(|error| error.to_string())?;
    for (number, question) in lesson.questions.iter().enumerate() {
        question.validate().map_err(|problem| format!("question {}: {problem}", number + 1))?;
    }
    let scenario = SCENARIO_FILES
        .get(&lesson.scenario)
        .ok_or_else(|| format!("there is no scenario {}", lesson.scenario))?;
    let scenario = String::from_utf8(scenario).map_err(|error| error.to_string())?;
    Ok(NamedLesson { name: name_of(path)?.to_owned(), lesson, scenario })
}

/// Returns the name in addresses: the file name without the number, which only orders the lessons.
fn name_of(path: &str) -> Result<&str, String> {
    let stem = path.strip_prefix("lessons/").and_then(|file| file.strip_suffix(".toml"));
    let (_number, name) = stem
        .and_then(|stem| stem.split_once('-'))
        .ok_or("the file name has to be a number and a name, such as 01-name.toml")?;
    Ok(name)
}
