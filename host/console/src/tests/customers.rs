//! Customers: those without credit, named on the first page wherever they stand, and listed; by which prices one pays.

use gatehouse_admin::Role;
use gatehouse_model::{CustomerId, CustomerPolicy, UnixMs};
use gatehouse_tasks::Command;

use super::client::{Browser, link};
use super::scene::{START, logged_in};

async fn text(browser: &mut Browser, path: &str) -> String {
    let answer = browser.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.text()
}

#[tokio::test]
async fn home_names_who_has_no_credit_and_how_many_others() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
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
    let next = link(&first, "Next").expect("a page");
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

/// Without it an operator sees nowhere by which prices a customer pays, and changes them at the command line.
#[tokio::test]
async fn the_prices_that_a_customer_pays_by_are_shown_and_set() {
    let (scene, mut browser) = logged_in(Role::Operator).await;
    assert!(text(&mut browser, "/customers/known").await.contains("those of the book"));
    let form = text(&mut browser, "/customers/known/edit").await;
    assert!(form.contains("name=\"price_variant\"") && form.contains("one of price_variants"), "{form}");
    let policy = CustomerPolicy { price_variant: Some("partner".to_owned()), ..CustomerPolicy::default() };
    let (id, at) = (CustomerId("known".to_owned()), UnixMs(START));
    let edit = Command::EditCustomer { id, revision: 0, policy, at };
    scene.service.store.execute(edit).await.expect("a store").expect("an edit");
    let page = text(&mut browser, "/customers/known").await;
    assert!(page.contains("those of the variant <bdi>partner</bdi>"), "{page}");
    let form = text(&mut browser, "/customers/known/edit").await;
    assert!(form.contains("value=\"partner\""), "{form}");
}
