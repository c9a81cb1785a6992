//! Lessons of a teacher: a folder with pairs of `NAME.toml`, a scenario, and `NAME.md`, its text.
//!
//! ```text
//! +++
//! title = "Two at the door"
//! [[questions]]
//! kind = "predict"
//! ask = "How many messages does the run need?"
//! value = "messages.total"
//! why = "Three for each of two entries."
//! +++
//! Both clients ask *at once*.
//! ```

use std::path::Path;
use std::{error, fmt, fs, io};

use serde::Deserialize;

use super::{Lesson, NamedLesson, Question, Texts, expected, lessons, markdown};

/// Maximum number of lessons in a folder.
const LESSONS_MOST: usize = 200;
/// Maximum number of files that a folder is searched for.
const FILES_MOST: usize = 10_000;
/// Maximum number of bytes of a Markdown file and of a scenario.
const FILE_MOST: u64 = 256 << 10;
/// Maximum number of questions of a lesson.
const QUESTIONS_MOST: usize = 30;
/// Names that are addresses of the page.
const RESERVED: [&str; 3] = ["print", "shared", "write"];
/// Delimiter of the front matter.
const FENCE: &str = "+++";

/// Reason why a lesson of a folder cannot be used.
#[derive(Debug)]
pub struct LessonError {
    file: String,
    /// Line of the file, from 1.
    line: Option<usize>,
    problem: String,
}

impl fmt::Display for LessonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

impl error::Error for LessonError {}

/// Keys at the top of a Markdown file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    title: Texts,
    chapter: Option<String>,
    #[serde(default)]
    stamps: bool,
    #[serde(default)]
    questions: Vec<Question>,
}

/// Reads the lessons of a folder, ordered by file name.
pub fn read_lesson_folder(folder: &Path) -> Result<Vec<NamedLesson>, LessonError> {
    let error =
        |problem: String| LessonError { file: folder.display().to_string(), line: None, problem };
    let entries = fs::read_dir(folder).map_err(|problem| error(problem.to_string()))?;
    let mut names = Vec::new();
    for entry in entries.take(FILES_MOST) {
        let file = entry.map_err(|problem| error(problem.to_string()))?.file_name();
        let Some(name) = file.to_str().and_then(|file| file.strip_suffix(".md")) else { continue };
        names.push(name.to_owned());
    }
    names.sort_unstable();
    if names.is_empty() {
        return Err(error(
            "there is no lesson; a lesson is NAME.md and its scenario NAME.toml".into(),
        ));
    }
    if names.len() > LESSONS_MOST {
        return Err(error(format!("at most {LESSONS_MOST} lessons are read")));
    }
    let known = lessons().unwrap_or_default();
    let default_chapter = folder
        .file_name()
        .map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
    let own = names.into_iter().map(|name| {
        let lesson = read_lesson(folder, name, &default_chapter)?;
        if known.iter().any(|other| other.name == lesson.name) {
            return Err(error(format!("{}.md has the name of a built-in lesson", lesson.name)));
        }
        Ok(lesson)
    });
    own.collect()
}

fn read_lesson(
    folder: &Path,
    name: String,
    default_chapter: &str,
) -> Result<NamedLesson, LessonError> {
    let path = folder.join(format!("{name}.md"));
    let scenario_path = folder.join(format!("{name}.toml"));
    let error = |path: &Path, problem: String| LessonError {
        file: path.display().to_string(),
        line: None,
        problem,
    };
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.chars().all(is_plain) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        let rule = "the name of a lesson is part of an address: lower-case letters, digits and hyphens, a letter first";
        return Err(error(&path, rule.to_owned()));
    }
    if RESERVED.contains(&name.as_str()) {
        return Err(error(&path, "this name is an address of the page".to_owned()));
    }
    let read = |path: &Path| read_bounded(path).map_err(|problem| error(path, problem.to_string()));
    let source = LessonSource {
        text: read(&path)?,
        text_file: path.display().to_string(),
        scenario: read(&scenario_path)?,
        scenario_file: scenario_path.display().to_string(),
    };
    source.parse(name, default_chapter)
}

/// Texts of a lesson that is not built in, with the names under which errors refer to them.
pub(crate) struct LessonSource {
    /// Text with its keys at the top.
    pub(crate) text: String,
    /// Name of the text in errors.
    pub(crate) text_file: String,
    /// Text of the scenario.
    pub(crate) scenario: String,
    /// Name of the scenario in errors.
    pub(crate) scenario_file: String,
}

impl LessonSource {
    /// Parses the lesson and checks that its questions can be asked and its scenario can be run.
    pub(crate) fn parse(
        self,
        name: String,
        default_chapter: &str,
    ) -> Result<NamedLesson, LessonError> {
        let error = |line: Option<usize>, problem: String| LessonError {
            file: self.text_file.clone(),
            line,
            problem,
        };
        if self.text.len() as u64 > FILE_MOST {
            return Err(error(None, format!("the text is larger than {FILE_MOST} bytes")));
        }
        let (front, body, body_line) =
            split(&self.text).map_err(|problem| error(Some(1), problem))?;
        let front_matter: FrontMatter = toml::from_str(front).map_err(|problem| {
            // The front matter begins in the second line of the file.
            let line = |start: usize| 2 + count_lines(&front[..start.min(front.len())]);
            let line = problem.span().map(|span| line(span.start));
            error(line, problem.message().to_owned())
        })?;
        if front_matter.questions.len() > QUESTIONS_MOST {
            return Err(error(None, format!("at most {QUESTIONS_MOST} questions are asked")));
        }
        let body = markdown::blocks(body)
            .map_err(|(line, problem)| error(Some(body_line + line), problem))?;
        let scenario_error =
            |problem: String| LessonError { file: "scenario".to_owned(), line: None, problem };
        // This error names the file and the line itself.
        let scenario = quorate_sim::parse(&self.scenario, &self.scenario_file)
            .map_err(|problem| scenario_error(problem.to_string()))?;
        quorate_run::check(&scenario)
            .map_err(|problem| scenario_error(format!("{}: {problem}", self.scenario_file)))?;
        for (number, question) in front_matter.questions.iter().enumerate() {
            let is_solvable = match question {
                Question::Break { solution, .. } => {
                    expected::solved_scenario(&scenario, solution).map(drop)
                }
                _ => Ok(()),
            };
            question.validate().and(is_solvable).map_err(|problem| {
                error(question_line(front, number), format!("question {}: {problem}", number + 1))
            })?;
        }
        let lesson = Lesson {
            chapter: front_matter.chapter.unwrap_or_else(|| default_chapter.to_owned()),
            scenario: format!("{name}.toml"),
            stamps: front_matter.stamps,
            title: front_matter.title,
            text: Texts::default(),
            look: Texts::default(),
            question: Texts::default(),
            answer: Texts::default(),
            questions: front_matter.questions,
            body,
        };
        Ok(NamedLesson { name, lesson, scenario: self.scenario })
    }
}

/// Reads a regular file up to a limit. Other files, such as pipes, could block forever.
fn read_bounded(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("this is not a regular file"));
    }
    if metadata.len() > FILE_MOST {
        return Err(io::Error::other(format!("the file is larger than {FILE_MOST} bytes")));
    }
    fs::read_to_string(path)
}

/// Splits a file into its front matter, its body, and the line at which the body begins.
fn split(text: &str) -> Result<(&str, &str, usize), String> {
    let missing =
        || format!("a lesson begins with a line {FENCE}, its keys and another line {FENCE}");
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n').ok_or_else(missing)?;
    if first.trim_end() != FENCE {
        return Err(missing());
    }
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            let (front, body) = (&rest[..start], &rest[start + line.len()..]);
            return Ok((front, body, 3 + count_lines(front)));
        }
        start += line.len();
    }
    Err(missing())
}

fn count_lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// Line of the file at which a question begins.
fn question_line(front: &str, number: usize) -> Option<usize> {
    let mut starts = front.lines().enumerate().filter(|(_, line)| line.trim() == "[[questions]]");
    starts.nth(number).map(|(line, _)| line + 2)
}
