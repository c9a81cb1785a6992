//! What all commands that use a cluster share.

use std::path::PathBuf;

use quorate_client::{
    Backend, BackendKind, Client, Credentials, DEFAULT_ENDPOINT, Error, Failure as Refusal,
};
use tokio::runtime::{Builder, Runtime};

use crate::arguments::ClusterFlags;
use crate::command_error::CommandError;

/// How a node says that it does not know a client.
pub(super) const NOT_LET_IN: &str = "does not let this client in";

/// Who gives the locks, and where: the flags say, or the environment, or it is on this machine.
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
            Ok(quorate(endpoints.split(',').map(|one| one.trim().to_owned()).collect()))
        }
        (None, None) => Ok(quorate(vec![DEFAULT_ENDPOINT.to_owned()])),
    }
}

/// A client of the cluster. Needs a runtime around it.
pub(crate) fn client(flags: &ClusterFlags) -> Result<Client, CommandError> {
    Client::with_backend(backend(flags)?, credentials(flags)?).map_err(CommandError::new)
}

/// What the flags and the environment say about who asks.
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

/// A runtime on this thread alone.
pub(crate) fn runtime() -> Result<Runtime, CommandError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CommandError::new(format!("no runtime: {error}")))
}

/// What went wrong with a cluster, and a way out.
pub(crate) fn failure(client: &Client, error: &Error) -> CommandError {
    match (error, client.backend_kind()) {
        (Error::Unreachable(why), BackendKind::Quorate) if why.contains(NOT_LET_IN) => {
            CommandError::new(format!(
                "{why}; show it --token-file FILE, or --cert FILE and --key FILE"
            ))
        }
        (Error::Unreachable(why), BackendKind::Quorate) => CommandError::new(format!(
            "no cluster can be reached ({why}); `quorate up` starts one here, --endpoint names another"
        )),
        (Error::Unreachable(why), _) => {
            CommandError::new(format!("no etcd can be reached ({why}); --backend names another"))
        }
        (Error::Failed(Refusal::NotAllowed(why)), BackendKind::Etcd | BackendKind::EtcdTls) => {
            CommandError::new(format!(
                "{why}; --token-file FILE says who you are, as USER:PASSWORD"
            ))
        }
        (error, _) => CommandError::new(error),
    }
}
