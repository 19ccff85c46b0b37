//! Login links and sessions: once, in time, from this origin, for as long as they last.

use std::time::Duration;

use gatehouse_admin::{AdminClient, AdminEndpoint, ApiRequest, RemoteApi, Role};
use gatehouse_harness::send;

use super::scene::{logged_in, start};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_link_works_once_and_a_second_use_says_so() {
    let scene = start().await;
    let link = scene.link(Role::Operator);
    // Link previews and prefetchers only read, and what they read has no fragment.
    for _ in 0..3 {
        assert_eq!(scene.browser().get("/login").await.status, 200);
        assert_eq!(scene.browser().get("/session").await.status, 405);
    }
    let mut browser = scene.browser();
    assert_eq!(browser.get("/").await.header("location"), "/login");
    let answer = browser.post("/session", &format!("token={link}")).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/"));
    assert_eq!(browser.get("/").await.status, 200);
    let second = scene.browser().post("/session", &format!("token={link}")).await;
    assert_eq!(second.status, 401);
    assert!(second.text().contains("used already"), "{}", second.text());
    let unknown = scene.browser().post("/session", "token=abc").await;
    assert_eq!(unknown.status, 401);
    assert!(unknown.text().contains("not of this gateway"), "{}", unknown.text());
}

#[tokio::test]
async fn a_link_expires() {
    let scene = start().await;
    let link = scene.link(Role::Operator);
    scene.clock.advance(10 * MINUTE);
    let answer = scene.browser().post("/session", &format!("token={link}")).await;
    assert_eq!(answer.status, 401);
    assert!(answer.text().contains("expired"), "{}", answer.text());
}

#[tokio::test]
async fn the_cookie_is_for_this_listener_alone_and_not_for_scripts() {
    let scene = start().await;
    let answer = scene.browser().post("/session", &format!("token={}", scene.link(Role::Operator))).await;
    let cookie = answer.header("set-cookie");
    let (name, rest) = cookie.split_once('=').unwrap();
    assert_eq!(name, format!("gatehouse_{}", scene.server.address().port()));
    let (id, flags) = rest.split_once(';').unwrap();
    assert_eq!((id.len(), flags), (43, " HttpOnly; SameSite=Strict; Path=/"));
}

#[tokio::test]
async fn a_session_sent_before_the_login_is_not_adopted() {
    let scene = start().await;
    let mut browser = scene.browser();
    let name = format!("gatehouse_{}", scene.server.address().port());
    let chosen = "a".repeat(43);
    browser.cookies.insert(name.clone(), chosen.clone());
    let link = scene.link(Role::Operator);
    assert_eq!(browser.post("/session", &format!("token={link}")).await.status, 303);
    assert_ne!(browser.cookies[&name], chosen);
    browser.cookies.insert(name, chosen);
    assert_eq!(browser.get("/").await.header("location"), "/login");
}

#[tokio::test]
async fn what_changes_something_comes_from_this_origin() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    let own = browser.origin();
    let other_port = format!("http://127.0.0.1:{}", scene.server.address().port() ^ 1);
    let json = ("content-type", "application/x-www-form-urlencoded");
    for headers in [
        &[json][..],
        &[json, ("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")],
        &[json, ("sec-fetch-site", "same-site"), ("origin", &other_port)],
        &[json, ("origin", &other_port)],
        &[json, ("origin", "null")],
        &[json, ("sec-fetch-site", "none")],
        &[json, ("sec-fetch-site", "same-site"), ("origin", &own)],
    ] {
        for (path, body) in [("/customers", "id=made"), ("/session/end", ""), ("/session", "token=x")] {
            let answer = browser.send("POST", path, headers, body).await;
            assert_eq!(answer.status, 403, "{path} {headers:?}: {}", answer.text());
        }
    }
    assert_eq!(browser.get("/customers/made").await.status, 404);
    let answer = browser.send("POST", "/customers", &[json, ("origin", &own)], "id=made").await;
    assert_eq!(answer.status, 303, "{}", answer.text());
}

#[tokio::test]
async fn a_request_has_one_identity() {
    let (_scene, mut browser) = logged_in(Role::Operator).await;
    let answer = browser.send("GET", "/", &[("authorization", "Bearer x")], "").await;
    assert_eq!(answer.status, 400, "{}", answer.text());
}

#[tokio::test]
async fn an_idle_session_ends_and_a_used_one_lives_twelve_hours() {
    let scene = start().await;
    let (mut idle, mut used) = (scene.logged_in(Role::Operator).await, scene.logged_in(Role::Operator).await);
    let mut hours = 0;
    while used.get("/keys").await.status == 200 {
        scene.clock.advance(59 * MINUTE);
        hours += 1;
    }
    // 12 x 59 minutes are less than 12 hours, 13 x 59 are more.
    assert_eq!(hours, 13);
    assert_eq!(idle.get("/keys").await.header("location"), "/login");

    let mut fresh = scene.logged_in(Role::Operator).await;
    scene.clock.advance(60 * MINUTE - Duration::from_millis(1));
    assert_eq!(fresh.get("/keys").await.status, 200);
    scene.clock.advance(60 * MINUTE);
    assert_eq!(fresh.get("/keys").await.header("location"), "/login");
}

#[tokio::test]
async fn a_logout_ends_the_session_on_the_server() {
    let scene = start().await;
    let (mut one, mut other) = (scene.logged_in(Role::Operator).await, scene.logged_in(Role::Viewer).await);
    let kept = one.cookies.clone();
    let answer = one.post("/session/end", "").await;
    assert_eq!((answer.status, answer.header("location")), (303, "/login"));
    assert!(one.cookies.is_empty());
    one.cookies = kept;
    assert_eq!(one.get("/").await.header("location"), "/login");
    assert_eq!(other.get("/").await.status, 200);

    let mut operator = scene.logged_in(Role::Operator).await;
    let listed = operator.get("/system").await.text();
    assert!(listed.contains("End session 2") && listed.contains("this one"), "{listed}");
    assert_eq!(operator.post("/system/sessions/2/end", "").await.status, 303);
    assert_eq!(other.get("/").await.header("location"), "/login");
    assert_eq!(operator.post("/system/sessions/end", "").await.header("location"), "/login");
    assert_eq!(operator.get("/").await.header("location"), "/login");
}

#[tokio::test]
async fn guesses_are_limited_and_a_right_link_works_all_the_same() {
    let scene = start().await;
    for attempt in 0..10 {
        assert_eq!(scene.browser().post("/session", &format!("token={attempt}")).await.status, 401);
    }
    let refused = scene.browser().post("/session", "token=x").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "60"));
    drop(scene.logged_in(Role::Operator).await);
    scene.clock.advance(MINUTE);
    assert_eq!(scene.browser().post("/session", "token=x").await.status, 401);
}

#[tokio::test]
async fn other_names_are_refused_on_every_path() {
    let scene = start().await;
    let address = scene.server.address();
    let own = format!("gatehouse.localhost:{}", address.port());
    for path in ["/", "/login", "/session", "/keys", "/admin/assets/x/console.css", "/metrics", "/none"] {
        for host in ["rebound.example", "evil.localhost", "gatehouse.localhost.evil.example"] {
            let answer = send(address, "GET", path, &[("host", host)], "").await;
            assert_eq!(answer.status, 421, "{host} {path}");
        }
        assert_ne!(send(address, "GET", path, &[("host", own.as_str())], "").await.status, 421, "{path}");
    }
}

#[tokio::test]
async fn a_command_gets_a_link() {
    let scene = start().await;
    let endpoint = AdminEndpoint { address: scene.server.address(), token: scene.token.clone(), tls: false };
    let make = ApiRequest::post(&["console", "links"]).json(&serde_json::json!({"role": "viewer"}));
    let link = RemoteApi::new(endpoint, AdminClient::default()).send(make).await.unwrap();
    assert!(!format!("{link:?}").contains("login#"), "a link does not print by accident");
    let url = |at: usize| link.body["urls"][at].as_str().unwrap().to_owned();
    let token = url(1).split_once("/login#").unwrap().1.to_owned();
    assert!(url(0).starts_with("http://gatehouse.localhost:"), "{}", url(0));
    let mut browser = scene.browser();
    assert_eq!(browser.post("/session", &format!("token={token}")).await.status, 303);
    assert!(browser.get("/").await.text().contains("viewer"));
}

#[tokio::test]
async fn a_session_is_a_credential_of_the_admin_api() {
    let scene = start().await;
    let path = "/admin/v1/customers";
    assert_eq!(scene.browser().get(path).await.status, 401);
    let mut viewer = scene.logged_in(Role::Viewer).await;
    assert_eq!(viewer.get(path).await.status, 200);
    assert_eq!(viewer.post(path, "").await.status, 403);
    let mut operator = scene.logged_in(Role::Operator).await;
    let other = [("content-type", "application/json"), ("origin", "http://127.0.0.1:1")];
    let foreign = operator.send("POST", path, &other, "{\"id\":\"made\"}").await;
    assert!(matches!(foreign.status, 401 | 403), "{} {}", foreign.status, foreign.text());
    assert_eq!(operator.get("/customers/made").await.status, 404);
    operator.post("/session/end", "").await;
    assert_eq!(operator.get(path).await.status, 401);
}
