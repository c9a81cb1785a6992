//! Where connections come from: TCP, or something that behaves like it in a test.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// Something that comes later.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Both directions of a connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection, and who is at its other end.
pub type Connection = (Box<dyn Stream>, SocketAddr);

/// Makes connections and waits for them.
pub trait Network: Send + Sync + 'static {
    /// Waits for connections at an address, `host:port`.
    fn listen<'a>(&'a self, at: &'a str) -> BoxFuture<'a, io::Result<Box<dyn Listener>>>;

    /// Connects to an address.
    fn connect<'a>(&'a self, to: &'a str) -> BoxFuture<'a, io::Result<Connection>>;

    /// Whether what is sent to this address stays on this machine, so that it may go in plain text.
    fn is_host_local(&self, address: IpAddr) -> bool {
        address.to_canonical().is_loopback()
    }
}

/// Waits for connections.
pub trait Listener: Send {
    /// The next one.
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>>;

    /// Where it waits.
    fn address(&self) -> io::Result<SocketAddr>;
}

/// The real thing. Small messages are not held back to fill packets.
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
