//! The line of a text request in the log: one, with its charge, also where the client left before the bill.

use gatehouse_harness::{run, until, with};
use serde_json::{Value, json};

use crate::text::left::DRAINED;
use crate::text::scene::{CROSSINGS, Scene, Wire, request};

/// The requests of the log that fit, the newest first.
async fn lines(scene: &Scene, query: &str) -> Vec<Value> {
    let rows = rows(scene, &format!("logs?{query}")).await;
    rows.iter().map(|row| row["request"].clone()).collect()
}

/// The rows of a list of the admin API.
async fn rows(scene: &Scene, path: &str) -> Vec<Value> {
    let answer = scene.gateway.operator().get(&format!("/admin/v1/{path}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().expect("rows").clone()
}

/// Waits for one line that fits, and compares it with the money that was spent for it; the process has said it once, too.
async fn expect_line(scene: &Scene, query: &str, status: u16, spent: i64) {
    until("the line is there", async || !lines(scene, query).await.is_empty()).await;
    let found = lines(scene, query).await;
    assert_eq!(found.len(), 1, "{found:?}");
    let line = &found[0];
    assert_eq!((&line["status"], &line["charged_micro"]), (&json!(status), &json!(spent)), "{line}");
    assert!(spent > 0 && line["held_micro"].as_i64() > Some(spent), "{line}");
    let id = line["id"].as_str().expect("an id");
    let log = scene.gateway.log_text();
    let said: Vec<&str> =
        log.lines().filter(|said| said.contains(id) && said.contains("charged_micro")).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains(&spent.to_string()), "{said:?}");
}

/// Waits until so many requests are over for their clients, as the metrics say; their lines may still be waiting.
async fn until_left(scene: &Scene, requests: usize) {
    until("the client is seen to have left", async || {
        scene.counter("gatehouse_http_requests_total").await == requests as u64
    })
    .await;
}

#[test]
fn the_line_of_a_stream_whose_client_left_waits_for_its_bill() {
    run(async {
        let scene = Scene::start(DRAINED).await;
        for (count, (client, provider)) in CROSSINGS.into_iter().enumerate() {
            let before = scene.spent().await;
            let body = request(provider, "[[stall:2]] one two three four", true);
            let mut stream = scene.send(client, &body).await;
            stream.until("data: ").await;
            let head = stream.text();
            let id = head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).expect("an id");
            let query = format!("text={}", id.trim());
            scene.until_held(1).await;
            drop(stream);
            until_left(&scene, count + 1).await;
            assert_eq!(lines(&scene, &query).await, Vec::<Value>::new());
            scene.release(1).await;
            let spent = scene.spent().await - before;
            expect_line(&scene, &query, 200, spent).await;
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn so_does_the_line_of_a_whole_answer() {
    run(async {
        let scene = Scene::start("").await;
        for (count, (client, provider)) in CROSSINGS.into_iter().enumerate() {
            let before = scene.spent().await;
            let answer = scene.send(client, &request(provider, "[[slow-start]] hello", false)).await;
            scene.until_held(1).await;
            drop(answer);
            until_left(&scene, count + 1).await;
            assert_eq!(lines(&scene, "status=499").await.len(), count);
            scene.release(1).await;
            let spent = scene.spent().await - before;
            until("the line is there", async || lines(&scene, "status=499").await.len() == count + 1).await;
            let newest = lines(&scene, "status=499").await.remove(0);
            let query = format!("text={}", newest["id"].as_str().expect("an id"));
            expect_line(&scene, &query, 499, spent).await;
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_request_that_ends_free_says_so_at_once() {
    run(async {
        let scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            let answer = scene.send(client, &request(provider, "[[400]] hello", true)).await.end().await;
            assert_eq!(answer.status, 400, "{answer:?}");
        }
        until("all are logged", async || lines(&scene, "status=400").await.len() == CROSSINGS.len()).await;
        for line in lines(&scene, "status=400").await {
            assert_eq!(line["charged_micro"], 0, "{line}");
            assert!(line["held_micro"].as_i64() > Some(0), "{line}");
        }
    });
}

/// Without it an operator who looks for a slow or dear request finds its status and no reason.
#[test]
fn the_line_says_who_answered_and_what_it_took() {
    run(async {
        let scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            for streaming in [false, true] {
                let before = lines(&scene, "text=over-").await.len();
                let mut body = request(provider, "hello", streaming);
                match client {
                    Wire::Chat => body["user"] = "ann".into(),
                    Wire::Messages => body["metadata"] = json!({"user_id": "ann"}),
                }
                scene.send(client, &body).await.end().await;
                until("its line is there", async || lines(&scene, "text=over-").await.len() > before).await;
                let line = lines(&scene, "text=over-&user=ann").await.remove(0);
                let [of_provider, upstream] = match provider {
                    Wire::Chat => ["chat", "gpt-sim"],
                    Wire::Messages => ["messages", "claude-sonnet-4-6"],
                };
                let plugin = if client == Wire::Chat { "chat " } else { "messages " };
                assert!(line["plugin"].as_str().is_some_and(|named| named.starts_with(plugin)), "{line}");
                assert_eq!(line["provider"], of_provider, "{line}");
                assert!(
                    ["first", "second"].contains(&line["account"].as_str().unwrap_or_default()),
                    "{line}"
                );
                assert_eq!(line["target"], format!("{of_provider}/{upstream}"), "{line}");
                assert_eq!(line["attempts"], 1, "{line}");
                for counted in ["input_tokens", "output_tokens"] {
                    assert!(line[counted].as_u64() > Some(0), "{counted}: {line}");
                }
                assert!(line["first_byte_ms"].is_u64() && line["cached_tokens"].is_u64(), "{line}");
                assert_eq!(line["first_token_ms"].is_u64(), streaming, "{line}");
            }
        }
        let page = scene.gateway.metrics().await;
        let labels =
            "gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"chat\",gen_ai_request_model=\"over-chat\"";
        for line in [
            format!("gen_ai_server_request_duration_seconds_count{{{labels},error_type=\"\"}} 4"),
            format!("gen_ai_server_time_to_first_token_seconds_count{{{labels}}} 2"),
            format!("gen_ai_server_time_per_output_token_seconds_count{{{labels}}} 2"),
            format!("gen_ai_client_token_usage_count{{{labels},gen_ai_token_type=\"output\"}} 4"),
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is missing in\n{page}");
        }
    });
}

/// Without it the line of a request with several prompts has the money of one.
#[test]
fn several_prompts_are_one_line_with_the_sum() {
    run(async {
        let scene = Scene::start("").await;
        let body =
            json!({"model": "over-chat", "prompt": ["one", "two", "three"], "max_tokens": 9, "user": "ann"});
        for streaming in [false, true] {
            let mut body = body.clone();
            body["stream"] = streaming.into();
            let before = scene.spent().await;
            let answer = scene.caller.post("/v1/completions", &body).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let spent = scene.spent().await - before;
            let count = if streaming { 2 } else { 1 };
            until("its line is there", async || lines(&scene, "text=/v1/completions").await.len() == count)
                .await;
            let line = lines(&scene, "text=/v1/completions").await.remove(0);
            assert_eq!((&line["charged_micro"], &line["attempts"]), (&json!(spent), &json!(3)), "{line}");
            assert_eq!(line["user"], "ann", "{line}");
            assert!(line["output_tokens"].as_u64() >= Some(3), "{line}");
        }
    });
}

#[test]
fn the_line_of_a_task_names_its_plugin_and_its_first_account() {
    run(async {
        let scene = Scene::start("").await;
        let body = json!({"model": "ctx-pro", "prompt": "x"});
        scene.caller.finish("/v1/images/generations", &body).await;
        let line = lines(&scene, "text=ctx-pro").await.remove(0);
        assert!(line["plugin"].as_str().is_some_and(|named| named.starts_with("context-image ")), "{line}");
        assert_eq!((&line["provider"], &line["account"]), (&json!("bfl"), &json!("main")), "{line}");
        assert!(line["held_micro"].as_i64() > Some(0) && line["charged_micro"].is_null(), "{line}");
    });
}

/// Without it a client that bills its own users has the only record of what each text cost in the gateway's memory.
#[test]
fn what_a_text_cost_is_kept_with_the_tags_of_its_client() {
    run(async {
        let mut scene = Scene::start("").await;
        for (client, provider) in CROSSINGS {
            for streaming in [false, true] {
                let noted = match client {
                    Wire::Chat => json!({"user": "ann", "metadata": {"team": "red"}}),
                    Wire::Messages => json!({"metadata": {"user_id": "ann"}}),
                };
                let body = with(request(provider, "one two three", streaming), noted);
                let answer = scene.send(client, &body).await.end().await;
                assert_eq!(answer.status, 200, "{}", answer.body);
            }
        }
        let spent = scene.spent().await;
        assert_eq!(scene.gateway.terminate().await, Some(0));
        scene.gateway.restart().await;
        for (query, count) in
            [("user=ann", 8), ("tag=team%3Dred", 4), ("user=bob", 0), ("user=ann&tag=team%3Dblue", 0)]
        {
            let found = rows(&scene, &format!("ledger?limit=100&{query}")).await;
            assert_eq!(found.len(), count, "{query}: {found:?}");
            assert!(
                found.iter().all(|row| row["kind"] == "settle" && row["request"].is_string()),
                "{found:?}"
            );
        }
        let ann = rows(&scene, "ledger?limit=100&user=ann").await;
        let of_ann: i64 = ann.iter().map(|row| row["spent_micro"].as_i64().expect("an amount")).sum();
        assert_eq!(of_ann, spent);
        scene.gateway.expect_sound_ledger().await;
    });
}
