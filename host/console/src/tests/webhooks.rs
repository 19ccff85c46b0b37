//! The pages of webhooks: made with a secret shown once, listed, tried out, rotated, disabled, removed.

use gatehouse_admin::Role;

use super::client::between;
use super::scene::logged_in;

#[tokio::test]
async fn a_webhook_is_made_tried_rotated_and_removed() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    assert!(browser.get("/webhooks").await.text().contains("There are no webhooks"));
    let form =
        "customer=known&url=https%3A%2F%2Fexample.com%2Fhook&description=night+shift&events=task.failed";
    let made = browser.post("/webhooks", form).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let text = made.text();
    let secret = |text: &str| between(text, "<code id=\"new-secret\">", "<").to_owned();
    let first = secret(&text);
    assert!(first.starts_with("whsec_") && text.contains("standardwebhooks"), "{text}");
    let path = format!("/webhooks/we_{}", between(&text, "/webhooks/we_", "\""));
    let page = browser.get(&path).await.text();
    for part in ["https://example.com/hook", "task.failed", "night shift", "Send test event", "Rotate secret"]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert_eq!(browser.post(&format!("{path}/test"), "").await.status, 303);
    let page = browser.get(&path).await.text();
    assert!(page.contains("webhook.test") && page.contains("waiting") && page.contains("Resend"), "{page}");
    let resend = format!("/deliveries/{}", between(&page, "/deliveries/", "\""));
    let resent = browser.post(&resend, "").await;
    assert_eq!((resent.status, resent.header("location")), (303, format!("{path}?done=resent").as_str()));

    let rotated = browser.post(&format!("{path}/rotate"), "").await;
    assert_eq!(rotated.status, 201, "{}", rotated.text());
    let second = secret(&rotated.text());
    assert_ne!(first, second);
    for page in [path.as_str(), "/webhooks", "/audit"] {
        let text = browser.get(page).await.text();
        assert!(!text.contains(&first[6..]) && !text.contains(&second[6..]), "{page}");
    }
    assert!(browser.get(&path).await.text().contains("the one before signs too"));
    assert_eq!(browser.post(&format!("{path}/retire"), "").await.status, 303);
    assert!(!browser.get(&path).await.text().contains("the one before signs too"));
    assert_eq!(browser.post(&format!("{path}/disable"), "").await.status, 303);
    assert!(browser.get("/webhooks?customer=known").await.text().contains("disabled"));
    assert_eq!(browser.post(&format!("{path}/test"), "").await.status, 409);
    assert_eq!(browser.post(&format!("{path}/enable"), "").await.status, 303);
    assert_eq!(browser.post(&format!("{path}/remove"), "").await.status, 303);
    assert_eq!(browser.get(&path).await.status, 404);
}

#[tokio::test]
async fn what_is_wrong_stands_at_its_field_and_a_viewer_changes_nothing() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    for (form, field) in [
        ("", "url"),
        ("customer=known&url=ftp%3A%2F%2Fx", "url"),
        ("customer=nobody&url=https%3A%2F%2Fexample.com", "customer"),
    ] {
        let wrong = browser.post("/webhooks", form).await;
        assert_eq!(wrong.status, 422, "{form}");
        assert!(wrong.text().contains(&format!("f-{field}-problem")), "{form}: {}", wrong.text());
    }
    for path in ["/webhooks/none", "/webhooks?cursor=x"] {
        assert!([404, 422].contains(&browser.get(path).await.status), "{path}");
    }
    let mut viewer = scene.logged_in(Role::Viewer).await;
    assert!(!viewer.get("/webhooks").await.text().contains("New webhook"));
    assert_eq!(viewer.post("/webhooks", "customer=known&url=https%3A%2F%2Fexample.com").await.status, 403);
    assert_eq!(viewer.get("/webhooks/new").await.status, 403);
}
