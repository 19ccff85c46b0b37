//! The parts of an answer as pieces of a Messages answer, in their order; and why it ended.

use gatehouse_sdk::TextFailure;
use gatehouse_text_protocols::json::Object;
use gatehouse_text_protocols::{tool_ids, tool_names};
use serde_json::value::RawValue;

use crate::content::Part;
use crate::signature::{self, Signed};
use crate::state::State;

/// The beginning of the ids of calls that Google gave none.
pub(crate) const MADE_ID: &str = "toolu_made_";

/// One piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Thought(String),
    /// As a thinking block carries it.
    Signature(String),
    /// `input` is JSON.
    Call {
        id: String,
        name: String,
        input: String,
    },
}

/// The pieces of one answer.
#[derive(Debug)]
pub(crate) struct Pieces {
    seed: u64,
    thinks: bool,
    names: Vec<(String, String)>,
    /// Ids of the calls so far.
    ids: Vec<String>,
}

impl Pieces {
    pub(crate) fn new(seed: u64, state: &State) -> Self {
        Self { seed, thinks: state.thinks, names: state.names.clone(), ids: Vec::new() }
    }

    /// Whether the model has called a function.
    pub(crate) fn has_called(&self) -> bool {
        !self.ids.is_empty()
    }

    /// The pieces of the next part. Code that Google ran is told as text.
    ///
    /// # Errors
    /// The part is a picture, a sound or a file, which a Messages answer cannot carry. Without it the client would pay for an
    /// answer that lacks what it asked for. Those of a thought are no answer, and are left out.
    pub(crate) fn of(&mut self, part: Part<'_>) -> Result<Vec<Piece>, TextFailure> {
        if part.thought != Some(true)
            && let Some(kind) = media(&part)
        {
            return Err(TextFailure::upstream(format!(
                "the model answered with a file ({kind}), which has no place in the answer to this request"
            )));
        }
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        let signed =
            |part: Signed| signature.as_deref().map(|it| Piece::Signature(signature::write(part, it)));
        if let Some(call) = part.function_call {
            if call.name.is_empty() {
                return Err(TextFailure::upstream("the model called a function without a name"));
            }
            let number = self.ids.len();
            let id = call.id.filter(|id| !id.is_empty()).map(|id| tool_ids::encoded(&id).into_owned());
            // Two calls of one id would have one result.
            let id = id.filter(|id| !self.ids.contains(id));
            let id = id.unwrap_or_else(|| format!("{MADE_ID}{:016x}_{number}", self.seed));
            self.ids.push(id.clone());
            let name = tool_names::own(&self.names, &call.name).to_owned();
            let input = call.args.map_or_else(|| "{}".to_owned(), |args| arguments(args.get()));
            let call = Piece::Call { id, name, input };
            return Ok(signed(Signed::Call(number)).into_iter().chain([call]).collect());
        }
        let text = part.text.filter(|text| !text.is_empty());
        let text = text.or_else(|| ran(part.executable_code, part.code_execution_result));
        if part.thought == Some(true) {
            return Ok(text.map(Piece::Thought).into_iter().chain(signed(Signed::Thought)).collect());
        }
        // The signature of a text is a hint to the model; it makes a block of its own, for clients that know of thinking.
        let signed = signed(Signed::Text).filter(|_| self.thinks);
        Ok(signed.into_iter().chain(text.map(Piece::Text)).collect())
    }
}

/// The media type of a part that is a file.
fn media(part: &Part<'_>) -> Option<String> {
    let file = |raw: Option<&RawValue>, names: [&str; 2]| {
        let file = Object::parse(raw?.get())?;
        names.iter().find_map(|name| file.text(name)).filter(|it| !it.is_empty())?;
        let kind = ["mimeType", "mime_type"].iter().find_map(|name| file.text(name));
        Some(kind.map_or_else(|| "of an unknown type".to_owned(), std::borrow::Cow::into_owned))
    };
    file(part.inline_data, ["data", "data"]).or_else(|| file(part.file_data, ["fileUri", "file_uri"]))
}

/// Code that Google ran, or what it printed, as text.
fn ran(code: Option<&RawValue>, result: Option<&RawValue>) -> Option<String> {
    let member = |raw: Option<&RawValue>, name: &str| {
        Some(Object::parse(raw?.get())?.text(name)?.into_owned()).filter(|text| !text.is_empty())
    };
    let language = member(code, "language").unwrap_or_default().to_ascii_lowercase();
    let code = member(code, "code").map(|code| format!("\n```{language}\n{}\n```\n", code.trim_end()));
    let printed = member(result, "output");
    code.or_else(|| printed.map(|output| format!("\n```\n{}\n```\n", output.trim_end())))
}

/// Arguments as an object. Some servers between write it as a text, as other protocols do; a text that is no object stays one,
/// and an empty one stands for no arguments.
fn arguments(written: &str) -> String {
    match serde_json::from_str::<String>(written) {
        Ok(text) if text.trim().is_empty() => "{}".to_owned(),
        Ok(text) if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text).is_ok() => text,
        _ => written.to_owned(),
    }
}

/// `stop_reason` for Google's `finishReason`.
///
/// # Errors
/// The model wrote what nobody can use, which is nobody's fault but its own: another try may do better.
pub(crate) fn stop_reason(reason: &str, has_called: bool) -> Result<&'static str, TextFailure> {
    match reason {
        "MAX_TOKENS" => Ok("max_tokens"),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Ok("refusal"),
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => Err(TextFailure::upstream(format!(
            "the model's answer cannot be used ({})",
            reason.to_ascii_lowercase()
        ))),
        // `STOP`, `OTHER`, and whatever newer models bring.
        _ if has_called => Ok("tool_use"),
        _ => Ok("end_turn"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(thinks: bool, json: &str) -> Vec<Piece> {
        let parts: Vec<Part<'_>> = serde_json::from_str(json).expect("parts");
        let mut pieces = Pieces::new(0xab, &State { thinks, ..State::default() });
        parts.into_iter().flat_map(|part| pieces.of(part).expect("pieces")).collect()
    }

    /// Without it the second call has the id of the first, and its result goes to the wrong one.
    #[test]
    fn ids_are_googles_or_made_and_differ() {
        let made = |number| format!("{MADE_ID}00000000000000ab_{number}");
        let call = |id: String| Piece::Call { id, name: "f".to_owned(), input: "{}".to_owned() };
        let found = parts(
            false,
            r#"[{"functionCall":{"name":"f"}},{"functionCall":{"name":"f","id":"g1","args":{}}},{"functionCall":{"name":"f"}},
                {"functionCall":{"name":"f","id":"g1","args":{}}},{"functionCall":{"name":"f","id":"a:1","args":{}}}]"#,
        );
        let encoded = tool_ids::encoded("a:1").into_owned();
        assert_eq!(
            found,
            [call(made(0)), call("g1".to_owned()), call(made(2)), call(made(3)), call(encoded)]
        );
    }

    /// Without it the answer is no JSON, and a call that was paid is lost.
    #[test]
    fn arguments_are_an_object_however_they_are_written() {
        for (written, read) in [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (r#""{\"a\": 1}""#, r#"{"a": 1}"#),
            (r#""""#, "{}"),
            (r#"" ""#, "{}"),
            (r#""x""#, r#""x""#),
            (r#""[1]""#, r#""[1]""#),
        ] {
            assert_eq!(arguments(written), read, "{written}");
        }
    }

    #[test]
    fn a_signature_stands_before_its_part_and_after_its_thought() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let signature = |written: &str| Piece::Signature(written.to_owned());
        let json = r#"[{"text":"hm","thought":true,"thoughtSignature":"A"},{"text":"so"},
            {"text":"","thoughtSignature":"B"},{"functionCall":{"id":"1","name":"f","args":{"a":1.50}},"thoughtSignature":"C"},
            {"inlineData":{"mimeType":"image/png","data":""}}]"#;
        let call =
            Piece::Call { id: "1".to_owned(), name: "f".to_owned(), input: r#"{"a":1.50}"#.to_owned() };
        let thought = Piece::Thought("hm".to_owned());
        let with = [
            thought,
            signature("google:h:A"),
            text("so"),
            signature("google:t:B"),
            signature("google:c0:C"),
            call,
        ];
        assert_eq!(parts(true, json), with);
        let found = parts(false, json);
        assert!(!found.contains(&signature("google:t:B")) && found.contains(&signature("google:c0:C")));
    }

    #[test]
    fn every_reason_has_a_meaning() {
        for (reason, has_called, expected) in [
            ("STOP", false, Some("end_turn")),
            ("STOP", true, Some("tool_use")),
            ("MAX_TOKENS", true, Some("max_tokens")),
            ("SAFETY", false, Some("refusal")),
            ("RECITATION", false, Some("refusal")),
            ("OTHER", false, Some("end_turn")),
            ("MALFORMED_FUNCTION_CALL", false, None),
            ("SOMETHING_NEW", false, Some("end_turn")),
        ] {
            assert_eq!(stop_reason(reason, has_called).ok(), expected, "{reason}");
        }
    }
}
