//! Films: their fields, their links, longer ones.

use serde_json::{Value, json};

use super::proxy::{accepted, press, recorded, shown, single, submit, uri};
use crate::tests::client::{TestSandbox, fetch};

fn body(more: &Value) -> Value {
    let mut body = json!({ "prompt": "it flies", "image": uri(160, 90, [25, 230, 25]) });
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn each_film_of_a_batch_is_a_playable_file() {
    let test = TestSandbox::start().await;
    for (batch, side, size) in [(1, 480, (852, 480)), (2, 720, (1280, 720)), (4, 480, (852, 480))] {
        let more =
            json!({ "videoType": format!("vid_1.1_i2v_{side}"), "batchSize": batch, "motion": "high" });
        let id = accepted(&test, "video", &body(&more)).await;
        let (task, made) = (shown(&test, &id).await, recorded(&test, &id));
        let films = task["videoUrls"].as_array().expect("films");
        assert_eq!((films.len(), made.colours.len(), made.size), (batch, batch, size));
        assert_eq!((made.colours[0], &task["videoUrl"]), ([25, 230, 25], &films[0]["url"]));
        assert_eq!((&task["imageUrl"], &task["imageUrls"]), (&films[0]["url"], &task["videoUrls"]));
        for film in films {
            let file = fetch(film["url"].as_str().expect("a link")).await;
            assert_eq!((file.status, file.header("content-type")), (200, "video/mp4"));
            assert_eq!(&file.body[4..8], b"ftyp");
            assert_eq!(
                fetch(film["thumbnail"].as_str().expect("a link")).await.header("content-type"),
                "image/png"
            );
        }
        let expected = format!("it flies --video 1 --motion high --bs {batch}");
        assert_eq!(task["promptEn"], json!(expected));
        assert_eq!(task["action"], "VIDEO");
    }
    let whole = recorded(&test, &accepted(&test, "video", &body(&json!({}))).await);
    assert_eq!(whole.colours.len(), 4, "four without a number");
}

#[tokio::test]
async fn fields_are_judged() {
    let test = TestSandbox::start().await;
    let up = single(&test, "a kite", 1).await;
    for (more, code) in [
        (json!({ "prompt": null }), 4),
        (json!({ "prompt": "" }), 4),
        (json!({ "prompt": " \n" }), 4),
        (json!({ "image": null }), 4),
        (json!({ "image": "nonsense!" }), 4),
        (json!({ "motion": "medium" }), 4),
        (json!({ "videoType": "vid_1.1_i2v_start_end_480" }), 4),
        (json!({ "batchSize": 3 }), 4),
        (json!({ "batchSize": "1" }), -1),
        (json!({ "taskId": up }), 4),
        (json!({ "taskId": up, "action": "extend", "index": 0 }), 4),
        (json!({ "taskId": "17", "action": "extend", "index": 0 }), 3),
        (json!({ "endImage": uri(8, 8, [1, 2, 3]) }), 1),
        (json!({ "loop": true }), 1),
        (json!({ "prompt": "[[3]]" }), 3),
    ] {
        assert_eq!(submit(&test, "video", &body(&more)).await["code"], code, "{more}");
    }
}

#[tokio::test]
async fn films_come_from_tiles_and_from_films() {
    let test = TestSandbox::start().await;
    let up = single(&test, "a kite", 3).await;
    let link = shown(&test, &up).await["imageUrl"].clone();
    let id = accepted(&test, "video", &json!({ "prompt": "p", "image": link })).await;
    let made = recorded(&test, &id);
    assert_eq!((made.colours[0], made.size), (recorded(&test, &up).colours[0], (480, 480)));
    let longer = json!({ "prompt": "p", "taskId": id, "action": "extend", "index": 2, "batchSize": 1 });
    let longer = recorded(&test, &accepted(&test, "video", &longer).await);
    assert_eq!((longer.colours[0], longer.parent.as_deref()), (made.colours[2], Some(id.as_str())));
    assert_eq!(
        submit(&test, "video", &json!({ "prompt": "p", "taskId": id, "action": "extend", "index": 4 })).await
            ["code"],
        4
    );
    let one = press(&test, &id, "MJ::JOB::video_virtual_upscale::2").await;
    assert_eq!(recorded(&test, &one).colours, [made.colours[1]]);
    assert_eq!(
        shown(&test, &press(&test, &one, "MJ::JOB::animate_low_extend").await).await["action"],
        "VIDEO_EXTEND"
    );
}
