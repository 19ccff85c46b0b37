//! A page that follows what happens: once a second at most, until its session ends.

use gatehouse_admin::Role;
use gatehouse_harness::Connection;
use gatehouse_model::Credits;

use super::client::Browser;
use super::scene::{Scene, logged_in, start};
use crate::parts::live::INTERVAL;

/// The last chunk of a body.
const END: &str = "0\r\n\r\n";

async fn follow(browser: &Browser) -> (Connection, u16) {
    browser.follow("/live").await
}

/// What `work` gives while time goes by, and the seconds until then. Others pause for a second, too: not each of them is a look.
async fn while_time_goes<T>(scene: &Scene, work: impl Future<Output = T>) -> (T, u32) {
    let mut work = std::pin::pin!(work);
    let mut seconds = 0;
    loop {
        tokio::select! {
            biased;
            given = &mut work => return (given, seconds),
            () = scene.clock.armed(INTERVAL) => {
                seconds += 1;
                scene.clock.advance(INTERVAL);
                tokio::task::yield_now().await;
            }
        }
    }
}

async fn spend_all(scene: &Scene) {
    scene.withdraw(10 * Credits::UNIT, "all").await;
}

#[tokio::test]
async fn a_fragment_comes_when_something_has_changed() {
    let (scene, browser) = logged_in(Role::Viewer).await;
    let (mut connection, status) = follow(&browser).await;
    assert_eq!(status, 200);
    let first = connection.read_until("\n\n").await;
    assert!(
        first.starts_with("event: fragment\ndata: ") && first.contains("Nothing needs a person"),
        "{first}"
    );
    // Nothing changes: only comments come, one in fifteen looks.
    let (said, looks) = while_time_goes(&scene, connection.read_until("\n\n")).await;
    assert!(said == ": alive\n\n" && looks >= 15, "{said} after {looks}");
    spend_all(&scene).await;
    let (changed, _) = while_time_goes(&scene, connection.read_until("\n\n")).await;
    assert!(changed.contains("known has no credit"), "{changed}");
}

#[tokio::test]
async fn a_logout_ends_the_stream_and_following_does_not_prolong_a_session() {
    let (scene, mut browser) = logged_in(Role::Viewer).await;
    let (mut connection, _) = follow(&browser).await;
    connection.read_until("\n\n").await;
    let ended = browser.post("/session/end", "").await;
    assert_eq!(ended.status, 303, "{}", ended.text());
    connection.until(END).await;

    let browser = scene.logged_in(Role::Viewer).await;
    let (mut connection, _) = follow(&browser).await;
    connection.read_until("\n\n").await;
    scene.clock.advance(std::time::Duration::from_secs(3600));
    while_time_goes(&scene, connection.until(END)).await;
    assert_eq!(follow(&browser).await.1, 401);
}

#[tokio::test]
async fn thirty_two_pages_may_follow_half_of_them_viewers_and_others_still_load() {
    let scene = start().await;
    let mut open = Vec::new();
    for role in [Role::Viewer, Role::Operator] {
        let browser = scene.logged_in(role).await;
        for _ in 0..16 {
            let (mut connection, status) = follow(&browser).await;
            assert_eq!(status, 200);
            connection.read_until("\n\n").await;
            open.push(connection);
        }
        assert_eq!(follow(&browser).await.1, 503);
    }
    let mut browser = scene.logged_in(Role::Viewer).await;
    assert_eq!(browser.get("/").await.status, 200);
    drop(open.pop());
}
