//! Requests that were sent from the playground, and their answers as far as they came. In memory, the last fifty; each
//! belongs to the session that sent it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_admin::{AdminService, Caller, ServedBody, is_of_type};
use gatehouse_model::{KeyId, UnixMs};
use http::Response;
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};

/// Runs that are remembered.
const MAX_RUNS: usize = 50;
/// Runs under way at once.
const MAX_OPEN: usize = 8;
/// Bytes kept of an answer.
const MAX_ANSWER: usize = 256 * 1024;

/// The runs of every session.
#[derive(Default)]
pub(crate) struct Runs(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    last: u64,
    runs: VecDeque<Arc<Run>>,
}

/// What is sent.
pub(crate) struct Wanted {
    pub(crate) session: u64,
    /// The operator or viewer that sends it.
    pub(crate) caller: Caller,
    pub(crate) family: String,
    pub(crate) surface: String,
    /// Its parameters filled in.
    pub(crate) path: String,
    pub(crate) key: KeyId,
    pub(crate) body: Map<String, Value>,
}

/// One request and its answer.
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) at: UnixMs,
    pub(crate) wanted: Wanted,
    answer: Mutex<Answer>,
}

/// An answer as far as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// Its status; none until its head is there.
    pub(crate) status: Option<u16>,
    pub(crate) is_stream: bool,
    pub(crate) bytes: Vec<u8>,
    /// The rest was not kept.
    pub(crate) is_cut: bool,
    /// When it ended.
    pub(crate) ended: Option<UnixMs>,
    /// Why there is none, or why it broke off.
    pub(crate) failure: Option<String>,
}

impl Runs {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request; its answer is collected whether a page looks at it or not. `None` while too many are under way.
    pub(crate) fn start(&self, service: &Arc<AdminService>, wanted: Wanted) -> Option<u64> {
        let run = {
            let mut kept = self.lock();
            if kept.runs.iter().filter(|run| run.answer().ended.is_none()).count() >= MAX_OPEN {
                return None;
            }
            kept.last += 1;
            let (id, at) = (kept.last, service.clock.now());
            let run = Arc::new(Run { id, at, wanted, answer: Mutex::default() });
            kept.runs.push_back(Arc::clone(&run));
            if kept.runs.len() > MAX_RUNS {
                kept.runs.pop_front();
            }
            run
        };
        let (id, service) = (run.id, Arc::clone(service));
        tokio::spawn(async move { run.send(&service).await });
        Some(id)
    }

    /// A run of that session.
    pub(crate) fn find(&self, id: &str, session: u64) -> Option<Arc<Run>> {
        let id: u64 = id.parse().ok()?;
        self.lock().runs.iter().find(|run| run.id == id && run.wanted.session == session).cloned()
    }

    /// The last ones of that session with that family, the newest first.
    pub(crate) fn last(&self, family: &str, session: u64, most: usize) -> Vec<Arc<Run>> {
        let is_own = |run: &&Arc<Run>| run.wanted.session == session && run.wanted.family == family;
        self.lock().runs.iter().rev().filter(is_own).take(most).cloned().collect()
    }
}

impl Run {
    fn lock(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its answer as far as it came.
    pub(crate) fn answer(&self) -> Answer {
        self.lock().clone()
    }

    async fn send(&self, service: &AdminService) {
        let Wanted { caller, key, path, body, .. } = &self.wanted;
        let sent = service.playground.send_as(caller, key, path, Value::Object(body.clone())).await;
        let failure = match sent {
            Ok(response) => self.collect(response).await,
            Err(error) => Some(error.to_string()),
        };
        let mut answer = self.lock();
        (answer.failure, answer.ended) = (failure, Some(service.clock.now()));
    }

    /// Collects the answer; why it broke off, if it did.
    async fn collect(&self, response: Response<ServedBody>) -> Option<String> {
        let is_stream = is_of_type(response.headers(), "text/event-stream");
        {
            let mut answer = self.lock();
            (answer.status, answer.is_stream) = (Some(response.status().as_u16()), is_stream);
        }
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => return Some(format!("the answer broke off: {error}")),
            };
            let Ok(bytes) = frame.into_data() else { continue };
            let mut answer = self.lock();
            let free = MAX_ANSWER.saturating_sub(answer.bytes.len()).min(bytes.len());
            answer.is_cut |= free < bytes.len();
            answer.bytes.extend_from_slice(&bytes[..free]);
        }
        None
    }
}
