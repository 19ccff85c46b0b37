//! Listening sockets inherited from the service manager, by systemd's protocol: `LISTEN_FDS` and `LISTEN_PID`,
//! sockets from descriptor 3 on.
//!
//! The service manager keeps such a socket open across a restart, so clients wait for the next process and are not
//! refused. Never opens a socket itself.

use std::io;
use std::net::TcpListener;

use listenfd::ListenFd;

/// Every inherited socket; usually none.
///
/// # Errors
/// One of them is not a TCP socket, named by its descriptor.
pub(crate) fn inherited_sockets() -> io::Result<Vec<TcpListener>> {
    let mut inherited = ListenFd::from_env();
    (0..inherited.len()).filter_map(|at| inherited.take_tcp_listener(at).transpose()).collect()
}
