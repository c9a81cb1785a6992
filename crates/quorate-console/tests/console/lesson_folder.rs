//! Lessons of a teacher: read from a folder, shown before the course, and hostile until parsed.

use std::fs;
use std::path::{Path, PathBuf};

use quorate_console::{LabSettings, read_lesson_folder};
use serde_json::json;

use crate::support::TestServer;

const SCENARIO: &str = "algorithm = \"central\"\nprocesses = 3\nrequesters = \"all\"\n";
const TEXT: &str = "+++
title = \"Two at the door\"
stamps = true

[[questions]]
kind = \"predict\"
ask = \"How many messages?\"
value = \"messages.total\"
why = \"Three for each entry.\"

[[questions]]
kind = \"choice\"
ask = { en = \"Who has the permission?\", pt = \"Quem tem a permissão?\" }
[[questions.options]]
right = true
text = \"p0\"
why = \"It is the server.\"
[[questions.options]]
text = \"<b>p1</b>\"
why = \"It is a client.\"
+++
# At the door

Both ask *at once*, <script>alert(1)</script>
";

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("quorate-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        for (file, text) in files {
            fs::write(path.join(file), text).expect("a file");
        }
        Self(path)
    }

    fn problem(&self) -> String {
        read_lesson_folder(&self.0).err().map(|error| error.to_string()).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_is_a_chapter_before_the_course() {
    let folder = Folder::with("chapter", &[("door.md", TEXT), ("door.toml", SCENARIO)]);
    let settings = LabSettings { lesson_folder: Some(folder.0.clone()), ..LabSettings::default() };
    let lab = TestServer::with(settings);
    let course = lab.get("/api/lessons").json();
    assert!(course["problem"].is_null(), "{course}");
    let first = &course["lessons"][0];
    assert_eq!((&first["name"], &first["own"]), (&json!("door"), &json!(true)));
    let chapter = folder.0.file_name().and_then(|name| name.to_str());
    assert_eq!(first["lesson"]["chapter"].as_str(), chapter);
    assert_eq!(first["lesson"]["title"], json!({ "any": "Two at the door" }));
    assert_eq!(first["lesson"]["stamps"], true);
    assert_eq!(first["keys"]["algorithm"], "central");
    let body = &first["lesson"]["body"];
    assert_eq!(body[0]["kind"], "heading");
    assert_eq!(body[1]["spans"][1], json!({ "style": "emphasis", "text": "at once" }));
    assert_eq!(body[1]["spans"][2]["text"], ", <script>alert(1)</script>");
    assert_eq!(course["lessons"][1]["own"], false);
    let answers = lab.get("/api/lessons/door/answers").json();
    assert_eq!(answers, json!([{ "value": 9 }, null]));
    // A change shows without a restart, and so does a mistake, which does not hide the course.
    fs::write(folder.0.join("door.md"), TEXT.replace("[[questions]]", "[[question]]"))
        .expect("a file");
    let course = lab.get("/api/lessons").json();
    assert!(course["problem"].as_str().is_some_and(|it| it.contains("door.md:")), "{course}");
    assert_eq!(course["lessons"][0]["own"], false);
}

#[test]
fn mistakes_are_named_with_file_and_line() {
    let cases = [
        (TEXT.replace("stamps = true", "stamps = maybe"), "door.md:3:"),
        (TEXT.replace("stamps = true", "colour = 1"), "door.md:3:"),
        (TEXT.replace("messages.total", "<messages>"), "door.md:5: question 1:"),
        (TEXT.replace("right = true\n", ""), "door.md:11: question 2: no option is right"),
        (TEXT.replace("+++", "---"), "door.md:1: a lesson begins with"),
        (format!("{TEXT}\n```\nnever closed"), "door.md:26: the code has no closing"),
    ];
    for (number, (text, expected)) in cases.iter().enumerate() {
        let name = format!("mistake-{number}");
        let folder = Folder::with(&name, &[("door.md", text), ("door.toml", SCENARIO)]);
        let problem = folder.problem();
        assert!(problem.contains(expected), "{expected}: {problem}");
    }
}

#[test]
fn a_scenario_is_checked_and_named() {
    for (scenario, expected) in [
        ("algorithm = \"central\"\nprocesses = 0\n", "door.toml:2:"),
        ("algorithm = \"centrale\"\nprocesses = 3\n", "door.toml:"),
        ("algorithm = ", "door.toml:1:"),
    ] {
        let folder = Folder::with("scenario", &[("door.md", TEXT), ("door.toml", scenario)]);
        let problem = folder.problem();
        assert!(problem.contains(expected), "{expected}: {problem}");
    }
    let folder = Folder::with("alone", &[("door.md", TEXT)]);
    assert!(folder.problem().contains("door.toml"), "{}", folder.problem());
}

#[test]
fn what_is_no_lesson_or_too_large_is_refused() {
    let problem = |name: &str, files: &[(&str, &str)]| Folder::with(name, files).problem();
    assert!(problem("empty", &[("door.toml", SCENARIO)]).contains("there is no lesson"));
    let bad_name = [("Door one.md", TEXT), ("Door one.toml", SCENARIO)];
    assert!(problem("name", &bad_name).contains("part of an address"));
    let taken = [("the-token.md", TEXT), ("the-token.toml", SCENARIO)];
    assert!(problem("taken", &taken).contains("built-in lesson"));
    let reserved = [("print.md", TEXT), ("print.toml", SCENARIO)];
    assert!(problem("reserved", &reserved).contains("address of the page"));
    let large = format!("{TEXT}{}", "x".repeat(300 << 10));
    assert!(problem("large", &[("door.md", &large)]).contains("larger than"));
    let many: Vec<String> = (0..201).map(|number| format!("l{number}.md")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), TEXT)).collect();
    assert!(problem("many", &many).contains("at most 200"));
    assert!(read_lesson_folder(Path::new("/no/such/folder")).is_err());
}

#[cfg(unix)]
#[test]
fn a_pipe_does_not_block_the_lab() {
    let folder = Folder::with("pipe", &[("door.toml", SCENARIO)]);
    std::os::unix::fs::symlink("/dev/null", folder.0.join("door.md")).expect("a link");
    assert!(folder.problem().contains("not a regular file"), "{}", folder.problem());
}

#[test]
fn a_lesson_in_an_address_is_parsed_and_answered() {
    let lab = TestServer::start();
    let share = |text: &str, scenario: &str| {
        lab.post("/api/lessons/shared", &json!({ "text": text, "scenario": scenario }))
    };
    let shared = share(TEXT, SCENARIO).json();
    assert_eq!(shared["lesson"]["lesson"]["title"]["any"], "Two at the door");
    assert_eq!(shared["lesson"]["keys"]["algorithm"], "central");
    assert_eq!(shared["answers"], json!([{ "value": 9 }, null]));
    for (text, scenario, expected) in [
        ("no keys", SCENARIO, "text:1:"),
        (TEXT, "algorithm = ", "scenario:1:"),
        (TEXT, "algorithm = \"central\"\nprocesses = 5000", "at most"),
        (&TEXT.replace("messages.total", "messages.none"), SCENARIO, "no `messages.none`"),
        (&format!("{TEXT}{}", "x".repeat(300 << 10)), SCENARIO, "larger than"),
    ] {
        let response = share(text, scenario);
        assert!((400..500).contains(&response.status), "{expected}");
        assert!(response.text().contains(expected), "{expected}: {}", response.text());
    }
}

#[test]
fn the_example_in_the_repository_can_be_used() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lessons");
    let lessons = read_lesson_folder(&folder).expect("lessons that can be read");
    assert_eq!(lessons[0].name, "two-at-the-door");
    assert_eq!(lessons[0].lesson.questions.len(), 3);
}
