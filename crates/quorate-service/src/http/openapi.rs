//! Generates the OpenAPI description of the API from the annotations of its handlers.
//!
//! The generator takes longer to compile than the rest of the API. Therefore a node serves the committed file `openapi.json`,
//! and a test compares that file with the generated description.

use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::HttpState;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "quorate",
        description = "Locks and elections of a cluster. A token is greater than every earlier token of its name: pass it to the resource that the lock guards."
    ),
    security(("token" = []), ()),
    modifiers(&Token)
)]
struct Description;

/// Adds the security scheme of bearer tokens to the description.
struct Token;

impl utoipa::Modify for Token {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let parts = description.components.get_or_insert_default();
        parts.add_security_scheme("token", scheme);
    }
}

/// Generates the description of all routes.
///
/// # Panics
///
/// Panics if the annotation of a handler has another method or path than its route.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut described = OpenApiRouter::with_openapi(Description::openapi());
    for route in super::annotated_routes() {
        assert!(route.matches, "the annotation of its handler differs from `{}`", route.route);
        described = described.routes(route.annotation);
    }
    described.split_for_parts().1
}

/// A route of the server, with the annotation of its handler.
pub(super) struct AnnotatedRoute {
    /// Method and path of the route.
    pub(super) route: &'static str,
    /// Whether the annotation has the method and the path of the route.
    pub(super) matches: bool,
    pub(super) annotation: UtoipaMethodRouter<HttpState>,
}

#[cfg(test)]
mod tests {
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi.json");

    /// A changed description is a changed contract.
    #[test]
    fn the_committed_description_is_that_of_the_handlers() {
        let generated = super::openapi().to_pretty_json().expect("JSON") + "\n";
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(FILE, &generated).expect("the work tree is writable");
        }
        let committed = std::fs::read_to_string(FILE).expect("the file is committed");
        let equal = generated.lines().zip(committed.lines()).take_while(|(new, old)| new == old);
        let line = equal.count() + 1;
        assert!(
            generated == committed,
            "src/http/openapi.json is not up to date from line {line} on: \
             run UPDATE=1 cargo test -p quorate-service --lib openapi"
        );
    }
}
