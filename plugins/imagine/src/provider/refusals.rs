//! Answers outside of 200 to 299. Their body is flat, `{code, error}`, or `error` is an object, or it is plain text.
//!
//! Status and code do not decide alone: a wrong key is a 400, used-up credits are a 403 or a 429, and content that
//! violates the provider's rules is a 400 or a 403 with the code of a missing permission. The text tells them apart, as far
//! as it cannot be the client's: a 400 may quote the prompt.

use gatehouse_sdk::job::Submitted;
use gatehouse_sdk::lenient::{is_error, word_of};
use gatehouse_sdk::provider::{REFUSED, is_account_code, meant_status, refused, says_spent};
use gatehouse_sdk::{Failure, Reply, log};
use serde_json::Value;

use super::POLICY;

/// Words about content.
const CONTENT: [&str; 3] = ["content-moderated", "content moderation", "usage guidelines"];
/// Words about the operator's account, in a 400 or a 429.
const ACCOUNT: [&str; 6] =
    ["api key", "credits", "monthly limit", "monthly spending", "spending limit", "billing"];
/// Words that name the provider or the account: a text with one of them is not for clients.
const PRIVATE: [&str; 5] = ["grok", "x.ai", "xai", "team", "key"];
/// Codes about the request. The words of others are not for clients.
const REQUEST: [&str; 2] = ["invalid-argument", "client specified an invalid argument"];

/// The meaning of an answer without images. An error may come with a status of success: then it is one of the request, unless
/// its code says more.
pub(super) fn read<T>(reply: &Reply) -> Submitted<T> {
    let Reason { code, text } = Reason::of(reply);
    let status = match meant_status(reply.status, &code) {
        200..300 => 400,
        status => status,
    };
    let lower = format!("{code} {text}").to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let own = outside_of_quotes(&lower);
    let is_of_account = ACCOUNT.iter().any(|word| own.contains(word)) || is_account_code(&code);
    let written = reply.status.to_string();
    let fields = [("status", written.as_str()), ("code", &code), ("reason", &text)];
    Submitted::Failed(match status {
        400 | 403 | 422 if has(&CONTENT) => {
            Failure::moderation("the prompt or the generated image was stopped by moderation")
        }
        401..=403 => account(&fields),
        400 | 429 if is_of_account => account(&fields),
        429 if says_spent(&text) => account(&fields),
        429 => return Submitted::Busy,
        400 if REQUEST.contains(&code.to_lowercase().as_str()) => {
            log::warn("the provider refused parameters this family let through", &fields);
            Failure::request(refused(&text, &[], &PRIVATE))
        }
        400 => {
            log::error("the provider refused a request by a code that this family does not know", &fields);
            Failure::upstream(REFUSED)
        }
        _ => {
            log::error("a call failed", &fields);
            POLICY.failed()
        }
    })
}

/// The provider's own words. From the first quote to the last may be the client's, which may hold quotes as well, and they do
/// not accuse the account.
fn outside_of_quotes(text: &str) -> String {
    const QUOTES: [char; 4] = ['"', '`', '\u{201c}', '\u{201d}'];
    let Some(first) = text.find(QUOTES) else { return text.to_owned() };
    let last = text.rfind(QUOTES).filter(|last| *last > first);
    format!("{}{}", &text[..first], last.map_or("", |last| &text[last..]))
}

fn account(fields: &[(&str, &str)]) -> Failure {
    log::error("the provider refused the operator's account", fields);
    POLICY.account()
}

/// Why a call was refused; both may be empty.
struct Reason {
    code: String,
    text: String,
}

impl Reason {
    fn of(reply: &Reply) -> Self {
        let Ok(body) = reply.json::<Value>() else {
            return Self { code: String::new(), text: reply.text().trim().to_owned() };
        };
        let word = |value: &Value| word_of(value).unwrap_or_default();
        // Beside the images, or in the place of one.
        let listed = body["data"].as_array().into_iter().flatten().map(|item| &item["error"]);
        let error = [&body["error"]].into_iter().chain(listed).find(|error| is_error(error));
        match error.unwrap_or(&Value::Null) {
            Value::Object(error) => {
                let part = |name: &str| error.get(name).map(word).unwrap_or_default();
                Self { code: part("code"), text: part("message") }
            }
            error => Self { code: word(&body["code"]), text: word(error) },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reason_is_read_in_every_form() {
        let table = [
            (Reply::new(400, &json!({"code": "c", "error": "e"})), ("c", "e")),
            (Reply::new(400, &json!({"error": "e"})), ("", "e")),
            (Reply::new(400, &json!({"error": {"message": "m", "type": "t", "code": "c"}})), ("c", "m")),
            (Reply::new(400, &json!({"error": {"message": 5, "code": null}})), ("", "5")),
            (Reply::new(400, &json!({"code": 7, "error": ["e"]})), ("7", "")),
            (Reply::new(200, &json!({"data": [{"url": null}, {"error": {"code": 429}}]})), ("429", "")),
            (Reply::new(400, &json!([1])), ("", "")),
            (Reply::raw(422, " Failed to deserialize \n"), ("", "Failed to deserialize")),
            (Reply::raw(502, ""), ("", "")),
        ];
        for (reply, (code, text)) in table {
            let found = Reason::of(&reply);
            assert_eq!((found.code.as_str(), found.text.as_str()), (code, text), "{reply:?}");
        }
    }

    #[test]
    fn a_text_that_names_the_provider_is_not_shown() {
        let for_client = |text| refused(text, &[], &PRIVATE);
        assert_eq!(for_client("prompt is too long"), "the upstream refused the request: prompt is too long");
        for text in ["", "Model Grok-X fails", "https://docs", "Team 1", "<html>"] {
            assert_eq!(for_client(text), REFUSED, "{text}");
        }
    }
}
