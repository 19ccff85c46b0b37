//! Every list of the admin API, by its own document, and the filters that look at most rows.

use std::collections::BTreeMap;

use gatehouse_harness::Response;

use super::table::Table;
use crate::gateway::BenchGateway;
use crate::report::line;

/// Filters that match little of much, and the exports.
const FILTERED: &[&str] = &[
    "/tasks?limit=100",
    "/tasks?limit=100&status=failed",
    "/tasks?limit=100&status=completed&customer=customer-000001",
    "/tasks?limit=100&customer=bench&model=nothing",
    "/tasks?limit=100&key=key0000001",
    "/tasks?limit=100&family=context-image&model=nothing",
    "/tasks?limit=100&ambiguous=true",
    "/customers?limit=100&without_credit=true",
    "/keys?limit=100&name=nothing",
    "/keys?limit=100&customer=customer-000001",
    "/ledger?limit=100&customer=bench",
    "/ledger?limit=100&key=key0000001",
    "/audit?limit=100&operation=none",
    "/usage?group_by=day&group_by=key&group_by=model",
    "/usage?group_by=customer",
    "/logs?limit=100&text=nothing",
];

/// Reads them.
pub(super) async fn measure(gateway: &BenchGateway) {
    let bearer = gateway.harness.operator().bearer();
    let mut table = Table::new(gateway, "admin API", vec![("authorization".to_owned(), bearer)]);
    let document = table.read("/admin/v1/openapi.json").await.json();
    let paths = document["paths"].as_object().expect("paths").iter();
    // Lists first: what they show names the objects of the other paths.
    let (lists, objects): (Vec<_>, Vec<_>) = paths
        .filter(|(_, methods)| methods.get("get").is_some())
        .map(|(path, _)| path.as_str())
        .partition(|path| !path.contains('{'));
    let (mut firsts, mut missing) = (BTreeMap::new(), Vec::new());
    for path in lists.into_iter().chain(objects) {
        match fill_in(path, &firsts) {
            Some(path) if path.ends_with("/tail") => table.follow(&of_api(&path)).await,
            Some(path) => remember(&path, &table.read(&of_api(&path)).await, &mut firsts),
            None => missing.push(path),
        }
    }
    for path in FILTERED {
        table.read(&of_api(path)).await;
    }
    table.close();
    line(
        "paths without an object to show",
        if missing.is_empty() { "none".to_owned() } else { missing.join(" ") },
    );
}

fn of_api(path: &str) -> String {
    format!("/admin/v1{path}")
}

/// Keeps what names the first object of a list, by the last part of its path.
fn remember(path: &str, answer: &Response, firsts: &mut BTreeMap<String, String>) {
    if answer.header("content-type") != "application/json" {
        return;
    }
    let answer = answer.json();
    let first = &answer["data"][0];
    let named = ["id", "number", "name", "digest"].iter().find(|name| !first[**name].is_null());
    if let (Some(name), Some(list)) = (named, path.rsplit('/').next()) {
        let id = first[*name].as_str().map_or_else(|| first[*name].to_string(), str::to_owned);
        firsts.entry(list.to_owned()).or_insert(id);
    }
}

/// The path with an object of the list before each of its parameters.
fn fill_in(path: &str, firsts: &BTreeMap<String, String>) -> Option<String> {
    let (mut filled, mut before) = (Vec::new(), "");
    for part in path.split('/') {
        filled.push(if part.starts_with('{') { firsts.get(before)?.as_str() } else { part });
        before = part;
    }
    Some(filled.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_filled_from_lists() {
        let firsts = BTreeMap::from([("tasks".to_owned(), "task_1".to_owned())]);
        assert_eq!(fill_in("/tasks", &firsts).as_deref(), Some("/tasks"));
        assert_eq!(fill_in("/tasks/{task}/steps", &firsts).as_deref(), Some("/tasks/task_1/steps"));
        assert_eq!(fill_in("/keys/{key}", &firsts), None);
    }
}
