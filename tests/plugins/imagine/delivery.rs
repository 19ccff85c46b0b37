//! Copies that fail: tried again, and left out in the end.

use std::time::Duration;

use gatehouse_sdk::{Blame, Stage};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::imagine::{data, item, link, play, sent};

/// Answered with `n` images, of which none can be copied for 2, 4 and 8 seconds.
fn lost_three_times(n: u32) -> Script {
    let items: Vec<Value> = (0..n as usize).map(item).collect();
    let mut script = sent(n).reply(200, data(&items)).expect_done(|_| ());
    for wait in [2, 4, 8] {
        script = script
            .lost("the server answered 404")
            .expect_wait(move |came| assert_eq!(*came, Duration::from_secs(wait)))
            .expect_stage(Stage::Processing)
            .timer()
            .expect_done(move |outcome| assert_eq!(outcome.products.len(), n as usize));
    }
    script
}

#[test]
fn an_image_that_stays_out_of_reach_is_left_out_and_not_billed() {
    let script = lost_three_times(3)
        .lost("the server answered 404")
        .expect_done(|outcome| {
            assert_eq!(
                outcome.public,
                json!({"images": [{"url": ["media:0", "media:1"], "expires_at": "expires:0"}]})
            );
            let sources: Vec<&str> = outcome.products.iter().map(|product| product.source.as_str()).collect();
            assert_eq!(sources, [link(1), link(2)]);
            assert_eq!(outcome.settle.as_ref().map(|settle| settle.lines[0].quantity), Some(2));
        })
        // The next one is left out at once.
        .lost("the server answered 404")
        .expect_done(|outcome| {
            assert_eq!(outcome.settle.as_ref().map(|settle| settle.lines[0].quantity), Some(1));
        });
    play(&script);
}

#[test]
fn without_any_image_the_task_fails() {
    let gone = "the finished image could not be fetched from the upstream";
    play(&lost_three_times(1).lost("the server answered 404").expect_fail(Blame::Upstream, gone));
}

#[test]
fn finished_images_cannot_be_cancelled() {
    let script = sent(1)
        .reply(200, data(&[item(0)]))
        .expect_done(|_| ())
        .lost("the server answered 503")
        .expect_wait(|_| ())
        .later(Duration::from_secs(1))
        .cancel()
        .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(1)))
        .timer()
        .expect_done(|_| ());
    play(&script);
}
