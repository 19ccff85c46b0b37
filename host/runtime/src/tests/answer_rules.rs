//! The rules for a step, one a line.

use crate::tests::common::{NOW, advance, ready, submit};
use bytes::Bytes;
use gatehouse_model::{Action, Body, Clip, Edit, Event, Json, Payload, Shared, Tile, UnixMs};

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
        ("raw without a line", "call body is not acceptable: at most 8192 bytes are allowed, got 9000"),
        ("shared once", "expected a safe call: only those can be shared"),
        ("no account", "call is not acceptable: expected an affinity that the host gave"),
        ("view beside an end", "view is not acceptable: expected none beside an end"),
        ("view with broken json", "public record is not acceptable: expected JSON"),
        (
            "fail with products and no result",
            "products is not acceptable: expected none without a public record",
        ),
        ("tile outside", "the tile must lie in the grid of 2 x 2, counted from 0, got column 2, row 0"),
        ("clip of nothing", "a clip must end after it begins, got 5 ms to 5 ms"),
        (
            "unknown edit",
            "products is not acceptable: expected an edit, a tile or a clip: unknown variant `mirror`",
        ),
        ("unknown action", "action is not acceptable: this host does not know the action \"sing\""),
        ("key to know", "step is not acceptable: this host does not know the key \"sealed!\" of its `extra`"),
        ("claim a name with a space", "claims is not acceptable: expected a name of 1 to 256 visible ASCII"),
        ("claim without json", "the private record of a claim is not acceptable: expected JSON"),
        ("claim of no account", "claims is not acceptable: expected an affinity that the host gave"),
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
    assert!(matches!(next("unknown key").await, Action::Call(_)), "a later key is ignored");
    let Action::Call(call) = next("anything").await else { panic!("it calls") };
    assert_eq!((call.provider.as_str(), call.timeout_ms), ("mock", 30_000));
    let Action::Call(call) = next("raw").await else { panic!("it calls") };
    assert_eq!(
        call.body,
        Payload::Raw { mime: "text/plain".to_owned(), data: Body::Inline(vec![0xff].into()) }
    );
    let Action::Call(call) = next("shared").await else { panic!("it calls") };
    assert_eq!(call.shared, Some(Shared { key: "poll".to_owned(), item: "7".to_owned() }));
    let Action::Done(end) = next("tile").await else { panic!("it is done") };
    let tile = Tile { column: 1, row: 1, columns: 2, rows: 2 };
    assert_eq!(end.products[0].edit, Some(Edit::Tile(tile)));
    let Action::Done(end) = next("clip").await else { panic!("it is done") };
    assert_eq!(end.products[0].edit, Some(Edit::Clip(Clip { from_ms: 5, to_ms: None })));
    let Action::Done(end) = next("claim").await else { panic!("it is done") };
    assert_eq!((end.claims[0].name.as_str(), &*end.claims[0].private), ("asset://1", "{}"));
    let Action::Fail(end) = next("fail with a result").await else { panic!("it fails") };
    assert_eq!((end.failure.message.as_str(), end.public.as_deref()), ("half", Some("[\"media:0\"]")));
    let step = advance(&service, &version, "view", Event::Timer).await.unwrap();
    assert_eq!(step.view.map(|view| view.public), Some(Json::from_static("[]")));
}

#[tokio::test]
async fn accepted_requests_that_break_a_rule_are_faults() {
    let (_dir, service, version) = ready();
    for (request, expected) in [
        (
            "alias as model",
            "model is not acceptable: expected one of the manifest's model ids, got \"unruly\"",
        ),
        (
            "unknown price",
            "charge is not acceptable: its last price key \"free.lunch\" is not in the manifest",
        ),
        ("no price", "charge is not acceptable: expected 1 to 16 price keys, got 0"),
        (
            "foreign price",
            "expected price keys that begin with \"unruly.image\" and `-` or `@`, got \"ruly.image@4k\"",
        ),
        (
            "glued price",
            "expected price keys that begin with \"unruly.image\" and `-` or `@`, got \"unruly.image4k\"",
        ),
        ("price without an end", "its last price key \"unruly.image@4k\" is not in the manifest"),
        ("big state", "state is larger than the limit of 65536 bytes"),
        ("big brief", "brief is larger than the limit of 1048576 bytes"),
        ("too far", "progress is not acceptable: expected 0 to 100, got 101"),
    ] {
        let fault = submit(&service, &version, request).await.expect_err(request);
        assert!(fault.to_string().contains(expected), "{request}: {fault}");
        assert!(fault.is_plugin_caused(), "{request}: {fault}");
    }
}

#[tokio::test]
async fn accepted_requests_at_the_limit_pass() {
    let (_dir, service, version) = ready();
    let accepted = async |request| submit(&service, &version, request).await.unwrap().unwrap();
    assert_eq!(accepted("brief").await.brief, "what is too long for a state");
    assert_eq!(accepted("free").await.charge.0[0].quantity, 0);
    let keys = accepted("specific price").await.charge.0.remove(0).keys;
    assert_eq!(keys, ["unruly.image@4k-hdr", "unruly.image@4k", "unruly.image"]);
}
