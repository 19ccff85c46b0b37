//! What holds for every row of the table of addresses and for every page: roles, headers, and HTML that the policy of
//! the pages allows.

use gatehouse_admin::Role;
use gatehouse_harness::Response;
use http::Method;

use super::client::Browser;
use super::scene::{logged_in, start};
use crate::routes::ROWS;

/// An address of the row; what it names need not exist.
fn path(pattern: &str) -> String {
    pattern.replace("{id}", "known")
}

async fn ask(browser: &mut Browser, method: &Method, path: &str) -> Response {
    match *method {
        Method::GET => browser.get(path).await,
        _ => browser.post(path, "").await,
    }
}

#[tokio::test]
async fn a_viewer_is_refused_wherever_an_operator_is_needed() {
    let (_scene, mut viewer) = logged_in(Role::Viewer).await;
    let mut refused = 0;
    for row in ROWS.iter().filter(|row| row.role == Some(Role::Operator)) {
        let answer = ask(&mut viewer, row.method, &path(&row.path)).await;
        assert_eq!(answer.status, 403, "{} {}", row.method, row.path);
        assert!(answer.text().contains("needs the role operator"), "{}", answer.text());
        refused += 1;
    }
    assert!(refused > 10, "{refused}");
}

#[tokio::test]
async fn without_a_session_only_the_login_is_there() {
    let scene = start().await;
    for row in ROWS.iter() {
        let answer = ask(&mut scene.browser(), row.method, &path(&row.path)).await;
        let expected = match (row.role, row.method) {
            (None, _) => (200, ""),
            (Some(_), &Method::GET) => (303, "/login"),
            (Some(_), _) => (401, ""),
        };
        assert_eq!((answer.status, answer.header("location")), expected, "{} {}", row.method, row.path);
    }
    assert_eq!(scene.browser().get("/none").await.header("location"), "/login");
    let fragment = scene.browser().send("GET", "/keys", &[("hx-request", "true")], "").await;
    assert_eq!(fragment.status, 401);
}

#[tokio::test]
async fn every_page_keeps_its_own_policy() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    for row in ROWS.iter().filter(|row| row.method == Method::GET && !row.path.ends_with("live")) {
        let answer = browser.get(&path(&row.path)).await;
        assert!(matches!(answer.status, 200 | 404), "{}: {}", row.path, answer.text());
        assert_headers(&answer, &row.path);
        assert_markup(&answer.text(), &row.path);
        assert_eq!(answer.header("cache-control"), "no-store", "{}", row.path);
    }
    for path in ["/livez", "/metrics", "/none", "/favicon.ico", "/admin/assets/x/console.css"] {
        assert_headers(&browser.get(path).await, path);
    }
    for (path, form) in
        [("/keys", "name="), ("/customers", "id="), ("/customers/known/deposit", "deposit_amount=x")]
    {
        let answer = browser.post(path, form).await;
        assert_eq!(answer.status, 422, "{path}");
        assert_headers(&answer, path);
        assert_markup(&answer.text(), path);
    }
}

fn assert_headers(answer: &Response, path: &str) {
    let policy = answer.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
        "{path}: {policy}"
    );
    assert!(!policy.contains("unsafe"), "{path}: {policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), value, "{path} {name}");
    }
    assert!(!answer.header("permissions-policy").is_empty(), "{path}");
}

/// What the policy would block, and what an accessible page has.
fn assert_markup(html: &str, path: &str) {
    for forbidden in
        ["style=", "<style", " onclick=", " onload=", " onsubmit=", "javascript:", "hx-on", "js:"]
    {
        assert!(!html.contains(forbidden), "{path}: {forbidden}");
    }
    for script in html.split("<script").skip(1) {
        let (attributes, rest) = script.split_once('>').unwrap();
        assert!(attributes.contains("src=\"/admin/assets/"), "{path}: <script{attributes}>");
        assert!(rest.starts_with("</script>"), "{path}: an inline script");
    }
    assert_eq!(html.matches("<h1").count(), 1, "{path}");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<html lang=\"en\""), "{path}");
    let mut ids: Vec<&str> =
        html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{path}: an id stands twice in {ids:?}");
    for label in html.split("<label for=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(ids.contains(&label), "{path}: no field for the label of {label}");
    }
}

/// Where nothing reads a body, its length is no reason.
#[tokio::test]
async fn what_is_sent_to_no_page_is_told_so_whatever_its_body() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    let long = "x".repeat(100_000);
    for (path, expected) in
        [("/none", (404, "")), ("/usage", (405, "GET")), ("/customers/known/deposit/none", (404, ""))]
    {
        for body in ["a=b", long.as_str()] {
            let answer = browser.post(path, body).await;
            assert_eq!((answer.status, answer.header("allow")), expected, "{path}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn types_are_the_same_in_any_case() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    let origin = browser.origin();
    let form = ("content-type", "Application/X-WWW-Form-URLEncoded; charset=UTF-8");
    let made = browser.send("POST", "/customers", &[form, ("origin", &origin)], "id=made").await;
    assert_eq!(made.header("location"), "/customers/made?done=created", "{}", made.text());
    let page = scene.browser().send("GET", "/keys", &[("accept", "Text/HTML")], "").await;
    assert_eq!((page.status, page.header("location")), (303, "/login"));
}

#[tokio::test]
async fn a_body_has_its_limit() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    let answer = browser.post("/keys", &"x".repeat(70_000)).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    let origin = browser.origin();
    let answer =
        browser.send("POST", "/plugins/upload?do=check", &[("origin", &origin)], &"x".repeat(200_000)).await;
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert!(answer.text().contains("Nothing was changed"), "{}", answer.text());
}
