//! What single pages say and do.

use std::collections::BTreeSet;

use gatehouse_admin::{ApiRequest, LocalApi, Role};
use gatehouse_model::{ApiKey, Credits, CustomerId, KeyPolicy, Pepper};
use serde_json::json;

use super::client::{Browser, between, link};
use super::scene::{PEPPER, logged_in, start};

#[tokio::test]
async fn a_key_is_shown_once_and_works() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    assert!(browser.get("/keys").await.text().contains("There are none yet"));
    let form = "name=%3Cb%3Eci%3C%2Fb%3E&customer=known&quota=2.5&models=ctx-pro&networks=10.0.0.0%2F8&expires=24h&chat_format=bare";
    let created = browser.post("/keys", form).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let text = created.text();
    let secret = between(&text, "<code id=\"new-key\">", "</code>");
    let id = ApiKey::parse(secret).unwrap().id();
    let digest = ApiKey::parse(secret).unwrap().digest(&Pepper::new(PEPPER));
    let stored = scene.service.store.key_by_digest(&digest).await.unwrap().unwrap();
    assert_eq!((stored.customer, stored.models), (CustomerId::from("known"), vec!["ctx-pro".to_owned()]));
    assert!(text.contains("Key created: <bdi>&lt;b&gt;ci&lt;/b&gt;</bdi>"), "{text}");
    for page in ["/keys".to_owned(), format!("/keys/{id}"), "/customers/known".to_owned(), "/".to_owned()] {
        let text = browser.get(&page).await.text();
        assert!(!text.contains(secret), "{page} shows the key again");
    }
    let listed = browser.get(&format!("/keys?marked={id}")).await.text();
    assert!(listed.contains("class=\"marked\"") && listed.contains("0.00 of 2.50"), "{listed}");
    assert!(browser.get("/keys?q=nothing").await.text().contains("No key fits"));

    let revoked = browser.post(&format!("/keys/{id}/revoke"), "").await;
    assert_eq!(revoked.status, 303, "{}", revoked.text());
    let listed = browser.get(revoked.header("location")).await.text();
    assert!(listed.contains("The key was revoked.") && listed.contains("revoked</span>"), "{listed}");
    assert!(browser.get("/keys").await.text().contains("There are none yet"));
}

#[tokio::test]
async fn a_wrong_key_names_its_fields() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    let answer = browser.post("/keys", "name=ci&customer=nobody&quota=1").await;
    assert_eq!(answer.status, 422);
    assert!(answer.text().contains("id=\"f-customer-problem\""), "{}", answer.text());
    assert!(answer.text().contains("value=\"ci\""), "what was typed stays: {}", answer.text());
    let answer = browser.post("/keys", "name=ci&customer=known&quota=1e9").await;
    assert!(answer.text().contains("id=\"f-quota-problem\""), "{}", answer.text());
}

#[tokio::test]
async fn money_goes_in_and_out_with_a_reason() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    let answer = browser.post("/customers", "id=a%40b.c").await;
    assert_eq!(answer.header("location"), "/customers/a%40b.c?done=created", "{}", answer.text());
    assert!(browser.get("/customers/a%40b.c").await.text().contains("402 for all its keys"));
    assert!(browser.post("/customers", "id=a%40b.c").await.text().contains("f-id-problem"));
    let paid = browser.post("/customers/a%40b.c/deposit", "deposit_amount=12.5&deposit_memo=first").await;
    assert_eq!(paid.status, 303, "{}", paid.text());
    let shown = browser.get(paid.header("location")).await.text();
    assert!(shown.contains("The amount was paid in.") && shown.contains(">12.50<"), "{shown}");
    for (form, problem) in [
        ("withdraw_amount=1", "f-withdraw_memo-problem"),
        ("withdraw_amount=x&withdraw_memo=y", "f-withdraw_amount-problem"),
        ("withdraw_amount=99&withdraw_memo=y", "f-withdraw_amount-problem"),
    ] {
        let refused = browser.post("/customers/a%40b.c/withdraw", form).await;
        assert_eq!(refused.status, 422, "{form}");
        assert!(refused.text().contains(problem), "{form}: {}", refused.text());
    }
    assert_eq!(
        browser.post("/customers/a%40b.c/withdraw", "withdraw_amount=2&withdraw_memo=back").await.status,
        303
    );
    assert!(browser.get("/customers").await.text().contains(">10.50<"));
}

#[tokio::test]
async fn a_list_has_pages() {
    let scene = start().await;
    for number in 0..60 {
        scene.open(&format!("many-{number:02}"), 0).await;
    }
    let mut browser = scene.logged_in(Role::Viewer).await;
    let first = browser.get("/customers?q=many").await.text();
    assert!(first.contains("many-49") && !first.contains("many-50"), "{first}");
    let next = link(&first, "Next").expect("a page");
    let second = browser.get(&next).await.text();
    assert!(second.contains("many-50") && !second.contains("many-49") && !second.contains(">Next<"));
    assert!(first.len() < 60 * 1024, "{} bytes", first.len());
}

#[tokio::test]
async fn keys_are_read_page_by_page_and_found_by_id_and_name() {
    let scene = start().await;
    let mut ids = BTreeSet::new();
    for number in 0..60 {
        let api = LocalApi::new(scene.service_of_seed(number), "test");
        let new = json!({"customer": "known", "name": format!("many-{number:02}")});
        let made = api.send(ApiRequest::post(&["keys"]).json(&new)).await.unwrap().body;
        ids.insert(made["key"]["id"].as_str().unwrap().to_owned());
    }
    let mut browser = scene.logged_in(Role::Viewer).await;
    let listed = |text: &str| -> Vec<String> {
        let rows = text.split("<a class=\"row\" href=\"/keys/").skip(1);
        rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
    };
    let first = browser.get("/keys?customer=known").await.text();
    let next = link(&first, "Next").expect("a page");
    let second = browser.get(&next).await.text();
    let (first, second) = (listed(&first), listed(&second));
    assert_eq!((first.len(), second.len()), (50, 10));
    assert_eq!(first.iter().chain(&second).cloned().collect::<BTreeSet<_>>(), ids);
    // What was made last is seen wherever it stands.
    let last = ids.last().unwrap();
    let marked = browser.get(&format!("/keys?marked={last}")).await.text();
    assert_eq!(listed(&marked).first(), Some(last));
    assert!(marked.contains("class=\"marked\""), "{marked}");
    for wanted in [last.as_str(), &format!("sk-{last}"), &last[..7]] {
        let found = listed(&browser.get(&format!("/keys?q={wanted}")).await.text());
        assert!(
            found.contains(last) && found.iter().all(|id| id.starts_with(&last[..7])),
            "{wanted}: {found:?}"
        );
    }
    assert_eq!(listed(&browser.get("/keys?q=MANY-07").await.text()).len(), 1);
    assert!(listed(&browser.get("/keys?customer=nobody").await.text()).is_empty());
}

#[tokio::test]
async fn an_edit_sets_and_takes_away_every_limit() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    let key = scene.key("ci").await;
    let address = format!("/keys/{key}/edit");
    let form = async |browser: &mut Browser| {
        let page = browser.get(&address).await.text();
        between(&page, "name=\"etag\" value=\"", "\"").replace("&quot;", "%22")
    };
    let first = form(&mut browser).await;
    let set = "name=ci&quota=2.5&models=m&force=true&networks=::1&expires=24h&chat_format=bare&concurrency=3";
    let saved = browser.post(&address, &format!("etag={first}&{set}")).await;
    assert_eq!(saved.header("location"), format!("/keys/{key}?done=saved"), "{}", saved.text());
    let row = scene.row(&key);
    assert_eq!((row.quota, row.limits.concurrency.map(u32::from)), (Some(Credits(2_500_000)), Some(3)));
    assert_eq!((row.models.len(), row.networks.len(), row.expires.is_some(), row.revision), (1, 1, true, 1));
    // Somebody who still has the first form.
    let stale = browser.post(&address, &format!("etag={first}&name=mine&expires=never")).await;
    assert_eq!(stale.status, 412, "{}", stale.text());
    let (text, second) = (stale.text(), form(&mut browser).await);
    assert!(text.contains("<bdi>mine</bdi>") && text.contains("<bdi>2.50</bdi>"), "{text}");
    assert!(text.contains(&format!("name=\"etag\" value=\"{}\"", second.replace("%22", "&quot;"))), "{text}");
    assert_eq!(scene.row(&key), row);
    // The form shows what is there: sent as it is, it changes nothing.
    let shown = browser.get(&address).await.text();
    for part in ["value=\"2.5", "value=\"3\"", "::1/128"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(browser.post(&address, &format!("etag={second}&name=mine&expires=never")).await.status, 303);
    let row = scene.row(&key);
    let cleared = KeyPolicy { name: "mine".into(), ..KeyPolicy::default() };
    assert_eq!(row.policy(), cleared);
    let third = form(&mut browser).await;
    let wrong = browser.post(&address, &format!("etag={third}&name=mine&quota=x&concurrency=0")).await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text().contains("f-quota-problem"), "{}", wrong.text());
    let wrong = browser.post(&address, &format!("etag={third}&name=mine&concurrency=0")).await;
    assert!(wrong.text().contains("f-concurrency-problem"), "{}", wrong.text());
    assert_eq!(browser.post(&address, "name=mine").await.status, 422);
}

#[tokio::test]
async fn a_rotation_shows_its_key_once() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    let old = scene.key("ci").await;
    let address = format!("/keys/{old}/rotate");
    assert_eq!(browser.post(&address, "rotate_overlap=2y").await.status, 422);
    let made = browser.post(&address, "rotate_overlap=1h").await;
    assert_eq!(made.status, 201, "{}", made.text());
    let text = made.text();
    let secret = ApiKey::parse(between(&text, "<code id=\"new-key\">", "</code>")).unwrap();
    assert_eq!(scene.row(&old).rotated_to, Some(secret.id()));
    let shown = browser.get(&format!("/keys/{old}")).await.text();
    assert!(shown.contains("Replaced by") && !shown.contains("Rotate key"), "{shown}");
    assert_eq!(browser.post(&address, "rotate_overlap=1h").await.status, 409);
}

#[tokio::test]
async fn tasks_and_usage_say_what_they_are_asked_for() {
    let (_scene, mut browser) = logged_in(Role::Viewer).await;
    assert!(browser.get("/tasks").await.text().contains("There are none yet"));
    assert!(browser.get("/tasks?family=x").await.text().contains("No task fits"));
    for wrong in ["status=lost", "cursor=5"] {
        assert_eq!(browser.get(&format!("/tasks?{wrong}")).await.status, 422, "{wrong}");
    }
    assert_eq!(browser.get("/tasks/none").await.status, 404);
    assert!(browser.get("/usage").await.text().contains("No request has ended in this time"));
}

#[tokio::test]
async fn the_sandbox_keys_are_for_operators() {
    let scene = start().await;
    let home = scene.logged_in(Role::Operator).await.get("/").await.text();
    assert!(home.contains("KEY=sk-wrapped") && home.contains("SANDBOX"), "{home}");
    let home = scene.logged_in(Role::Viewer).await.get("/").await.text();
    assert!(!home.contains("sk-wrapped") && !home.contains("sk-bare"), "{home}");
}

#[tokio::test]
async fn a_reload_and_the_doctor_report() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    assert!(browser.post("/system/reload", "").await.text().contains("prices.a"));
    std::fs::write(scene.folder.path().join("wrong"), "").unwrap();
    let wrong = browser.post("/system/reload", "").await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text().contains("gatehouse.toml:1:1: wrong"), "{}", wrong.text());
    assert!(browser.post("/system/doctor", "").await.text().contains("The ledger adds up"));
}

#[tokio::test]
async fn the_theme_is_the_servers_to_write() {
    let (_scene, mut browser) = logged_in(Role::Viewer).await;
    assert!(browser.get("/").await.text().contains("data-theme=\"auto\""));
    let set = browser.post("/appearance", "theme=dark&back=%2Fkeys").await;
    assert_eq!((set.status, set.header("location")), (303, "/keys"));
    assert!(browser.get("/keys").await.text().contains("data-theme=\"dark\""));
    let elsewhere = browser.post("/appearance", "theme=%22%3E&back=%2F%2Fevil.example").await;
    assert_eq!(elsewhere.header("location"), "/");
    assert!(browser.get("/").await.text().contains("data-theme=\"auto\""));
}

#[tokio::test]
async fn without_a_gateway_no_provider_is_shown_or_drained() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    assert!(browser.get("/providers").await.text().contains("No provider is configured"));
    let refused = browser.post("/providers/bfl%2Fmain/drain", "").await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("running gateway"), "{}", refused.text());
}

#[tokio::test]
async fn the_audit_record_has_pages() {
    let scene = start().await;
    for number in 0..101 {
        scene.open(&format!("c{number:03}"), 0).await;
    }
    let mut browser = scene.logged_in(Role::Viewer).await;
    let first = browser.get("/audit").await.text();
    assert!(first.contains("c100") && !first.contains("c000"), "{first}");
    let second = browser.get(&link(&first, "Older").expect("older lines")).await.text();
    assert!(second.contains("c000") && !second.contains("c100") && !second.contains(">Older<"), "{second}");
    assert_eq!(browser.get("/audit?cursor=x").await.status, 422);
}

#[tokio::test]
async fn the_audit_record_is_downloaded_from_its_page() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    let text = browser.get("/audit").await.text();
    let address = between(&text, "<a class=\"button\" href=\"", "\"");
    let csv = browser.get(address).await;
    assert_eq!((csv.status, csv.header("content-type")), (200, "text/csv; charset=utf-8"), "{}", csv.text());
    assert!(csv.text().starts_with("number,at,task,who,role,"), "{}", csv.text());
    let of_task = browser.get("/audit?task=task_00000000000000000000000007").await.text();
    assert!(of_task.contains("/admin/v1/audit.csv?task=task_00000000000000000000000007"), "{of_task}");
}

/// A browser that loads "Key created" again sends the form again: without the number there is a second key, a second
/// secret, a second payment.
#[tokio::test]
async fn a_form_that_makes_something_is_taken_once() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    for (page, action, form, wrong) in [
        ("/keys/new", "/keys", "name=ci&customer=known&quota=1", "customer=known"),
        (
            "/customers/known",
            "/customers/known/deposit",
            "deposit_amount=1&deposit_memo=x",
            "deposit_amount=x",
        ),
        (
            "/customers/known",
            "/customers/known/withdraw",
            "withdraw_amount=1&withdraw_memo=x",
            "withdraw_amount=x",
        ),
        (
            "/webhooks/new",
            "/webhooks",
            "customer=known&url=https://hooks.example.com/a",
            "customer=known&url=x",
        ),
    ] {
        let shown = browser.get(page).await.text();
        let once = between(&shown, "name=\"once\" value=\"", "\"");
        // A mistake is mended on the page it was made on.
        let mistaken = browser.post(action, &format!("once={once}&{wrong}")).await;
        assert_eq!(mistaken.status, 422, "{action}: {}", mistaken.text());
        let done = browser.post(action, &format!("once={once}&{form}")).await;
        assert!(done.status < 400, "{action}: {}", done.text());
        let again = browser.post(action, &format!("once={once}&{form}")).await;
        assert_eq!(again.status, 409, "{action}");
        assert!(again.text().contains("This form was sent before"), "{}", again.text());
    }
    let keys = browser.get("/keys").await.text();
    assert_eq!(keys.matches("<bdi>ci</bdi>").count(), 1, "{keys}");
    assert!(browser.get("/customers/known").await.text().contains("10.00"), "one paid in, one taken back");
}

/// The console remembers so many forms, and not one whose answer says that it failed. Without the form's key there is a second
/// payment.
#[tokio::test]
async fn a_form_that_is_taken_again_asks_for_the_same() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    let store = &scene.service.store;
    let path = "/customers/known/deposit";
    let form = |amount: u32| format!("once=7&deposit_amount={amount}&deposit_memo=x");
    let available = async || {
        let row = store.customer(&CustomerId::from("known")).await.unwrap().unwrap();
        row.available.0 / Credits::UNIT
    };
    assert_eq!(browser.post(path, &form(1)).await.status, 303);
    assert_eq!(available().await, 11);
    for number in 0..1_000 {
        let other = browser.post("/appearance", &format!("once={number}&theme=dark&back=/")).await;
        assert_eq!(other.status, 303, "{}", other.text());
    }
    // With other fields it is not what was done.
    let changed = browser.post(path, &form(2)).await;
    assert!(
        changed.status == 422 && changed.text().contains("sent before with other fields"),
        "{}",
        changed.text()
    );
    assert_eq!(browser.post(path, &form(1)).await.status, 303);
    assert_eq!(available().await, 11);
}
