//! The rules for a step, one a line.

use crate::common::{NOW, advance, ready};
use bytes::Bytes;
use gatehouse_model::{Action, Event, UnixMs};

const DAY: u64 = 24 * 60 * 60 * 1000;

#[tokio::test]
async fn steps_that_break_a_rule_are_faults() {
    let (_dir, service, version) = ready();
    for (state, expected) in [
        ("wait too long", "expected a moment within 24 h of now"),
        ("wait backwards", "expected a moment within 24 h of now"),
        ("progress", "expected 0 to 100, got 200"),
        ("big state", "state is larger than the limit of 65536 bytes"),
        ("probe too much", "at most 64 are allowed, got 65"),
        ("probe nothing", "expected at least one, got none"),
        ("done with broken json", "public record is not acceptable: expected JSON"),
        ("done with too many products", "products is not acceptable: at most 64 are allowed, got 65"),
        ("done at an unknown price", "price key \"free.lunch\" is not in the manifest"),
        ("authorization", "\"authorization\" is set by the host alone"),
        ("proxy header", "\"proxy-anything\" is set by the host alone"),
        ("split header", "the value of \"x-fine\" has control characters"),
        ("bad header name", "\"x y\" is not a header name"),
        ("relative path", "expected a path that begins with one slash, got \"v1/x\""),
        ("climbing path", "expected a path without `.` and `..` segments"),
        ("file url", "expected an http(s) URL, got \"file:///etc/passwd\""),
        ("unknown provider", "provider \"elsewhere\" is not in the manifest"),
        ("bad method", "got \"CONNECT\""),
        ("broken json", "call body is not acceptable: expected JSON"),
        ("no time", "expected a timeout of 1 to 900000 ms, got 0"),
    ] {
        let fault = advance(&service, &version, state, Event::Start(Bytes::new())).await.expect_err(state);
        assert!(fault.to_string().contains(expected), "{state}: {fault}");
    }
}

#[tokio::test]
async fn steps_at_the_limit_pass() {
    let (_dir, service, version) = ready();
    let next = |state: &'static str| {
        let (service, version) = (service.clone(), version.clone());
        async move { advance(&service, &version, state, Event::Timer).await.unwrap().next }
    };
    assert_eq!(next("wait").await, Action::Wait(UnixMs(NOW.0 + DAY)));
    assert!(matches!(next("probe").await, Action::Probe(probes) if probes.len() == 64));
    // The probe reports a text that is not a URL.
    assert!(matches!(next("probe any text").await, Action::Probe(probes) if probes[0].source == "no URL"));
    assert!(matches!(next("done").await, Action::Done(end) if end.products.len() == 1));
    let Action::Fail(why) = next("fail").await else { panic!("it fails") };
    assert_eq!(why.failure.message.len(), 4096, "a long reason is cut, not refused");
    let Action::Call(call) = next("anything").await else { panic!("it calls") };
    assert_eq!((call.provider.as_str(), call.timeout_ms), ("mock", 30_000));
}
