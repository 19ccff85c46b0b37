//! The meaning of the provider's answers: images, images taken out by moderation, and every form of refusal.

use gatehouse_sdk::{Blame, Product, Reply};
use serde_json::{Value, json};

use crate::imagine::{data, item, link, play, sent};
use crate::tasks::UNAVAILABLE;

const FAILED: &str = "the upstream failed to generate the image";
const MODERATED: &str = "the prompt or the generated image was stopped by moderation";

/// An image that moderation took out.
fn filtered() -> Value {
    json!({"respect_moderation": false, "revised_prompt": ""})
}

/// The answer to a call for `n` images completes the task with these sources, and bills no more than those.
fn completes(n: u32, items: &[Value], sources: &[&str]) {
    let expected: Vec<Product> =
        sources.iter().map(|source| Product::new(*source).mime("image/jpeg")).collect();
    let links: Vec<String> = (0..expected.len()).map(|index| format!("media:{index}")).collect();
    let script = sent(n).reply(200, data(items)).expect_done(move |outcome| {
        assert_eq!(outcome.public, json!({"images": [{"url": links, "expires_at": "expires:0"}]}));
        assert_eq!(outcome.products, expected);
        let made = u32::try_from(expected.len()).expect("few");
        match &outcome.settle {
            None => assert_eq!(made, n),
            Some(settle) => {
                assert_eq!(
                    (settle.lines[0].keys.as_slice(), settle.lines[0].quantity),
                    (&["imagine-1.5-gw".to_owned()][..], u64::from(made))
                );
                assert!(made < n);
            }
        }
        assert!(outcome.claims.is_empty());
    });
    play(&script);
}

#[test]
fn all_links_stand_in_one_element() {
    completes(1, &[item(0)], &[&link(0)]);
    let items: Vec<Value> = (0..10).map(item).collect();
    let links: Vec<String> = (0..10).map(link).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    completes(10, &items, &links);
}

#[test]
fn partial_moderation_completes_with_what_there_is_and_bills_that() {
    completes(3, &[item(0), filtered(), item(2)], &[&link(0), &link(2)]);
    completes(2, &[filtered(), item(1)], &[&link(1)]);
    // Filtered, whatever else the item says.
    let mut odd = item(0);
    odd["respect_moderation"] = json!(false);
    completes(2, &[odd, item(1)], &[&link(1)]);
    let mut respected = item(0);
    respected["respect_moderation"] = json!(true);
    completes(1, &[respected], &[&link(0)]);
    // Fewer, without a reason.
    completes(4, &[item(0)], &[&link(0)]);
}

#[test]
fn never_hands_over_more_than_was_asked_for() {
    completes(1, &[item(0), item(1)], &[&link(0)]);
}

#[test]
fn base64_is_read_with_and_without_its_head() {
    let bare = "iVBORw0KGgo=";
    let item = |text: &str| json!({"b64_json": text, "mime_type": "image/jpeg"});
    completes(1, &[item(bare)], &["data:image/jpeg;base64,iVBORw0KGgo="]);
    completes(1, &[item("data:image/jpeg;base64,iVBORw0KGgo=")], &["data:image/jpeg;base64,iVBORw0KGgo="]);
    // The host has cut it out.
    completes(1, &[item("blob:7")], &["blob:7"]);
    // A type that is none of an image is not believed.
    completes(1, &[json!({"b64_json": "blob:7", "mime_type": "text/html"})], &["blob:7"]);
    completes(1, &[json!({"b64_json": "blob:7"})], &["blob:7"]);
}

#[test]
fn items_that_cannot_be_fetched_are_left_out() {
    for odd in [
        json!({}),
        json!({"url": null}),
        json!({"url": ""}),
        json!({"url": "imgen.x.ai/a.jpeg"}),
        json!({"url": format!("https://imgen.x.ai/{}.jpeg", "a".repeat(6000))}),
        json!({"b64_json": ""}),
    ] {
        completes(2, &[odd.clone(), item(1)], &[&link(1)]);
        play(&sent(1).reply(200, data(&[odd])).expect_fail(Blame::Upstream, FAILED));
    }
}

#[test]
fn good_answers_without_images_fail() {
    let end = |answer: Value, blame: Blame, message: &str| {
        play(&sent(2).reply(200, answer).expect_fail(blame, message));
    };
    let every = "every generated image was stopped by output moderation";
    end(data(&[filtered(), filtered()]), Blame::Moderation, every);
    let input = "the prompt or the reference image was stopped by input moderation";
    end(json!({"data": [], "block_reason": "prompt"}), Blame::Moderation, input);
    end(json!({"block_reason": {"check": "SAFETY"}}), Blame::Moderation, input);
    end(data(&[]), Blame::Upstream, FAILED);
    end(json!({"data": null, "block_reason": null}), Blame::Upstream, FAILED);
    end(json!({}), Blame::Upstream, FAILED);
    end(json!({"data": "soon"}), Blame::Upstream, FAILED);
    end(json!({"request_id": "7"}), Blame::Upstream, FAILED);
    for broken in ["{\"data\": [", "<html>", ""] {
        play(&sent(1).reply_whole(Reply::raw(200, broken)).expect_fail(Blame::Upstream, FAILED));
    }
}

fn flat(code: &str, error: &str) -> Value {
    json!({"code": code, "error": error})
}

fn nested(code: &str, error: &str) -> Value {
    json!({"error": {"message": error, "type": "invalid_request_error", "code": code}})
}

fn ends(status: u16, body: Value, blame: Blame, message: &str) {
    play(&sent(1).reply(status, body).expect_fail(blame, message));
}

#[test]
fn moderation_is_told_from_the_text() {
    let rejected = "Generated image rejected by content moderation.";
    let usage = "Content violates usage guidelines. Team: 7, API key ID: 8, Model: grok, Failed check: BIO";
    for form in [flat, nested] {
        ends(400, form("imagine:content-moderated", rejected), Blame::Moderation, MODERATED);
        ends(400, form("imagine:content-moderated", ""), Blame::Moderation, MODERATED);
        ends(400, form("Client specified an invalid argument", rejected), Blame::Moderation, MODERATED);
        ends(
            403,
            form("permission-denied", "Content violates usage guidelines. "),
            Blame::Moderation,
            MODERATED,
        );
        ends(403, form("permission-denied", usage), Blame::Moderation, MODERATED);
    }
}

#[test]
fn the_operators_account_is_never_shown() {
    let key = "Incorrect API key provided. You can obtain one from https://console.x.ai.";
    let credits = "Your team 7 has used all available credits or reached its monthly spending limit.";
    for form in [flat, nested] {
        ends(400, form("invalid-argument", key), Blame::Account, UNAVAILABLE);
        ends(401, form("unauthenticated", "No credentials were sent."), Blame::Account, UNAVAILABLE);
        ends(402, form("", ""), Blame::Account, UNAVAILABLE);
        ends(403, form("permission-denied", "Your API key is blocked."), Blame::Account, UNAVAILABLE);
        ends(403, form("permission-denied", credits), Blame::Account, UNAVAILABLE);
        ends(429, form("resource-exhausted", credits), Blame::Account, UNAVAILABLE);
        ends(429, form("resource-exhausted", "Your free trial has ended."), Blame::Account, UNAVAILABLE);
        ends(
            400,
            form("invalid-argument", "The team is at its spending limit."),
            Blame::Account,
            UNAVAILABLE,
        );
    }
    play(&sent(1).reply_whole(Reply::raw(403, "<html>")).expect_fail(Blame::Account, UNAVAILABLE));
}

#[test]
fn a_bad_argument_is_the_requests_and_names_no_provider() {
    let shown = "the upstream refused the request: The prompt has 1200 characters, at most 1024 are allowed.";
    let text = "The prompt has 1200 characters, at most 1024 are allowed.";
    ends(400, flat("invalid-argument", text), Blame::Request, shown);
    ends(400, nested("invalid-argument", text), Blame::Request, shown);
    let plain = "the upstream refused the request";
    ends(400, flat("invalid-argument", "grok-imagine-image fails"), Blame::Request, plain);
    // A prompt that is quoted says nothing of the account.
    let quoted = "The prompt `a free trial poster` is too long.";
    ends(400, flat("invalid-argument", quoted), Blame::Request, &format!("{plain}: {quoted}"));
    ends(400, flat("invalid-argument", "No prompt `a bill overdue`."), Blame::Request, plain);
    ends(400, flat("invalid-argument", "No prompt \"the end credits"), Blame::Request, plain);
    // Nothing says that these are about the request.
    ends(400, json!({}), Blame::Upstream, plain);
    ends(400, flat("some-other-code", text), Blame::Upstream, plain);
    play(&sent(1).reply_whole(Reply::raw(400, "<html>")).expect_fail(Blame::Upstream, plain));
}

#[test]
fn the_providers_own_failures_are_the_upstreams() {
    ends(
        404,
        json!({"error": "The model 'x' does not exist or your team has no access to it."}),
        Blame::Upstream,
        FAILED,
    );
    ends(405, flat("", "Method not allowed"), Blame::Upstream, FAILED);
    ends(415, flat("", "Expected request with `Content-Type: application/json`"), Blame::Upstream, FAILED);
    let shape = "Failed to deserialize the JSON body into the target type: n: invalid type: string \"2\"";
    play(&sent(1).reply_whole(Reply::raw(422, shape)).expect_fail(Blame::Upstream, FAILED));
    for status in [302, 500, 503] {
        ends(status, flat("internal", "boom"), Blame::Upstream, FAILED);
    }
    let html = Reply::raw(502, "<html>bad gateway of x.ai</html>");
    play(&sent(1).reply_whole(html).expect_fail(Blame::Upstream, FAILED));
}

/// Without it images that were paid are lost for the type of something beside them, and an account without money is not told.
#[test]
fn what_stands_beside_an_image_costs_nobody_the_image() {
    for beside in [
        json!({"mime_type": 5, "respect_moderation": "true"}),
        json!({"mime_type": null, "respect_moderation": null, "b64_json": {}}),
        json!({"revised_prompt": [], "moderation": {"a": 1}}),
    ] {
        completes(1, &[crate::over(item(0), beside), json!(null), json!("x")], &[&link(0)]);
    }
    for body in [
        json!({"data": item(0), "error": null}),
        json!({"data": [item(0)], "usage": "none", "block_reason": null, "error": {}}),
    ] {
        play(&sent(1).reply(200, body).expect_done(|outcome| assert_eq!(outcome.products.len(), 1)));
    }
    play(&sent(1).reply(200, json!({"error": {"code": 429, "message": "slow"}})).expect_wait(|_| ()));
    let mut quoted = item(0);
    quoted["respect_moderation"] = json!("false");
    for (body, blame, message) in [
        (
            json!({"data": [quoted]}),
            Blame::Moderation,
            "every generated image was stopped by output moderation",
        ),
        (json!({"data": null, "block_reason": ""}), Blame::Upstream, FAILED),
        (
            json!({"code": "c", "error": "Your team has used all available credits"}),
            Blame::Account,
            UNAVAILABLE,
        ),
        (
            json!({"error": {"message": "Content moderated", "code": "content-moderated"}}),
            Blame::Moderation,
            MODERATED,
        ),
        (json!({"error": "something else"}), Blame::Upstream, "the upstream refused the request"),
        (json!({"error": {"code": 401, "message": "key 7"}}), Blame::Account, UNAVAILABLE),
        (json!({"code": "500", "error": "shard 7"}), Blame::Upstream, FAILED),
        (
            json!({"data": [{"error": {"code": "content-moderated", "message": "no"}}]}),
            Blame::Moderation,
            MODERATED,
        ),
        (json!([]), Blame::Upstream, FAILED),
    ] {
        play(&sent(1).reply(200, body).expect_fail(blame, message));
    }
}
