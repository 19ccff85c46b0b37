//! A provider's error, read from either protocol and from the forms of compatible servers.
//!
//! Owns the reading, and the words that concern the operator's account. Never decides what the client is answered;
//! `failures` does.

use gatehouse_sdk::provider::{is_account_code, plain_code, says_spent};

use crate::context_length;
use crate::json::{Object, items};

/// Types and codes that concern the operator's account.
const ACCOUNT_CODES: [&str; 12] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "account_deactivated",
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    // Z.ai: locked, without money, and a plan that is used up or has ended.
    "1112",
    "1113",
    "1309",
    "1310",
];
/// Beginnings of messages that concern the operator's account, in lower case. Further inside a message the words may be
/// the client's own: providers quote schemas, names of tools, and texts.
const ACCOUNT_BEGINNINGS: [&str; 20] = [
    "api key expired",
    "api key not valid",
    "budget has been exceeded",
    "gemini api free tier is not available",
    "incorrect api key provided",
    "invalid api key",
    "not enough balance",
    "organization has been restricted",
    "sorry, your account balance",
    "spend limit reached",
    "the api key you provided",
    "this api method requires billing",
    "this organization has been disabled",
    "user location is not supported",
    "your account has been",
    "your account is",
    "your organization must be verified",
    "your credit balance is too low",
    "you exceeded your current quota",
    "you have reached your specified api usage limits",
];
/// The HTTP status that belongs to a type or code.
const STATUS_BY_CODE: [(&str, u16); 18] = [
    ("insufficient_quota", 402),
    ("billing_error", 402),
    ("authentication_error", 401),
    ("invalid_api_key", 401),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("model_not_found", 404),
    ("request_too_large", 413),
    ("conflict_error", 409),
    ("rate_limit_error", 429),
    ("rate_limit_exceeded", 429),
    ("requests", 429),
    ("tokens", 429),
    ("invalid_request_error", 400),
    ("context_length_exceeded", 400),
    (HELD_BACK, 400),
    ("BadRequestError", 400),
    ("overloaded_error", 529),
];

/// Beginnings of types and codes about what is asked within a time, as [`plain_code`] has them.
const RATE_CODES: [&str; 4] = ["ratelimit", "toomanyrequests", "throttl", "requestlimitexceeded"];
/// What messages about such a limit name, in lower case.
const RATES: [&str; 8] = [
    "tokens per min",
    "tokens per day",
    "tokens per second",
    "requests per min",
    "requests per day",
    "requests per second",
    "(tpm)",
    "(rpm)",
];
/// Beginnings of messages about too many requests, in lower case.
const BUSY_BEGINNINGS: [&str; 3] = ["too many requests", "too many tokens", "rate limit"];
/// Where servers without an error object have their words.
const PLAIN: [&str; 8] =
    ["error", "message", "detail", "Message", "error_msg", "title", "error_message", "errorMessage"];
/// Words that good answers have too, such as `ok`: only beside a code of failure they are an error's.
const CODED: [&str; 3] = ["msg", "errmsg", "err_msg"];
/// Where servers with such words have their code.
const CODES: [&str; 3] = ["code", "errcode", "err_code"];
/// Where MiniMax says what became of an answer.
pub(crate) const VERDICT: &str = "base_resp";
/// MiniMax's codes, in an answer of 200: the first and the last of some, the status and the type that they mean.
const MINIMAX: [(u64, u64, u16, &str); 11] = [
    (1002, 1002, 429, "rate_limit_error"),
    (1004, 1004, 401, "authentication_error"),
    (1008, 1008, 402, "insufficient_quota"),
    (1026, 1027, 400, HELD_BACK),
    // Tokens in a minute, and connections.
    (1039, 1039, 429, "rate_limit_error"),
    (1041, 1041, 429, "rate_limit_error"),
    (1042, 1044, 400, "invalid_request_error"),
    (2013, 2013, 400, "invalid_request_error"),
    (2045, 2045, 429, "rate_limit_error"),
    (2049, 2049, 401, "authentication_error"),
    (2056, 2056, 402, "insufficient_quota"),
];

/// The type of what may not be asked or answered.
const HELD_BACK: &str = "content_filter";

/// How many servers' errors inside of each other are read.
const MAX_DEPTH: usize = 8;

/// An error object.
#[derive(Debug, Default)]
pub struct ProviderError {
    message: Option<String>,
    /// Its `type`; empty when it has none.
    pub kind: String,
    /// Its `code`, or the `status` that Google's servers have beside a number; empty when it has none.
    pub code: String,
    /// Its `param`: the field that it is about.
    pub param: Option<String>,
    /// The HTTP status some servers write as `code`.
    status: Option<u16>,
}

impl ProviderError {
    /// Reads a body. `None` when it is not an error of either protocol (a page of a proxy).
    #[must_use]
    pub fn read(body: &str) -> Option<Self> {
        Self::read_within(body, MAX_DEPTH)
    }

    fn read_within(body: &str, depth: usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        // Gemini's compatible endpoint wraps its error in an array.
        let first = || serde_json::from_str::<Vec<Object<'_>>>(body).ok()?.into_iter().next();
        let body = Object::parse(body).or_else(first)?;
        let text = |object: &Object<'_>, name: &str| object.text(name).map(|text| text.into_owned());
        // `{"error":{...}}`, `{"error":"..."}`, and the bare forms of vLLM and FastAPI.
        let error = body.object("error").or_else(|| body.object("detail"));
        let says_failed = body.get("success").is_some_and(|raw| raw.get() == "false");
        let words = |name: &&str| text(&body, name).filter(|words| !words.trim().is_empty());
        let plain = PLAIN.iter().find_map(words).or_else(|| {
            let is_failure = says_failed || CODES.iter().any(|name| is_code_of_failure(&body, name));
            CODED.iter().find_map(words).filter(|_| is_failure)
        });
        let (known, message) = match &error {
            Some(error) => (true, text(error, "message").or_else(|| text(error, "error")).or(plain)),
            None => {
                let bare = body.text("object").as_deref() == Some("error");
                (plain.is_some() || bare, plain)
            }
        };
        if let Some(other) = other_form(&body, depth).filter(|_| message.is_none()) {
            return Some(other);
        }
        let (known, message) = match body.get("detail").and_then(|raw| validation(raw.get())) {
            Some(words) if message.is_none() => (true, Some(words)),
            _ => (known, message),
        };
        let error = error.unwrap_or(body);
        // A server between has the words of the one behind it in a member of its own (OpenRouter).
        let behind = error.object("metadata").and_then(|behind| match text(&behind, "raw") {
            Some(raw) => Self::read_within(&raw, depth),
            None => Self::read_within(behind.get("raw")?.get(), depth),
        });
        if let Some(behind) = behind.filter(|behind| behind.message.is_some()) {
            let status = behind.status.or_else(|| status(&error));
            return Some(Self { status, ..behind });
        }
        let kind = text(&error, "type").or_else(|| text(&error, "__type")).unwrap_or_default();
        let code = text(&error, "code").or_else(|| text(&error, "status")).unwrap_or_default();
        let param = text(&error, "param").filter(|param| !param.is_empty());
        (known || says_failed || ACCOUNT_CODES.iter().any(|account| kind == *account || code == *account))
            .then(|| Self { message, kind, code, param, status: status(&error) })
    }

    /// What MiniMax says of an answer; `None` where that is good.
    pub(crate) fn of_verdict(verdict: &Object<'_>) -> Option<Self> {
        let code = verdict.unsigned("status_code").filter(|code| *code != 0)?;
        let row = MINIMAX.iter().find(|(first, last, ..)| (*first..=*last).contains(&code));
        let (status, kind) = row.map_or((None, ""), |(_, _, status, kind)| (Some(*status), *kind));
        let said = verdict.text("status_msg").filter(|said| !said.trim().is_empty());
        let message = said.map(std::borrow::Cow::into_owned);
        let message = message.or_else(|| (kind == HELD_BACK).then(|| "the content is sensitive".to_owned()));
        let error = Self { message, kind: kind.to_owned(), code: code.to_string(), param: None, status };
        // One code may stand for both, and shortening the conversation helps where it is too long.
        let status = if context_length::is_exceeded(&error) { Some(400) } else { status };
        Some(Self { status, ..error })
    }

    /// Whether it is about what may not be asked or answered.
    pub(crate) fn is_held_back(&self) -> bool {
        self.is(HELD_BACK)
    }

    /// The same, of a body that is a sentence and nothing else.
    #[must_use]
    pub fn of_text(body: &str) -> Option<Self> {
        let text = body.trim();
        let is_sentence = !text.is_empty() && !text.starts_with(['{', '[']) && !is_page(text);
        is_sentence.then(|| Self { message: Some(text.to_owned()), ..Self::default() })
    }

    /// The provider's sentence. `None` when there is none, or a page instead.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        let message = self.message.as_deref()?.trim();
        (!message.is_empty() && !is_page(message)).then_some(message)
    }

    /// Whether its type or its code is `name`.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.kind == name || self.code == name
    }

    /// Whether its message contains `part`, which is in lower case.
    #[must_use]
    pub fn mentions(&self, part: &str) -> bool {
        self.message().is_some_and(|message| message.to_ascii_lowercase().contains(part))
    }

    /// Whether its message begins with `words`, which are in lower case.
    fn begins(&self, words: &str) -> bool {
        let head = self.message().and_then(|message| message.get(..words.len()));
        head.is_some_and(|head| head.eq_ignore_ascii_case(words))
    }

    /// Whether it concerns the operator's account: money and credentials.
    #[must_use]
    pub fn is_about_account(&self) -> bool {
        // Google has the same words for what is asked too often within a minute.
        if self.code == "RESOURCE_EXHAUSTED" && self.mentions("retry in") && !self.mentions("limit: 0") {
            return false;
        }
        let is_suspended = self.begins("account ") && self.mentions("suspended");
        is_suspended
            || ACCOUNT_CODES.iter().any(|code| self.is(code))
            || ACCOUNT_BEGINNINGS.iter().any(|words| self.begins(words))
            || is_account_code(&self.code)
            || is_account_code(&self.kind)
    }

    /// Whether it is about what is asked within a time, whatever its status is: a conversation is not too long for that.
    #[must_use]
    pub fn is_about_rate(&self) -> bool {
        let is_code = |code: &String| {
            let code = plain_code(code);
            RATE_CODES.iter().any(|start| code.starts_with(start))
        };
        let says_it = || {
            BUSY_BEGINNINGS.iter().any(|words| self.begins(words))
                || RATES.iter().any(|words| self.mentions(words))
        };
        ([&self.kind, &self.code].into_iter().any(is_code) || says_it())
            && !self.is_about_account()
            && !context_length::is_exceeded(self)
    }

    /// Whether it says that the operator's money is spent. Only for an answer that is a rate limit's anyway.
    #[must_use]
    pub fn says_spent(&self) -> bool {
        self.message().is_some_and(says_spent)
    }

    /// The HTTP status that belongs to its words, for an error inside an answer of 200.
    #[must_use]
    pub fn implied_status(&self) -> Option<u16> {
        let named = || STATUS_BY_CODE.iter().find(|(code, _)| self.is(code)).map(|(_, status)| *status);
        // Too many tokens in one prompt are no rate.
        let is_busy =
            || BUSY_BEGINNINGS.iter().any(|words| self.begins(words)) && !context_length::is_exceeded(self);
        let busy = || is_busy().then_some(429);
        self.status.or_else(named).or_else(busy)
    }
}

/// Whether a text is a page. Qwen begins its sentences with `<400> `.
#[must_use]
pub fn is_page(text: &str) -> bool {
    let text = text.trim_start();
    let is_tag = |tag: &str| text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag));
    ["<!doctype", "<html", "<?xml", "<head", "<body", "<title", "<center", "<h1", "<p>", "<div", "<!--"]
        .iter()
        .any(|tag| is_tag(tag))
}

fn status(error: &Object<'_>) -> Option<u16> {
    let number = error.unsigned("code").or_else(|| error.text("code")?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// Whether a member is a number that says that something failed.
fn is_code_of_failure(body: &Object<'_>, name: &str) -> bool {
    let code = body.get(name).and_then(|raw| raw.get().parse::<i64>().ok());
    code.is_some_and(|code| !matches!(code, 0 | 200))
}

/// Forms of servers that have neither an error object nor a sentence in the usual place.
fn other_form(body: &Object<'_>, depth: usize) -> Option<ProviderError> {
    if let Some(answer) = body.object(VERDICT) {
        return ProviderError::of_verdict(&answer);
    }
    // Apigee; Ark's and other Volcengine servers, Tencent's.
    let fault = body.object("fault").and_then(|fault| Some(fault.text("faultstring")?.into_owned()));
    if let Some(message) = fault {
        return Some(ProviderError { message: Some(message), ..ProviderError::default() });
    }
    let around = ["ResponseMetadata", "Response"].iter().find_map(|name| body.object(name)?.object("Error"));
    if let Some(error) = around {
        let text = |name: &str| error.text(name).map(std::borrow::Cow::into_owned);
        let code = text("Code").unwrap_or_default();
        return Some(ProviderError { message: text("Message"), code, ..ProviderError::default() });
    }
    // Mistral has its findings in the place of a sentence, others a list of errors.
    if let Some(inner) = body.object("message").filter(|inner| inner.get("detail").is_some()) {
        let message = inner.get("detail").and_then(|raw| validation(raw.get()))?;
        let kind = body.text("type").unwrap_or_default().into_owned();
        return Some(ProviderError { message: Some(message), kind, ..ProviderError::default() });
    }
    let first = body.items("errors").filter(|_| body.get("choices").is_none())?.into_iter().next()?;
    match crate::json::JsonString::of(first) {
        Some(text) => {
            Some(ProviderError { message: Some(text.decoded().into_owned()), ..ProviderError::default() })
        }
        None => ProviderError::read_within(first.get(), depth),
    }
}

/// The first finding of a server that validates with Pydantic: `[{"loc":["body","messages"],"msg":"Field required"}]`.
fn validation(raw: &str) -> Option<String> {
    let all = serde_json::from_str::<Vec<Object<'_>>>(raw).ok()?;
    let first = all.first()?;
    let place = first.get("loc").and_then(items).unwrap_or_default();
    let place = place.iter().map(|raw| raw.get().trim_matches('"')).filter(|part| *part != "body");
    let place = place.collect::<Vec<_>>().join(".");
    let said = first.text("msg")?;
    Some(if place.is_empty() { said.into_owned() } else { format!("{place}: {said}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_form_of_an_error() {
        for body in [
            r#"{"error":{"message":"bad","type":"t"}}"#,
            r#"[{"error":{"message":"bad"}}]"#,
            r#"{"error":"bad"}"#,
            r#"{"object":"error","message":"bad"}"#,
            r#"{"detail":"bad"}"#,
            r#"{"detail":{"message":" bad "}}"#,
            r#"{"detail":[{"loc":["body"],"msg":"bad","type":"missing"}]}"#,
            r#"{"detail":{"error":"bad"}}"#,
            r#"{"Message":"bad"}"#,
            r#"{"code":500,"msg":"bad","success":false}"#,
            r#"{"error_code":336003,"error_msg":"bad"}"#,
            r#"{"base_resp":{"status_code":1000,"status_msg":"bad"}}"#,
            r#"{"object":"error","message":{"detail":[{"loc":["body"],"msg":"bad"}]},"type":"invalid_request_error"}"#,
            r#"{"success":false,"errors":[{"code":5006,"message":"bad"}],"result":{}}"#,
            r#"{"errors":["bad"]}"#,
            r#"{"success":false,"errmsg":"bad"}"#,
            r#"{"success":false,"msg":"bad"}"#,
            r#"{"errcode":-1,"errmsg":"bad"}"#,
            r#"{"error":"","error_message":"bad"}"#,
            r#"{"success":false,"detail":[{"loc":["body"],"msg":"bad"}]}"#,
            r#"{"success":false,"error":{"metadata":{"raw":{"error":{"message":"bad"}}}}}"#,
            r#"{"fault":{"faultstring":"bad","detail":{"errorcode":"x"}}}"#,
            r#"{"ResponseMetadata":{"RequestId":"r","Error":{"Code":"x","Message":"bad"}}}"#,
            r#"{"Response":{"RequestId":"r","Error":{"Code":"x","Message":"bad"}}}"#,
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":{"error":{"message":"bad"}}}}}"#,
        ] {
            assert_eq!(
                ProviderError::read(body).as_ref().and_then(ProviderError::message),
                Some("bad"),
                "{body}"
            );
        }
        for body in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"id":"x","choices":[]}"#,
            r#"{"code":0,"msg":"ok"}"#,
            r#"{"usage":{},"errcode":0,"errmsg":"ok"}"#,
            r#"{"usage":{},"error_message":""}"#,
            r#"{"choices":[],"base_resp":{"status_code":0,"status_msg":""}}"#,
            r#"{"message":{"role":"assistant","content":"a"},"done":false}"#,
        ] {
            assert!(ProviderError::read(body).is_none(), "{body}");
        }
        let deep = 100_000;
        let deep = format!("{}null{}", "{\"error\":{\"metadata\":{\"raw\":".repeat(deep), "}}}".repeat(deep));
        assert!(
            ProviderError::read(&deep).is_some_and(|error| error.message().is_none()),
            "it is not followed to its end"
        );
        let status = |code: &str| {
            ProviderError::read(&format!(r#"{{"error":{{"code":{code}}}}}"#)).unwrap().implied_status()
        };
        assert_eq!(status("429"), Some(429));
        assert_eq!(status("\"401\""), Some(401));
        assert_eq!(status("\"model_not_found\""), Some(404));
        assert_eq!(status("1"), None);
        let implied = |body: &str| ProviderError::read(body).unwrap().implied_status();
        for (code, said, status) in [
            (1002, "rate limit", Some(429)),
            (1008, "insufficient balance", Some(402)),
            (1026, "", Some(400)),
            (1027, "output new_sensitive", Some(400)),
            (1033, "system error", None),
            (1039, "token limit", Some(429)),
            (1039, "context window exceeds limit", Some(400)),
            (2045, "rate growth limit", Some(429)),
        ] {
            let body = format!(r#"{{"base_resp":{{"status_code":{code},"status_msg":"{said}"}}}}"#);
            assert_eq!(implied(&body), status, "{body}");
        }
        assert_eq!(implied(r#"{"message":"Too many requests, please wait."}"#), Some(429));
        assert_eq!(implied(r#"{"success":false,"error":{"code":429}}"#), Some(429));
        assert_eq!(implied(r#"{"success":false,"error":{"type":"insufficient_quota"}}"#), Some(402));
        assert_eq!(implied(r#"{"success":false}"#), None);
    }
}
