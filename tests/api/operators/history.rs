//! What changed before: versions of the price book, and reports of deployments, over restarts.

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::api::TestGateway;

async fn get(gateway: &TestGateway, path: &str) -> Value {
    let answer = gateway.process.operator().get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

/// Replaces the price of `ctx-pro` in the configuration, and has it read.
async fn price(gateway: &TestGateway, credits: &str) {
    let text = gateway.process.config();
    let (rest, _) = text.split_once("\n# price\n").unwrap_or((&text, ""));
    gateway.process.reload(&format!("{rest}\n# price\n[prices]\n\"ctx-pro\" = \"{credits}\"\n")).await;
}

#[test]
fn versions_of_the_price_book_are_kept_and_compared() {
    run(async {
        let mut gateway = TestGateway::start().await;
        let first = get(&gateway, "/admin/v1/price-books").await;
        let rows = first["data"].as_array().expect("rows");
        assert_eq!(rows.len(), 1, "{first}");
        assert_eq!((&rows[0]["number"], &rows[0]["cause"]), (&json!(1), &json!("start")));
        assert_eq!(rows[0]["version"], get(&gateway, "/admin/v1/price-books/active").await["version"]);

        price(&gateway, "7").await;
        // Nothing changes, so there is no version.
        gateway.process.command(&["reload"]).await;
        price(&gateway, "8.5").await;
        let page = get(&gateway, "/admin/v1/price-books?limit=2").await;
        let told: Vec<_> = page["data"].as_array().expect("rows").iter().map(|row| &row["number"]).collect();
        assert_eq!(told, [&json!(3), &json!(2)]);
        assert_eq!(
            (&page["data"][0]["cause"], &page["data"][0]["who"]),
            (&json!("reload"), &json!("command line"))
        );
        let next = page["next"].as_str().expect("a cursor");
        let rest = get(&gateway, &format!("/admin/v1/price-books?limit=2&cursor={next}")).await;
        assert_eq!((&rest["data"][0]["number"], &rest["next"]), (&json!(1), &Value::Null));

        let changes = get(&gateway, "/admin/v1/price-books/3/changes").await;
        let change =
            json!({"key": "ctx-pro", "part": "unit", "before_micro": 7_000_000, "after_micro": 8_500_000});
        assert_eq!((&changes["against"], &changes["changes"]), (&json!(2), &json!([change])));
        let against = get(&gateway, "/admin/v1/price-books/3/changes?against=1").await;
        assert_eq!(
            (&against["against"], &against["changes"][0]["after_micro"]),
            (&json!(1), &json!(8_500_000))
        );
        for (path, status) in [
            ("/admin/v1/price-books/9", 404),
            ("/admin/v1/price-books/x", 404),
            ("/admin/v1/price-books/3/changes?against=9", 404),
            ("/admin/v1/price-books/3/changes?against=x", 400),
        ] {
            assert_eq!(gateway.process.operator().get(path).await.status, status, "{path}");
        }

        // A request as an earlier version would have priced it.
        let body = json!({"model": "ctx-pro", "prompt": "a kite"});
        let preview = async |book: Value| {
            let asked = json!({"path": "/v1/images/generations", "body": body, "price_book": book});
            gateway.process.operator().post("/admin/v1/price-books/preview", &asked).await
        };
        assert_eq!(preview(json!(2)).await.json()["sum_micro"], 7_000_000);
        assert_eq!(preview(Value::Null).await.json()["sum_micro"], 8_500_000);
        assert_eq!(preview(json!(9)).await.status, 404);

        let told = gateway.process.command(&["prices", "diff", "3"]).await;
        assert!(told.contains("ctx-pro") && told.contains("8.5"), "{told}");
        // The same prices after a restart are no new version.
        gateway.process.terminate().await;
        gateway.process.restart().await;
        let told = gateway.process.json(&["prices", "history"]).await;
        assert_eq!(told["data"].as_array().map(Vec::len), Some(3), "{told}");
    });
}

/// Without it nobody can tell since when a faster tier costs what it costs, or what a request of then was held for.
#[test]
fn another_price_of_what_is_passed_is_a_version() {
    run(async {
        let more = "[models.\"my-text\"]\nprovider = \"bfl\"\nprotocol = \"chat\"\n\
                    prices = { input = \"3\", output = \"15\" }\nrules = { pass = [\"service_tier\"] }\n\
                    pass_prices = { \"service_tier=priority\" = { factor = \"2\" } }\n";
        let gateway = TestGateway::start_with(more).await;
        let preview = async |tier: &str, book: Value| {
            let messages = json!([{"role": "user", "content": "hello"}]);
            let body = json!({"model": "my-text", "max_tokens": 1000, "messages": messages,
                "service_tier": tier});
            let asked = json!({"path": "/v1/chat/completions", "body": body, "price_book": book});
            let answer = gateway.process.operator().post("/admin/v1/price-books/preview", &asked).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            answer.json()["charges"][1]["sum_micro"].clone()
        };
        assert_eq!(preview("priority", Value::Null).await, json!(30_000));
        assert_eq!(preview("priority", json!(1)).await, json!(30_000));
        let dearer = gateway.process.config().replace("factor = \"2\"", "factor = \"3\"");
        gateway.process.reload(&dearer).await;
        let changes = get(&gateway, "/admin/v1/price-books/2/changes").await;
        let change = json!({"key": "my-text service_tier=priority", "part": "pass_factor",
            "before_micro": 2_000_000, "after_micro": 3_000_000});
        assert_eq!(changes["changes"], json!([change]));
        for (tier, book, expected) in [
            ("priority", Value::Null, 45_000),
            ("priority", json!(2), 45_000),
            ("priority", json!(1), 30_000),
            ("default", json!(2), 15_000),
        ] {
            assert_eq!(preview(tier, book.clone()).await, json!(expected), "{tier} {book}");
        }
    });
}

#[test]
fn deployments_leave_reports_over_a_restart() {
    run(async {
        let mut gateway = TestGateway::start().await;
        let all = get(&gateway, "/admin/v1/deployments?limit=100").await;
        let reports = all["data"].as_array().expect("reports").clone();
        let families =
            get(&gateway, "/admin/v1/families?limit=100").await["data"].as_array().expect("families").len();
        assert_eq!(reports.len(), families, "one for each built-in family: {all}");
        let serving = get(&gateway, "/admin/v1/plugins?limit=100").await;
        for report in &reports {
            assert_eq!(
                (&report["who"], &report["kind"], &report["outcome"]),
                (&json!("gateway"), &json!("install"), &json!("switched"))
            );
            assert!(report["stages"].as_array().is_some_and(|stages| stages.len() > 5), "{report}");
            assert_eq!((&report["replaced"], &report["reason"]), (&Value::Null, &Value::Null), "{report}");
            let is_serving =
                |plugin: &Value| plugin["family"] == report["family"] && plugin["digest"] == report["digest"];
            assert!(serving["data"].as_array().expect("plugins").iter().any(is_serving), "{report}");
        }
        let report = &reports[0];

        // A file that is no component is refused, and the report says by which stage.
        let junk = gateway.process.folder().join("junk.wasm");
        std::fs::write(&junk, b"no component").expect("written");
        gateway.process.refused(&["plugin", "install", junk.to_str().expect("a path")]).await;
        let newest = get(&gateway, "/admin/v1/deployments?limit=1").await["data"][0].clone();
        assert_eq!(
            (&newest["outcome"], &newest["family"], &newest["who"]),
            (&json!("refused"), &Value::Null, &json!("command line"))
        );
        let verdicts: Vec<_> =
            newest["stages"].as_array().expect("stages").iter().map(|stage| &stage["verdict"]).collect();
        assert_eq!(verdicts.last(), Some(&&json!("refused")), "{newest}");

        gateway.process.terminate().await;
        gateway.process.restart().await;
        let after = get(&gateway, "/admin/v1/deployments?limit=100").await;
        assert_eq!(
            after["data"].as_array().map(Vec::len),
            Some(families + 1),
            "a restart deploys nothing: {after}"
        );
        let number = &newest["number"];
        assert_eq!(get(&gateway, &format!("/admin/v1/deployments/{number}")).await, newest);
        let family = report["family"].as_str().expect("a family");
        let of_family = get(&gateway, &format!("/admin/v1/deployments?family={family}")).await;
        assert_eq!(of_family["data"], json!([report]));
        let told = gateway.process.command(&["plugin", "report", &number.to_string()]).await;
        assert!(told.contains("refused"), "{told}");
        assert!(gateway.process.command(&["plugin", "history", family]).await.contains(family));
    });
}
