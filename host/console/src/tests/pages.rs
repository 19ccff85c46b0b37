//! What single pages say and do.

use gatehouse_admin::{Operation, Role};
use gatehouse_model::{ApiKey, CustomerId};

use super::scene::start;

/// The text between two marks of a page.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    text.split_once(from).unwrap_or_else(|| panic!("{from} in {text}")).1.split_once(to).unwrap().0
}

#[tokio::test]
async fn a_key_is_shown_once_and_works() {
    let scene = start().await;
    let mut browser = scene.logged_in(Role::Operator).await;
    assert!(browser.get("/keys").await.text().contains("There are none yet"));
    let form = "name=%3Cb%3Eci%3C%2Fb%3E&customer=known&quota=2.5&models=ctx-pro&networks=10.0.0.0%2F8&expires=24h&chat_format=bare";
    let created = browser.post("/keys", form).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let text = created.text();
    let secret = between(&text, "<code id=\"new-key\">", "</code>");
    let id = ApiKey::parse(secret).unwrap().id();
    let digest = ApiKey::parse(secret).unwrap().digest(&scene.service.pepper);
    let stored = scene.service.store.key_by_digest(&digest).unwrap().unwrap();
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
    let scene = start().await;
    let mut browser = scene.logged_in(Role::Operator).await;
    let answer = browser.post("/keys", "name=ci&customer=nobody&quota=1").await;
    assert_eq!(answer.status, 422);
    assert!(answer.text().contains("id=\"f-customer-problem\""), "{}", answer.text());
    assert!(answer.text().contains("value=\"ci\""), "what was typed stays: {}", answer.text());
    let answer = browser.post("/keys", "name=ci&customer=known&quota=1e9").await;
    assert!(answer.text().contains("id=\"f-quota-problem\""), "{}", answer.text());
}

#[tokio::test]
async fn money_goes_in_and_out_with_a_reason() {
    let scene = start().await;
    let mut browser = scene.logged_in(Role::Operator).await;
    let answer = browser.post("/customers", "customer=a%40b.c").await;
    assert_eq!(answer.header("location"), "/customers/a%40b.c?done=created", "{}", answer.text());
    assert!(browser.get("/customers/a%40b.c").await.text().contains("402 for all its keys"));
    assert!(browser.post("/customers", "customer=a%40b.c").await.text().contains("f-customer-problem"));
    let paid = browser.post("/customers/a%40b.c/deposit", "deposit=12.5&memo=first").await;
    assert_eq!(paid.status, 303, "{}", paid.text());
    let shown = browser.get(paid.header("location")).await.text();
    assert!(shown.contains("The amount was paid in.") && shown.contains(">12.50<"), "{shown}");
    for (form, problem) in [
        ("withdraw=1", "f-memo-problem"),
        ("withdraw=x&memo=y", "f-withdraw-problem"),
        ("withdraw=99&memo=y", "f-withdraw-problem"),
    ] {
        let refused = browser.post("/customers/a%40b.c/withdraw", form).await;
        assert_eq!(refused.status, 422, "{form}");
        assert!(refused.text().contains(problem), "{form}: {}", refused.text());
    }
    assert_eq!(browser.post("/customers/a%40b.c/withdraw", "withdraw=2&memo=back").await.status, 303);
    assert!(browser.get("/customers").await.text().contains(">10.50<"));
}

#[tokio::test]
async fn a_list_has_pages() {
    let scene = start().await;
    for number in 0..60 {
        let customer = CustomerId(format!("many-{number:02}"));
        scene.service.perform(Operation::CustomerOpen { customer }).await.unwrap();
    }
    let mut browser = scene.logged_in(Role::Viewer).await;
    let first = browser.get("/customers?q=many").await.text();
    assert!(first.contains("many-49") && !first.contains("many-50"), "{first}");
    let next = between(&first, "<p class=\"pager\"><a class=\"button\" href=\"", "\"").replace("&amp;", "&");
    let second = browser.get(&next).await.text();
    assert!(second.contains("many-50") && !second.contains("many-49") && !second.contains("class=\"pager\""));
    assert!(first.len() < 60 * 1024, "{} bytes", first.len());
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
    let scene = start().await;
    let mut browser = scene.logged_in(Role::Operator).await;
    assert!(browser.post("/system/reload", "").await.text().contains("prices.a"));
    std::fs::write(scene.folder.path().join("wrong"), "").unwrap();
    let wrong = browser.post("/system/reload", "").await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text().contains("gatehouse.toml:1:1: wrong"), "{}", wrong.text());
    assert!(browser.post("/system/doctor", "").await.text().contains("The ledger adds up"));
}

#[tokio::test]
async fn the_theme_is_the_servers_to_write() {
    let scene = start().await;
    let mut browser = scene.logged_in(Role::Viewer).await;
    assert!(browser.get("/").await.text().contains("data-theme=\"auto\""));
    let set = browser.post("/appearance", "theme=dark&back=%2Fkeys").await;
    assert_eq!((set.status, set.header("location")), (303, "/keys"));
    assert!(browser.get("/keys").await.text().contains("data-theme=\"dark\""));
    let elsewhere = browser.post("/appearance", "theme=%22%3E&back=%2F%2Fevil.example").await;
    assert_eq!(elsewhere.header("location"), "/");
    assert!(browser.get("/").await.text().contains("data-theme=\"auto\""));
}
