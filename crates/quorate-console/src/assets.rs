//! Static files of the page, embedded in the program.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::api_error::ApiError;

/// Embedded files of the directory `page/`, a link to `console/` of the repository. A package contains the files.
#[derive(RustEmbed)]
#[folder = "page/"]
pub(crate) struct ConsoleFiles;

/// Embedded files of the directory `scenarios/`, a link to that of the repository. A package contains the files.
#[derive(RustEmbed)]
#[folder = "scenarios/"]
pub(crate) struct ScenarioFiles;

/// APIs available behind the page. The page passes them to its scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backends {
    pub(crate) lab: bool,
    pub(crate) cluster: bool,
}

impl Backends {
    const fn names(self) -> &'static str {
        match (self.lab, self.cluster) {
            (true, true) => "lab cluster",
            (false, true) => "cluster",
            _ => "lab",
        }
    }
}

/// Serves a file of the page. The root path serves `index.html`.
pub(crate) async fn serve(
    State(backends): State<Backends>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    let served =
        content_type(path).and_then(|content_type| Some((content_type, ConsoleFiles::get(path)?)));
    let Some((content_type, file)) = served else {
        return ApiError::not_found("there is no such page").into_response();
    };
    let hash = hexadecimal(&file.metadata.sha256_hash()[..16]);
    let tag = format!("\"{hash}-{}\"", backends.names().replace(' ', "-"));
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == *tag) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let response_headers = [(header::CONTENT_TYPE, content_type.to_owned()), (header::ETAG, tag)];
    if path != "index.html" {
        return (response_headers, file.data).into_response();
    }
    let text = String::from_utf8_lossy(&file.data);
    let html = format!("<html data-has=\"{}\"", backends.names());
    (response_headers, text.replacen("<html", &html, 1)).into_response()
}

/// Content type by file extension; `None` for types that are not served.
fn content_type(path: &str) -> Option<&'static str> {
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
