//! Calls that a crash left without a reply, where the operator wants to be asked: each ruling, exact money, and exactly as
//! many submits as were ruled.

use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Response, run, until};
use gatehouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::lifecycle::{request, sandbox, setup, submits};

const ASKS: &str = "[providers.bfl]\nask_when_ambiguous = true\n\n";
const PROMPT: &str = "[[submit-hang]] a red kite";

/// A gateway that was killed while its provider kept it waiting, and runs again.
struct Lost {
    sandbox: Sandbox,
    gateway: Gateway,
    caller: Caller,
    id: String,
}

impl Lost {
    async fn start() -> Self {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox).with(ASKS)).await;
        let caller = gateway.open_account("acme", "100").await;
        let id = caller.post("/v1/images/generations", &request(PROMPT)).await.task_id();
        let mut lost = Self { sandbox, gateway, caller, id };
        lost.kill_after(1).await;
        lost
    }

    /// Kills the gateway once the provider has that many jobs, and starts it again.
    async fn kill_after(&mut self, count: usize) {
        until("the provider has the job", async || self.submits() == count).await;
        self.gateway.crash().await;
        self.caller = self.caller.at(self.gateway.public);
        self.until_asked().await;
    }

    async fn until_asked(&self) {
        until("an operator is asked", async || self.listed().await == [self.id.as_str()]).await;
    }

    fn submits(&self) -> usize {
        submits(&self.sandbox).values().sum()
    }

    /// The tasks that wait for a ruling.
    async fn listed(&self) -> Vec<String> {
        let answer = self.gateway.viewer().get("/admin/v1/tasks?ambiguous=true").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let rows = answer.json();
        let rows = rows["data"].as_array().expect("tasks");
        rows.iter().map(|row| row["id"].as_str().expect("an id").to_owned()).collect()
    }

    async fn rule(&self, key: &str, body: &Value) -> Response {
        self.rule_as(&self.gateway.operator(), key, body).await
    }

    async fn rule_as(&self, who: &Caller, key: &str, body: &Value) -> Response {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        let headers = if key.is_empty() { &headers[..1] } else { &headers };
        who.send("POST", &format!("/admin/v1/tasks/{}/reconcile", self.id), headers, body.to_string()).await
    }

    async fn metric(&self, line: &str) -> bool {
        let page = self.gateway.metrics().await;
        page.lines().any(|known| known == line)
    }

    /// What the provider answered to that submit.
    fn reply(&self, number: usize) -> Value {
        let job = &self.sandbox.context_record().submits[number].id;
        let addresses = serde_json::to_value(self.sandbox.context()).expect("addresses");
        let poll = addresses["poll"].as_str().expect("an origin");
        json!({"id": job, "polling_url": format!("{poll}/v1/get_result?id={job}")})
    }

    async fn balance(&self) -> (i64, i64, i64) {
        let account = self.gateway.account("acme").await;
        let number = |field: &str| account[field].as_i64().expect("an amount");
        (number("available"), number("reserved"), number("spent"))
    }
}

#[test]
fn a_reply_that_is_handed_in_completes_the_task_without_a_second_submit() {
    run(async {
        let lost = Lost::start().await;
        let task = lost.caller.task(&lost.id).await;
        assert!(["submitted", "pending", "processing"].iter().any(|word| task["status"] == *word), "{task}");
        assert_eq!(lost.balance().await.2, 0, "nothing is charged before the end");
        until("the gauge shows it", async || lost.metric("gatehouse_tasks_ambiguous 1").await).await;
        let shown = lost.gateway.command(&["tasks", "--ambiguous"]).await;
        assert!(shown.contains(&lost.id) && shown.contains("no reply: the gateway stopped"), "{shown}");

        let ruling = json!({"ruling": "adopt", "reason": "it is in their console",
            "reply": {"status": 200, "body": lost.reply(0)}});
        assert_eq!(lost.rule("", &ruling).await.status, 400, "an idempotency key is needed");
        assert_eq!(lost.rule_as(&lost.gateway.viewer(), "v", &ruling).await.status, 403);
        for (wrong, param) in [
            (json!({"ruling": "adopt", "reason": "x"}), "reply"),
            (json!({"ruling": "resend", "reason": "x", "reply": {"status": 200, "body": {}}}), "reply"),
            (json!({"ruling": "adopt", "reason": "x", "reply": {"status": 77, "body": {}}}), "reply.status"),
            (json!({"ruling": "resend", "reason": " "}), "reason"),
            (
                json!({"ruling": "adopt", "reason": "x", "reply": {"status": 200, "body": {}, "text": "{}"}}),
                "reply",
            ),
            (
                json!({"ruling": "adopt", "reason": "x", "reply": {"status": 200, "text": "<p>"}}),
                "reply.text",
            ),
            (
                json!({"ruling": "adopt", "reason": "x", "reply": {"status": 200, "base64": "%%"}}),
                "reply.base64",
            ),
            (
                json!({"ruling": "adopt", "reason": "x",
                    "reply": {"status": 200, "content_type": "html", "text": "<p>"}}),
                "reply.content_type",
            ),
        ] {
            let answer = lost.rule(&wrong.to_string().len().to_string(), &wrong).await;
            assert_eq!(answer.refusal("param"), (400, json!(param)), "{wrong}");
        }
        let stale = json!({"ruling": "fail", "reason": "x", "revision": 0});
        assert_eq!(lost.rule("stale", &stale).await.status, 409);
        assert_eq!(lost.listed().await, [lost.id.as_str()], "what was refused has changed nothing");

        let answer = lost.rule("one", &ruling).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let task = lost.caller.end_of(&lost.id).await;
        assert_eq!(task["status"], "completed", "{task}");
        assert_eq!(lost.submits(), 1);
        let again = lost.rule("one", &ruling).await;
        assert_eq!(again.status, 200, "{}", again.text());
        assert_eq!(lost.rule("two", &ruling).await.status, 409, "it is not ambiguous any more");
        assert_eq!(lost.listed().await, Vec::<String>::new());
        assert!(lost.metric("gatehouse_tasks_ambiguous 0").await);
        assert!(lost.metric("gatehouse_ambiguous_rulings_total{ruling=\"adopt\"} 1").await);

        let notes = lost.gateway.audit(&["--task", &lost.id]).await;
        let texts: Vec<&str> = notes.iter().filter_map(|note| note["text"].as_str()).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].starts_with("ruled by an operator: ambiguous POST to bfl"), "{texts:?}");
        assert!(texts[0].ends_with("adopt: it is in their console"), "{texts:?}");
        assert!(texts[1].starts_with("ambiguous POST to bfl") && texts[1].ends_with(": ask"), "{texts:?}");
        let path = format!("/admin/v1/audit?object=tasks/{}", lost.id);
        let lines = lost.gateway.operator().get(&path).await.json();
        let done = lines["data"].as_array().expect("lines").iter().find(|line| {
            let request = &line["request"];
            request["operation"] == "reconcileTask" && request["status"] == 200 && request["reason"] == ""
        });
        let done = done.unwrap_or_else(|| panic!("the line of the ruling in {lines}"));
        assert!(done.to_string().contains("it is in their console"), "{done}");
        let steps = lost.gateway.command(&["steps", &lost.id]).await;
        assert!(steps.contains("ruled by an operator: adopt"), "{steps}");
        lost.gateway.expect_sound_ledger().await;
        let (available, reserved, spent) = lost.balance().await;
        assert_eq!((available + spent, reserved), (100_000_000, 0));
        assert!(spent > 0, "it is charged once");
    });
}

#[test]
fn a_call_leaves_again_as_often_as_was_ruled_and_a_task_that_is_given_up_is_refunded() {
    run(async {
        let mut lost = Lost::start().await;
        // A restart in between changes nothing.
        lost.gateway.crash().await;
        lost.caller = lost.caller.at(lost.gateway.public);
        lost.until_asked().await;
        assert_eq!(lost.submits(), 1);
        let id = lost.id.clone();
        let ruled = lost.gateway.command(&["reconcile", &id, "resend", "--reason", "not found there"]).await;
        assert!(ruled.contains("sent again"), "{ruled}");
        lost.kill_after(2).await;

        let (code, said) = lost.gateway.refused(&["reconcile", &id, "fail", "--reason", ""]).await;
        assert_eq!(code, Some(1), "{said}");
        let told = "The provider has lost the job";
        let ruled = lost.gateway.command(&["reconcile", &id, "fail", "--reason", told]).await;
        assert!(ruled.contains("failed and refunded"), "{ruled}");
        let task = lost.caller.end_of(&id).await;
        assert_eq!((&task["status"], &task["error"]["message"]), (&json!("failed"), &json!(told)), "{task}");
        assert_eq!(task["cost"], 0.0);
        let (code, said) = lost.gateway.refused(&["reconcile", &id, "resend", "--reason", "x"]).await;
        assert_eq!(code, Some(1), "{said}");
        assert_eq!(lost.submits(), 2, "one for each ruling, and the first");
        lost.gateway.expect_sound_ledger().await;
        assert_eq!(lost.balance().await, (100_000_000, 0, 0));
    });
}

#[test]
fn a_connection_that_breaks_in_a_running_gateway_is_asked_about_and_a_reload_keeps_the_question() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox).with(ASKS)).await;
        let caller = gateway.open_account("acme", "100").await;
        let body = request("[[submit-cut]] a red kite");
        let id = caller.post("/v1/images/generations", &body).await.task_id();
        let lost = Lost { sandbox, gateway, caller, id };
        lost.until_asked().await;
        let shown = lost.gateway.command(&["tasks", "--ambiguous"]).await;
        assert!(shown.contains("no reply: broken"), "{shown}");
        let text = lost.gateway.config();
        let off = text.replace("ask_when_ambiguous = true", "ask_when_ambiguous = false");
        assert_ne!(text, off);
        lost.gateway.reload(&off).await;
        lost.until_asked().await;
        // From now on the plugin decides, as it does without the setting.
        let other = lost.caller.post("/v1/images/generations", &body).await.task_id();
        assert_eq!(lost.caller.end_of(&other).await["status"], "failed");
        let reply = lost.reply(0).to_string();
        let ruled = ["reconcile", lost.id.as_str(), "adopt", "--reason", "found", "--reply", reply.as_str()];
        assert!(lost.gateway.command(&ruled).await.contains("goes on with the reply"));
        assert_eq!(lost.caller.end_of(&lost.id).await["status"], "completed");
        assert_eq!(lost.submits(), 2);
        lost.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_reply_that_is_no_json_is_adopted_with_its_type_and_status() {
    run(async {
        let lost = Lost::start().await;
        let page = "<html><body>Blocked by our filter</body></html>";
        let ruling = json!({"ruling": "adopt", "reason": "an error page",
            "reply": {"status": 422, "content_type": "text/html", "text": page}});
        let answer = lost.rule("page", &ruling).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let task = lost.caller.end_of(&lost.id).await;
        assert_eq!(task["status"], "failed", "{task}");
        assert_eq!(task["cost"], 0.0, "{task}");
        let steps = lost.gateway.command(&["steps", &lost.id]).await;
        assert!(steps.contains("422") && steps.contains("Blocked by our filter"), "{steps}");
        let path = format!("/admin/v1/audit?object=tasks/{}", lost.id);
        let lines = lost.gateway.operator().get(&path).await.text();
        assert!(lines.contains("reply.content_type") && lines.contains("text/html"), "{lines}");

        // The bytes of a file, as they are: a type of JSON with its parameters, and the reply of the provider.
        let body = request("[[submit-cut]] a red kite");
        let other = lost.caller.post("/v1/images/generations", &body).await.task_id();
        let lost = Lost { id: other, ..lost };
        lost.until_asked().await;
        let file = lost.gateway.folder().join("reply.json");
        std::fs::write(&file, lost.reply(1).to_string()).expect("a file");
        let (id, reply) = (lost.id.as_str(), format!("@{}", file.display()));
        let kind = ["--content-type", "application/json; charset=utf-8"];
        let ruled =
            [&["reconcile", id, "adopt", "--reason", "found", "--reply", reply.as_str()][..], &kind].concat();
        assert!(lost.gateway.command(&ruled).await.contains("goes on with the reply"));
        assert_eq!(lost.caller.end_of(id).await["status"], "completed");
        assert_eq!(lost.submits(), 2);
        lost.gateway.expect_sound_ledger().await;
    });
}
