//! What an operator opens by name works, and opens nothing beside it; and the same over real sockets, where a real
//! listener sees whether anybody came.

use gatehouse_model::Outage;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

#[tokio::test]
async fn operators_open_what_they_name_and_nothing_else() {
    let stage = Stage::set().await;
    let rows = read(include_str!("exceptions.table"), 4);
    let mut wrong = vec![];
    for row in &rows {
        let (kind, entries) = row[0].split_once(' ').unwrap();
        let entries: Vec<&str> = entries.split(", ").collect();
        let mut hops = row[1].split(" -> ");
        let url = hops.next().unwrap();
        stage.script(hops.map(|to| (302, to.to_owned())));
        let found = match kind {
            "user" => {
                let upstream = stage.upstream("", &format!("allow_private = {entries:?}"));
                stage.visit(&upstream, USER, url).await
            }
            "result" => {
                let more = format!("media_origins = {entries:?}");
                let upstream = stage.upstream(&provider("https://api.test", &more), "");
                stage.visit(&upstream, RESULT, url).await
            }
            "call" => {
                let more = format!("origins = {entries:?}");
                let upstream = stage.upstream(&provider("https://api.test", &more), "");
                stage.call(&upstream.acquire_call("p", "main").unwrap(), url.to_owned()).await
            }
            other => panic!("{other}"),
        };
        if found != row[2] {
            wrong.push(format!("{} {}: expected {}, found {found}", row[0], row[1], row[2]));
        }
    }
    assert_all(rows.len(), &wrong);
}

#[tokio::test]
async fn a_real_listener_on_loopback_is_reached_by_its_name_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let names = Table::of(&[
        ("loop.cdn.test", &["127.0.0.1"]),
        ("mapped.cdn.test", &["::ffff:127.0.0.1"]),
        ("zero.cdn.test", &["0.0.0.0"]),
        ("mixed.cdn.test", &["127.0.0.1", "93.184.216.34"]),
        ("named.internal", &["127.0.0.1"]),
    ]);
    let pattern = format!("[\"https://*.cdn.test:{port}\", \"http://named.internal:{port}\"]");
    let more = format!("origins = {pattern}\nmedia_origins = {pattern}");
    let text = provider("https://api.test", &more);
    let upstream = upstream_with(&text, TestClock::skipping_pauses_at(1_000_000), names);
    let permit = upstream.acquire_call("p", "main").unwrap();
    let policy = Policy::new(RESULT, 1000, PATIENCE);
    for host in ["loop", "mapped", "zero", "mixed"] {
        let url = format!("https://{host}.cdn.test:{port}/");
        let refused = upstream.fetcher().fetch(&url, &policy).await.err();
        assert_eq!(refused, Some(FetchError::NotPublic(format!("{host}.cdn.test"))), "{url}");
        let call = permit.call(&get(Target::Url(url)), &Memory::default(), NEVER).await;
        assert_eq!(call.err(), Some(Outage::Unreachable), "{host}");
    }
    // The listener's first visitor is the one that was meant: a connection made before would stand before it.
    let url = format!("http://named.internal:{port}/");
    let meant = upstream.fetcher().fetch(&url, &policy);
    let first = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let length = stream.read(&mut head).await.unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await.unwrap();
        String::from_utf8(head[..length].to_vec()).unwrap()
    };
    let (outcome, head) = tokio::join!(meant, first);
    assert_eq!(outcome.err(), Some(FetchError::Status(204)));
    assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
}
