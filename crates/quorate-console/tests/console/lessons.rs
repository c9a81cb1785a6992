//! Built-in lessons: whole in three languages, with answers that come from runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use quorate_console::{
    NamedLesson, Question, Texts, Unit, expected_value, lessons, solved_scenario,
};
use quorate_sim::{Conditions, Report, Scenario};
use serde_json::Value;

use crate::support::TestServer;

fn all() -> Vec<NamedLesson> {
    lessons().expect("lessons that can be read")
}

fn scenario(lesson: &NamedLesson) -> Scenario {
    quorate_sim::parse(&lesson.scenario, &lesson.lesson.scenario).expect("a valid scenario")
}

fn report(scenario: &Scenario) -> Report {
    quorate_run::run(scenario, Conditions::default(), None).expect("a scenario that runs").report
}

fn console_file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console").join(path);
    fs::read_to_string(path).expect("a file of the page")
}

fn is_violated(report: &Report, id: &str) -> bool {
    let report = serde_json::to_value(report).expect("JSON");
    let properties = report["properties"].as_array().expect("properties");
    properties.iter().any(|it| it["id"] == id && it["status"] == "violated")
}

fn unmet_assumptions(report: &Report) -> usize {
    let report = serde_json::to_value(report).expect("JSON");
    let assumptions = report["assumptions"].as_array().expect("assumptions");
    assumptions.iter().filter(|it| it["met"] == false).count()
}

#[test]
fn every_lesson_is_whole() {
    let english: BTreeMap<String, String> =
        serde_json::from_str(&console_file("strings/en.json")).expect("texts by key");
    let all = all();
    assert!(all.len() >= 90, "{}", all.len());
    for named in &all {
        let (name, lesson) = (&named.name, &named.lesson);
        quorate_run::check(&scenario(named)).expect("a scenario that can be run");
        assert!(english.contains_key(&format!("chapter.{}", lesson.chapter)), "{name}");
        let own = [&lesson.title, &lesson.text, &lesson.look, &lesson.question, &lesson.answer];
        let asked = lesson.questions.iter().flat_map(Question::texts);
        for texts in own.into_iter().chain(asked) {
            let languages: Vec<&str> = texts.by_language().keys().map(String::as_str).collect();
            assert_eq!(languages, ["en", "es", "pt"], "{name}: {texts:?}");
            assert!(texts.by_language().values().all(|text| !text.trim().is_empty()), "{name}");
        }
    }
}

#[test]
fn chapters_are_in_one_piece_and_logical_time_comes_first() {
    let all = all();
    let mut chapters: Vec<&str> = all.iter().map(|it| it.lesson.chapter.as_str()).collect();
    chapters.dedup();
    assert_eq!(chapters.len(), chapters.iter().collect::<BTreeSet<_>>().len(), "{chapters:?}");
    assert_eq!(chapters[0], "logical");
}

#[test]
fn names_are_unique_and_old_numbers_still_lead_to_their_lessons() {
    let all = all();
    let names: BTreeSet<&str> = all.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), all.len(), "two lessons have one name");
    let addresses = console_file("parts/lesson-addresses.js");
    let list = addresses.split_once("NUMBERED = [").expect("the list").1;
    let list = list.split_once("];").expect("its end").0;
    let numbered: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(numbered.len(), 64);
    assert!(numbered.iter().all(|name| names.contains(name)), "{numbered:?}");
    assert_eq!((numbered[0], numbered[63]), ("half-of-the-round-trip", "replicas-that-lie"));
}

#[test]
fn the_algorithms_of_the_curriculum_have_lessons() {
    let taught: BTreeSet<String> = all().iter().map(|it| scenario(it).algorithm.clone()).collect();
    for algorithm in [
        "lamport",
        "suzuki-kasami",
        "agrawal-el-abbadi",
        "list-ring",
        "interactive-consistency",
        "signed-generals",
        "quorum-published",
        "quorum-without-attempts",
        "quorum",
        "leased-quorum",
        "announce-all",
        "hirschberg-sinclair",
        "total-isis",
        "total-lamport",
        "vcube-multicast",
    ] {
        assert!(taught.contains(algorithm), "{algorithm}");
    }
}

#[test]
fn enough_lessons_ask() {
    let all = all();
    let asks = |wanted: fn(&Question) -> bool| {
        all.iter().filter(|it| it.lesson.questions.iter().any(wanted)).count()
    };
    assert!(asks(|it| !matches!(it, Question::Break { .. })) >= 30);
    assert!(asks(|it| matches!(it, Question::Break { .. })) >= 5);
}

#[test]
fn every_choice_has_right_and_wrong_options() {
    for named in all() {
        for question in &named.lesson.questions {
            let Question::Choice { options, .. } = question else { continue };
            let right = options.iter().filter(|option| option.right).count();
            assert!((1..options.len()).contains(&right), "{}: {question:?}", named.name);
        }
    }
}

/// Numbers that an explanation may spell out.
const WORDS: [&str; 6] = ["None", "One", "Two", "Three", "Four", "five"];

fn names_value(why: &Texts, unit: Unit, value: &Value) -> bool {
    let why = &why.by_language()["en"];
    let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match unit {
        Unit::Process => why.contains(&format!("p{plain}")),
        Unit::Property if plain == "none" => why.contains("None"),
        Unit::Property => {
            why.to_lowercase().contains(&plain.replace("total-order", "total order").to_lowercase())
        }
        _ => {
            let is_word = |c: char| !c.is_ascii_alphanumeric();
            let mut words = why.split(is_word);
            let spelled =
                value.as_u64().and_then(|number| WORDS.get(usize::try_from(number).ok()?));
            words.clone().any(|word| word == plain)
                || spelled
                    .is_some_and(|spelled| words.any(|word| word.eq_ignore_ascii_case(spelled)))
                || (named_all(why) && spelled.is_some())
        }
    }
}

/// "All three", "Todos": an explanation that names no number but all processes.
fn named_all(why: &str) -> bool {
    why.starts_with("All ")
}

#[test]
fn every_prediction_is_answered_by_the_run_and_explained_with_its_value() {
    for named in all() {
        let predictions: Vec<&Question> = named
            .lesson
            .questions
            .iter()
            .filter(|it| matches!(it, Question::Predict { .. }))
            .collect();
        if predictions.is_empty() {
            continue;
        }
        let report = report(&scenario(&named));
        for question in predictions {
            let Question::Predict { value, unit, why, .. } = question else { continue };
            let expected = expected_value(value, *unit, &report);
            let expected = expected.unwrap_or_else(|problem| panic!("{}: {problem}", named.name));
            assert!(names_value(why, *unit, &expected), "{}: {expected} {why:?}", named.name);
        }
    }
}

#[test]
fn every_task_is_open_at_first_and_solved_by_its_solution() {
    for named in all() {
        for question in &named.lesson.questions {
            let Question::Break { property, within, solution, .. } = question else { continue };
            let name = &named.name;
            let original = scenario(&named);
            assert!(!is_violated(&report(&original), property), "{name} is solved from the start");
            let solved = solved_scenario(&original, solution).expect("a valid solution");
            assert_eq!(solved.algorithm, original.algorithm, "{name}");
            assert_eq!(solved.processes, original.processes, "{name}");
            let report = report(&solved);
            assert!(is_violated(&report, property), "{name}: {property} holds");
            assert!(!within || unmet_assumptions(&report) == 0, "{name} breaks an assumption");
        }
    }
}

#[test]
fn values_are_read_from_the_report_or_refused() {
    let named = all().into_iter().find(|it| it.name == "ask-the-server").expect("the lesson");
    let report = report(&scenario(&named));
    let value = |path: &str, unit| expected_value(path, unit, &report);
    assert_eq!(value("messages.by_kind.GRANT", Unit::Plain), Ok(4.into()));
    assert_eq!(value("order.length", Unit::Plain), Ok(4.into()));
    assert_eq!(value("broken", Unit::Property), Ok("none".into()));
    assert_eq!(value("delays.unit", Unit::Ms), Ok(1.0.into()));
    for path in
        ["messages", "messages.totals", "order.9", "order.x", "", "entries.0", "order.length.x"]
    {
        assert!(value(path, Unit::Plain).is_err(), "{path}");
    }
}

#[test]
fn the_server_answers_from_the_run_of_the_lesson() {
    let lab = TestServer::start();
    let course = lab.get("/api/lessons").json();
    assert!(course["problem"].is_null());
    let lesson = course["lessons"].as_array().expect("lessons").iter();
    let lesson = lesson.clone().find(|it| it["name"] == "ask-the-server").expect("the lesson");
    assert_eq!(lesson["own"], false);
    let run = lab.post("/api/run", &serde_json::json!({ "scenario": lesson["keys"] })).json();
    let answers = lab.get("/api/lessons/ask-the-server/answers").json();
    let kinds: Vec<&Value> = lesson["lesson"]["questions"]
        .as_array()
        .expect("questions")
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert_eq!(kinds, ["predict", "predict", "break"]);
    assert_eq!(answers[0]["value"], run["report"]["order"][1]);
    assert_eq!(answers[1]["value"], run["report"]["messages"]["total"]);
    let solved =
        lab.post("/api/run", &serde_json::json!({ "scenario": answers[2]["solution"] })).json();
    assert_eq!(solved["report"]["properties"][0]["status"], "violated");
    assert_eq!(lab.get("/api/lessons/no-such-lesson/answers").status, 404);
}
