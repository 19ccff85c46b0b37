//! The ruling about an ambiguous call: what was sent, and the three things that an operator may say of it.
//!
//! The panel stands outside of what the page follows live, so that an open dialog stays as it is.

use gatehouse_admin::{AdoptedReply, RulingWord, TaskRuling, ambiguous_exchange};
use gatehouse_model::{Task, UnixMs};
use maud::{Markup, html};

use crate::form::Form;
use crate::format::{count, credits, moment};
use crate::parts::elements::{Confirm, Field, Problems, Tone, chip, lines, select};

/// Every field of every dialog; each has its own, because they are on one page.
const FIELDS: [&str; 6] =
    ["resend_reason", "fail_reason", "adopt_reason", "adopt_status", "adopt_type", "adopt_body"];
/// The type of a reply that names none.
const JSON: &str = "application/json";

/// How a body is written down.
const FORMS: [(&str, &str); 2] = [("text", "text"), ("base64", "base64, for bytes")];

/// Where a refusal of the service belongs in the form.
pub(super) fn place(ruling: RulingWord, message: &str, problems: &mut Problems) {
    let message = match (message.strip_prefix("reply."), message.strip_prefix("reason")) {
        (Some(rest), _) => match rest.split_once(": ") {
            Some(("content_type", problem)) => format!("adopt_type: {problem}"),
            Some(("body" | "text" | "base64", problem)) => format!("adopt_body: {problem}"),
            _ => format!("adopt_{rest}"),
        },
        (None, Some(rest)) => format!("{}_reason{rest}", ruling.as_str()),
        (None, None) => message.to_owned(),
    };
    problems.take(&message, &FIELDS);
}

/// The ruling that a form means; otherwise the field that is wrong, and why.
pub(super) fn ruling_of(form: &Form) -> Result<TaskRuling, (&'static str, String)> {
    let word = form.text("ruling");
    let unknown = |_| ("", format!("expected resend, fail or adopt, got {word:?}"));
    let ruling = word.parse::<RulingWord>().map_err(unknown)?;
    let reply = if ruling == RulingWord::Adopt {
        let status = form.text("adopt_status");
        let status =
            status.parse().map_err(|_| ("adopt_status", format!("expected a number, got {status:?}")))?;
        Some(reply_of(form, status)?)
    } else {
        None
    };
    let revision = form.text("revision");
    let wrong = || ("", format!("expected the task's revision, got {revision:?}"));
    let revision = revision.parse().map_err(|_| wrong())?;
    let reason = form.text(&format!("{}_reason", ruling.as_str())).to_owned();
    Ok(TaskRuling { ruling, reason, reply, revision: Some(revision) })
}

/// The reply of the form: JSON where it names no other type, else text, or bytes as base64.
fn reply_of(form: &Form, status: u16) -> Result<AdoptedReply, (&'static str, String)> {
    let (kind, body) = (form.text("adopt_type").trim(), form.text("adopt_body"));
    let form = form.text("adopt_form");
    if !form.is_empty() && FORMS.iter().all(|(value, _)| *value != form) {
        let values = FORMS.map(|(value, _)| value).join(" or ");
        return Err(("adopt_form", format!("expected {values}, got {form:?}")));
    }
    let is_base64 = form == "base64";
    if !is_base64 && (kind.is_empty() || kind == JSON) {
        let body =
            serde_json::from_str(body).map_err(|error| ("adopt_body", format!("expected JSON: {error}")))?;
        return Ok(AdoptedReply::json(status, body));
    }
    let content_type = (!kind.is_empty()).then(|| kind.to_owned());
    let (text, base64) = match is_base64 {
        true => (None, Some(body.split_ascii_whitespace().collect())),
        false => (Some(body.to_owned()), None),
    };
    Ok(AdoptedReply { status, content_type, body: None, text, base64 })
}

/// What is known of the call and what may become of it; nothing for a task that waits for no ruling. `with_bodies` where the
/// words of its client may be shown.
pub(super) fn panel(
    task: &Task,
    form: &Form,
    problems: &Problems,
    with_bodies: bool,
    now: UnixMs,
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
    let or = |name, usual| Some(form.text(name)).filter(|text| !text.is_empty()).unwrap_or(usual);
    let (status, kind) = (or("adopt_status", "200"), or("adopt_type", JSON));
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
                        (field("adopt_type", "Content type", "Of its body.", kind))
                        (lines("adopt_body", "Body", "The answer, complete.", form.text("adopt_body"), problems))
                        (select("adopt_form", "The body is given as", &FORMS, form.text("adopt_form")))
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
        assert_eq!(reply, AdoptedReply::json(200, serde_json::json!({"id": 1})));
        let adopt = b"ruling=adopt&revision=3&adopt_status=502&adopt_type=text%2Fhtml&adopt_body=%3Cp%3E";
        let reply = ruling_of(&Form::parse(adopt)).expect("a ruling").reply.expect("a reply");
        assert_eq!(reply, AdoptedReply::of_type(502, "text/html".to_owned(), b"<p>".to_vec()));
        let adopt =
            b"ruling=adopt&revision=3&adopt_status=200&adopt_type=a%2Fb&adopt_body=AP%0A8%3D&adopt_form=base64";
        let reply = ruling_of(&Form::parse(adopt)).expect("a ruling").reply.expect("a reply");
        assert_eq!(reply, AdoptedReply::of_type(200, "a/b".to_owned(), vec![0, 255]));
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
            (RulingWord::Adopt, "reply.base64: expected base64: no", "f-adopt_body"),
            (RulingWord::Adopt, "reply.content_type: expected a type such as text/plain", "f-adopt_type"),
        ] {
            let mut problems = Problems::default();
            place(ruling, message, &mut problems);
            let text = problems.summary().into_string();
            assert!(text.contains(&format!("href=\"#{field}\"")), "{text}");
        }
    }
}
