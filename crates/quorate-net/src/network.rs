//! The source of connections: TCP, or a simulation of it in tests.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A boxed future that is `Send`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A bidirectional byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection, and the address of the peer.
pub type Connection = (Box<dyn Stream>, SocketAddr);

/// Opens and accepts connections.
pub trait Network: Send + Sync + 'static {
    /// Listens for connections at an address, `host:port`.
    fn listen<'a>(&'a self, at: &'a str) -> BoxFuture<'a, io::Result<Box<dyn Listener>>>;

    /// Connects to an address, `host:port`.
    fn connect<'a>(&'a self, to: &'a str) -> BoxFuture<'a, io::Result<Connection>>;

    /// Whether traffic to this address stays on this machine, so that plain text is permitted.
    fn is_host_local(&self, address: IpAddr) -> bool {
        address.to_canonical().is_loopback()
    }
}

/// Accepts connections at an address.
pub trait Listener: Send {
    /// Accepts the next connection.
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>>;

    /// The address that it listens at.
    fn address(&self) -> io::Result<SocketAddr>;
}

/// TCP of the operating system, with `TCP_NODELAY`: small messages are not delayed to fill packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

impl Network for Tcp {
    fn listen<'a>(&'a self, at: &'a str) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move { Ok(Box::new(TcpListener::bind(at).await?) as Box<dyn Listener>) })
    }

    fn connect<'a>(&'a self, to: &'a str) -> BoxFuture<'a, io::Result<Connection>> {
        Box::pin(async move { with_nodelay(TcpStream::connect(to).await?) })
    }
}

impl Listener for TcpListener {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>> {
        Box::pin(async move { with_nodelay(Self::accept(self).await?.0) })
    }

    fn address(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
}

fn with_nodelay(stream: TcpStream) -> io::Result<Connection> {
    stream.set_nodelay(true)?;
    let address = stream.peer_addr()?;
    Ok((Box::new(stream), address))
}
