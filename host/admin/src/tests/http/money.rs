//! Usage, ledger and tasks over the API: one sum whatever shows it, files that hold every row, and lists that are bounded.

use gatehouse_model::{Credits, KeyId, Phase, RequestId, Status, Tags, TaskId, UnixMs, Usage};
use gatehouse_sample::{change, failed, sent_call, task};
use gatehouse_tasks::{Change, Command, StatementCheck};
use serde_json::{Value, json};

use super::{Api, error};

const HOUR: u64 = 3_600_000;

async fn apply(api: &Api, command: Command) {
    api.listener.store.execute(command).await.unwrap().unwrap();
}

/// A customer with two keys and forty text requests over three days, some of which failed. Gives the keys.
async fn filled(api: &Api) -> Vec<String> {
    api.customer("acme", 1_000_000).await;
    let mut keys = Vec::new();
    for name in ["one", "two"] {
        keys.push(api.key("acme", name).await);
    }
    for number in 0..40_u64 {
        let at = UnixMs(number * 2 * HOUR + 2_000);
        let id = RequestId::from_bits((u128::from(at.0) << 80) | u128::from(number));
        let key = KeyId::from(keys[usize::from(number % 3 == 0)].as_str());
        let (amount, model) = (Credits(500), format!("=m{}", number % 2));
        let expires = UnixMs(at.0 + HOUR);
        apply(api, Command::Hold { id, key, amount, model, expires, at }).await;
        let tokens = Usage { input: 10, output: number, cached: 0, cache_write: 0, ..Usage::default() };
        let (memo, amount) = ("a \"quoted\", memo".to_owned(), Credits(7 + i64::try_from(number).unwrap()));
        apply(
            api,
            if number % 8 == 7 {
                Command::Release { id, at }
            } else {
                let metadata =
                    [("team".to_owned(), if number % 2 == 0 { "red" } else { "=blue" }.to_owned())];
                let tags = Tags::new(Some(format!("user-{}", number % 3)), metadata);
                Command::Settle { id, amount, memo, tokens, tags, at }
            },
        )
        .await;
    }
    keys
}

/// The rows of a file by column.
fn rows(text: &str) -> Vec<Vec<(String, String)>> {
    let mut lines = text.split("\r\n").filter(|line| !line.is_empty()).map(cells);
    let header = lines.next().expect("a header");
    lines.map(|cells| header.iter().cloned().zip(cells).collect()).collect()
}

/// A reader of its own: RFC 4180, without line breaks in cells.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted, mut before) = (vec![], String::new(), false, ' ');
    for letter in line.chars() {
        match letter {
            '"' if quoted => quoted = false,
            '"' => {
                // A quotation mark twice is one.
                if before == '"' {
                    cell.push('"');
                }
                quoted = true;
            }
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
        before = letter;
    }
    cells.push(cell);
    cells
}

fn sum(rows: &[Vec<(String, String)>], column: &str) -> i64 {
    let value = |row: &Vec<(String, String)>| {
        let cell = row.iter().find(|(name, _)| name == column).expect("the column");
        // Whatever begins with a sign is guarded.
        cell.1.trim_start_matches('\'').parse::<i64>().expect("a number")
    };
    rows.iter().map(value).sum()
}

async fn file(api: &Api, path: &str) -> Vec<Vec<(String, String)>> {
    let answer = api.ask("GET", path, &[], "").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/csv; charset=utf-8"), "{path}");
    rows(&answer.text())
}

#[tokio::test]
async fn reports_files_and_the_ledger_have_one_sum() {
    let api = Api::start().await;
    let keys = filled(&api).await;
    let time = "created_after=1970-01-01T00:00:00Z&created_before=1970-01-05T00:00:00Z";
    let ledger = file(&api, &format!("/ledger.csv?customer=acme&{time}")).await;
    let spent = sum(&ledger, "spent_micro");
    assert_eq!(json!(spent), api.get("/customers/acme").await["spent_micro"]);
    let balance = ledger[0].iter().find(|(name, _)| name == "balance_micro").expect("a balance");
    assert_eq!(json!(balance.1.parse::<i64>().unwrap()), api.get("/customers/acme").await["available_micro"]);
    for group in ["", "&group_by=day", "&group_by=hour&group_by=key", "&group_by=customer&group_by=model"] {
        for limit in [1, 3, 100] {
            let (rows, page) = api.all(&format!("/usage?{time}{group}"), limit).await;
            let sum: i64 = rows.iter().map(|row| row["spent_micro"].as_i64().expect("an amount")).sum();
            assert_eq!((sum, &page["total"]["spent_micro"]), (spent, &json!(spent)), "{group}");
        }
        let rows = file(&api, &format!("/usage.csv?{time}{group}")).await;
        assert_eq!((sum(&rows, "spent_micro"), sum(&rows, "requests")), (spent, 40), "{group}");
        // A formula is none: the name of a model is text.
        assert!(rows.iter().flatten().any(|(name, cell)| name == "model" && cell == "'=m1"));
    }
    let one = api.get(&format!("/usage?{time}&key={}", keys[1])).await;
    let of_key = file(&api, &format!("/ledger.csv?key={}", keys[1])).await;
    assert_eq!(one["total"]["spent_micro"], json!(sum(&of_key, "spent_micro")));
    assert_eq!((&one["total"]["requests"], &one["total"]["failures"]), (&json!(14), &json!(2)));
    let memo = ledger.iter().flatten().find(|(name, cell)| name == "memo" && cell.contains("memo"));
    assert_eq!(memo.map(|(_, cell)| cell.as_str()), Some("a \"quoted\", memo"));
    assert_eq!(api.examined().await["findings"], json!([]));
}

/// Without it what was spent on a client's own user is found by adding up lines of a log, which a restart forgets.
#[tokio::test]
async fn what_was_spent_is_found_by_the_tags_of_its_requests() {
    let api = Api::start().await;
    filled(&api).await;
    let all_rows = api.all("/customers/acme/ledger", 100).await.0;
    for limit in [1, 7, 100] {
        for (query, user, team) in [
            ("user=user-1", Some("user-1"), None),
            ("tag=team%3Dred", None, Some("red")),
            ("user=user-2&tag=team%3D%3Dblue", Some("user-2"), Some("=blue")),
        ] {
            let fits = |row: &&Value| {
                user.is_none_or(|user| row["user"] == json!(user))
                    && team.is_none_or(|team| row["metadata"]["team"] == json!(team))
            };
            let expected: Vec<&Value> = all_rows.iter().filter(fits).collect();
            assert!(expected.len() > 4 && expected.iter().all(|row| row["kind"] == "settle"), "{query}");
            let (found, _) = api.all(&format!("/customers/acme/ledger?{query}"), limit).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
            let rows = file(&api, &format!("/ledger.csv?customer=acme&{query}")).await;
            let spent: i64 = expected.iter().map(|row| row["spent_micro"].as_i64().expect("an amount")).sum();
            assert_eq!((rows.len(), sum(&rows, "spent_micro")), (expected.len(), spent), "{query}");
        }
    }
    let blue = file(&api, "/ledger.csv?customer=acme&tag=team%3D%3Dblue").await;
    let cell = |name: &str| blue[0].iter().find(|(known, _)| known == name).map(|(_, cell)| cell.clone());
    assert_eq!(cell("metadata").as_deref(), Some(r#"{"team":"=blue"}"#));
    let wrong = api.ask("GET", "/ledger?tag=team", &[], "").await;
    assert!(wrong.status == 400 && wrong.text().contains("tag: expected"), "{}", wrong.text());
}

#[tokio::test]
async fn a_ledger_comes_in_pages_with_its_running_balance() {
    let api = Api::start().await;
    let keys = filled(&api).await;
    for limit in [7, 100] {
        let (rows, _) = api.all("/customers/acme/ledger", limit).await;
        assert_eq!((rows.len(), &rows[80]["kind"]), (81, &json!("deposit")));
        let mut balance = 0;
        for row in rows.iter().rev() {
            balance += row["available_micro"].as_i64().expect("an amount");
            assert_eq!(row["balance_micro"], json!(balance));
        }
        assert_eq!(api.all("/ledger?customer=acme", limit).await.0, rows);
        let (whole, _) = api.all("/ledger", limit).await;
        assert_eq!((whole.len(), &whole[0]["balance_micro"]), (81, &Value::Null));
    }
    for limit in [7, 40, 81, 100] {
        let mut check = StatementCheck::default();
        let (lines, _) = api.all("/customers/acme/statement", limit).await;
        lines.iter().for_each(|line| check.line(&line.to_string()).expect("a line that is right"));
        let found = check.end().expect("a whole statement").customer;
        let customer = api.get("/customers/acme").await;
        assert_eq!((found.head.next, json!(found.available.0)), (81, customer["available_micro"].clone()));
    }
    let of_another = format!("/ledger?customer=known&key={}", keys[0]);
    for path in ["/customers/nobody/statement", "/customers/nobody/ledger", "/ledger?key=none", &of_another] {
        let expected = (404, "not_found".to_owned(), None);
        assert_eq!(error(&api.ask("GET", path, &[], "").await), expected, "{path}");
    }
    // Without an end it is the end of the first day.
    for (path, param) in [
        ("/ledger?limit=101", "limit"),
        ("/usage?group_by=week", "group_by"),
        ("/usage?group_by=day&group_by=hour", "group_by"),
        ("/usage?group_by=day&created_after=1970-01-01T01:00:00Z", "created_after"),
        ("/usage?group_by=day&created_after=1970-01-02T00:00:00Z", "created_before"),
        ("/usage?group_by=hour&created_before=1970-01-01T01:00:00.001Z", "created_before"),
        ("/usage?created_after=1970-01-01T00:00:00.005Z", "created_after"),
        ("/usage?created_before=1970-01-02T00:00:00.007Z", "created_before"),
    ] {
        let expected = (400, "invalid_request".to_owned(), Some(param.to_owned()));
        assert_eq!(error(&api.ask("GET", path, &[], "").await), expected, "{path}");
    }
}

#[tokio::test]
async fn tasks_are_listed_shown_and_cancelled_by_a_running_gateway_only() {
    let api = Api::start().await;
    let keys = filled(&api).await;
    for number in 0..30_u8 {
        // After the requests: the ledger is in the order of time.
        let at = UnixMs((100 + u64::from(number)) * HOUR + 5);
        let id = TaskId::from_bits((u128::from(at.0) << 80) | u128::from(number));
        let made = gatehouse_model::Task {
            id,
            customer: "acme".into(),
            key: KeyId::from(keys[usize::from(number % 2)].as_str()),
            ..task(number, 0, 0, 3, at)
        };
        apply(&api, Command::Submit { task: Box::new(made), idempotency: None }).await;
        if number % 3 == 0 {
            let at = UnixMs(at.0 + 1_000);
            apply(&api, Command::Finish { id, revision: 0, ending: failed(), audit: None, at }).await;
        }
        if number % 5 == 1 && number % 3 != 0 {
            let phases = [
                Phase::Sent { call: sent_call(), at },
                Phase::Ambiguous { call: sent_call(), at, outage: None },
            ];
            for (phase, revision) in phases.into_iter().zip(0..) {
                let change = Box::new(Change { phase, ..change(Status::Submitted, 0) });
                apply(&api, Command::Advance { id, revision, change, at }).await;
            }
        }
    }
    for (filter, count) in [
        ("", 30),
        ("status=failed", 10),
        ("status=failed&status=submitted", 30),
        ("family=sample&status=submitted", 20),
        ("family=other", 0),
        ("ambiguous=true", 4),
        ("ambiguous=true&status=failed", 0),
        ("ambiguous=true&model=model-1&customer=acme", 2),
        ("ambiguous=false", 30),
        ("customer=acme&model=model-1", 15),
        ("created_before=1970-01-05T14:00:00Z", 10),
    ] {
        assert_eq!(api.all(&format!("/tasks?{filter}"), 7).await.0.len(), count, "{filter}");
    }
    assert_eq!(api.all(&format!("/tasks?key={}&status=failed", keys[0]), 4).await.0.len(), 5);
    let (listed, _) = api.all("/tasks?status=failed", 50).await;
    let id = listed[0]["id"].as_str().expect("an id");
    let shown = api.get(&format!("/tasks/{id}")).await;
    assert_eq!((&shown["status"], &shown["failure"]["message"]), (&json!("failed"), &json!("it broke")));
    let kinds: Vec<_> =
        shown["entries"].as_array().expect("rows").iter().map(|row| row["kind"].clone()).collect();
    assert_eq!(json!(kinds), json!(["hold", "release"]));
    assert!(!shown.to_string().contains("prompt"));
    let (waiting, _) = api.all("/tasks?ambiguous=true", 50).await;
    assert!(
        waiting.iter().all(|task| task["ambiguous"] == true && task["status"] == "submitted"),
        "{waiting:?}"
    );
    let lost = waiting[0]["id"].as_str().expect("an id");
    let next = api.get(&format!("/tasks/{lost}")).await["next"].clone();
    assert_eq!((&next["phase"], &next["provider"]), (&json!("ambiguous"), &json!("sample")), "{next}");
    let ruling = json!({"ruling": "resend", "reason": "looked it up"});
    assert_eq!(error(&api.post(&format!("/tasks/{lost}/reconcile"), "r", &ruling).await).0, 409);
    assert_eq!(error(&api.post("/tasks/none/reconcile", "s", &ruling).await).0, 404);
    let wrong = json!({"ruling": "wait", "reason": "looked it up"});
    assert_eq!(error(&api.post(&format!("/tasks/{lost}/reconcile"), "t", &wrong).await).0, 400);
    let reason = json!({"reason": "asked to"});
    for (path, body, status) in [
        (format!("/tasks/{id}/cancel"), &reason, 409),
        (format!("/tasks/{id}/cancel"), &json!({"reason": " "}), 400),
        ("/tasks/none/cancel".to_owned(), &reason, 404),
        ("/tasks/none".to_owned(), &Value::Null, 404),
    ] {
        let method = if body.is_null() { "GET" } else { "POST" };
        let headers = [("authorization", api.operator.as_str()), ("content-type", "application/json")];
        let headers = if body.is_null() { &headers[..1] } else { &headers };
        let text = if body.is_null() { String::new() } else { body.to_string() };
        assert_eq!(error(&api.send(method, &path, headers, &text).await).0, status, "{path} {body}");
    }
}
