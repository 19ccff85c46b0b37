//! Every page of the console that a person reaches by its links, with a session, and the pages' live parts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gatehouse_harness::send;

use super::table::Table;
use crate::gateway::BenchGateway;

/// Pages of one kind that are read: the first, and the one that a link of it leads to.
const OF_A_KIND: usize = 2;

/// Filters that match little of much; links lead to the rest.
const FILTERED: &[&str] = &[
    "/",
    "/tasks?status=failed",
    "/tasks?model=nothing",
    "/tasks?customer=customer-000001&status=completed",
    "/tasks?key=key0000001",
    "/tasks?family=context-image",
    "/tasks?ambiguous=true",
    "/customers?q=customer-0000",
    "/customers?without_credit=true",
    "/keys?q=nothing",
    "/usage?range=30d",
    "/statements?customer=bench",
    "/statements?key=key0000001",
    "/statements?of=usage&customer=bench",
    "/logs?text=nothing",
    "/logs?kind=process",
    "/playground/context-image?find=nothing",
    "/webhooks?customer=bench",
];

/// Reads them.
pub(super) async fn measure(gateway: &BenchGateway) {
    let cookies = log_in(gateway).await;
    let headers = [("accept", "text/html"), ("sec-fetch-site", "none"), ("cookie", &cookies)];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut table = Table::new(gateway, "console", headers.to_vec());
    let (mut kinds, mut live) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    let mut seen: BTreeSet<String> = FILTERED.iter().map(|&path| path.to_owned()).collect();
    let mut queue: VecDeque<String> = FILTERED.iter().map(|&path| path.to_owned()).collect();
    while let Some(path) = queue.pop_front() {
        let page = table.read(&path).await;
        if !page.header("content-type").starts_with("text/html") {
            continue;
        }
        let text = page.text();
        live.extend(values(&text, "data-live=\"").into_iter().map(|path| (kind(&path), path)));
        for link in values(&text, "href=\"") {
            let of_kind = kinds.entry(kind(&link)).or_default();
            if is_page(&link) && *of_kind < OF_A_KIND && seen.insert(link.clone()) {
                *of_kind += 1;
                queue.push_back(link);
            }
        }
    }
    let by_kind: BTreeMap<String, String> = live.into_iter().collect();
    for path in by_kind.values() {
        table.follow(path).await;
    }
    table.close();
}

/// The cookies of an operator's session.
async fn log_in(gateway: &BenchGateway) -> String {
    let made = gateway.harness.json(&["console", "link"]).await;
    let link = made["urls"][0].as_str().expect("a link");
    let (_, token) = link.split_once('#').expect("a token behind the link");
    let (admin, form) = (gateway.harness.admin(), format!("token={token}"));
    let origin = format!("http://{admin}");
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", origin.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    let answer = send(admin, "POST", "/session", &headers, form).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let cookies = answer.headers.get_all("set-cookie").iter();
    let pairs = cookies.filter_map(|line| Some(line.to_str().ok()?.split(';').next()?.to_owned()));
    pairs.collect::<Vec<_>>().join("; ")
}

/// What stands in that attribute, wherever it is.
fn values(page: &str, attribute: &str) -> Vec<String> {
    let parts = page.split(attribute).skip(1);
    parts.filter_map(|part| Some(part.split('"').next()?.replace("&amp;", "&"))).collect()
}

/// Whether it is of this listener, and no file that a page is made of.
fn is_page(link: &str) -> bool {
    link.starts_with('/')
        && !link.starts_with("//")
        && !link.starts_with("/admin/assets/")
        && !link.contains('#')
}

/// What tells one page from another: its path without the object that it is about, and the names of its filters.
fn kind(link: &str) -> String {
    let (path, query) = link.split_once('?').unwrap_or((link, ""));
    let mut parts: Vec<&str> = path.split('/').collect();
    // Paths of the admin API have their object one part later.
    let object = if path.starts_with("/admin/") { 4 } else { 2 };
    if parts.get(object).is_some_and(|part| *part != "new") {
        parts[object] = "*";
    }
    let filters: BTreeSet<&str> = query.split('&').filter_map(|field| field.split('=').next()).collect();
    format!("{}?{}", parts.join("/"), filters.into_iter().collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_and_told_apart() {
        let page = "<a href=\"/tasks?a=1&amp;b=2\">x</a> <a class=\"row\" href=\"/keys/k\">y</a>";
        assert_eq!(values(page, "href=\""), ["/tasks?a=1&b=2", "/keys/k"]);
        for (one, other, same) in [
            ("/keys/a", "/keys/b", true),
            ("/keys/a", "/keys/new", false),
            ("/keys/a", "/keys/a/edit", false),
            ("/tasks?status=a&after=1", "/tasks?after=2&status=b", true),
            ("/tasks", "/tasks?status=a", false),
            ("/admin/v1/ledger.csv", "/admin/v1/usage.csv", false),
        ] {
            assert_eq!(kind(one) == kind(other), same, "{one} {other}");
        }
        assert!(
            is_page("/keys") && !is_page("/admin/assets/console-1.css") && !is_page("https://example.com/")
        );
    }
}
