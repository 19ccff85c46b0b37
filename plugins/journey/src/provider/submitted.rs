//! The answer to a submission: its code, and what follows from it.

use gatehouse_sdk::job::Submitted;
use gatehouse_sdk::provider::is_account_code;
use gatehouse_sdk::{Failure, Reply, lenient, log};
use serde::Deserialize;
use serde_json::Value;

use crate::provider::failure::{self, POLICY};

/// A submission that the provider took.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Under this id.
    Accepted(String),
    /// And it waits for the dialog to be finished.
    Modal(String),
}

/// The envelope of every submission. Nulls and missing fields are common.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    #[serde(deserialize_with = "lenient::word")]
    code: Option<String>,
    #[serde(deserialize_with = "lenient::word")]
    description: Option<String>,
    /// Instead of `description` when the server could not read the request.
    #[serde(deserialize_with = "lenient::word")]
    message: Option<String>,
    result: Value,
    properties: Value,
    /// In place of all that, from a server between.
    error: Value,
}

impl Answer {
    /// Its number, which some servers write as a text.
    fn number(&self) -> Option<i64> {
        self.code.as_deref()?.trim().parse().ok()
    }

    /// What a server between says: its code and its words.
    fn foreign(&self) -> (String, String) {
        let member = |name: &str| lenient::word_of(&self.error[name]);
        let code = member("code").or_else(|| self.code.clone()).unwrap_or_default();
        let words = member("message").or_else(|| lenient::word_of(&self.error));
        (
            code,
            words.or_else(|| self.message.clone()).or_else(|| self.description.clone()).unwrap_or_default(),
        )
    }
}

/// Reads the answer to a submission; `has_parent` when it names a task of the provider.
pub(crate) fn submitted(reply: &Reply, has_parent: bool) -> Submitted<Taken> {
    match reply.status {
        // The provider answers 404 with its envelope when it does not know the parent.
        200..=299 | 400 | 404 | 422 => {}
        429 => return Submitted::Busy,
        _ => return Submitted::Failed(failure::of_status(reply)),
    }
    let answer = reply.json::<Answer>().unwrap_or_default();
    if let Some(code) = answer.number() {
        let Answer { description, message, result, properties, .. } = answer;
        let text = description.or(message).unwrap_or_default();
        return Coded { status: reply.status, code, text, result, properties, has_parent }.meaning();
    }
    let (code, words) = answer.foreign();
    let (status, text) = (reply.status.to_string(), reply.text());
    let text: String = text.chars().take(200).collect();
    log::error("a submission was answered without a number", &[("status", &status), ("body", &text)]);
    let is_of_account = is_account_code(&code) || failure::is_of_spent_account(&words);
    Submitted::Failed(if is_of_account { POLICY.account() } else { POLICY.unavailable() })
}

struct Coded {
    status: u16,
    code: i64,
    text: String,
    result: Value,
    properties: Value,
    has_parent: bool,
}

impl Coded {
    fn meaning(&self) -> Submitted<Taken> {
        match self.code {
            1 | 22 => self.accepted(Taken::Accepted),
            21 if self.is_dialog() => self.accepted(Taken::Modal),
            // The same was done before: its task says how far it is.
            21 => self.accepted(Taken::Accepted),
            3 => self.not_found(),
            4 | 5 => self.refused(),
            9 if self.is_full() => Submitted::Busy,
            9 => Submitted::Failed(
                failure::of_spent_account(&self.text).unwrap_or_else(|| failure::of_text(&self.text)),
            ),
            23 => Submitted::Busy,
            24 => Submitted::Failed(failure::banned()),
            _ => {
                let code = self.code.to_string();
                log::error("a submission was refused", &[("code", &code), ("reason", &self.text)]);
                Submitted::Failed(Failure::upstream("the upstream could not read the request"))
            }
        }
    }

    fn accepted(&self, with: impl Fn(String) -> Taken) -> Submitted<Taken> {
        let named = ["id", "taskId", "task_id"].iter().map(|name| &self.result[*name]);
        let id = [&self.result].into_iter().chain(named).find_map(lenient::word_of).unwrap_or_default();
        // It becomes a part of a path.
        let is_id =
            !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if is_id {
            return Submitted::Accepted(with(id));
        }
        log::error("a submission was accepted without a task", &[("result", &id)]);
        Submitted::Failed(POLICY.unavailable())
    }

    fn is_dialog(&self) -> bool {
        self.properties["remix"] == Value::Bool(true)
            || self.text.to_ascii_lowercase().contains("waiting for window confirm")
    }

    /// No parent, or no account to take the job.
    fn not_found(&self) -> Submitted<Taken> {
        let is_parent = self.has_parent && (self.status == 404 || !failure::is_about_accounts(&self.text));
        log::error("the provider found no task or no account", &[("reason", &self.text)]);
        let of_account = || failure::of_spent_account(&self.text).unwrap_or_else(|| POLICY.unavailable());
        Submitted::Failed(if is_parent { failure::parent_gone() } else { of_account() })
    }

    /// The provider found the parameters wrong, or its operator's own limits reached.
    fn refused(&self) -> Submitted<Taken> {
        let text = self.text.to_ascii_lowercase();
        if self.has_parent && (text.contains("task_not_found") || text.contains("task_no_found")) {
            return Submitted::Failed(failure::parent_gone());
        }
        if let Some(refused) = failure::of_spent_account(&self.text) {
            return Submitted::Failed(refused);
        }
        let by_text = failure::of_text(&self.text);
        let is_plain = by_text == failure::failed();
        Submitted::Failed(match failure::words(&self.text) {
            _ if is_plain => Failure::request("the upstream refused the parameters of the request"),
            Some(words) if words == by_text.message => Failure::request(words),
            _ => by_text,
        })
    }

    fn is_full(&self) -> bool {
        let text = self.text.to_ascii_lowercase();
        text.contains("\u{961f}\u{5217}\u{5df2}\u{6ee1}") || text.contains("queue")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(status: u16, body: Value, has_parent: bool) -> Submitted<Taken> {
        submitted(&Reply::new(status, &body), has_parent)
    }

    #[test]
    fn every_code_has_its_meaning() {
        let id = || "1754200000000123".to_owned();
        let accepted = || Submitted::Accepted(Taken::Accepted(id()));
        let modal = || Submitted::Accepted(Taken::Modal(id()));
        let unavailable = || Submitted::Failed(POLICY.unavailable());
        let account = || Submitted::Failed(POLICY.account());
        let request = |text: &str| Submitted::Failed(Failure::request(text));
        let upstream = |text: &str| Submitted::Failed(Failure::upstream(text));
        let gone = || Submitted::Failed(failure::parent_gone());
        let banned = || Submitted::Failed(failure::banned());
        let refused = "the upstream refused the parameters of the request";
        let unread = "the upstream could not read the request";
        let full = "\u{63d0}\u{4ea4}\u{5931}\u{8d25}\u{ff0c}\u{961f}\u{5217}\u{5df2}\u{6ee1}";
        let no_account = "\u{65e0}\u{53ef}\u{7528}\u{7684}\u{8d26}\u{53f7}\u{5b9e}\u{4f8b}";
        let code = |code: i64, text: &str| json!({"code": code, "description": text, "result": null, "properties": null});
        let with_id = |code: i64, properties: Value| json!({"code": code, "description": "x", "result": id(), "properties": properties});
        for (status, body, has_parent, expected) in [
            (200, with_id(1, json!({"discordInstanceId": "7"})), false, accepted()),
            (200, json!({"code": 1, "result": 1_754_200_000_000_123_i64}), false, accepted()),
            (200, with_id(22, json!({"numberOfQueues": 3})), false, accepted()),
            (200, with_id(21, json!({"finalPrompt": "", "remix": true})), true, modal()),
            (
                200,
                json!({"code": 21, "description": "Waiting for window confirm", "result": id()}),
                true,
                modal(),
            ),
            (
                200,
                with_id(21, json!({"status": "SUCCESS", "imageUrl": "https://x.example/g.png"})),
                true,
                accepted(),
            ),
            (200, code(21, "exists"), true, unavailable()),
            (200, json!({"code": 1, "result": "../x"}), false, unavailable()),
            (200, json!({"code": 1}), false, unavailable()),
            (404, code(3, "\u{5173}\u{8054}\u{4efb}\u{52a1}\u{4e0d}\u{5b58}\u{5728}"), true, gone()),
            (200, code(3, "no such parent"), true, gone()),
            (200, code(3, no_account), true, account()),
            (200, code(3, no_account), false, account()),
            (200, code(3, "?"), false, unavailable()),
            (200, code(4, "prompt is required"), false, request("prompt is required")),
            (200, code(4, "\u{53c2}\u{6570}"), false, request(refused)),
            (200, code(4, "quota_not_enough"), false, account()),
            (200, code(9, "quota_not_enough"), true, account()),
            (200, code(4, "bad prompt: quota_not_enough"), false, unavailable()),
            (200, code(4, "task_not_found"), true, gone()),
            (200, code(4, "Banned prompt"), true, banned()),
            (200, code(9, full), false, Submitted::Busy),
            (200, code(9, "the queue is full"), false, Submitted::Busy),
            (200, code(9, "[Internal Server Error]"), false, upstream("[Internal Server Error]")),
            (200, code(23, "full"), false, Submitted::Busy),
            (
                200,
                json!({"code": 24, "description": "x", "properties": {"promptEn": "a", "bannedWord": "b"}}),
                false,
                banned(),
            ),
            (
                200,
                json!({"success": false, "code": -1, "message": "bind", "timestamp": 1}),
                false,
                upstream(unread),
            ),
            (200, json!({"code": 77}), false, upstream(unread)),
            (200, json!({}), false, unavailable()),
            (200, json!([]), false, unavailable()),
            (404, json!({}), true, unavailable()),
            (401, json!({}), false, account()),
            (403, json!({"code": 1, "result": "7"}), false, account()),
            (429, json!({}), false, Submitted::Busy),
            (502, json!({"code": 1, "result": "7"}), false, unavailable()),
        ] {
            assert_eq!(read(status, body.clone(), has_parent), expected, "{status} {body}");
        }
        assert_eq!(submitted(&Reply::raw(200, "<html>"), false), unavailable());
        assert_eq!(submitted(&Reply::raw(200, ""), false), unavailable());
    }
}
