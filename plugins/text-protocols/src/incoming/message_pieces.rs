//! Streams whose pieces stand in `message`, where the protocol has `delta`: each what is new, or all so far. Such a piece becomes a delta.
//! A whole completion in place of a stream says `message`, too: it says why it ended, or is alone.

use gatehouse_sdk::Sse;

use super::reasons;
use crate::json::{Edits, Object, Writer, is_null, quoted};

/// What ends a completion that does not say why it ended.
const END: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// The pieces so far.
#[derive(Debug, Default)]
pub(super) struct MessagePieces {
    count: usize,
    said: String,
    has_ended: bool,
}

impl MessagePieces {
    pub(super) fn has_begun(&self) -> bool {
        self.count > 0
    }

    /// The chunk with a delta; `None` where it is no such piece.
    pub(super) fn delta(&mut self, data: &str) -> Option<String> {
        if !data.contains("\"message\"") {
            return None;
        }
        let whole = Object::parse(data)?;
        let choices = whole.items("choices")?;
        let [raw] = choices[..] else { return None };
        let choice = Object::parse(raw.get())?;
        let message = choice.object("message").filter(|_| choice.get("delta").is_none())?;
        let has_ended = choice.text("finish_reason").is_some_and(|reason| !reasons::says_nothing(&reason));
        if has_ended && !self.has_begun() {
            return None;
        }
        self.count += 1;
        self.has_ended |= has_ended;
        let mut edits = Edits::default();
        if let Some((raw, text)) = message.get("content").zip(message.text("content")) {
            let is_all = self.count > 1 && !self.said.is_empty() && text.starts_with(&self.said);
            let added = if is_all { text[self.said.len()..].to_owned() } else { text.into_owned() };
            self.said.push_str(&added);
            edits.replace(raw, quoted(&added));
        }
        let delta = edits.written(choice.get("message")?);
        let mut out = Writer::new(data.len());
        if choice.get("index").is_none() {
            out.member("index", "0");
        }
        for (name, raw) in choice.iter() {
            match name {
                "delta" => {}
                "index" if is_null(raw) => {}
                "message" => out.member("delta", &delta),
                _ => out.member(name, raw.get()),
            }
        }
        let mut edits = Edits::default();
        edits.replace(raw, out.done());
        whole.get("object").into_iter().for_each(|raw| edits.replace(raw, quoted("chat.completion.chunk")));
        Some(edits.written(serde_json::from_str(data).ok()?))
    }

    /// The reason of one piece that was all, and said none.
    pub(super) fn end(&self) -> Option<Sse> {
        (self.count == 1 && !self.has_ended).then(|| Sse { event: None, data: END.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Without it all but the first piece is lost in an answer that looks complete.
    #[test]
    fn pieces_that_stand_in_messages_are_deltas() {
        let piece = |text: &str, reason: Value| {
            json!({"choices": [{"message": {"content": text}, "finish_reason": reason}]}).to_string()
        };
        for (given, expected, has_end) in [
            (vec![("Hel", json!("null")), ("lo", json!("stop"))], vec![Some("Hel"), Some("lo")], false),
            // All so far.
            (
                vec![("Hel", Value::Null), ("Hello", Value::Null), ("Hello", json!("stop"))],
                vec![Some("Hel"), Some("lo"), Some("")],
                false,
            ),
            // A whole answer, with its reason and without.
            (vec![("Hello", json!("stop"))], vec![None], false),
            (vec![("Hello", Value::Null)], vec![Some("Hello")], true),
            // One that broke off.
            (vec![("Hel", Value::Null), ("lo", Value::Null)], vec![Some("Hel"), Some("lo")], false),
        ] {
            let mut pieces = MessagePieces::default();
            let read = given.iter().map(|(text, reason)| {
                let delta: Value =
                    serde_json::from_str(&pieces.delta(&piece(text, reason.clone()))?).expect("JSON");
                delta["choices"][0]["delta"]["content"].as_str().map(str::to_owned)
            });
            let read: Vec<Option<String>> = read.collect();
            assert_eq!(
                read,
                expected.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>(),
                "{given:?}"
            );
            assert_eq!(pieces.end().is_some(), has_end, "{given:?}");
        }
        let beside =
            json!({"choices": [{"delta": {"content": "lo"}, "message": {"content": "Hello"}}]}).to_string();
        assert_eq!(MessagePieces::default().delta(&beside), None);
    }
}
