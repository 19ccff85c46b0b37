//! Which of a provider's words a client reads: those of an error that is about the request, by its type or code or by the
//! member of the request that it names, and of these nothing about the operator's account.

use gatehouse_sdk::provider::{is_private, without_ids};

use crate::names::is_member;
use crate::provider_error::{ProviderError, is_page};

/// The longest provider text a client reads, in characters.
const MAX_CHARS: usize = 2000;
/// Ends a text that was cut.
const ELLIPSIS: &str = "...";
/// Beginnings of account names and keys. Some are usual words, too: a client's tool may be called `key-value-store`.
const ACCOUNT_PREFIXES: [&str; 7] = ["org-", "org_", "sk-", "sess-", "proj_", "acct_", "key-"];
/// Beginnings of the ids of calls, which clients send themselves.
const CALL_PREFIXES: [&str; 2] = ["call_", "toolu_"];
/// Beginnings of types and codes that are about the request, in lower case without marks.
const REQUEST_CODES: [&str; 55] = [
    // OpenAI, Azure, Groq, Mistral, DeepSeek, Moonshot, Qwen and most compatible servers.
    "invalidrequest",
    "invalidparameter",
    "invalidvalue",
    "invalidtype",
    "invalidprompt",
    "invalidimage",
    "invalidfile",
    "invalidbase64",
    "invalidjson",
    "invalidschema",
    "invalidfunction",
    "invalidtool",
    "invalidmessage",
    "invalidcontent",
    "invalidinput",
    "invalidencryptedcontent",
    "missingrequired",
    "missingparameter",
    "unknownparameter",
    "unsupportedparameter",
    "unsupportedvalue",
    "unsupportedimage",
    "unsupportedfile",
    "unsupportedcontent",
    "contextlength",
    "contextwindow",
    "exceedcontext",
    "stringabove",
    "stringbelow",
    "arrayabove",
    "arraybelow",
    "emptyarray",
    "emptystring",
    "integerabove",
    "integerbelow",
    "decimalabove",
    "decimalbelow",
    "imageparse",
    "imagecontentpolicy",
    "imagetoo",
    "tooluse",
    "jsonvalidate",
    // What may not be asked or answered.
    "contentfilter",
    "contentpolicy",
    "datainspection",
    "sensitivecontent",
    "responsibleaipolicy",
    // vLLM, SGLang, FastAPI, Bedrock, Google, xAI.
    "badrequest",
    "validation",
    "valueerror",
    "unprocessable",
    "invalidargument",
    "clientspecifiedaninvalidargument",
    // Anthropic.
    "requesttoolarge",
    "prompttoolong",
];

/// Whether an error with a status of 400 or so is about the request, and so has words for the client.
#[must_use]
pub fn is_about_request(error: &ProviderError) -> bool {
    if [&error.kind, &error.code].iter().any(|code| is_request_code(code)) {
        return true;
    }
    // Servers without types and codes of their own name the member that they do not take. Qwen's begin with the status.
    let says = |message: &str| message.starts_with("<400> ") || names_member(message);
    let is_status = |code: &str| code.is_empty() || code.bytes().all(|byte| byte.is_ascii_digit());
    is_status(&error.code) && is_status(&error.kind) && error.message().is_some_and(says)
}

/// Whether a type or code is about the request. Marks and case do not count.
fn is_request_code(code: &str) -> bool {
    let plain: String =
        code.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    REQUEST_CODES.iter().any(|known| plain.starts_with(known))
}

/// Whether a text names a member of requests: one that is no word of prose, or stands at its beginning or in quotes.
/// The `model` does not count: what the provider reads there is the operator's.
fn names_member(text: &str) -> bool {
    let in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut before = None;
    text.split_inclusive(|letter: char| !in_name(letter)).any(|piece| {
        let name = piece.trim_end_matches(|letter: char| !in_name(letter));
        let after = piece[name.len()..].chars().next();
        let is_marked = before.is_none_or(|letter| "`'\".[".contains(letter))
            && after.is_some_and(|letter| "`'\".[:".contains(letter));
        before = piece.chars().next_back();
        name != "model" && is_member(name) && (is_marked || name.contains('_'))
    })
}

/// A provider's text as a client may read it: sentence by sentence what is not about the operator's side, without
/// addresses, long numbers, and names of accounts. `None` where nothing is left.
#[must_use]
pub fn for_client(text: &str) -> Option<String> {
    if is_page(text) {
        return None;
    }
    let kept: Vec<&str> = sentences(text).filter(|sentence| !is_private(&prose(sentence), &[])).collect();
    without_ids(&without_accounts(&kept.join(" ")), &CALL_PREFIXES)
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split_inclusive(". ")).map(str::trim)
}

/// A sentence without its identifiers: a client's function may be called `get_account_balance`.
fn prose(sentence: &str) -> String {
    let is_identifier = |word: &str| {
        let inner = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_quoted = word.starts_with(['`', '\'', '"']) && word[1..].contains(['`', '\'', '"']);
        inner.contains('_') || (is_quoted && !inner.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let words: Vec<&str> = sentence.split_whitespace().filter(|word| !is_identifier(word)).collect();
    words.join(" ")
}

/// A text without the names and keys of the operator's account, cut to the longest a client reads.
fn without_accounts(text: &str) -> String {
    let in_word = |letter: char| letter.is_alphanumeric() || "-_*".contains(letter);
    let is_long = text.chars().nth(MAX_CHARS).is_some();
    let end = text.char_indices().nth(MAX_CHARS - ELLIPSIS.len()).map_or(text.len(), |(at, _)| at);
    let cut = if is_long { &text[..end] } else { text };
    let mut left = String::with_capacity(cut.len());
    for piece in cut.split_inclusive(|letter: char| !in_word(letter)) {
        let (word, rest) = piece.split_at(piece.trim_end_matches(|letter: char| !in_word(letter)).len());
        left.push_str(if is_account(word) { "***" } else { word });
        left.push_str(rest);
    }
    if is_long {
        left.push_str(ELLIPSIS);
    }
    left
}

/// Whether a word is the name or the key of an account.
fn is_account(word: &str) -> bool {
    // It is random, or partly hidden.
    let is_random = word.contains(|letter: char| !letter.is_ascii_lowercase() && !"-_".contains(letter));
    word.len() > 8 && is_random && ACCOUNT_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a client reads whose account it is that answers it, or nothing of its own mistake.
    #[test]
    fn a_client_reads_what_is_about_its_request() {
        for (text, expected) in [
            ("in org-abc123def, key (sk-ab***gh123).", Some("in ***, key (***).")),
            ("a sk-1 key-fob of gpt-4.1", Some("a sk-1 key-fob of gpt-4.1")),
            ("tool 'key-value-store' of key-4f0a9c, key-ab***yz", Some("tool 'key-value-store' of ***, ***")),
            (
                "tool 'org-structure-view', 'sk-learn_fit' of proj_AbCdEfGhIjKl",
                Some("tool 'org-structure-view', 'sk-learn_fit' of ***"),
            ),
            (
                "`tool_use` ids without results: toolu_0123456789012345, call_0000000000000001_0 of 01234567890",
                Some("`tool_use` ids without results: toolu_0123456789012345, call_0000000000000001_0 of"),
            ),
            ("seed: must be <= 9223372036854775807", Some("seed: must be <= 9223372036854775807")),
            (
                "`top_k`: too large. See https://docs.example/x for more.",
                Some("`top_k`: too large. See for more."),
            ),
            ("`top_k`: too large.\nYour account 2100000001 may ask for more.", Some("`top_k`: too large.")),
            ("max_tokens must be < 8192, got 9000", Some("max_tokens must be < 8192, got 9000")),
            (
                "Invalid schema for function 'get_account_balance'.",
                Some("Invalid schema for function 'get_account_balance'."),
            ),
            (
                "<400> InternalError.Algo.InvalidParameter: no",
                Some("<400> InternalError.Algo.InvalidParameter: no"),
            ),
            ("Your account 'acme' has no plan", None),
            ("Request id: 021718049470528d92fcbe0865fdffdde", Some("Request id:")),
            ("<html>Bad Gateway", None),
        ] {
            assert_eq!(for_client(text).as_deref(), expected, "{text}");
        }
        let long = for_client(&"\u{e9}".repeat(5000)).expect("words");
        assert_eq!((long.chars().count(), long.ends_with(ELLIPSIS)), (MAX_CHARS, true));
    }

    #[test]
    fn errors_about_a_request_are_known_by_code_or_by_what_they_name() {
        let read = |body: &str| ProviderError::read(body).expect("an error");
        for body in [
            r#"{"error":{"type":"invalid_request_error","message":"no"}}"#,
            r#"{"error":{"type":"x","code":"context_length_exceeded","message":"no"}}"#,
            r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no"}}"#,
            r#"{"object":"error","type":"BadRequestError","code":400,"message":"no"}"#,
            r#"{"error":{"code":"InvalidParameter.UnsupportedValue","message":"no"}}"#,
            r#"{"code":"Client specified an invalid argument","error":"no"}"#,
            r#"{"error":"temperature: expected a number"}"#,
            r#"{"error":{"code":400,"message":"`tools` are not supported"}}"#,
            r#"{"detail":[{"loc":["body","messages",0],"msg":"Field required"}]}"#,
            r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}"}}}"#,
        ] {
            assert!(is_about_request(&read(body)), "{body}");
        }
        for body in [
            r#"{"error":{"type":"InvalidEndpoint","message":"`tools`"}}"#,
            r#"{"error":{"code":"InvalidSubscription","message":"max_tokens"}}"#,
            r#"{"error":"the model has a system error"}"#,
            r#"{"error":"model: llama3 is not loaded on gpu-7.internal"}"#,
            r#"{"error":"`model` llama3 is not loaded"}"#,
            r#"{"error":{"code":"internal_error","message":"max_tokens"}}"#,
        ] {
            assert!(!is_about_request(&read(body)), "{body}");
        }
    }
}
