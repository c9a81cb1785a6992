//! Static files of the page, embedded in the program.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use miniz_oxide::inflate::decompress_to_vec;
use sha2::{Digest, Sha256};

use crate::api_error::ApiError;

/// Embedded files of the directory `page/`, a link to `console/` of the repository. A package contains the files.
pub(crate) static CONSOLE_FILES: EmbeddedFiles = EmbeddedFiles {
    directory: concat!(env!("CARGO_MANIFEST_DIR"), "/page"),
    files: include!(concat!(env!("OUT_DIR"), "/page.rs")),
};

/// Embedded files of the directory `scenarios/`, a link to that of the repository. A package contains the files.
pub(crate) static SCENARIO_FILES: EmbeddedFiles = EmbeddedFiles {
    directory: concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    files: include!(concat!(env!("OUT_DIR"), "/scenarios.rs")),
};

/// Files of a directory at the time of the build, sorted by name.
pub(crate) struct EmbeddedFiles {
    directory: &'static str,
    /// Name, and content in the form of a gzip file.
    files: &'static [(&'static str, &'static [u8])],
}

impl EmbeddedFiles {
    /// Names relative to the directory, in ascending order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.files.iter().map(|(name, _)| *name)
    }

    /// Content of a file. A debug build reads it from the disk, so that a reload of the page shows a change.
    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        let index = self.files.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        let (name, compressed) = self.files[index];
        let on_disk = || fs::read(Path::new(self.directory).join(name)).ok();
        let edited = if cfg!(debug_assertions) { on_disk() } else { None };
        edited.or_else(|| decompress(compressed))
    }

    /// The content of a file in the form of a gzip file; `None` if it was edited since the build.
    fn gzip(&self, name: &str, content: &[u8]) -> Option<&'static [u8]> {
        let index = self.files.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        let compressed = self.files[index].1;
        let is_same = !cfg!(debug_assertions) || decompress(compressed).as_deref() == Some(content);
        is_same.then_some(compressed)
    }
}

/// Number of bytes before and after the compressed content of a gzip file without a name.
const GZIP_HEAD: usize = 10;
const GZIP_TAIL: usize = 8;

fn decompress(gzip: &[u8]) -> Option<Vec<u8>> {
    let end = gzip.len().checked_sub(GZIP_TAIL)?;
    decompress_to_vec(gzip.get(GZIP_HEAD..end)?).ok()
}

/// Whether the client reads gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let names = accepted.unwrap_or_default().split(',').map(str::trim);
    // A weight of zero would refuse it; browsers send none.
    names.into_iter().any(|name| name == "gzip")
}

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

/// Properties of the page of a server.
#[derive(Clone, Debug)]
pub(crate) struct PageState {
    pub(crate) backends: Backends,
    /// Content security policy of the read-only view, which other pages may be allowed to frame.
    pub(crate) embed_policy: Arc<str>,
}

/// Path of the read-only view of a run.
const EMBED: &str = "embed";

/// Serves a file of the page. The root path serves `index.html`, and so does the path of the read-only view.
pub(crate) async fn serve(
    State(PageState { backends, embed_policy }): State<PageState>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let asked = uri.path().trim_start_matches('/');
    let is_embedded = asked == EMBED && backends.lab;
    let path = match asked {
        "" => "index.html",
        _ if is_embedded => "index.html",
        path => path,
    };
    let names = if is_embedded { EMBED } else { backends.names() };
    let served =
        content_type(path).and_then(|content_type| Some((content_type, CONSOLE_FILES.get(path)?)));
    let Some((content_type, file)) = served else {
        return ApiError::not_found("there is no such page").into_response();
    };
    let hash = hexadecimal(&Sha256::digest(&file)[..16]);
    // The tag is that of the content, whatever its encoding, so it is a weak one.
    let tag = format!("W/\"{hash}-{}\"", names.replace(' ', "-"));
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == *tag) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let response_headers = [(header::CONTENT_TYPE, content_type.to_owned()), (header::ETAG, tag)];
    if path != "index.html" {
        let vary = [(header::VARY, "accept-encoding")];
        let gzip = CONSOLE_FILES.gzip(path, &file).filter(|_| accepts_gzip(&headers));
        return match gzip {
            Some(gzip) => {
                (response_headers, vary, [(header::CONTENT_ENCODING, "gzip")], gzip).into_response()
            }
            None => (response_headers, vary, file).into_response(),
        };
    }
    let text = String::from_utf8_lossy(&file);
    let html = text.replacen("<html", &format!("<html data-has=\"{names}\""), 1);
    if is_embedded {
        let policy = [(header::CONTENT_SECURITY_POLICY, embed_policy.to_string())];
        return (response_headers, policy, html).into_response();
    }
    (response_headers, html).into_response()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_files_are_those_of_the_directories() {
        for embedded in [&CONSOLE_FILES, &SCENARIO_FILES] {
            assert!(embedded.files.len() > 20);
            for (name, compressed) in embedded.files {
                let file = fs::read(Path::new(embedded.directory).join(name)).expect("it is there");
                assert!(decompress(compressed).is_some_and(|content| content == file), "{name}");
            }
        }
    }
}
