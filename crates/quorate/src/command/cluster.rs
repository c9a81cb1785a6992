//! Functions shared by all commands that use a cluster.

use std::path::PathBuf;

use quorate_client::{
    Backend, BackendKind, Client, Credentials, DEFAULT_ENDPOINT, Error, Failure as Refusal,
};
use tokio::runtime::{Builder, Runtime};

use crate::arguments::{ClusterFlags, endpoint};
use crate::command_error::CommandError;

/// Backend and endpoints from the flags or the environment. The default is a cluster on this machine.
fn backend(flags: &ClusterFlags) -> Result<Backend, CommandError> {
    let quorate = |endpoints| Backend { kind: BackendKind::Quorate, endpoints };
    if let Some(backend) = &flags.backend {
        return Ok(backend.clone());
    }
    if !flags.endpoint.is_empty() {
        return Ok(quorate(flags.endpoint.clone()));
    }
    let from_env = |variable| std::env::var(variable).ok().filter(|value| !value.is_empty());
    match (from_env("QUORATE_BACKEND"), from_env("QUORATE_ENDPOINT")) {
        (Some(_), Some(_)) => Err(CommandError::new(
            "QUORATE_BACKEND and QUORATE_ENDPOINT are both set; unset one, or use --backend",
        )),
        (Some(backend), None) => {
            backend.parse().map_err(|error| CommandError::new(format!("QUORATE_BACKEND: {error}")))
        }
        (None, Some(endpoints)) => {
            let endpoints: Result<_, _> = endpoints.split(',').map(endpoint).collect();
            let error = |error| CommandError::new(format!("QUORATE_ENDPOINT: {error}"));
            Ok(quorate(endpoints.map_err(error)?))
        }
        (None, None) => Ok(quorate(vec![DEFAULT_ENDPOINT.to_owned()])),
    }
}

/// Creates a client of the cluster. It must be called within a runtime.
pub(crate) fn client(flags: &ClusterFlags) -> Result<Client, CommandError> {
    Client::with_backend(backend(flags)?, credentials(flags)?).map_err(CommandError::new)
}

/// Reads the credentials named by the flags or the environment.
fn credentials(flags: &ClusterFlags) -> Result<Credentials, CommandError> {
    let file = |flag: &Option<PathBuf>, variable: &str| {
        let from_env =
            std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let read = |path: PathBuf| {
            std::fs::read(&path)
                .map_err(|error| CommandError::new(format!("{}: {error}", path.display())))
        };
        flag.clone().or(from_env).map(read).transpose()
    };
    let certificate = match (file(&flags.cert, "QUORATE_CERT")?, file(&flags.key, "QUORATE_KEY")?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        _ => None,
    };
    let token = file(&flags.token_file, "QUORATE_TOKEN_FILE")?;
    let token = token.map(|token| String::from_utf8_lossy(&token).trim().to_owned());
    Ok(Credentials { token, authority: file(&flags.ca, "QUORATE_CA")?, certificate })
}

/// Creates a runtime on the current thread.
pub(crate) fn runtime() -> Result<Runtime, CommandError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CommandError::new(format!("cannot start the runtime: {error}")))
}

/// Describes a failed request, and suggests a remedy.
pub(crate) fn failure(client: &Client, error: &Error) -> CommandError {
    match (error, client.backend_kind()) {
        (Error::NotAdmitted(why), _) => CommandError::new(format!(
            "{why}; authenticate with --token-file FILE, or with --cert FILE and --key FILE"
        )),
        (Error::Unreachable(why), BackendKind::Quorate) => CommandError::new(format!(
            "cannot reach the cluster ({why}); {}, or select another with --endpoint",
            start_hint(why)
        )),
        (Error::Unreachable(why), _) => {
            CommandError::new(format!("cannot reach etcd ({why}); select another with --backend"))
        }
        (Error::Failed(Refusal::NotAllowed(why)), BackendKind::Etcd | BackendKind::EtcdTls) => {
            CommandError::new(format!(
                "{why}; authenticate with --token-file FILE, which contains USER:PASSWORD"
            ))
        }
        (error, _) => CommandError::new(error),
    }
}

/// Tells how a cluster is started at the endpoint that an error begins with. On another machine it is not started from here.
fn start_hint(why: &str) -> String {
    let endpoint = why.split_once(": ").map_or(why, |(endpoint, _)| endpoint);
    match endpoint.rsplit_once(':') {
        _ if endpoint == DEFAULT_ENDPOINT => "start one with `quorate up`".to_owned(),
        Some(("127.0.0.1" | "localhost", port)) => {
            format!("start one with `quorate up --port {port}`")
        }
        _ => format!("check that a node of it listens for clients at {endpoint}"),
    }
}
