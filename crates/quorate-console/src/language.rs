//! Languages of the page, for the pictures in it.

use std::collections::BTreeMap;

use quorate_draw::Vocabulary;
use serde::Deserialize;

use crate::assets::CONSOLE_FILES;

/// Language of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Language {
    #[default]
    #[serde(rename = "en")]
    English,
    #[serde(rename = "pt")]
    Portuguese,
    #[serde(rename = "es")]
    Spanish,
}

impl Language {
    /// Returns the texts of pictures in this language, taken from the texts of the page.
    pub(crate) fn vocabulary(self) -> Vocabulary {
        let file = match self {
            Self::English => return Vocabulary::default(),
            Self::Portuguese => "strings/pt.json",
            Self::Spanish => "strings/es.json",
        };
        let texts: BTreeMap<String, String> = CONSOLE_FILES
            .get(file)
            .and_then(|file| serde_json::from_slice(&file).ok())
            .unwrap_or_default();
        Vocabulary::new(|id| texts.get(id).cloned())
    }
}
