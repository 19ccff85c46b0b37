//! Posting to webhooks: what is sent, what counts as an answer, and where nothing is sent to.

use super::*;
use crate::fetch::fetcher::FetchError;
use crate::fetch::post::{Answer, Post, check_post_url};

fn to<'a>(url: &'a str, headers: &'a [(&'static str, String)]) -> Post<'a> {
    Post {
        url,
        headers,
        body: Bytes::from_static(b"{\"type\":\"x\"}"),
        timeout: Duration::from_secs(15),
        max_answer: 1_024,
        over_http: true,
    }
}

fn allowing(address: SocketAddr) -> Upstream {
    upstream(&format!("[webhooks]\nallow_private = [\"{address}\"]\n"))
}

#[tokio::test]
async fn the_bytes_and_headers_arrive_and_the_answer_is_cut() {
    let receiver = Provider::start(|_| reply(200, &[("retry-after", "3")], vec![b'x'; 5_000])).await;
    let url = format!("{}/hook?a=b#c", receiver.url());
    let headers = [("webhook-id", "msg_1".to_owned()), ("webhook-timestamp", "12".to_owned())];
    let answer = allowing(receiver.address).fetcher().post(&to(&url, &headers)).await.unwrap();
    assert_eq!(
        (answer.status, answer.retry_after, answer.body.len()),
        (200, Some(Duration::from_secs(3)), 1_024)
    );
    let seen = receiver.only();
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str(), seen.text()),
        ("POST", "/hook?a=b", "{\"type\":\"x\"}")
    );
    assert_eq!((seen.header("webhook-id"), seen.header("webhook-timestamp")), (Some("msg_1"), Some("12")));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!((seen.header("authorization"), seen.header("cookie")), (None, None));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let receiver = Provider::start(|_| reply(307, &[("location", "/elsewhere")], "")).await;
    let answer = allowing(receiver.address).fetcher().post(&to(&receiver.url(), &[])).await.unwrap();
    assert_eq!((answer.status, receiver.only().target.as_str()), (307, "/"));
}

#[tokio::test]
async fn a_receiver_that_hangs_is_left_and_a_body_that_hangs_costs_nothing_of_its_status() {
    let silent = serve_text("", true).await;
    let timeout = Duration::from_millis(50);
    let url = format!("http://{silent}/");
    let outcome = allowing(silent).fetcher().post(&Post { timeout, ..to(&url, &[]) }).await;
    assert_eq!(outcome, Err(FetchError::Timeout));
    let half = serve_text("HTTP/1.1 202 Accepted\r\ncontent-length: 10\r\n\r\nhalf", true).await;
    let url = format!("http://{half}/");
    // Long enough for the head on a busy machine; the body is waited for until then.
    let timeout = Duration::from_secs(2);
    let answer = allowing(half).fetcher().post(&Post { timeout, ..to(&url, &[]) }).await.unwrap();
    assert_eq!(answer, Answer { status: 202, retry_after: None, body: Bytes::from_static(b"half") });
}

#[tokio::test]
async fn an_address_is_refused_when_it_is_given_and_again_when_it_is_used() {
    let names = Table::of(&[
        ("private.test", &["10.0.0.7"]),
        ("localhost", &["127.0.0.1"]),
        ("a.localhost", &["127.0.0.1"]),
    ]);
    let upstream = upstream_with("", TestClock::skipping_pauses_at(0), names);
    let bad = FetchError::BadUrl;
    let closed = |host: &str| FetchError::NotPublic(host.to_owned());
    for (url, over_http, expected) in [
        ("nothing", true, bad("it does not parse")),
        ("ftp://example.com/", true, bad("expected http or https")),
        ("ftp://example.com/", false, bad("expected https")),
        ("http://example.com/", false, bad("expected https")),
        ("https://a:b@example.com/", false, bad("it must not hold a user name or password")),
        ("https://example.com:8443/", false, bad("only ports 80 and 443 are allowed")),
        ("https://127.0.0.1/", false, closed("127.0.0.1")),
        ("https://localhost/", false, closed("localhost")),
        ("https://a.LOCALHOST/hook", false, closed("a.localhost")),
        ("https://2130706433/", false, closed("127.0.0.1")),
        ("https://169.254.169.254/latest", false, closed("169.254.169.254")),
        ("https://[::1]/", false, closed("::1")),
        ("https://[::ffff:10.0.0.1]/", false, closed("::ffff:a00:1")),
        ("http://10.1.2.3/", true, closed("10.1.2.3")),
    ] {
        assert_eq!(upstream.fetcher().check_post_url(url, over_http), Err(expected.clone()), "{url}");
        assert_eq!(
            upstream.fetcher().post(&Post { over_http, ..to(url, &[]) }).await,
            Err(expected),
            "{url}"
        );
    }
    // A name is known only once it is asked for.
    assert_eq!(upstream.fetcher().check_post_url("https://private.test/", false), Ok(()));
    assert_eq!(upstream.fetcher().post(&to("https://private.test/", &[])).await, Err(closed("private.test")));
    assert_eq!(check_post_url("https://example.com/hook", false), Ok(()));
    assert_eq!(check_post_url("http://example.com/hook", false), Err(bad("expected https")));
}
