//! Finished tasks: tiles and grids, single pictures, films and texts, and what is kept for follow-ups.

use gatehouse_sdk::{Edit, Outcome, Product, Submission, Tile};
use gatehouse_testkit::{Script, picture};
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{
    GRID, ID, PICTURE, TASK, about, button, finished, first_poll, grid, grid_buttons, polled, sent,
    single_buttons,
};

fn link(name: &str) -> String {
    format!("https://cdn.discordapp.com/{name}")
}

fn tile(column: u8, row: u8) -> Product {
    Product::new(GRID).tile(column, row, 2, 2)
}

fn ends(script: Script, record: Value, check: impl Fn(&Outcome) + 'static) {
    play(&script.reply(200, record).expect_done(check));
}

fn film(batch: u32) -> Script {
    let body = json!({"image_urls": [PICTURE], "batch_size": batch, "video_type": "vid_1.1_i2v_720"});
    let script = Script::new()
        .submit("journey.video", body)
        .expect_accepted(|_| ())
        .start()
        .expect_probe(|_| ())
        .probed([Ok(picture(640, 480, "blob:0"))])
        .expect_call(|_| ());
    first_poll(script)
}

#[test]
fn a_grid_is_cut_into_its_four_tiles() {
    ends(polled(), finished(json!({})), |outcome| {
        assert_eq!(outcome.products, [tile(0, 0), tile(1, 0), tile(0, 1), tile(1, 1), Product::new(GRID)]);
        assert!(
            matches!(outcome.products[2].edit, Some(Edit::Tile(Tile { column: 0, row: 1, .. }))),
            "tile 3 is lower left"
        );
        let links = ["media:0", "media:1", "media:2", "media:3"];
        assert_eq!(outcome.public["images"], json!([{"url": links, "expires_at": "expires:0"}]));
        assert_eq!(outcome.public["grid_image_url"], "media:4");
        assert_eq!(outcome.public["buttons"], json!(grid_buttons()));
        assert_eq!(outcome.settle, None);
        let kept = json!({"kind": "grid", "count": 4, "has_grid": true, "buttons": grid_buttons(),
            "description": "/imagine a red kite --v 7"});
        assert_eq!(
            outcome.private,
            json!({"action": "imagine", "status": "SUCCESS", "id": ID, "version": "v7",
            "prompt": "a red kite --v 7", "result": kept, "picture": null})
        );
    });
}

#[test]
fn four_pictures_of_the_provider_are_taken_as_they_are() {
    let urls: Vec<_> =
        (1..=4).map(|number| json!({"url": link(&format!("{number}.png")), "thumbnail": "t"})).collect();
    ends(polled(), finished(json!({"imageUrls": urls})), |outcome| {
        let sources: Vec<_> = outcome.products.iter().map(|product| product.source.clone()).collect();
        assert_eq!(sources, [link("1.png"), link("2.png"), link("3.png"), link("4.png"), GRID.to_owned()]);
        assert!(outcome.products.iter().all(|product| product.edit.is_none()));
    });
    let urls: Vec<_> = (1..=4).map(|number| json!(link(&format!("{number}.png")))).collect();
    ends(polled(), finished(json!({"imageUrls": urls, "imageUrl": null})), |outcome| {
        assert_eq!(outcome.products.len(), 4);
        assert_eq!(outcome.public["grid_image_url"], Value::Null);
        assert_eq!(outcome.private["result"]["has_grid"], false);
    });
    // Anything else than four is no set of tiles.
    let one = json!([{"url": link("1.png")}]);
    ends(polled(), finished(json!({"imageUrls": one})), |outcome| {
        assert_eq!(outcome.products[0], tile(0, 0));
    });
}

#[test]
fn an_upscale_is_one_picture() {
    let script = || first_poll(sent(about("journey.upscale", json!({"task_id": TASK, "index": 3}), grid())));
    for fields in [
        json!({"imageUrl": link("u.png"), "buttons": single_buttons()}),
        json!({"imageUrl": null, "imageUrls": [{"url": link("u.png")}], "buttons": single_buttons()}),
    ] {
        ends(script(), finished(fields), |outcome| {
            assert_eq!(outcome.products, [Product::new(link("u.png"))]);
            assert_eq!(outcome.public["images"], json!([{"url": ["media:0"], "expires_at": "expires:0"}]));
            assert_eq!(outcome.public["grid_image_url"], Value::Null);
            assert_eq!(outcome.private["result"]["kind"], "single");
        });
    }
}

/// Whether a follow-up made one picture or four, its buttons say.
#[test]
fn buttons_tell_a_single_picture_from_a_grid() {
    ends(polled(), finished(json!({"buttons": single_buttons()})), |outcome| {
        assert_eq!(outcome.products, [Product::new(GRID)]);
    });
    ends(polled(), finished(json!({"buttons": null})), |outcome| assert_eq!(outcome.products.len(), 5));
}

#[test]
fn odd_buttons_are_left_out_or_filled_in() {
    let odd = json!([button("MJ::JOB::upsample::1::a", "U1"), {"label": "no id"}, {"customId": ""}, 7,
        {"customId": "MJ::JOB::reroll::0::a", "emoji": "\u{1f504}", "label": null, "type": null}]);
    ends(polled(), finished(json!({"buttons": odd})), |outcome| {
        let reroll = json!({"customId": "MJ::JOB::reroll::0::a", "emoji": "\u{1f504}", "label": "", "type": 2, "style": 2});
        assert_eq!(outcome.public["buttons"], json!([button("MJ::JOB::upsample::1::a", "U1"), reroll]));
    });
}

#[test]
fn films_are_as_many_as_were_asked_for() {
    let urls = |count: usize| -> Vec<Value> {
        (0..count).map(|number| json!({"url": link(&format!("{number}.mp4")), "thumbnail": null})).collect()
    };
    ends(film(2), finished(json!({"videoUrls": urls(2), "imageUrls": urls(2)})), |outcome| {
        assert_eq!(
            outcome.public["videos"],
            json!([{"url": ["media:0", "media:1"], "expires_at": "expires:0"}])
        );
        assert_eq!(outcome.products[1].source, link("1.mp4"));
        assert_eq!(outcome.products[1].mime.as_deref(), Some("video/mp4"));
        assert_eq!(outcome.settle, None);
    });
    ends(film(1), finished(json!({"videoUrls": urls(4)})), |outcome| assert_eq!(outcome.products.len(), 1));
    for fields in [json!({"videoUrl": link("0.mp4")}), json!({"imageUrl": link("0.mp4")})] {
        ends(film(1), finished(fields), |outcome| assert_eq!(outcome.products[0].source, link("0.mp4")));
    }
}

#[test]
fn fewer_films_cost_less() {
    let two = json!([{"url": link("0.mp4")}, {"url": link("1.mp4")}]);
    ends(film(4), finished(json!({"videoUrls": two})), |outcome| {
        let settle = outcome.settle.as_ref().expect("less than was held");
        assert_eq!((settle.lines[0].keys[0].as_str(), settle.lines[0].quantity), ("journey@video-720p", 2));
    });
}

#[test]
fn a_description_is_a_text() {
    let describe = || {
        let script = Script::new()
            .submit("journey.describe", json!({"image_urls": [PICTURE]}))
            .expect_accepted(|_| ())
            .start()
            .expect_probe(|_| ())
            .probed([Ok(picture(640, 480, "blob:0"))])
            .expect_call(|_| ());
        first_poll(script)
    };
    let text = "1\u{fe0f}\u{20e3} a red kite\n\n2\u{fe0f}\u{20e3} a kite\n\n3\u{fe0f}\u{20e3} the sea\n\n4\u{fe0f}\u{20e3} a day";
    for fields in [
        json!({"prompt": text}),
        json!({"prompt": "", "promptEn": text}),
        json!({"prompt": null, "promptEn": null, "properties": {"finalPrompt": text}}),
    ] {
        ends(describe(), finished(fields), move |outcome| {
            assert!(outcome.products.is_empty());
            assert_eq!(outcome.public["text"], text);
            assert_eq!(outcome.public["prompts"], json!(["a red kite", "a kite", "the sea", "a day"]));
            assert_eq!(outcome.public["images"], Value::Null);
            assert_eq!(outcome.private["prompt"], text);
            assert_eq!(outcome.private["result"]["kind"], "text");
        });
    }
    let none = describe().reply(200, finished(json!({"prompt": null, "promptEn": null, "properties": null})));
    play(&none.expect_wait(|_| ()));
}

/// The parent of a follow-up is what an earlier task kept.
#[test]
fn a_finished_task_can_be_followed_up() {
    ends(polled(), finished(json!({})), |outcome| {
        let parent = gatehouse_sdk::Parent::new("journey", "journey", outcome.private.clone());
        let request: Submission = about("journey.upscale", json!({"task_id": TASK, "index": 2}), parent);
        play(&Script::new().submit_whole(request).expect_accepted(|_| ()));
    });
}
