//! What all commands that use a cluster share.

use std::path::PathBuf;

use quorate_client::{Client, Credentials, DEFAULT_ENDPOINT};
use tokio::runtime::{Builder, Runtime};

use crate::arguments::Where;
use crate::failure::Failure;

/// Where the cluster is: the flag says, or the environment, or it is on this machine.
pub(crate) fn endpoints(flags: &Where) -> Vec<String> {
    if !flags.endpoint.is_empty() {
        return flags.endpoint.clone();
    }
    match std::env::var("QUORATE_ENDPOINT") {
        Ok(said) if !said.is_empty() => said.split(',').map(|one| one.trim().to_owned()).collect(),
        _ => vec![DEFAULT_ENDPOINT.to_owned()],
    }
}

/// A client of the cluster. Needs a runtime around it.
pub(crate) fn client(flags: &Where) -> Result<Client, Failure> {
    Client::with_credentials(endpoints(flags), credentials(flags)?).map_err(Failure::new)
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
pub(crate) fn failure(error: &quorate_client::Error) -> Failure {
    match error {
        quorate_client::Error::Unreachable(why) => Failure::new(format!(
            "no cluster can be reached ({why}); `quorate up` starts one here, --endpoint names another"
        )),
        error => Failure::new(error),
    }
}
