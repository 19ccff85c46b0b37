//! A relay before a server: it passes bytes on, and cuts connections when a test says so.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// When the next connection is cut that has something to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionCut {
    /// Before a request that holds these bytes arrives.
    Request(&'static [u8]),
    /// Before an answer that holds these bytes arrives: the server has done what it says.
    Answer(&'static [u8]),
}

/// A port of this machine that leads to a server. It is closed when dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Both sides of what is open.
    open: Vec<(TcpStream, TcpStream)>,
    cut: Option<ConnectionCut>,
    /// Cuts that were made.
    made: usize,
    refuses: bool,
    /// Takes connections and bytes, and passes none on.
    is_silent: bool,
    ended: bool,
}

impl Relay {
    /// To a server.
    ///
    /// # Panics
    /// No port is free.
    #[must_use]
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::<Mutex<State>>::default();
        let state = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if lock(&state).ended {
                    return;
                }
                // A client that cannot be served finds its connection closed.
                let _ = serve(client, server, &state);
            }
        });
        Self { address, shared }
    }

    /// The address of a database, through the relay.
    #[must_use]
    pub fn url(&self, direct: &str, server: SocketAddr) -> String {
        direct.replace(&server.to_string(), &self.address.to_string())
    }

    /// Cuts all connections now.
    pub fn cut_all(&self) {
        close_all(&mut lock(&self.shared));
    }

    /// Cuts the next connection that comes to that point, and all others with it.
    pub fn cut_at(&self, cut: ConnectionCut) {
        lock(&self.shared).cut = Some(cut);
    }

    /// How often [`Relay::cut_at`] was obeyed.
    #[must_use]
    pub fn cuts(&self) -> usize {
        lock(&self.shared).made
    }

    /// From now on new connections are closed at once, or no more.
    pub fn refuse(&self, refuses: bool) {
        lock(&self.shared).refuses = refuses;
    }

    /// From now on nothing that anybody says arrives, or it does again on new connections: a network that swallows packets.
    pub fn be_silent(&self, is_silent: bool) {
        let mut state = lock(&self.shared);
        state.is_silent = is_silent;
        if !is_silent {
            close_all(&mut state);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        state.ended = true;
        close_all(&mut state);
        drop(state);
        // The listener's thread looks up.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(client: TcpStream, server: SocketAddr, state: &Arc<Mutex<State>>) -> io::Result<()> {
    if lock(state).refuses {
        return Ok(());
    }
    let server = TcpStream::connect(server)?;
    for side in [&client, &server] {
        side.set_nodelay(true)?;
    }
    lock(state).open.push((client.try_clone()?, server.try_clone()?));
    let (requests, answers) = ((client.try_clone()?, server.try_clone()?), (server, client));
    let (state_of_requests, state_of_answers) = (Arc::clone(state), Arc::clone(state));
    thread::spawn(move || {
        pass(requests, &state_of_requests, |cut| match cut {
            ConnectionCut::Request(wanted) => Some(wanted),
            ConnectionCut::Answer(_) => None,
        });
    });
    thread::spawn(move || {
        pass(answers, &state_of_answers, |cut| match cut {
            ConnectionCut::Answer(wanted) => Some(wanted),
            ConnectionCut::Request(_) => None,
        });
    });
    Ok(())
}

/// Passes bytes on until either side ends, or they are to be cut: `wanted` is what ends this direction.
fn pass(
    (mut from, mut to): (TcpStream, TcpStream),
    state: &Mutex<State>,
    wanted: impl Fn(ConnectionCut) -> Option<&'static [u8]>,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let mut now = lock(state);
        if now.cut.and_then(&wanted).is_some_and(|wanted| holds(&bytes[..length], wanted)) {
            now.cut = None;
            now.made += 1;
            close_all(&mut now);
            return;
        }
        let is_silent = now.is_silent;
        drop(now);
        if !is_silent && to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len().max(1)).any(|part| part == wanted)
}

fn close_all(state: &mut State) {
    for (client, server) in state.open.drain(..) {
        let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
