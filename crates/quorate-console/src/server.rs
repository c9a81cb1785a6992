//! HTTP server of the lab.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use axum::{Router, middleware};
use quorate_protocol::http::{
    HostGuard, add_security_headers, check_host_and_origin, content_policy_framed_by,
};

use crate::assets::{Backends, PageState};
use crate::frame_origin::FrameOrigin;
use crate::jobs::Jobs;
use crate::lab_state::LabState;
use crate::runs::{RunBounds, Runner, Runs};
use crate::{api, assets};

/// Number of threads that handle requests; runs have separate threads.
const WORKERS: usize = 2;

/// Maximum number of checks that run at a time, since each may use a large part of the memory.
const CHECKS_MOST: usize = 2;

/// Listen address of the lab server, and limits of its runs.
#[derive(Clone, Debug)]
pub struct LabSettings {
    /// Listen address; port 0 selects a free port.
    pub address: SocketAddr,
    /// Host names, besides addresses and `localhost`, under which browsers may address this server.
    pub names: Vec<String>,
    /// Origins whose pages may show the read-only view `/embed` in a frame.
    pub framed_by: Vec<FrameOrigin>,
    /// Folder with lessons of a teacher, which come before the built-in course.
    pub lesson_folder: Option<PathBuf>,
    /// Limits on the size and the number of runs.
    pub bounds: RunBounds,
    /// Function that runs a scenario.
    pub runner: Runner,
}

impl Default for LabSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            names: Vec::new(),
            framed_by: Vec::new(),
            lesson_folder: None,
            bounds: RunBounds::default(),
            runner: quorate_run::run,
        }
    }
}

/// Lab server that is bound to its address.
#[derive(Debug)]
pub struct LabServer {
    listener: TcpListener,
    address: SocketAddr,
    settings: LabSettings,
}

/// Returns the page for a node of a cluster, optionally with a lab. The node itself rejects unauthorised requests.
pub fn router(lab: Option<&LabSettings>) -> Router {
    build_router(lab, true)
}

fn build_router(lab: Option<&LabSettings>, cluster: bool) -> Router {
    let framed_by = lab.map_or(&[][..], |settings| &settings.framed_by);
    let origins: Vec<String> = framed_by.iter().map(ToString::to_string).collect();
    let backends = Backends { lab: lab.is_some(), cluster };
    let pages = PageState { backends, embed_policy: content_policy_framed_by(&origins).into() };
    let files = Router::new().fallback(assets::serve).with_state(pages);
    let Some(settings) = lab else { return files };
    let runs = Runs::new(settings.bounds, settings.runner);
    let lab = Arc::new(LabState {
        runs,
        experiments: Jobs::new("experiment", 1),
        checks: Jobs::new("check", CHECKS_MOST),
        lesson_folder: settings.lesson_folder.clone(),
    });
    files.nest("/api", api::router(lab))
}

impl LabServer {
    /// Binds the listener, so that the address is known. Requests are answered only by [`LabServer::run`].
    pub fn bind(settings: LabSettings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, settings })
    }

    /// Address that the server is bound to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL for a browser on the same machine.
    pub fn url(&self) -> String {
        match self.address {
            address if !address.ip().is_unspecified() => format!("http://{address}/"),
            address => format!("http://localhost:{}/", address.port()),
        }
    }

    /// Serves requests until the process receives an interrupt.
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(64)
            .enable_all()
            .build()?;
        let served = runtime.block_on(self.serve());
        // A run in progress must not keep the process alive.
        runtime.shutdown_background();
        served
    }

    async fn serve(self) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let guard = HostGuard::new(self.address, self.settings.names.clone());
        let app = build_router(Some(&self.settings), false)
            .layer(middleware::from_fn_with_state(Arc::new(guard), check_host_and_origin))
            .layer(middleware::map_response(add_security_headers));
        tokio::select! {
            served = async { axum::serve(listener, app).await } => served,
            interrupted = tokio::signal::ctrl_c() => interrupted,
        }
    }
}
