//! The mocked provider: which conversation answers a request (the one whose next call says most about it), how far each of them is, and
//! what is answered: replies whose links lead back to it, sample files behind those links, and outages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use gatehouse_sandbox::scripted::{Answer, Received, sample};
use gatehouse_testkit::{Body, Conversation, Exchange, Framing, Outage, ProviderAnswer, Reply, Sse};
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;

use super::expected_call::{Request, fit};

/// All conversations, and those under way.
pub(super) struct MockProvider {
    pub(super) conversations: Vec<Conversation>,
    /// The names that the scripts call providers by.
    pub(super) providers: BTreeSet<String>,
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
        let open = state.open.iter().enumerate().rev();
        let open = open.map(|(at, Open { conversation, next })| (Some(at), *conversation, *next));
        let mut new: Vec<usize> = (0..self.conversations.len()).collect();
        new.sort_by_key(|index| state.begun[*index]);
        let mut best: Option<(usize, Option<usize>, usize)> = None;
        let mut closest: Option<(usize, String)> = None;
        for (at, conversation, next) in open.chain(new.into_iter().map(|new| (None, new, 0))) {
            let exchange = &self.conversations[conversation].exchanges[next];
            match fit(&exchange.call, request) {
                Ok(known) if best.is_none_or(|(most, ..)| known > most) => {
                    best = Some((known, at, conversation));
                }
                Ok(_) => {}
                Err((known, problem)) if closest.as_ref().is_none_or(|(most, _)| known > *most) => {
                    closest = Some((known, format!("not the call before {}: {problem}", exchange.position)));
                }
                Err(_) => {}
            }
        }
        let Some((_, at, conversation)) = best else {
            return Err(closest.map_or_else(|| "no script expects a call".to_owned(), |(_, problem)| problem));
        };
        Ok(self.take(state, at, conversation))
    }

    /// The next exchange of the conversation that is open at `open`, or of one that begins.
    fn take(&self, state: &mut State, open: Option<usize>, conversation: usize) -> &Exchange {
        let index = open.unwrap_or_else(|| {
            state.begun[conversation] += 1;
            state.open.push(Open { conversation, next: 0 });
            state.open.len() - 1
        });
        let next = &mut state.open[index].next;
        let exchanges = &self.conversations[conversation].exchanges;
        let exchange = &exchanges[*next];
        *next += 1;
        if *next == exchanges.len() {
            state.ended[conversation] += 1;
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

/// More than a gateway reads of a reply without other limits.
const TOO_LARGE: usize = 9 << 20;

/// The links of the scripts, by the address they have here.
pub(super) struct Media {
    /// Link of a script, and the one in its place; the longest first, for one may begin with another.
    links: Vec<(String, String)>,
    /// Path, and the content type of the file there.
    files: BTreeMap<String, String>,
}

impl Media {
    /// Links that are called, and links of media with their types.
    pub(super) fn new<'a>(
        origin: &str,
        called: impl Iterator<Item = &'a str>,
        media: impl Iterator<Item = &'a (String, Option<String>)>,
    ) -> Self {
        let (mut links, mut files) = (BTreeMap::new(), BTreeMap::new());
        for (source, mime) in media {
            let Some(rest) = without_scheme(source) else { continue };
            let path = format!("/media/{rest}");
            links.insert(source.clone(), format!("{origin}{path}"));
            files.insert(path, mime.clone().unwrap_or_else(|| by_extension(rest).to_owned()));
        }
        for url in called {
            if let Some(rest) = without_scheme(url) {
                links.insert(url.to_owned(), format!("{origin}/url/{rest}"));
            }
        }
        let mut links: Vec<(String, String)> = links.into_iter().collect();
        links.sort_by_key(|(link, _)| std::cmp::Reverse(link.len()));
        Self { links, files }
    }

    /// The text with this provider's own links.
    pub(super) fn localised(&self, text: String) -> String {
        self.links.iter().fold(text, |text, (link, local)| text.replace(link, local))
    }

    /// The file at a path, if a script has one there.
    pub(super) fn file(&self, target: &str) -> Option<Response<Bytes>> {
        let mime = self.files.get(target)?;
        // A type of which no sample is made still has bytes: the host keeps any file.
        let bytes =
            sample(mime).unwrap_or_else(|| Bytes::from_static(b"a sample file of gatehouse plugin mock"));
        Some(reply(200, &[("content-type", mime)], bytes))
    }

    /// A script's reply, and its status.
    pub(super) fn reply(&self, given: &Reply) -> (Response<Bytes>, u16) {
        let mut headers: Vec<(&str, &str)> =
            given.headers.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect();
        let mime = headers.iter().find(|(name, _)| *name == "content-type").map(|(_, value)| *value);
        let body = match &given.body {
            Body::Inline(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.localised(text.to_owned()).into(),
                Err(_) => Bytes::copy_from_slice(bytes),
            },
            // What the host kept of the reply: a file of its type.
            Body::Blob(_) => sample(mime.unwrap_or("image/png")).unwrap_or_default(),
        };
        if mime.is_none() {
            let is_json = serde_json::from_slice::<serde_json::Value>(&body).is_ok();
            headers.push(("content-type", if is_json { "application/json" } else { "text/plain" }));
        }
        (reply(given.status, &headers, body), given.status)
    }

    /// No reply. A listener cannot be unreachable, and the host makes no call that it refuses: both are a broken connection
    /// here.
    pub(super) fn outage(&self, outage: Outage) -> Answer {
        match outage {
            Outage::Timeout => Answer::Silence,
            Outage::TooLarge => Answer::Reply(reply(200, &[], Bytes::from(vec![b' '; TOO_LARGE]))),
            Outage::Unreachable | Outage::Broken | Outage::Refused => Answer::Broken,
        }
    }
}

fn without_scheme(url: &str) -> Option<&str> {
    url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))
}

/// The type that the end of a link promises; a picture without one.
fn by_extension(link: &str) -> &'static str {
    let path = link.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("mp4") => "video/mp4",
        Some("mov") => "video/quicktime",
        Some("wav") => "audio/wav",
        Some("mp3") => "audio/mpeg",
        Some("m4a") => "audio/mp4",
        _ => "image/png",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that a gateway could not fetch would end every mocked task with a lost result.
    #[test]
    fn links_lead_back_to_the_mock() {
        let files = [
            ("https://cdn.e/s7".to_owned(), None),
            ("https://cdn.e/s7.mp4?x=1".to_owned(), None),
            ("data:image/png;base64,AA==".to_owned(), None),
        ];
        let media = Media::new("http://127.0.0.1:9", ["https://api.e/jobs/7"].into_iter(), files.iter());
        let text = "[\"https://cdn.e/s7.mp4?x=1\", \"https://cdn.e/s7\", \"https://api.e/jobs/7\", \"https://other.e\"]";
        assert_eq!(
            media.localised(text.to_owned()),
            "[\"http://127.0.0.1:9/media/cdn.e/s7.mp4?x=1\", \"http://127.0.0.1:9/media/cdn.e/s7\", \
             \"http://127.0.0.1:9/url/api.e/jobs/7\", \"https://other.e\"]"
        );
        let film = media.file("/media/cdn.e/s7.mp4?x=1").unwrap();
        assert_eq!(film.headers()["content-type"], "video/mp4");
        assert!(media.file("/media/cdn.e/other").is_none());
    }
}
