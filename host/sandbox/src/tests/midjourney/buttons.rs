//! Buttons: what pressing each does, which version has which, who may press.

use serde_json::json;

use super::proxy::{accepted, button, imagine, press, recorded, shown, single, submit, url};
use crate::tests::client::{JSON, KEY, TestSandbox, call};

#[tokio::test]
async fn every_button_does_what_it_says() {
    let test = TestSandbox::start().await;
    let grid = imagine(&test, "a kite --v 8.1").await;
    let up = single(&test, "a kite --v 7", 1).await;
    let film = press(&test, &up, "MJ::JOB::animate_high").await;
    let text = accepted(&test, "describe", &json!({ "link": "https://a.example/b.png" })).await;
    for (parent, prefix, action, status, colours) in [
        (&grid, "MJ::JOB::upsample::2", "UPSCALE", "SUCCESS", 1),
        (&grid, "MJ::JOB::variation::4", "VARIATION", "SUCCESS", 4),
        (&grid, "MJ::JOB::reroll::0", "IMAGINE", "SUCCESS", 4),
        (&grid, "MJ::JOB::remix_strong::3", "VARIATION", "SUCCESS", 4),
        (&up, "MJ::JOB::upsample_v7_2x_creative", "UPSCALE_HD", "SUCCESS", 1),
        (&up, "MJ::JOB::low_variation", "VARIATION", "SUCCESS", 4),
        (&up, "MJ::Inpaint::1", "VARIATION", "MODAL", 4),
        (&up, "MJ::CustomZoom", "ZOOM", "MODAL", 4),
        (&up, "MJ::Outpaint::75", "OUTPAINT", "SUCCESS", 4),
        (&up, "MJ::JOB::pan_left", "PAN", "SUCCESS", 4),
        (&up, "MJ::JOB::animate_low", "VIDEO", "SUCCESS", 4),
        (&film, "MJ::JOB::video_virtual_upscale::3", "UPSCALE", "SUCCESS", 1),
        (&text, "MJ::Job::PicReader::2", "IMAGINE", "MODAL", 4),
    ] {
        let id = press(&test, parent, prefix).await;
        let made = shown(&test, &id).await;
        assert_eq!((&made["action"], &made["status"]), (&json!(action), &json!(status)), "{prefix}");
        assert_eq!(made["parentId"], json!(parent), "{prefix}");
        let kept = recorded(&test, &id);
        assert_eq!(kept.colours.len(), colours, "{prefix}");
        assert_eq!(recorded(&test, parent).presses[&kept.custom_id.expect("a button")], 1, "{prefix}");
    }
    assert_eq!(
        submit(
            &test,
            "action",
            &json!({ "taskId": up, "customId": button(&test, &up, "MJ::BOOKMARK").await })
        )
        .await["result"],
        json!(up)
    );
}

#[tokio::test]
async fn older_servers_take_actions_and_numbers() {
    let test = TestSandbox::start().await;
    let grid = imagine(&test, "a kite").await;
    let colours = recorded(&test, &grid).colours;
    let upscale = json!({ "taskId": grid, "action": "UPSCALE", "index": 3 });
    assert_eq!(recorded(&test, &accepted(&test, "change", &upscale).await).colours, [colours[2]]);
    let simple = json!({ "content": format!("{grid} U4") });
    assert_eq!(recorded(&test, &accepted(&test, "simple-change", &simple).await).colours, [colours[3]]);
    let reroll = json!({ "taskId": grid, "action": "REROLL" });
    assert_eq!(shown(&test, &accepted(&test, "change", &reroll).await).await["action"], "IMAGINE");
    let up = accepted(&test, "simple-change", &simple).await;
    for body in [
        json!({ "taskId": grid, "action": "UPSCALE" }),
        json!({ "taskId": grid, "action": "UPSCALE", "index": 0 }),
        json!({ "taskId": grid, "action": "VARIATION", "index": 5 }),
        json!({ "taskId": grid, "action": "ZOOM", "index": 1 }),
        json!({ "taskId": up, "action": "UPSCALE", "index": 1 }),
        json!({ "taskId": grid, "index": 1 }),
        json!({ "action": "REROLL" }),
    ] {
        assert_eq!(submit(&test, "change", &body).await["code"], 4, "{body}");
    }
    assert_eq!(submit(&test, "simple-change", &json!({ "content": "U4" })).await["code"], 4);
}

#[tokio::test]
async fn presses_need_a_finished_parent_of_the_same_account_and_a_button_it_has() {
    let test = TestSandbox::with(|settings| settings.keys.push("other-key".to_owned())).await;
    let running = imagine(&test, "a kite").await;
    let custom_id = "MJ::JOB::upsample::1::x";
    let early = json!({ "taskId": running, "customId": custom_id });
    assert_eq!(submit(&test, "action", &early).await["description"], "关联任务状态错误");
    test.advance(std::time::Duration::from_secs(5));
    let answer = submit(&test, "action", &early).await;
    assert_eq!((&answer["code"], &answer["description"]), (&json!(4), &json!("customId参数错误")));
    for body in [
        json!({ "taskId": running }),
        json!({ "customId": custom_id }),
        json!({ "taskId": " ", "customId": custom_id }),
    ] {
        assert_eq!(submit(&test, "action", &body).await["code"], 4, "{body}");
    }
    let custom_id = button(&test, &running, "MJ::JOB::upsample::1").await;
    let body = json!({ "taskId": running, "customId": custom_id }).to_string();
    for (key, id, status, code) in
        [("other-key", running.as_str(), 404, 3), (KEY, "17", 404, 3), (KEY, &running, 200, 1)]
    {
        let body = body.replace(&running, id);
        let headers = [("mj-api-secret", key), JSON];
        let reply = call("POST", &url(&test, "/mj/submit/action"), &headers, body).await.expect("a reply");
        assert_eq!((reply.status, &reply.json()["code"]), (status, &json!(code)), "{key} {id}");
    }
}

#[tokio::test]
async fn a_repeated_press_may_name_the_earlier_task() {
    let test = TestSandbox::start().await;
    let grid = imagine(&test, "a kite [[21]]").await;
    let first = press(&test, &grid, "MJ::JOB::upsample::2").await;
    let custom_id = button(&test, &grid, "MJ::JOB::upsample::2").await;
    let answer = submit(&test, "action", &json!({ "taskId": grid, "customId": custom_id })).await;
    assert_eq!((&answer["code"], &answer["result"]), (&json!(21), &json!(first)));
    assert_eq!(
        (&answer["properties"]["status"], answer["properties"].get("remix")),
        (&json!("SUCCESS"), None)
    );
    assert_ne!(press(&test, &grid, "MJ::JOB::upsample::3").await, first);
    let plain = imagine(&test, "a kite").await;
    let one = press(&test, &plain, "MJ::JOB::upsample::2").await;
    assert_ne!(
        press(&test, &plain, "MJ::JOB::upsample::2").await,
        one,
        "without the marker each press is new"
    );
}
