//! Whole answers that keep to their protocol in every member. One reading tells them; the readers of other forms would change
//! nothing in them. An answer with a member that is not known here, or that may mean something else, is left to those.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::json::{JsonString, Raw};
use crate::tool_ids;

/// Any value, or no member.
type Any = Option<IgnoredAny>;
/// `null`, or no member.
type Nothing = Option<()>;
/// A text without escapes, `null`, or no member.
type Word<'a> = Option<&'a str>;

/// So many calls are compared with each other.
const MOST_CALLS: usize = 16;

/// Whether an answer is a completion in which nothing is to be changed. `has_several` says that several answers were asked for.
pub(super) fn is_completion(body: &str, has_several: bool) -> bool {
    let Ok(Completion { choices, .. }) = serde_json::from_str(body) else { return false };
    let begins = choices.first().is_none_or(|choice| choice.index.unwrap_or(0) == 0);
    (has_several || begins) && choices.iter().all(Choice::is_plain)
}

/// Whether an answer is a message in which nothing is to be changed.
pub(super) fn is_message(body: &str) -> bool {
    serde_json::from_str(body).is_ok_and(|message: Message<'_>| message.is_plain())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "most members have to have their type alone")]
struct Completion<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    #[serde(borrow)]
    id: Word<'a>,
    object: Any,
    created: Any,
    model: Any,
    usage: Option<Counts>,
    error: Nothing,
    provider: Any,
    service_tier: Any,
    system_fingerprint: Any,
    prompt_filter_results: Any,
    prompt_logprobs: Any,
    prompt_token_ids: Any,
    kv_transfer_params: Any,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "most members have to have their type alone")]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    message: ChatMessage<'a>,
    #[serde(borrow)]
    finish_reason: &'a str,
    logprobs: Any,
    error: Nothing,
    native_finish_reason: Any,
    stop_reason: Any,
    matched_stop: Any,
    token_ids: Any,
    content_filter_results: Any,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "most members have to have their type alone")]
struct ChatMessage<'a> {
    role: Any,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    refusal: Option<Raw<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Raw<'a>>,
    #[serde(borrow)]
    reasoning: Option<Raw<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
    annotations: Any,
    audio: Nothing,
    function_call: Nothing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "a number has to be one")]
struct Call<'a> {
    index: Option<u64>,
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Function<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "most members have to have their type alone")]
struct Message<'a> {
    id: Any,
    #[serde(rename = "type")]
    kind: &'a str,
    role: &'a str,
    model: &'a str,
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    stop_reason: &'a str,
    stop_sequence: Any,
    stop_details: Any,
    usage: Option<Counts>,
    container: Any,
    context_management: Any,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "most members have to have their type alone")]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Option<Raw<'a>>,
    #[serde(borrow)]
    thinking: Option<Raw<'a>>,
    #[serde(borrow)]
    signature: Option<Raw<'a>>,
    #[serde(borrow)]
    id: Word<'a>,
    #[serde(borrow)]
    name: Word<'a>,
    #[serde(borrow)]
    input: Option<Raw<'a>>,
    data: Any,
    caller: Any,
    citations: Any,
}

/// Counts of both protocols under the names that they have there: what they say is read elsewhere.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "no name stands twice")]
struct Counts {
    prompt_tokens: Any,
    completion_tokens: Any,
    total_tokens: Any,
    prompt_tokens_details: Any,
    completion_tokens_details: Any,
    prompt_cache_hit_tokens: Any,
    prompt_cache_miss_tokens: Any,
    cached_tokens: Any,
    reasoning_tokens: Any,
    cost: Any,
    cost_details: Any,
    is_byok: Any,
    queue_time: Any,
    prompt_time: Any,
    completion_time: Any,
    total_time: Any,
    input_tokens: Any,
    output_tokens: Any,
    output_tokens_details: Any,
    cache_read_input_tokens: Any,
    cache_creation_input_tokens: Any,
    cache_creation: Any,
    server_tool_use: Any,
    service_tier: Any,
    inference_geo: Any,
    iterations: Any,
}

impl Choice<'_> {
    fn is_plain(&self) -> bool {
        let texts = [self.message.refusal, self.message.reasoning_content, self.message.reasoning];
        matches!(self.finish_reason, "stop" | "length" | "tool_calls" | "content_filter")
            && texts.into_iter().flatten().all(is_text)
            && self.message.content.is_none_or(|raw| JsonString::of(raw).is_some_and(is_spoken))
            && self.message.tool_calls.as_deref().is_none_or(are_plain)
    }
}

/// Whether a text is surely none that begins with thinking.
fn is_spoken(text: JsonString<'_>) -> bool {
    let blanks = ["\\n", "\\r", "\\t"];
    let mut rest = text.inner().trim_start();
    while let Some(behind) = blanks.iter().find_map(|blank| rest.strip_prefix(blank)) {
        rest = behind.trim_start();
    }
    !["<", "\\u", "\\f"].iter().any(|begins| rest.starts_with(begins))
}

fn are_plain(calls: &[Call<'_>]) -> bool {
    let is_alone = |at: usize| calls[..at].iter().all(|before| before.id != calls[at].id);
    let says = |call: &Call<'_>| ![call.id, call.kind, call.function.name].contains(&"");
    calls.len() <= MOST_CALLS
        && (0..calls.len()).all(is_alone)
        && calls.iter().all(|call| says(call) && is_text_of_object(call.function.arguments))
}

/// Whether a value is a text of one object in JSON.
fn is_text_of_object(raw: Raw<'_>) -> bool {
    let text = JsonString::of(raw).and_then(JsonString::decode);
    text.is_some_and(|text| text.starts_with('{') && serde_json::from_str::<Raw<'_>>(&text).is_ok())
}

fn is_text(raw: Raw<'_>) -> bool {
    raw.get().starts_with('"')
}

impl Message<'_> {
    fn is_plain(&self) -> bool {
        let calls = self.content.iter().filter(|block| block.kind == "tool_use");
        let calls: Vec<Word<'_>> = calls.map(|block| block.id).collect();
        let is_alone = |at: usize| !calls[..at].contains(&calls[at]);
        let fits = match self.stop_reason {
            "end_turn" => calls.is_empty(),
            "tool_use" => !calls.is_empty(),
            reason => matches!(reason, "max_tokens" | "stop_sequence" | "refusal"),
        };
        self.kind == "message"
            && fits
            && calls.len() <= MOST_CALLS
            && (0..calls.len()).all(is_alone)
            && self.content.iter().all(Block::is_plain)
    }
}

impl Block<'_> {
    fn is_plain(&self) -> bool {
        let is_object = |raw: Raw<'_>| raw.get().starts_with('{');
        let is_id = |id: &str| !id.is_empty() && tool_ids::encoded(id) == id;
        match self.kind {
            "text" => self.text.is_some_and(is_text) && self.input.is_none(),
            "thinking" => {
                [self.thinking, self.signature].iter().all(|it| it.is_some_and(is_text))
                    && self.input.is_none()
            }
            "redacted_thinking" => self.input.is_none(),
            "tool_use" => {
                self.id.is_some_and(is_id)
                    && self.name.is_some_and(|name| !name.is_empty())
                    && self.input.is_some_and(is_object)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::incoming::Incoming;

    fn with(mut base: Value, changes: &Value) -> Value {
        for (path, value) in changes.as_object().expect("changes") {
            match base.pointer_mut(path) {
                Some(place) => *place = value.clone(),
                None => {
                    let (object, name) = path.rsplit_once('/').expect("a path");
                    base.pointer_mut(object).expect("an object")[name] = value.clone();
                }
            }
        }
        base
    }

    /// Whether nothing is changed in an answer by the one reading, which must be so by all of them; and `false` otherwise.
    fn is_plain(is_chat: bool, body: &Value) -> bool {
        let body = body.to_string();
        let is_plain = if is_chat { is_completion(&body, false) } else { is_message(&body) };
        let mended = Incoming::new(is_chat, "").mended(&body);
        assert!(!is_plain || mended.is_none(), "{body} becomes {mended:?}");
        is_plain
    }

    /// The paths of all objects in a value.
    fn objects(value: &Value, path: &str) -> Vec<String> {
        let (own, members): (_, Vec<(String, &Value)>) = match value {
            Value::Object(members) => (true, members.iter().map(|(name, it)| (name.clone(), it)).collect()),
            Value::Array(items) => {
                (false, items.iter().enumerate().map(|(at, it)| (at.to_string(), it)).collect())
            }
            _ => return vec![],
        };
        let inner = members.into_iter().flat_map(|(name, it)| objects(it, &format!("{path}/{name}")));
        own.then(|| path.to_owned()).into_iter().chain(inner).collect()
    }

    /// Without it what one of the readers of other forms would mend goes to the client as it is.
    #[test]
    fn whatever_one_member_is_the_other_readers_agree() {
        const NAMES: [&str; 44] = [
            "ID",
            "Usage",
            "annotations",
            "arguments",
            "audio",
            "call_id",
            "choices",
            "citations",
            "completion",
            "content",
            "data",
            "delta",
            "error",
            "finish_reason",
            "function",
            "function_call",
            "id",
            "images",
            "index",
            "input",
            "logprobs",
            "message",
            "model",
            "name",
            "new",
            "object",
            "output",
            "parameters",
            "prompt_tokens",
            "reasoning",
            "reasoning_content",
            "reasoning_details",
            "refusal",
            "response",
            "result",
            "role",
            "signature",
            "status",
            "stop_reason",
            "text",
            "thinking",
            "tool_calls",
            "type",
            "usage",
        ];
        let values = json!([
            null, true, 5, -1, 0.5, "", " ", "a", "5", "NaN", "<think>a</think>b", "\n\t<think>a", "\u{c}<think>a</think>",
            "[]", "{}", "{\"a\":1", "stop", "STOP", "tool_calls", "tool_use", "length", "error", "message", "text", "toolu_gw_YQ", [],
            ["a"], {}, {"a": 1}, [{}], [{"type": "text", "text": "a"}], {"type": "text", "text": "a"},
        ]);
        let chat = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "a", "refusal": null}, "logprobs": null, "finish_reason": "stop"},
                {"index": 1, "message": {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}});
        let messages = json!({"id": "msg_a", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"},
                        {"type": "tool_use", "id": "t", "name": "f", "input": {}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}});
        for (is_chat, usual) in [(true, &chat), (false, &messages)] {
            assert!(is_plain(is_chat, usual));
            for path in objects(usual, "") {
                let known = usual.pointer(&path).and_then(Value::as_object).into_iter().flatten();
                for name in known.map(|(name, _)| name.as_str()).chain(NAMES) {
                    for value in values.as_array().expect("values") {
                        is_plain(is_chat, &with(usual.clone(), &json!({format!("{path}/{name}"): value})));
                    }
                }
            }
        }
    }

    /// Without it the usual answer is read six times, or an odd one is handed to clients that cannot read it.
    #[test]
    fn a_completion_is_plain_where_every_member_is() {
        let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
        let usual = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "system_fingerprint": null,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "a", "refusal": null}, "logprobs": null, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}});
        let message = "/choices/0/message";
        let calls = |calls: Value| {
            let message =
                json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": calls});
            json!({"/choices/0/message": message, "/choices/0/finish_reason": "tool_calls"})
        };
        for (changes, expected) in [
            (json!({}), true),
            (json!({"/choices/0/message/content": "\n \"<think>a"}), true),
            (json!({"/choices/0/message/content": "He said \"\u{e9}\""}), true),
            (json!({"/error": null, "/service_tier": "default", "/choices/0/message/annotations": []}), true),
            (calls(json!([call("a", "{}"), call("b", "{\"p\":1}")])), true),
            (calls(json!([])), true),
            (calls(json!([call("a", "{}"), call("a", "{}")])), false),
            (calls(json!([call("", "{}")])), false),
            (calls(json!([call("a", "{\"p\":")])), false),
            (calls(json!([call("a", "{}{}")])), false),
            (calls(json!([call("a", "[]")])), false),
            (calls(json!([call("a", "")])), false),
            (json!({"/choices/0/message/content": "\n <think>a</think>b"}), false),
            (json!({"/choices/0/message/content": ["a"]}), false),
            (json!({"/choices/0/message/content": 5}), false),
            (json!({"/choices/0/message/refusal": false}), false),
            (json!({"/choices/0/message/text": "a"}), false),
            (json!({"/choices/0/message/Content": "a"}), false),
            (json!({"/choices/0/message/function_call": {"name": "f"}}), false),
            (json!({"/choices/0/message/audio": {"data": "a"}}), false),
            (json!({"/choices/0/index": 1}), false),
            (json!({"/choices/0/index": "0"}), false),
            (json!({"/choices/0/finish_reason": "eos"}), false),
            (json!({"/choices/0/finish_reason": "function_call"}), false),
            (json!({"/choices/0/finish_reason": null}), false),
            (json!({"/choices/0/error": {"message": "busy"}}), false),
            (json!({"/choices": "a"}), false),
            (json!({"/error": {"message": "busy"}}), false),
            (json!({"/data": {}}), false),
            (json!({"/id": 5}), false),
            (json!({"/usage": [1]}), false),
            (json!({"/usage/Prompt_Tokens": 1}), false),
            (json!({message: "a"}), false),
            (json!({message: null}), false),
        ] {
            assert_eq!(is_plain(true, &with(usual.clone(), &changes)), expected, "{changes}");
        }
        let twice = usual.to_string().replace(r#""created":1"#, r#""created":1,"created":2"#);
        assert!(!is_completion(&twice, false), "readers differ in which of the two counts");
        let two = json!([usual["choices"][0], usual["choices"][0]]);
        assert!(is_plain(true, &with(usual.clone(), &json!({"/choices": two}))));
        let second = with(usual, &json!({"/choices/0/index": 1})).to_string();
        assert!(is_completion(&second, true), "one of several that were asked for");
    }

    #[test]
    fn a_message_is_plain_where_every_member_is() {
        let usual = json!({"id": "msg_a", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1}});
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {"p": 1}});
        let calls = |calls: Value| json!({"/content": calls, "/stop_reason": "tool_use"});
        let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        for (changes, expected) in [
            (json!({}), true),
            (json!({"/content": []}), true),
            (json!({"/content/0/citations": null, "/container": null}), true),
            (json!({"/content": [thought, {"type": "redacted_thinking", "data": "d"}]}), true),
            (calls(json!([call("toolu_a"), call("toolu_b")])), true),
            (json!({"/content": [call("a")], "/stop_reason": "max_tokens"}), true),
            (json!({"/content": [call("a")]}), false),
            (calls(json!([{"type": "text", "text": "a"}])), false),
            (calls(json!([call("a"), call("a")])), false),
            (calls(json!([call("a.b")])), false),
            (calls(json!([call("")])), false),
            (calls(json!([{"type": "tool_use", "id": "a", "name": "f", "input": "{}"}])), false),
            (calls(json!([{"type": "tool_use", "id": "a", "name": "", "input": {}}])), false),
            (calls(json!([{"type": "tool_use", "id": "a", "name": "f"}])), false),
            (json!({"/content": "a"}), false),
            (json!({"/content/0/text": null}), false),
            (json!({"/content/0/text": ["a"]}), false),
            (json!({"/content/0/type": "output_text"}), false),
            (json!({"/content/0/input": []}), false),
            (json!({"/content": [{"type": "thinking", "thinking": "hm"}]}), false),
            (json!({"/stop_reason": null}), false),
            (json!({"/stop_reason": "stop"}), false),
            (json!({"/stop_reason": "error"}), false),
            (json!({"/finish_reason": "stop"}), false),
            (json!({"/type": "completion"}), false),
            (json!({"/role": null}), false),
            (json!({"/model": null}), false),
            (json!({"/usage": 5}), false),
            (json!({"/usage/INPUT_TOKENS": 1}), false),
        ] {
            assert_eq!(is_plain(false, &with(usual.clone(), &changes)), expected, "{changes}");
        }
    }
}
