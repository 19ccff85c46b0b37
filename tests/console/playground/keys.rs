//! Keys to send requests as, where there are more than a list shows: pages of them, and a search.

use gatehouse_harness::{Gateway, run};
use serde_json::{Value, json};

use super::start;
use crate::console::browser::Tab;

/// Makes keys through the admin API; their ids in order.
async fn make_keys(gateway: &Gateway, count: usize) -> Vec<String> {
    let operator = gateway.operator();
    let mut ids = Vec::new();
    for number in 0..count {
        let body = json!({"customer": "sandbox", "name": format!("many {number:03}")}).to_string();
        let repeat = format!("key-{number}");
        let headers = [("content-type", "application/json"), ("idempotency-key", repeat.as_str())];
        let answer = operator.send("POST", "/admin/v1/keys", &headers, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        ids.push(answer.json()["key"]["id"].as_str().expect("an id").to_owned());
    }
    ids.sort();
    ids
}

async fn listed(tab: &Tab) -> Vec<String> {
    drop(tab.find("#key").await);
    let values =
        tab.run("return [...document.querySelectorAll('#key option')].map((one) => one.value)").await;
    let values: &Vec<Value> = values.as_array().expect("values");
    values.iter().map(|one| one.as_str().expect("an id").to_owned()).collect()
}

#[test]
fn every_key_can_be_chosen() {
    run(async {
        let (gateway, tab) = start().await;
        let made = make_keys(&gateway, 120).await;
        tab.goto("/playground/context-image").await;
        let first = listed(&tab).await;
        tab.press("More keys").await;
        tab.see("First keys").await;
        let second = listed(&tab).await;
        let mut all = [first.as_slice(), second.as_slice()].concat();
        all.sort();
        all.dedup();
        // The two of sandbox mode too, of which the one that is chosen stands in every list.
        assert_eq!(all.len(), 122);
        assert!([100, 101].contains(&first.len()), "{}", first.len());
        assert!(made.iter().all(|id| all.contains(id)));

        // By name, by the beginning of an id, by customer; the one that was chosen stays.
        tab.fill("#find", "many 117").await;
        tab.press("Use").await;
        // Its attribute says what was searched for; the page before has that key in its list too.
        drop(tab.find("#find[value=\"many 117\"]").await);
        assert_eq!(listed(&tab).await.len(), 2);
        let script = "const select = document.getElementById('key'); select.selectedIndex = 1; select.form.requestSubmit()";
        tab.run(script).await;
        // The one chosen before is not in the list any more.
        drop(tab.find("#key option:only-child").await);
        tab.click("[data-runs]").await;
        tab.see("completed").await;
        let last = made.last().expect("keys");
        tab.goto(&format!("/playground/context-image?find={last}")).await;
        assert!(listed(&tab).await.contains(last));
        tab.goto("/playground/context-image?find=sandbox").await;
        let owned = listed(&tab).await;
        tab.press("More keys").await;
        tab.see("First keys").await;
        assert_eq!(owned.len() + listed(&tab).await.len(), 123, "all, and the chosen one twice");
        tab.goto("/playground/context-image?find=nothing").await;
        tab.see("No key that works fits").await;
        tab.expect_no_problems().await;
        tab.close().await;
    });
}
