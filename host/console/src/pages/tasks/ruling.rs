//! The ruling about an ambiguous call: what was sent, and the three things that an operator may say of it.
//!
//! The panel stands outside of what the page follows live, so that an open dialog stays as it is.

use gatehouse_admin::{AdoptedReply, RulingWord, TaskRuling, ambiguous_exchange};
use gatehouse_model::{Task, UnixMs};
use maud::{Markup, html};

use crate::form::Form;
use crate::format::{count, credits, moment};
use crate::parts::elements::{Confirm, Tone, chip};
use crate::parts::fields::{Field, Problems, lines};

/// Every field of every dialog; each has its own, because they are on one page.
const FIELDS: [&str; 5] = ["resend_reason", "fail_reason", "adopt_reason", "adopt_status", "adopt_body"];

/// Where a refusal of the service belongs in the form.
pub(super) fn place(ruling: RulingWord, message: &str, problems: &mut Problems) {
    let message = match (message.strip_prefix("reply."), message.strip_prefix("reason")) {
        (Some(rest), _) => format!("adopt_{rest}"),
        (None, Some(rest)) => format!("{}_reason{rest}", ruling.as_str()),
        (None, None) => message.to_owned(),
    };
    problems.take(&message, &FIELDS);
}

/// The ruling that a form means; otherwise the field that is wrong, and why.
pub(super) fn ruling_of(form: &Form) -> Result<TaskRuling, (&'static str, String)> {
    let (ruling, reason) = match form.text("ruling") {
        "resend" => (RulingWord::Resend, "resend_reason"),
        "fail" => (RulingWord::Fail, "fail_reason"),
        "adopt" => (RulingWord::Adopt, "adopt_reason"),
        other => return Err(("", format!("expected resend, fail or adopt, got {other:?}"))),
    };
    let reply = match ruling {
        RulingWord::Adopt => {
            let status = form.text("adopt_status").trim();
            let status =
                status.parse().map_err(|_| ("adopt_status", format!("expected a number, got {status:?}")))?;
            let body = serde_json::from_str(form.text("adopt_body"))
                .map_err(|error| ("adopt_body", format!("expected JSON: {error}")))?;
            Some(AdoptedReply { status, body })
        }
        RulingWord::Resend | RulingWord::Fail => None,
    };
    let revision = form.text("revision");
    let wrong = || ("", format!("expected the task's revision, got {revision:?}"));
    let revision = revision.parse().map_err(|_| wrong())?;
    Ok(TaskRuling { ruling, reason: form.text(reason).to_owned(), reply, revision: Some(revision) })
}

/// What is known of the call and what may become of it; nothing for a task that waits for no ruling. `with_bodies` where the
/// words of its client may be shown.
pub(super) fn panel(
    task: &Task,
    form: &Form,
    problems: &Problems,
    (with_bodies, now): (bool, UnixMs),
) -> Option<Markup> {
    let (at, sent) = ambiguous_exchange(task)?;
    let how = match sent.outage.as_deref() {
        Some("timeout") => "its provider did not answer in time",
        Some("broken") => "the connection broke",
        Some("too_large") => "the answer was too large",
        Some(_) => "no answer came",
        None => "the gateway stopped meanwhile",
    };
    let field = |name: &'static str, label, help, value| {
        Field { name, label, help, value, required: true, decimal: name == "adopt_status" }.show(problems)
    };
    let action = format!("/tasks/{}/reconcile", task.id);
    let dialog = |word: &str, (button, title, consequence): (&str, &str, &str), fields: Markup| {
        let danger = word != "adopt";
        Confirm { id: word, button, title, consequence, action: &action, danger }.with(&html! {
            input type="hidden" name="ruling" value=(word);
            input type="hidden" name="revision" value=(task.revision);
            (fields)
        })
    };
    let status = Some(form.text("adopt_status")).filter(|text| !text.is_empty()).unwrap_or("200");
    Some(html! {
        section.panel aria-labelledby="ambiguous" {
            h2 #ambiguous { (chip(Tone::Warn, "ambiguous")) " Did the provider take this call?" }
            p {
                "The call left " (moment(at, now)) " and has no reply: " (how) ". Look for it at the provider. The task goes on \
                 with your ruling; without one it fails " (moment(task.deadline, now)) ", and its customer gets "
                (credits(task.held)) " credits back."
            }
            p {
                (sent.method) " " code { (sent.url) } " "
                span.muted { "[account " (sent.provider) "/" (sent.account) "] " (count(sent.sent_bytes)) " bytes" }
            }
            @if with_bodies && !sent.request.is_empty() {
                details open {
                    summary { "What was sent" }
                    pre.block tabindex="0" role="region" aria-label="What was sent" { code { (sent.request) } }
                }
            }
            div.buttons {
                (dialog(
                    "adopt",
                    ("Adopt a reply", "Go on with the provider's reply", "The task goes on as if this reply had come."),
                    html! {
                        (field("adopt_status", "Status", "Of the provider's answer.", status))
                        (lines("adopt_body", "Body", "The answer, as JSON.", form.text("adopt_body"), problems))
                        (field("adopt_reason", "Reason", "For the audit record.", form.text("adopt_reason")))
                    },
                ))
                (dialog(
                    "resend",
                    ("Send it again", "Send the call again", "If the provider took the first one, it works and charges twice."),
                    field("resend_reason", "Reason", "For the audit record.", form.text("resend_reason")),
                ))
                (dialog(
                    "fail",
                    ("Fail and refund", "Fail the task", "Its customer gets everything back. What the provider does is not charged."),
                    field("fail_reason", "Reason", "The client reads it, too.", form.text("fail_reason")),
                ))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_a_ruling_or_names_its_wrong_field() {
        let ruling = ruling_of(&Form::parse(b"ruling=resend&revision=3&resend_reason=x&fail_reason=y"));
        let ruling = ruling.expect("a ruling");
        assert_eq!(
            (ruling.ruling, ruling.reason.as_str(), ruling.revision),
            (RulingWord::Resend, "x", Some(3))
        );
        let adopt = b"ruling=adopt&revision=3&adopt_status=200&adopt_reason=x&adopt_body=%7B%22id%22%3A1%7D";
        let reply = ruling_of(&Form::parse(adopt)).expect("a ruling").reply.expect("a reply");
        assert_eq!((reply.status, reply.body["id"].as_u64()), (200, Some(1)));
        for (form, field) in [
            (&b"ruling=wait&revision=3"[..], ""),
            (b"ruling=fail&fail_reason=x", ""),
            (b"ruling=adopt&revision=3&adopt_status=fine&adopt_body=1", "adopt_status"),
            (b"ruling=adopt&revision=3&adopt_status=200&adopt_body=%7B", "adopt_body"),
        ] {
            assert_eq!(ruling_of(&Form::parse(form)).expect_err("a wrong form").0, field);
        }
    }

    #[test]
    fn a_refusal_stands_at_the_field_of_its_dialog() {
        for (ruling, message, field) in [
            (RulingWord::Fail, "reason: expected 1 to 500 bytes of text, got 0 bytes", "f-fail_reason"),
            (RulingWord::Adopt, "reply.status: expected 200 to 599, got 7", "f-adopt_status"),
            (RulingWord::Adopt, "reply.body: expected at most 5 bytes, got 9", "f-adopt_body"),
        ] {
            let mut problems = Problems::default();
            place(ruling, message, &mut problems);
            let text = problems.summary().into_string();
            assert!(text.contains(&format!("href=\"#{field}\"")), "{text}");
        }
    }
}
