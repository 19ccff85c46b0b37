//! A task is followed from its submission to its picture, and its cost to the page of usage.

use gatehouse_harness::run;
use serde_json::json;

use crate::console::scene::{ask_for_picture, start};

#[test]
fn a_task_is_followed_to_its_picture() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        let key = scene.gateway.open_account("acme", "1000").await;
        tab.goto("/tasks").await;
        tab.see("There are none yet").await;
        let (status, receipt) = ask_for_picture(&key).await;
        assert_eq!(status, 200);
        let id = receipt["data"][0]["task_id"].as_str().expect("a task").to_owned();
        // The list follows without being loaded again.
        tab.see("ctx-pro").await;
        tab.goto(&format!("/tasks/{id}")).await;
        tab.see("completed").await;
        tab.find("img.result").await;
        let shown = "const done = arguments[arguments.length - 1];
            const image = document.querySelector('img.result');
            image.decode().then(() => done(image.naturalWidth > 0), () => done(false));";
        assert_eq!(tab.run_async(shown).await, json!(true));
        tab.see("settle").await;
        // Its steps, what was sent and what came back.
        tab.see("bytes of state").await;
        tab.press("Request and reply").await;
        tab.see("a lighthouse at dawn").await;
        tab.press("time").await;
        tab.find("ol.timeline svg.span").await;
        tab.goto(&format!("/tasks/{id}")).await;
        tab.press("Audit lines about it").await;
        tab.see("No line fits.").await;

        tab.goto("/usage?range=24h").await;
        // The chart and the table say the same.
        tab.find("#chart canvas").await;
        tab.see("ctx-pro").await;
        let sums = "const cells = [...document.querySelectorAll('table[data-chart] td')];
            return cells.reduce((sum, cell) => sum + Number(cell.dataset.micro), 0);";
        let spent = tab.run(sums).await;
        assert!(spent.as_i64().expect("a sum") > 0);
        assert_eq!(spent, scene.gateway.account("acme").await["spent"]);
        // Under the right half of a bar stands that bar, not the next one.
        let hour_under = "const chart = document.querySelector('#chart .u-over');
            const bar = [...document.querySelectorAll('table[data-chart] tbody tr')].length;
            const box = chart.getBoundingClientRect();
            const at = (row) => ({ clientX: box.left + (row + 0.75) * box.width / bar, clientY: box.top + 20, bubbles: true });
            chart.dispatchEvent(new MouseEvent('mouseenter', at(bar - 3)));
            chart.dispatchEvent(new MouseEvent('mousemove', at(bar - 3)));
            return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
              done(document.querySelector('#chart .u-legend .u-value').textContent))));";
        let shown = tab.run(hour_under).await;
        let row = "const rows = document.querySelectorAll('table[data-chart] tbody tr');
            return rows[rows.length - 3].cells[0].textContent.slice(11, 16);";
        assert_eq!(shown, tab.run(row).await);
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}

#[test]
fn a_key_is_edited_and_rotated_and_two_editors_notice_each_other() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        let key = scene.gateway.open_account("acme", "1000").await;
        assert_eq!(ask_for_picture(&key).await.0, 200);
        let page = format!("/keys/{}", key.id());
        tab.goto(&page).await;
        // By keyboard alone.
        tab.type_keys("e").await;
        tab.fill("#f-models", "ctx-max").await;
        // Meanwhile another operator gives it another name.
        scene.gateway.command(&["key", "edit", key.id(), "--name", "theirs"]).await;
        tab.press("Save").await;
        tab.see("This key was changed meanwhile").await;
        assert_eq!(ask_for_picture(&key).await.0, 200);
        tab.press("Keep mine").await;
        tab.see("The change was saved.").await;
        assert_eq!(ask_for_picture(&key).await.0, 403);
        tab.press("Edit key").await;
        tab.fill("#f-models", "").await;
        tab.fill("#f-concurrency", "none").await;
        tab.press("Save").await;
        tab.see("This could not be saved").await;
        tab.fill("#f-concurrency", "").await;
        tab.press("Save").await;
        tab.see("The change was saved.").await;
        assert_eq!(ask_for_picture(&key).await.0, 200);

        tab.press("Rotate key").await;
        tab.confirm("Rotate key").await;
        tab.find("#new-key").await;
        let secret = tab.run("return document.getElementById('new-key').textContent").await;
        let new = scene.gateway.caller(secret.as_str().expect("a key"));
        tab.press("I have stored it").await;
        for each in [&key, &new] {
            assert_eq!(ask_for_picture(each).await.0, 200, "both work while they overlap");
        }
        tab.goto(&page).await;
        tab.see("Replaced by").await;
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}
