//! Which conversation answers a request: the one whose next call says most about it. Keeps how far each of them is.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use gatehouse_sandbox::scripted::{Answer, Received};
use gatehouse_testkit::{Conversation, Exchange, Framing, ProviderAnswer, Sse};
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;

use super::expected_call::{Request, fit};
use super::media::Media;

/// All conversations, and those under way.
pub(super) struct MockProvider {
    conversations: Vec<Conversation>,
    providers: BTreeSet<String>,
    media: Media,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How often each was begun and how often it was played to its end.
    begun: Vec<u32>,
    ended: Vec<u32>,
    open: Vec<Open>,
    answered: u32,
    unexpected: u32,
}

/// A conversation under way.
struct Open {
    conversation: usize,
    next: usize,
}

/// What may answer: a conversation under way, or one that begins.
#[derive(Clone, Copy)]
enum Candidate {
    Open(usize),
    New(usize),
}

impl MockProvider {
    pub(super) fn new(conversations: Vec<Conversation>, origin: &str) -> Self {
        let calls = || conversations.iter().flat_map(|one| &one.exchanges).map(|exchange| &exchange.call);
        let providers = calls().filter_map(|call| call["provider"].as_str()).map(str::to_owned).collect();
        let urls = calls().filter_map(|call| call["url"].as_str());
        let files = conversations.iter().flat_map(|one| &one.media);
        let media = Media::new(origin, urls, files);
        let none = vec![0; conversations.len()];
        let state = Mutex::new(State { begun: none.clone(), ended: none, ..State::default() });
        Self { conversations, providers, media, state }
    }

    /// The names that the scripts call providers by.
    pub(super) fn names(&self) -> &BTreeSet<String> {
        &self.providers
    }

    pub(super) fn conversations(&self) -> usize {
        self.conversations.len()
    }

    /// The answer, and what is told of it.
    pub(super) async fn answer(&self, received: &Received) -> (Answer, String) {
        if let Some(file) = self.media.file(&received.target) {
            return (Answer::Reply(file), "200, a sample file".to_owned());
        }
        let request = Request::of(received, &self.providers).await;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.choose(&mut state, &request) {
            Ok(exchange) => {
                state.answered += 1;
                self.answer_of(exchange)
            }
            Err(closest) => {
                state.unexpected += 1;
                let body = json!({"error": format!("gatehouse plugin mock: {closest}")}).to_string();
                let response = reply(400, &[("content-type", "application/json")], body.into());
                (Answer::Reply(response), format!("400, {closest}"))
            }
        }
    }

    /// The exchange that answers; otherwise the call that was closest, and how it differs.
    fn choose(&self, state: &mut State, request: &Request) -> Result<&Exchange, String> {
        // The latest first: one that its task left behind must not answer for another task.
        let open = (0..state.open.len()).rev().map(Candidate::Open);
        let mut new: Vec<usize> = (0..self.conversations.len()).collect();
        new.sort_by_key(|index| state.begun[*index]);
        let candidates: Vec<Candidate> = open.chain(new.into_iter().map(Candidate::New)).collect();
        let mut best: Option<(usize, Candidate)> = None;
        let mut closest: Option<(usize, String)> = None;
        for candidate in candidates {
            let exchange = self.next(state, candidate);
            match fit(&exchange.call, request) {
                Ok(known) if best.is_none_or(|(most, _)| known > most) => best = Some((known, candidate)),
                Ok(_) => {}
                Err((known, problem)) if closest.as_ref().is_none_or(|(most, _)| known > *most) => {
                    closest = Some((known, format!("not the call before {}: {problem}", exchange.position)));
                }
                Err(_) => {}
            }
        }
        let Some((_, candidate)) = best else {
            return Err(closest.map_or_else(|| "no script expects a call".to_owned(), |(_, problem)| problem));
        };
        Ok(self.take(state, candidate))
    }

    fn next(&self, state: &State, candidate: Candidate) -> &Exchange {
        let (conversation, next) = match candidate {
            Candidate::Open(index) => (state.open[index].conversation, state.open[index].next),
            Candidate::New(conversation) => (conversation, 0),
        };
        &self.conversations[conversation].exchanges[next]
    }

    fn take(&self, state: &mut State, candidate: Candidate) -> &Exchange {
        let index = match candidate {
            Candidate::Open(index) => index,
            Candidate::New(conversation) => {
                state.begun[conversation] += 1;
                state.open.push(Open { conversation, next: 0 });
                state.open.len() - 1
            }
        };
        let Open { conversation, next } = &mut state.open[index];
        let exchanges = &self.conversations[*conversation].exchanges;
        let exchange = &exchanges[*next];
        *next += 1;
        if *next == exchanges.len() {
            state.ended[*conversation] += 1;
            state.open.remove(index);
        }
        exchange
    }

    fn answer_of(&self, exchange: &Exchange) -> (Answer, String) {
        let position = &exchange.position;
        match &exchange.answer {
            ProviderAnswer::Reply(given) => {
                let (response, status) = self.media.reply(given);
                (Answer::Reply(response), format!("{status}, {position}"))
            }
            ProviderAnswer::Events(events, framing) => {
                let (mime, body) = stream(events, *framing);
                let body = self.media.localised(body).into();
                let response = reply(200, &[("content-type", mime)], body);
                (Answer::Reply(response), format!("200, {} events, {position}", events.len()))
            }
            ProviderAnswer::Outage(outage) => {
                (self.media.outage(*outage), format!("no reply ({}), {position}", outage.as_str()))
            }
        }
    }

    /// What was played, and whether every call was expected.
    pub(super) fn summary(&self) -> (String, bool) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = format!("\n{} calls answered, {} not expected\n", state.answered, state.unexpected);
        for (index, conversation) in self.conversations.iter().enumerate() {
            let (begun, ended) = (state.begun[index], state.ended[index]);
            let written =
                writeln!(text, "{}: begun {begun}, played to its end {ended}", conversation.position);
            written.expect("text takes text");
        }
        (text, state.unexpected == 0)
    }
}

/// A stream's type and text.
fn stream(events: &[Sse], framing: Framing) -> (&'static str, String) {
    let frames = events.iter().map(|sse| sse.data.as_str());
    match framing {
        Framing::Lines => ("application/x-ndjson", frames.map(|frame| format!("{frame}\n")).collect()),
        Framing::JsonArray => ("application/json", format!("[{}]", frames.collect::<Vec<_>>().join(","))),
        Framing::Sse | Framing::Whole => {
            let mut body = String::new();
            for sse in events {
                let name = sse.event.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
                let data = sse.data.replace('\n', "\ndata: ");
                write!(body, "{name}data: {data}\n\n").expect("text takes text");
            }
            ("text/event-stream", body)
        }
    }
}

/// A reply; headers that HTTP does not allow are left out.
pub(super) fn reply(status: u16, headers: &[(&str, &str)], body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in headers {
        let pair = (header::HeaderName::try_from(*name), HeaderValue::try_from(*value));
        if let (Ok(name), Ok(value)) = pair {
            response.headers_mut().append(name, value);
        }
    }
    response
}
