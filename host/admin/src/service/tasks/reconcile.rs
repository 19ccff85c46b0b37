//! Rulings about ambiguous calls.
//!
//! The change, its line in the audit record and the memory of its idempotency key are one commit; the driver prepares it and
//! has the task go on. Owns what a ruling has to say; asks the running gateway.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use gatehouse_driver::{CallRuling, PreparedRuling, RulingError};
use gatehouse_model::TaskId;
use gatehouse_tasks::FieldChange;

use crate::api::error::OperationError;
use crate::api::task::{AdoptedReply, RulingWord, TaskRuling};
use crate::audit::told;
use crate::service::gateway::Gateway;

/// The type of a reply that names none.
const JSON: &str = "application/json";
/// Why a ruling needs a running gateway.
const WHY: &str = "ambiguous tasks are settled by a running gateway only; start it";

/// Prepares and follows rulings.
pub struct Rulings {
    pub(in crate::service) gateway: Arc<Gateway>,
}

impl Rulings {
    /// The change that a ruling comes to, with its steps.
    pub(crate) async fn prepare(
        &self,
        id: TaskId,
        ruling: &TaskRuling,
    ) -> Result<PreparedRuling, OperationError> {
        let driver = self.gateway.running(WHY)?;
        let asked = call_ruling(ruling)?;
        let prepared =
            driver.rulings.prepare_ruling((id, ruling.revision), asked, ruling.reason.clone()).await;
        prepared.map_err(|error| failed(id, ruling, error))
    }

    /// Has the task go on after the commit, or forgets what was prepared.
    pub(crate) async fn ruled(
        &self,
        prepared: PreparedRuling,
        is_committed: bool,
    ) -> Result<(), OperationError> {
        self.gateway.running(WHY)?.rulings.ruled(prepared, is_committed).await;
        Ok(())
    }
}

/// The ruling as the driver takes it; refused where a reply is missing, or does not belong to it.
fn call_ruling(ruling: &TaskRuling) -> Result<CallRuling, OperationError> {
    match (ruling.ruling, &ruling.reply) {
        (RulingWord::Resend, None) => Ok(CallRuling::Resend),
        (RulingWord::Fail, None) => Ok(CallRuling::Fail),
        (RulingWord::Adopt, Some(reply)) => {
            let content_type = reply.content_type.clone().unwrap_or_else(|| JSON.to_owned());
            Ok(CallRuling::Adopt { status: reply.status, content_type, body: body_of(reply)? })
        }
        (RulingWord::Adopt, None) => Err(OperationError::Invalid(
            "reply: expected the status and the body of the provider's reply".to_owned(),
        )),
        (word, Some(_)) => Err(OperationError::Invalid(format!(
            "reply: expected with the ruling adopt only, not with {}",
            word.as_str()
        ))),
    }
}

fn body_of(reply: &AdoptedReply) -> Result<Bytes, OperationError> {
    match (&reply.body, &reply.text, &reply.base64) {
        (Some(json), None, None) => Ok(json.to_string().into()),
        (None, Some(text), None) => Ok(text.clone().into()),
        (None, None, Some(base64)) => STANDARD.decode(base64).map(Bytes::from).map_err(|error| {
            let field = "reply.base64".to_owned();
            OperationError::InvalidField { message: format!("{field}: expected base64: {error}"), field }
        }),
        (json, text, base64) => {
            let given = [json.is_some(), text.is_some(), base64.is_some()];
            let given = given.iter().filter(|is_given| **is_given).count();
            Err(OperationError::Invalid(format!(
                "reply: expected its body as one of body (JSON), text and base64, got {given} of them"
            )))
        }
    }
}

/// What a ruling says, for the audit record. The body of a reply is in the log of steps.
pub(crate) fn changes(ruling: &TaskRuling) -> Vec<FieldChange> {
    let mut changes = vec![told("ruling", ruling.ruling.as_str()), told("reason", ruling.reason.as_str())];
    if let Some(reply) = &ruling.reply {
        changes.push(told("reply.status", reply.status));
        changes.extend(reply.content_type.as_deref().map(|kind| told("reply.content_type", kind)));
    }
    changes
}

fn failed(id: TaskId, ruling: &TaskRuling, error: RulingError) -> OperationError {
    match error {
        RulingError::NotFound => OperationError::NotFound(format!("no task {id}")),
        RulingError::Reply { field, problem } => {
            let field = match (&ruling.reply, field) {
                (Some(AdoptedReply { text: Some(_), .. }), "body") => "text",
                (Some(AdoptedReply { base64: Some(_), .. }), "body") => "base64",
                _ => field,
            };
            let field = format!("reply.{field}");
            OperationError::InvalidField { message: format!("{field}: {problem}"), field }
        }
        error @ RulingError::NotKept(_) => OperationError::Busy(error.to_string()),
        RulingError::Store(error) => error.into(),
        other => OperationError::Failed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_belongs_to_the_ruling_that_adopts_it() {
        let ruling = |ruling, has_reply: bool| {
            let reply = has_reply.then(|| AdoptedReply::json(200, serde_json::json!({"id": "a"})));
            let reason = "seen".to_owned();
            call_ruling(&TaskRuling { ruling, reason, reply, revision: None })
        };
        assert_eq!(ruling(RulingWord::Resend, false), Ok(CallRuling::Resend));
        assert_eq!(ruling(RulingWord::Fail, false), Ok(CallRuling::Fail));
        let adopted =
            CallRuling::Adopt { status: 200, content_type: JSON.to_owned(), body: r#"{"id":"a"}"#.into() };
        assert_eq!(ruling(RulingWord::Adopt, true), Ok(adopted));
        for (word, has_reply) in
            [(RulingWord::Resend, true), (RulingWord::Fail, true), (RulingWord::Adopt, false)]
        {
            let error = ruling(word, has_reply).expect_err("a reply of another ruling");
            assert!(error.to_string().starts_with("reply: expected"), "{error}");
        }
    }

    #[test]
    fn a_body_is_read_in_the_one_form_that_is_given() {
        let read = |reply: serde_json::Value| {
            let ruling = serde_json::json!({"ruling": "adopt", "reason": "seen", "reply": reply});
            call_ruling(&serde_json::from_value(ruling).expect("a ruling"))
        };
        for (reply, content_type, body) in [
            (serde_json::json!({"status": 502, "body": null}), JSON, &b"null"[..]),
            (serde_json::json!({"status": 502, "text": "[1, 2]"}), JSON, b"[1, 2]"),
            (serde_json::json!({"status": 502, "content_type": "text/html", "text": ""}), "text/html", b""),
            (serde_json::json!({"status": 502, "content_type": "a/b", "base64": "AP8="}), "a/b", b"\x00\xff"),
        ] {
            let content_type = content_type.to_owned();
            let expected =
                CallRuling::Adopt { status: 502, content_type, body: Bytes::copy_from_slice(body) };
            assert_eq!(read(reply.clone()), Ok(expected), "{reply}");
        }
        for (reply, problem) in [
            (serde_json::json!({"status": 502}), "reply: expected its body as one of"),
            (
                serde_json::json!({"status": 502, "body": 1, "text": "1"}),
                "reply: expected its body as one of",
            ),
            (serde_json::json!({"status": 502, "base64": "%"}), "reply.base64: expected base64"),
        ] {
            let error = read(reply.clone()).expect_err("a wrong body").to_string();
            assert!(error.starts_with(problem), "{reply}: {error}");
        }
    }

    #[test]
    fn what_is_no_text_travels_as_base64() {
        let reply = |bytes: &[u8]| AdoptedReply::of_type(200, "a/b".to_owned(), bytes.to_vec());
        for bytes in [&b"text"[..], b"\xff\x00"] {
            assert_eq!(body_of(&reply(bytes)), Ok(Bytes::copy_from_slice(bytes)));
        }
        assert_eq!(reply(b"text").text.as_deref(), Some("text"));
    }
}
