//! Customers without credit: named on the first page wherever they stand, and listed.

use gatehouse_admin::Role;

use super::client::Browser;
use super::scene::start;

async fn text(browser: &mut Browser, path: &str) -> String {
    let answer = browser.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.text()
}

#[tokio::test]
async fn home_names_who_has_no_credit_and_how_many_others() {
    let scene = start().await;
    let mut browser = scene.logged_in(Role::Operator).await;
    assert!(text(&mut browser, "/").await.contains("Nothing needs a person."));
    for number in 0..30 {
        scene.open(&format!("a-{number:02}"), 1).await;
    }
    scene.open("z-last", 0).await;
    let home = text(&mut browser, "/").await;
    assert!(
        home.contains("z-last has no credit") && !home.contains("a-00") && !home.contains(" more"),
        "{home}"
    );
    for number in 0..60 {
        scene.open(&format!("n-{number:02}"), 0).await;
    }
    let home = text(&mut browser, "/").await;
    assert!(home.contains("n-09 has no credit") && !home.contains("n-10"), "{home}");
    assert!(home.contains("and 51 more: <a href=\"/customers?without_credit=true\">"), "{home}");

    // The list has them all, in pages, and nobody else.
    let first = text(&mut browser, "/customers?without_credit=true").await;
    let next = first
        .split_once("<a class=\"button\" href=\"/customers?without_credit=true&amp;cursor=")
        .expect("a page")
        .1;
    let next = format!("/customers?without_credit=true&cursor={}", next.split('"').next().expect("its end"));
    assert!(first.contains("n-49") && !first.contains("n-50") && !first.contains("a-00"), "{first}");
    let second = text(&mut browser, &next).await;
    assert!(second.contains("n-50") && second.contains("z-last") && !second.contains("n-49"), "{second}");
    assert!(!second.contains(">Next<") && second.contains(" checked"), "{second}");
    for (search, is_there) in [("z-last", true), ("a-00", false), ("n-5", true)] {
        let found = text(&mut browser, &format!("/customers?without_credit=true&q={search}")).await;
        assert_eq!(!found.contains("No customer fits"), is_there, "{search}: {found}");
    }
    scene.open("n-paid", 1).await;
    assert!(!text(&mut browser, "/customers?without_credit=true&q=n-paid").await.contains("<td"));
}
