//! The page: files that are part of the program.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::refusal::Refusal;

/// What is under `console/`.
#[derive(RustEmbed)]
#[folder = "../../console/"]
pub(crate) struct Page;

/// What is under `scenarios/`.
#[derive(RustEmbed)]
#[folder = "../../scenarios/"]
pub(crate) struct Scenarios;

/// What there is behind the page, which says so to its scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    pub(crate) lab: bool,
    pub(crate) cluster: bool,
}

impl Behind {
    const fn words(self) -> &'static str {
        match (self.lab, self.cluster) {
            (true, true) => "lab cluster",
            (false, true) => "cluster",
            _ => "lab",
        }
    }
}

/// A file of the page; the page itself where no file is named.
pub(crate) async fn serve(State(behind): State<Behind>, uri: Uri, headers: HeaderMap) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    let served = kind(path).and_then(|kind| Some((kind, Page::get(path)?)));
    let Some((kind, file)) = served else {
        return Refusal::unknown("there is no such page").into_response();
    };
    let hash = hexadecimal(&file.metadata.sha256_hash()[..16]);
    let tag = format!("\"{hash}-{}\"", behind.words().replace(' ', "-"));
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == *tag) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let told = [(header::CONTENT_TYPE, kind.to_owned()), (header::ETAG, tag)];
    if path != "index.html" {
        return (told, file.data).into_response();
    }
    let text = String::from_utf8_lossy(&file.data);
    let html = format!("<html data-has=\"{}\"", behind.words());
    (told, text.replacen("<html", &html, 1)).into_response()
}

/// The type of a file, if it is one of the page's.
fn kind(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
