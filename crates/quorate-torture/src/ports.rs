//! Ports of this machine.

use std::io;
use std::net::TcpListener;

/// Ports of loopback that nobody has just now.
pub(crate) fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let listeners: io::Result<Vec<TcpListener>> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    listeners?.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}
