//! A relay before a server: it passes bytes on, and cuts connections, or holds bytes back, when a test says so.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

/// When the next connection is cut that has something to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionCut {
    /// Before a request that holds these bytes arrives.
    Request(&'static [u8]),
    /// Before an answer that holds these bytes arrives: the server has done what it says.
    Answer(&'static [u8]),
}

/// Bytes that are held back until this is dropped, and what comes behind them on their connection.
#[derive(Debug)]
pub struct HeldBack {
    reached: Arc<AtomicBool>,
    _let_go: mpsc::Sender<()>,
}

impl HeldBack {
    /// Whether they have come. Those before them have arrived.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.reached.load(Ordering::SeqCst)
    }
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
    hold: Option<(ConnectionCut, Arc<AtomicBool>, mpsc::Receiver<()>)>,
    /// A request's bytes, and what the server gets in their place.
    spoil: Option<(&'static [u8], &'static [u8])>,
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

    /// Holds back the next bytes that come to that point, before they arrive; other connections go on.
    #[must_use]
    pub fn hold_at(&self, point: ConnectionCut) -> HeldBack {
        let (reached, (_let_go, wait)) = (Arc::<AtomicBool>::default(), mpsc::channel());
        lock(&self.shared).hold = Some((point, Arc::clone(&reached), wait));
        HeldBack { reached, _let_go }
    }

    /// Gives the server other bytes, as many, in place of these of the next request that has them.
    pub fn spoil(&self, bytes: &'static [u8], other: &'static [u8]) {
        assert_eq!(bytes.len(), other.len(), "a message says how long it is");
        lock(&self.shared).spoil = Some((bytes, other));
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
        pass(requests, &state_of_requests, true, |cut| match cut {
            ConnectionCut::Request(wanted) => Some(wanted),
            ConnectionCut::Answer(_) => None,
        });
    });
    thread::spawn(move || {
        pass(answers, &state_of_answers, false, |cut| match cut {
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
    is_request: bool,
    wanted: impl Fn(ConnectionCut) -> Option<&'static [u8]>,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let mut now = lock(state);
        if now.cut.and_then(&wanted).is_some_and(|wanted| place(&bytes[..length], wanted).is_some()) {
            now.cut = None;
            now.made += 1;
            close_all(&mut now);
            return;
        }
        if let Some((wanted, other)) = now.spoil.filter(|_| is_request)
            && let Some(at) = place(&bytes[..length], wanted)
        {
            now.spoil = None;
            bytes[at..at + other.len()].copy_from_slice(other);
        }
        let wanted_now = now.hold.as_ref().and_then(|(point, ..)| wanted(*point));
        let at = wanted_now.and_then(|wanted| place(&bytes[..length], wanted));
        let hold = at.and_then(|at| Some((at, now.hold.take()?)));
        let is_silent = now.is_silent;
        drop(now);
        let mut passed = 0;
        if let Some((at, (_, reached, wait))) = hold {
            if to.write_all(&bytes[..at]).is_err() {
                break;
            }
            passed = at;
            reached.store(true, Ordering::SeqCst);
            // Ends with an error, when the other end is dropped.
            let _ = wait.recv();
        }
        if !is_silent && to.write_all(&bytes[passed..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Where they begin.
fn place(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len().max(1)).position(|part| part == wanted)
}

fn close_all(state: &mut State) {
    for (client, server) in state.open.drain(..) {
        let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
