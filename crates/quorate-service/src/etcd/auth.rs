//! Authentication by name and password. The password is the client's quorate token, and is returned as the
//! token for later calls.

use quorate_protocol::etcd::etcdserverpb::{AuthenticateRequest, AuthenticateResponse};
use tonic::{Request, Response, Status};

use super::Etcd;
use crate::auth::PresentedCredentials;

impl Etcd {
    pub(super) async fn authenticate(
        &self,
        request: Request<AuthenticateRequest>,
    ) -> Result<Response<AuthenticateResponse>, Status> {
        let AuthenticateRequest { name, password } = request.into_inner();
        if self.authenticator.is_open() {
            return Err(Status::failed_precondition("etcdserver: authentication is not enabled"));
        }
        let credentials = PresentedCredentials { token: Some(password.clone()), certificate: None };
        // A wrong name is not distinguished from a wrong password.
        match self.authenticator.authenticate(&credentials) {
            Ok(permissions) if permissions.name == name => {
                let header = self.header(0);
                Ok(Response::new(AuthenticateResponse { header, token: password }))
            }
            _ => Err(Status::invalid_argument(
                "etcdserver: authentication failed, invalid user ID or password",
            )),
        }
    }
}
