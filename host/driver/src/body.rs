//! A request body, looked at once: one JSON object in shared bytes, and the model it names.
//!
//! Nothing else in the host parses a client's body, but for the conversation of a response (`text/history`). The cut of
//! embedded media and the plugin share the bytes. The plugin limits how deep a body may nest: nothing here recurses.

use bytes::Bytes;
use gatehouse_model::Json;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::errors::SubmitError;

/// Characters of a bad `model` that an error repeats.
const SHOWN: usize = 200;
/// Work on a longer body is done on a blocking thread: 256 KiB take a worker less than a millisecond.
const IN_PLACE: usize = 256 * 1024;

/// The body of a submission or of a text request: one JSON object.
#[derive(Clone, Debug)]
pub struct CheckedBody {
    json: Json,
    model: Option<String>,
}

/// What one pass over an object keeps of it; every other field is skipped.
#[derive(Deserialize)]
struct Head {
    model: Option<Value>,
}

impl CheckedBody {
    /// Checks a body of any length without holding up other requests. See [`Self::parse`].
    ///
    /// # Errors
    /// Those of [`Self::parse`]; [`SubmitError::Draining`] while the process stops.
    pub async fn check(bytes: Bytes, implied: Option<&'static str>) -> Result<Self, SubmitError> {
        off_worker(bytes.len(), move || Self::parse(bytes, implied)).await?
    }

    /// Checks a body. The route may imply the model; then the body's own `model` does not count.
    ///
    /// # Errors
    /// [`SubmitError::Invalid`]: the bytes are not one JSON object, or its `model` is no name.
    pub fn parse(bytes: Bytes, implied: Option<&str>) -> Result<Self, SubmitError> {
        if bytes.trim_ascii().is_empty() {
            return Err(whole("the request body is empty, expected a JSON object".to_owned()));
        }
        let json = Json::try_from(bytes).map_err(|error| {
            whole(format!("the request body is not UTF-8 after byte {}", error.valid_up_to()))
        })?;
        let text: &str = &json;
        // Another value than an object is read as well: broken JSON deserves its position.
        let is_object = text.trim_start().starts_with('{');
        let head: Result<Head, _> = if is_object {
            serde_json::from_str(text)
        } else {
            serde_json::from_str::<IgnoredAny>(text).map(|_| Head { model: None })
        };
        let head = head.map_err(|error| whole(format!("the request body is not JSON: {error}")))?;
        if !is_object {
            return Err(whole("the request body must be a JSON object".to_owned()));
        }
        let model = match (implied, head.model) {
            (Some(implied), _) => Some(implied.to_owned()),
            (None, None | Some(Value::Null)) => None,
            (None, Some(Value::String(model))) if !model.trim().is_empty() => Some(model),
            (None, Some(other)) => return Err(SubmitError::bad_model(&other)),
        };
        Ok(Self { json, model })
    }

    /// The bytes as they came.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        self.json.as_bytes()
    }

    /// The same as text.
    pub(crate) fn json(&self) -> &Json {
        &self.json
    }

    /// The id or alias of the model asked for.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

/// Runs work that reads a whole body of that length: in place where it is short, else on a blocking thread.
///
/// # Errors
/// [`SubmitError::Draining`] where the process stops meanwhile.
pub(crate) async fn off_worker<T: Send + 'static>(
    length: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SubmitError> {
    if length <= IN_PLACE {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|error| match error.is_panic() {
        true => SubmitError::Internal(error.to_string()),
        false => SubmitError::Draining,
    })
}

fn whole(message: String) -> SubmitError {
    SubmitError::Invalid { field: None, message }
}

impl SubmitError {
    pub(crate) fn no_model() -> Self {
        model_error("expected the id of a model, nothing came")
    }

    fn bad_model(found: &Value) -> Self {
        let found: String = found.to_string().chars().take(SHOWN).collect();
        model_error(&format!("expected the id of a model as a string, got {found}"))
    }
}

fn model_error(message: &str) -> SubmitError {
    SubmitError::Invalid { field: Some("model".to_owned()), message: format!("model: {message}") }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn parse(text: &[u8], implied: Option<&str>) -> Result<Option<String>, (Option<String>, String)> {
        match CheckedBody::parse(Bytes::copy_from_slice(text), implied) {
            Ok(body) => Ok(body.model),
            Err(SubmitError::Invalid { field, message }) => Err((field, message)),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn the_model_is_read_from_the_body_unless_the_route_implies_it() {
        for (text, implied, expected) in [
            (r#"{"model": "m"}"#, None, Some("m")),
            (r#" {"a": [{"model": 1}], "mod\u0065l": "m", "b": "\ud83d\ude00"} "#, None, Some("m")),
            (r#"{"model": null}"#, None, None),
            ("{}", None, None),
            (r#"{"model": "m"}"#, Some("n"), Some("n")),
            (r#"{"model": 7}"#, Some("n"), Some("n")),
            ("{}", Some("n"), Some("n")),
        ] {
            assert_eq!(parse(text.as_bytes(), implied), Ok(expected.map(str::to_owned)), "{text}");
        }
        let nested = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(parse(nested.as_bytes(), None), Ok(None));
    }

    #[test]
    fn what_is_not_one_json_object_is_refused_with_its_position() {
        for (text, expected) in [
            (&b""[..], "the request body is empty, expected a JSON object"),
            (b" \r\n", "the request body is empty, expected a JSON object"),
            (b"{\n \"a\": }", "line 2 column 7"),
            (b"{} {}", "line 1 column 4"),
            (b"[1, }", "line 1 column 5"),
            (b"{\"a\": \"\xff\"}", "the request body is not UTF-8 after byte 7"),
            (b"\xef\xbb\xbf{}", "line 1 column 1"),
            (b"{\"model\": \"a\", \"model\": \"b\"}", "duplicate field `model`"),
            (b" [1, {\"a\": null}] ", "the request body must be a JSON object"),
            (b"\"{}\"", "the request body must be a JSON object"),
            (b"-1", "the request body must be a JSON object"),
            (b"1.5", "the request body must be a JSON object"),
            (b"null", "the request body must be a JSON object"),
            (b"true", "the request body must be a JSON object"),
        ] {
            for implied in [None, Some("m")] {
                let (field, message) = parse(text, implied).unwrap_err();
                assert!(field.is_none() && message.contains(expected), "{message}");
            }
        }
    }

    /// A body of that many bytes, nearly all of them one text.
    fn long(bytes: usize) -> Bytes {
        let frame = r#"{"model":"m","a":""}"#;
        format!(r#"{{"model":"m","a":"{}"}}"#, "x".repeat(bytes - frame.len())).into()
    }

    #[test]
    fn a_long_body_is_parsed_on_a_blocking_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            // The only blocking thread has other work, so whatever needs it waits.
            let (finish, finished) = std::sync::mpsc::channel::<()>();
            let other = tokio::task::spawn_blocking(move || finished.recv());
            let check = |bytes| CheckedBody::check(long(bytes), None);
            let short = check(IN_PLACE).now_or_never().expect("parsed in place").unwrap();
            assert_eq!((short.model(), short.bytes().len()), (Some("m"), IN_PLACE));
            let mut longer = Box::pin(check(IN_PLACE + 1));
            let mut broken = Box::pin(CheckedBody::check(long(8 << 20).slice(..8_000_000), None));
            assert!(longer.as_mut().now_or_never().is_none() && broken.as_mut().now_or_never().is_none());
            finish.send(()).unwrap();
            other.await.unwrap().unwrap();
            assert_eq!(longer.await.unwrap().model(), Some("m"));
            let error = broken.await.unwrap_err().to_string();
            assert!(error.contains("EOF while parsing a string at line 1 column 8000000"), "{error}");
        });
    }

    #[test]
    fn a_model_that_is_no_name_is_refused() {
        for (text, found) in [
            (r#"{"model": 7}"#.to_owned(), "7".to_owned()),
            (r#"{"model": " "}"#.to_owned(), "\" \"".to_owned()),
            (r#"{"model": {"id": "m"}}"#.to_owned(), r#"{"id":"m"}"#.to_owned()),
            (format!("{{\"model\": [\"{}\"]}}", "x".repeat(1000)), format!("[\"{}", "x".repeat(198))),
        ] {
            let message = format!("model: expected the id of a model as a string, got {found}");
            assert_eq!(parse(text.as_bytes(), None), Err((Some("model".to_owned()), message)));
        }
    }
}
