//! Streams that end badly: what came before the end is handed on first, however it came.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, Stream};
use gatehouse_model::{Framing, Outage, Secret, Sse};
use http_body_util::StreamBody;
use hyper::body::Frame;

use super::{acme, provider, upstream};
use crate::auth::redact::Redactor;
use crate::calls::stream::{Events, redact};
use crate::response::frames;

/// What a body hands over, one after another; `None` breaks it off.
type Frames = Vec<Option<&'static str>>;

/// Frames that wait in the buffers of a connection, and nothing after them.
fn frames(frames: Frames) -> impl Stream<Item = io::Result<Frame<Bytes>>> + Unpin {
    stream::iter(frames.into_iter().map(|frame| match frame {
        Some(data) => Ok(Frame::data(Bytes::from_static(data.as_bytes()))),
        None => Err(io::ErrorKind::ConnectionReset.into()),
    }))
}

/// The longest silence within a stream.
const IDLE: Duration = Duration::from_secs(5);

/// The data of all events, and how it ended.
async fn read(all: Frames) -> (Vec<String>, Result<(), Outage>) {
    read_body(frames(all), Framing::Sse).await
}

async fn read_body(
    body: impl Stream<Item = io::Result<Frame<Bytes>>> + Unpin,
    framing: Framing,
) -> (Vec<String>, Result<(), Outage>) {
    let upstream = upstream(&provider("http://127.0.0.1:1", ""));
    let (_place, permit) = upstream.acquire_account("p", &acme(), None).unwrap();
    let mut events =
        Events::new(StreamBody::new(body), vec![], permit, IDLE, frames::Frames::new(framing, 30));
    let mut read = vec![];
    loop {
        match events.next().await {
            Ok(Some(batch)) => read.extend(batch.into_iter().map(|event| event.data)),
            Ok(None) => return (read, Ok(())),
            Err(outage) => {
                assert_eq!(events.next().await.unwrap(), None, "an outage is told once");
                return (read, Err(outage));
            }
        }
    }
}

#[tokio::test]
async fn events_before_a_bad_end_are_handed_on() {
    let (a, b) = ("data: a\n\n", "data: b\n\ndata: cut");
    let large = "data: b\n\ndata: 0123456789012345678901234567890\n\n";
    for (all, expected, end) in [
        (vec![Some(a), Some(b)], vec!["a", "b"], Ok(())),
        (vec![Some(a), Some(b), None], vec!["a", "b"], Err(Outage::Broken)),
        (vec![Some("data: a\n"), Some("\ndata: b\n\n"), None], vec!["a", "b"], Err(Outage::Broken)),
        (vec![None], vec![], Err(Outage::Broken)),
        (vec![Some(a), Some(large), Some(a)], vec!["a", "b"], Err(Outage::TooLarge)),
        (vec![Some(large)], vec!["b"], Err(Outage::TooLarge)),
    ] {
        assert_eq!(
            read(all.clone()).await,
            (expected.into_iter().map(str::to_owned).collect(), end),
            "{all:?}"
        );
    }
}

/// Without it the last line of a provider that ends none is lost, and the end of its answer with it.
#[tokio::test]
async fn a_last_line_without_an_end_is_a_frame() {
    for (framing, all, expected, end) in [
        (
            Framing::Lines,
            vec![Some("{\"a\":"), Some("1}\n{\"b\":2}")],
            vec!["{\"a\":1}", "{\"b\":2}"],
            Ok(()),
        ),
        (Framing::Lines, vec![Some("1\n2"), None], vec!["1"], Err(Outage::Broken)),
        (Framing::JsonArray, vec![Some("[{},"), Some("[2]"), Some("]")], vec!["{}", "[2]"], Ok(())),
        (Framing::JsonArray, vec![Some("[{},{\"cut\":")], vec!["{}"], Ok(())),
    ] {
        let read = read_body(frames(all.clone()), framing).await;
        assert_eq!(read, (expected.into_iter().map(str::to_owned).collect(), end), "{all:?}");
    }
}

/// What a provider sends after pauses of so many seconds; then it ends.
#[expect(clippy::disallowed_methods, reason = "a pause of the test's own time")]
fn slow(all: Vec<(u64, &'static str)>) -> impl Stream<Item = io::Result<Frame<Bytes>>> + Unpin {
    Box::pin(stream::iter(all).then(|(seconds, data)| async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        Ok(Frame::data(Bytes::from_static(data.as_bytes())))
    }))
}

#[tokio::test(start_paused = true)]
async fn comments_are_no_silence_and_no_events() {
    let comment = (4, ": still thinking\n\n");
    let pauses = vec![comment, comment, comment, (4, "data: a\n\n")];
    assert_eq!(read_body(slow(pauses), Framing::Sse).await, (vec!["a".to_owned()], Ok(())));
    // Part of a comment is a sign of life, too; nothing is none.
    let pauses = vec![(4, ":"), (4, ":"), (4, "\ndata: a\n\n")];
    assert_eq!(read_body(slow(pauses), Framing::Sse).await, (vec!["a".to_owned()], Ok(())));
    let pauses = vec![comment, (6, "data: a\n\n")];
    assert_eq!(read_body(slow(pauses), Framing::Sse).await, (vec![], Err(Outage::Timeout)));
}

/// Without it a provider that leaves its connection open after the end makes its client wait for that, or fails its answer.
#[tokio::test(start_paused = true)]
async fn a_stream_ends_soon_after_its_provider_has_said_so() {
    let done = "data: a\n\ndata: [DONE]\n\n";
    let stopped = "event: message_stop\ndata: {}\n\n";
    for (pauses, expected) in [
        (vec![(0, done), (9, "data: late\n\n")], vec!["a", "[DONE]"]),
        (vec![(0, stopped), (9, "data: late\n\n")], vec!["{}"]),
        // A comment makes it no longer.
        (vec![(0, done), (0, ": x\n\n"), (2, ": x\n\n"), (2, "data: late\n\n")], vec!["a", "[DONE]"]),
        (vec![(0, done), (0, "data: b\n\n"), (9, "data: late\n\n")], vec!["a", "[DONE]", "b"]),
    ] {
        let expected = (expected.into_iter().map(str::to_owned).collect(), Ok(()));
        assert_eq!(read_body(slow(pauses.clone()), Framing::Sse).await, expected, "{pauses:?}");
    }
    let cut = read(vec![Some(done), Some("data: cut"), None]).await;
    assert_eq!(cut, (vec!["a".to_owned(), "[DONE]".to_owned()], Ok(())));
}

/// A batch is searched as one text, but each event is masked by itself: what ends one does not hide what begins another.
#[test]
fn a_secret_is_masked_in_each_event_of_a_batch() {
    let redactor = Redactor::of(Some(&Secret::new("sk-live-4f9aX2x".to_owned())));
    for (data, expected) in [
        (vec![], vec![]),
        (vec!["sk-live-4f9aX2x"], vec!["(secret)"]),
        (vec!["a", "<sk-live-4f9aX2x>", "b"], vec!["a", "<(secret)>", "b"]),
        (vec!["sk-live-4f9aX2\\x", "b"], vec!["(secret)", "b"]),
        (vec!["a\\", "sk-live-4f9aX2%78", "%"], vec!["a\\", "(secret)", "%"]),
        (vec!["sk-live-", "4f9aX2x"], vec!["sk-live-", "4f9aX2x"]),
    ] {
        let event = |data: &str| Sse { event: None, data: data.to_owned() };
        let mut events: Vec<Sse> = data.iter().map(|data| event(data)).collect();
        redact(&redactor, &mut events);
        assert_eq!(events, expected.into_iter().map(event).collect::<Vec<_>>(), "{data:?}");
    }
}
