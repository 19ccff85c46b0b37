//! Streams that end badly: what came before the end is handed on first, however it came.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use gatehouse_model::{Outage, Secret, Sse};
use http_body_util::StreamBody;
use hyper::body::Frame;

use super::{acme, provider, upstream};
use crate::response::redact::Redactor;
use crate::response::stream::{Events, redact};

/// What a body hands over, one after another; `None` breaks it off.
type Frames = Vec<Option<&'static str>>;

/// Frames that wait in the buffers of a connection, and nothing after them.
fn frames(frames: Frames) -> impl Stream<Item = io::Result<Frame<Bytes>>> + Unpin {
    stream::iter(frames.into_iter().map(|frame| match frame {
        Some(data) => Ok(Frame::data(Bytes::from_static(data.as_bytes()))),
        None => Err(io::ErrorKind::ConnectionReset.into()),
    }))
}

/// The data of all events, and how it ended.
async fn read(all: Frames) -> (Vec<String>, Result<(), Outage>) {
    let upstream = upstream(&provider("http://127.0.0.1:1", ""));
    let (_place, permit) = upstream.acquire_account("p", &acme(), None).unwrap();
    let body = StreamBody::new(frames(all));
    let mut events = Events::new(body, vec![], permit, Duration::from_secs(5), 30);
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
