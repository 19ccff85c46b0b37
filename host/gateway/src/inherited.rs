//! Listening sockets handed over by whoever started the process: systemd's protocol, `LISTEN_FDS` and
//! `LISTEN_PID`, sockets from descriptor 3 on.
//!
//! Whoever keeps such a socket open across a restart lets clients wait for the next process where they would
//! have been refused. Never listens itself.

use std::io;
use std::net::TcpListener;

use listenfd::ListenFd;

/// Takes every socket that was handed over; none is the usual case.
///
/// # Errors
/// One of them is not a TCP socket, named by its descriptor.
pub(crate) fn sockets() -> io::Result<Vec<TcpListener>> {
    let mut handed = ListenFd::from_env();
    (0..handed.len()).filter_map(|at| handed.take_tcp_listener(at).transpose()).collect()
}
