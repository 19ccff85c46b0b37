//! Links behind a trusted proxy, and what comes with the file behind a link.

use std::time::SystemTime;

use gatehouse_harness::send;
use serde_json::json;

use crate::http::{TestGateway, run};

const FORWARDED: [(&str, &str); 2] = [("x-forwarded-proto", "https"), ("x-forwarded-host", "api.example")];

/// The link to the picture of a task, as these headers get it.
async fn link(gateway: &TestGateway, task: &str, headers: &[(&str, &str)]) -> String {
    let path = format!("/v1/tasks/{task}");
    let answer = gateway.caller.send("GET", &path, &[headers, &[("prefer", "wait=30")]].concat(), "").await;
    let link = answer.json()["data"]["result"]["images"][0]["url"][0].as_str().map(str::to_owned);
    link.unwrap_or_else(|| panic!("no link: {}", answer.text()))
}

#[test]
fn links_have_the_scheme_and_host_of_the_client() {
    run(async {
        for (trusted, expected) in
            [("[\"127.0.0.0/8\"]", "https://api.example/v1/"), ("[]", "http://127.0.0.1:")]
        {
            let gateway = TestGateway::start(&format!("[server]\ntrusted_proxies = {trusted}")).await;
            let job = json!({"model": "ctx-pro", "prompt": "a lighthouse in fog"});
            let task = gateway.caller.post("/v1/images/generations", &job).await.task_id();
            let found = link(&gateway, &task, &FORWARDED).await;
            assert!(found.starts_with(expected), "{trusted}: {found}");
            let lost = gateway.caller.send("GET", "/v1/v1/models", &FORWARDED, "").await;
            assert!(lost.message().contains(expected), "{trusted}: {}", lost.message());
        }
    });
}

#[test]
fn a_file_is_cached_until_its_link_ends_and_runs_no_script() {
    run(async {
        let gateway = TestGateway::start("").await;
        let job = json!({"model": "ctx-pro", "prompt": "a lighthouse in fog"});
        let task = gateway.caller.post("/v1/images/generations", &job).await.task_id();
        let link = link(&gateway, &task, &[]).await;
        let target = &link[link.find("/v1/media/").expect("a link to a file")..];
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
        let file = send(gateway.address(), "GET", target, &[], "").await;
        assert_eq!(file.status, 200);
        let number = |text: &str, name: &str| -> u64 {
            let rest = text.split(name).nth(1).unwrap_or_else(|| panic!("no {name} in {text}"));
            rest.split(|c: char| !c.is_ascii_digit())
                .next()
                .and_then(|digits| digits.parse().ok())
                .expect("a number")
        };
        let (age, end) = (number(file.header("cache-control"), "max-age="), number(target, "expires="));
        assert!(age > 0 && now + age <= end, "{now} + {age} and {end}");
        for (name, value) in [("content-security-policy", "sandbox"), ("x-content-type-options", "nosniff")] {
            assert_eq!(file.header(name), value, "{name}");
        }
    });
}
