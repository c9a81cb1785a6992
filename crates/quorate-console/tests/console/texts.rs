//! Texts of the page: complete in three languages, and about scenarios that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use quorate_algorithms::catalogue::PROFILES;
use quorate_draw::Phrase;
use quorate_lab::experiment::EXPERIMENTS;
use quorate_run::catalogue;
use serde_json::Value;

const LANGUAGES: [&str; 3] = ["en", "pt", "es"];

fn console() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console")
}

fn strings(language: &str) -> BTreeMap<String, String> {
    let path = console().join("strings").join(format!("{language}.json"));
    let text = fs::read_to_string(path).expect("a file for each language");
    serde_json::from_str(&text).expect("texts by key")
}

/// Placeholder names in braces.
fn placeholders(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

#[test]
fn every_text_is_there_in_every_language() {
    let english = strings("en");
    for language in LANGUAGES {
        let own = strings(language);
        let keys = |texts: &BTreeMap<String, String>| texts.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&own), keys(&english), "{language}");
        for (key, text) in &own {
            assert!(!text.trim().is_empty(), "{language} {key}");
            assert_eq!(placeholders(text), placeholders(&english[key]), "{language} {key}");
        }
    }
}

/// Pictures include their English texts, so that the command line does not need the page.
#[test]
fn whatever_pictures_say_is_among_the_texts() {
    let english = strings("en");
    for phrase in Phrase::ALL {
        assert_eq!(english.get(phrase.id()).map(String::as_str), Some(phrase.english()));
    }
    let draw_keys = english.keys().filter(|key| key.starts_with("draw.")).count();
    assert_eq!(draw_keys, Phrase::ALL.len());
}

#[test]
fn every_algorithm_is_described_in_the_other_languages() {
    let path = console().join("strings/algorithms.json");
    let text = fs::read_to_string(path).expect("a file for the algorithms");
    let descriptions: BTreeMap<String, BTreeMap<String, BTreeMap<String, Value>>> =
        serde_json::from_str(&text).expect("texts by algorithm, what they say, and language");
    let known: BTreeSet<&str> = PROFILES.iter().map(|profile| profile.name).collect();
    assert_eq!(descriptions.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
    for profile in PROFILES {
        let own = &descriptions[profile.name];
        let steps = catalogue().get(profile.name).map_or(0, |entry| entry.facts().steps.len());
        let mut expected = vec!["cost"];
        expected.extend((steps > 0).then_some("steps"));
        expected.push("summary");
        expected.extend(profile.specimen.is_some().then_some("why"));
        assert_eq!(own.keys().collect::<Vec<_>>(), expected, "{}", profile.name);
        for texts in own.values() {
            assert_eq!(texts.keys().collect::<Vec<_>>(), ["es", "pt"], "{}", profile.name);
        }
        for translated in own.get("steps").iter().flat_map(|texts| texts.values()) {
            assert_eq!(translated.as_array().map(Vec::len), Some(steps), "{}", profile.name);
        }
    }
}

#[test]
fn every_experiment_is_described_in_every_language() {
    let english = strings("en");
    for experiment in EXPERIMENTS {
        let key = format!("experiment.{}", experiment.name);
        assert_eq!(english.get(&key).map(String::as_str), Some(experiment.summary));
    }
}

#[test]
fn the_page_says_nothing_that_has_no_text() {
    let english = strings("en");
    let mut files = vec![console().join("main.js")];
    for folder in ["parts", "parts/cluster", "pages"] {
        let listed = fs::read_dir(console().join(folder)).expect("the folders of the page");
        let listed = listed.map(|entry| entry.expect("an entry").path());
        files.extend(listed.filter(|path| path.is_file()));
    }
    files.push(console().join("cluster-alarms.js"));
    let mut keys_used = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("a file of the page");
        for part in text.split("t(\"").skip(1) {
            let Some((key, _)) = part.split_once('"') else { continue };
            // Other calls such as `get("…")` end in the same letters.
            if key.contains('.') && !key.contains('/') {
                keys_used += 1;
                assert!(english.contains_key(key), "{}: {key}", file.display());
            }
        }
    }
    assert!(keys_used > 100, "{keys_used}");
}
