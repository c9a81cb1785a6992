//! A text of a lesson, in one or several languages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Key of a text whose language is not declared.
const ANY: &str = "any";

/// Text by language: `en`, `pt` and `es`, or one text for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "TextForm", into = "BTreeMap<String, String>")]
pub struct Texts(BTreeMap<String, String>);

/// The two notations: a string, or a table with a string for each language.
#[derive(Deserialize)]
#[serde(untagged)]
enum TextForm {
    One(String),
    ByLanguage(BTreeMap<String, String>),
}

impl Texts {
    /// Texts by the code of their language.
    pub fn by_language(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Whether there is no language, or one without a text.
    pub(super) fn has_gap(&self) -> bool {
        self.0.is_empty() || self.0.values().any(|text| text.trim().is_empty())
    }
}

impl From<TextForm> for Texts {
    fn from(form: TextForm) -> Self {
        match form {
            TextForm::One(text) => Self(BTreeMap::from([(ANY.to_owned(), text)])),
            TextForm::ByLanguage(texts) => Self(texts),
        }
    }
}

impl From<Texts> for BTreeMap<String, String> {
    fn from(texts: Texts) -> Self {
        texts.0
    }
}
