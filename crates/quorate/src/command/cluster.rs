//! What all commands that use a cluster share.

use std::path::PathBuf;

use quorate_client::{
    Backend, Client, Credentials, DEFAULT_ENDPOINT, Error, Failure as Refusal, System,
};
use tokio::runtime::{Builder, Runtime};

use crate::arguments::Where;
use crate::failure::Failure;

/// How a node says that it does not know a client.
pub(super) const NOT_LET_IN: &str = "does not let this client in";

/// Who gives the locks, and where: the flags say, or the environment, or it is on this machine.
fn backend(flags: &Where) -> Result<Backend, Failure> {
    let quorate = |endpoints| Backend { system: System::Quorate, endpoints };
    if let Some(backend) = &flags.backend {
        return Ok(backend.clone());
    }
    if !flags.endpoint.is_empty() {
        return Ok(quorate(flags.endpoint.clone()));
    }
    let said = |variable| std::env::var(variable).ok().filter(|said| !said.is_empty());
    match (said("QUORATE_BACKEND"), said("QUORATE_ENDPOINT")) {
        (Some(_), Some(_)) => Err(Failure::new(
            "QUORATE_BACKEND and QUORATE_ENDPOINT are both set; unset one, or use --backend",
        )),
        (Some(backend), None) => {
            backend.parse().map_err(|error| Failure::new(format!("QUORATE_BACKEND: {error}")))
        }
        (None, Some(endpoints)) => {
            Ok(quorate(endpoints.split(',').map(|one| one.trim().to_owned()).collect()))
        }
        (None, None) => Ok(quorate(vec![DEFAULT_ENDPOINT.to_owned()])),
    }
}

/// A client of the cluster. Needs a runtime around it.
pub(crate) fn client(flags: &Where) -> Result<Client, Failure> {
    Client::of(backend(flags)?, credentials(flags)?).map_err(Failure::new)
}

/// What the flags and the environment say about who asks.
fn credentials(flags: &Where) -> Result<Credentials, Failure> {
    let file = |flag: &Option<PathBuf>, variable: &str| {
        let said = std::env::var_os(variable).filter(|said| !said.is_empty()).map(PathBuf::from);
        let read = |path: PathBuf| {
            std::fs::read(&path)
                .map_err(|error| Failure::new(format!("{}: {error}", path.display())))
        };
        flag.clone().or(said).map(read).transpose()
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
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(format!("no runtime: {error}")))
}

/// What went wrong with a cluster, and a way out.
pub(crate) fn failure(client: &Client, error: &Error) -> Failure {
    match (error, client.system()) {
        (Error::Unreachable(why), System::Quorate) if why.contains(NOT_LET_IN) => {
            Failure::new(format!("{why}; show it --token-file FILE, or --cert FILE and --key FILE"))
        }
        (Error::Unreachable(why), System::Quorate) => Failure::new(format!(
            "no cluster can be reached ({why}); `quorate up` starts one here, --endpoint names another"
        )),
        (Error::Unreachable(why), _) => {
            Failure::new(format!("no etcd can be reached ({why}); --backend names another"))
        }
        (Error::Failed(Refusal::NotAllowed(why)), System::Etcd | System::EtcdTls) => {
            Failure::new(format!("{why}; --token-file FILE says who you are, as USER:PASSWORD"))
        }
        (error, _) => Failure::new(error),
    }
}
