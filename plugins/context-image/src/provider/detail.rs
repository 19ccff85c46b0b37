//! The provider's explanations: `detail` as a text or as a list of fields and messages, or
//! `{error, message}`, or nothing that can be read.

use gatehouse_sdk::Reply;
use gatehouse_sdk::lenient::word_of;
use gatehouse_sdk::provider::{says_spent, shown};
use serde_json::Value;

/// The provider's own names: a text with one of them is not for clients.
pub(super) const PRIVATE: [&str; 4] = ["bfl", "black forest", "flux", "kontext"];
/// Beginnings of sentences about the operator's key or credit.
const ACCOUNT: [&str; 8] = [
    "api key",
    "invalid api key",
    "missing api key",
    "insufficient credit",
    "insufficient balance",
    "insufficient fund",
    "not enough credits",
    "out of credits",
];

/// The reason in words, for the operator.
pub(super) fn words(reply: &Reply) -> String {
    let body: Value = reply.json().unwrap_or(Value::Null);
    fields(&body).or_else(|| sentence(&body)).unwrap_or_else(|| answered(reply))
}

/// The reason in terms of the client's fields, or a sentence that is about nothing but the request.
pub(super) fn for_client(reply: &Reply) -> String {
    let body: Value = reply.json().unwrap_or(Value::Null);
    let words = fields(&body).or_else(|| sentence(&body));
    words.and_then(|words| shown(&words, &[], &PRIVATE)).unwrap_or_else(|| answered(reply))
}

/// Whether a refusal of the request, 422 among them, is one of the operator's key or credit. What is said of a request may
/// quote its prompt, so only the beginning of the sentence counts there. `status` is the one that the answer means.
pub(super) fn is_about_the_account(reply: &Reply, status: u16) -> bool {
    let body: Value = reply.json().unwrap_or(Value::Null);
    let is_it = |text: String| {
        let lower = text.trim_start().to_ascii_lowercase();
        ACCOUNT.iter().any(|start| lower.starts_with(start)) || status == 429 && says_spent(&text)
    };
    fields(&body).is_none() && sentence(&body).is_some_and(is_it)
}

fn answered(reply: &Reply) -> String {
    format!("the upstream answered HTTP {}", reply.status)
}

fn fields(body: &Value) -> Option<String> {
    let items: Vec<_> = body["detail"].as_array()?.iter().filter_map(item).collect();
    (!items.is_empty()).then(|| items.join("; "))
}

fn sentence(body: &Value) -> Option<String> {
    let texts = ["detail", "message", "error"].map(|name| body[name].as_str());
    texts.into_iter().chain([body["error"]["message"].as_str()]).flatten().next().map(str::to_owned)
}

/// The code of an error, in either of its places.
pub(super) fn code(reply: &Reply) -> String {
    let body: Value = reply.json().unwrap_or(Value::Null);
    [&body["error"]["code"], &body["code"]].into_iter().find_map(word_of).unwrap_or_default()
}

/// `{"loc": ["body", "safety_tolerance"], "msg": "..."}`.
fn item(item: &Value) -> Option<String> {
    let message = item["msg"].as_str()?;
    let field = item["loc"].as_array().map(|loc| field(loc)).unwrap_or_default();
    Some(if field.is_empty() { message.to_owned() } else { format!("`{field}`: {message}") })
}

fn field(loc: &[Value]) -> String {
    let mut path = String::new();
    for part in loc.iter().filter(|part| part.as_str() != Some("body")) {
        match part {
            Value::String(name) if path.is_empty() => path.push_str(&clients_name(name)),
            Value::String(name) => path.push_str(&format!(".{name}")),
            other => path.push_str(&format!("[{other}]")),
        }
    }
    path
}

/// The provider's field in the client's words.
fn clients_name(name: &str) -> String {
    match name {
        "aspect_ratio" => "size".to_owned(),
        "input_image" => "image_urls[0]".to_owned(),
        _ => match name.strip_prefix("input_image_").and_then(|number| number.parse::<usize>().ok()) {
            Some(number @ 2..) => format!("image_urls[{}]", number - 1),
            _ => name.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_explanation_is_read_in_every_form() {
        let le = json!({"type": "less_than_equal", "loc": ["body", "safety_tolerance"],
            "msg": "Input should be less than or equal to 6", "input": 9, "ctx": {"le": 6}});
        let missing =
            json!({"type": "missing", "loc": ["body", "prompt"], "msg": "Field required", "input": {}});
        let table = [
            (json!({"detail": "Insufficient credits"}), "Insufficient credits"),
            (json!({"detail": [le]}), "`safety_tolerance`: Input should be less than or equal to 6"),
            (
                json!({"detail": [le, missing]}),
                "`safety_tolerance`: Input should be less than or equal to 6; `prompt`: Field required",
            ),
            (json!({"detail": [{"loc": ["body", "aspect_ratio"], "msg": "bad"}]}), "`size`: bad"),
            (json!({"detail": [{"loc": ["body", "input_image"], "msg": "bad"}]}), "`image_urls[0]`: bad"),
            (json!({"detail": [{"loc": ["body", "input_image_4"], "msg": "bad"}]}), "`image_urls[3]`: bad"),
            (json!({"detail": [{"loc": ["body", "a", 2, "b"], "msg": "bad"}]}), "`a[2].b`: bad"),
            (json!({"detail": [{"loc": ["body"], "msg": "bad"}]}), "bad"),
            (json!({"detail": [{"msg": "bad"}]}), "bad"),
            (json!({"error": "limit", "message": "slow down", "retry_after": 5}), "slow down"),
            (json!({"error": "limit"}), "limit"),
            (json!({"detail": []}), "the upstream answered HTTP 422"),
            (json!({"detail": [1]}), "the upstream answered HTTP 422"),
            (json!({}), "the upstream answered HTTP 422"),
            (json!("text"), "the upstream answered HTTP 422"),
        ];
        for (body, expected) in table {
            assert_eq!(words(&Reply::new(422, &body)), expected, "{body}");
        }
    }

    #[test]
    fn only_a_sentence_is_about_the_account() {
        let is_it = |detail: Value| is_about_the_account(&Reply::new(422, &json!({"detail": detail})), 422);
        assert!(is_it(json!("Invalid API key format")));
        assert!(is_it(json!("Insufficient credits")));
        assert!(!is_it(json!("Invalid prompt")));
        assert!(!is_it(json!([{"msg": "api key"}])));
        // A prompt that is quoted.
        assert!(!is_it(json!("Unsupported prompt: an overdue bill, insufficient credits")));
        assert!(!is_it(json!("The prompt `free trial of an api key` is not allowed")));
        let busy = Reply::new(429, &json!({"detail": "Your account has insufficient credits"}));
        assert!(is_about_the_account(&busy, 429));
        // The status of success says nothing where a code stands in the body.
        let meant = Reply::new(200, &json!({"code": 429, "message": "Your package has expired"}));
        assert!(is_about_the_account(&meant, 429));
        assert!(!is_about_the_account(&meant, 200));
    }

    #[test]
    fn a_client_reads_of_its_request_only() {
        let read = |detail: &str| for_client(&Reply::new(400, &json!({"detail": detail})));
        assert_eq!(read("Unsupported image"), "Unsupported image");
        for private in ["Account 77 may not", "flux-kontext-pro has no such field"] {
            assert_eq!(read(private), "the upstream answered HTTP 400", "{private}");
        }
    }
}
