//! A request body, looked at once: one JSON object in shared bytes, and the model it names.
//!
//! `dry_run` and `callback_url` are the host's: they are taken out here, so no plugin and no provider sees them. `user` and
//! `metadata` are read here and stay where they are: some families have words for them, and the others ignore what they do
//! not know.
//!
//! Nothing else in the host parses a client's body, but for the conversation of a response (`text/history`). The cut of
//! embedded media and the plugin share the bytes. What readers of JSON differ in (`check_json_text`) is looked for before
//! anything reads it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{Json, Tags, UnreadableJson, check_json_text};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::errors::SubmitError;
use crate::memory::RequestMemory;

/// Characters of a client's word that an error repeats.
pub(crate) const SHOWN: usize = 200;
/// Work on a longer body is done on a blocking thread: 32 KiB take a worker a tenth of a millisecond.
const IN_PLACE: usize = 32 * 1024;
/// Bytes of a longer `user` or `metadata` are not read: no tags are so long.
const MAX_TAGS: usize = 256 * 1024;

/// The body of a submission or of a text request: one JSON object.
#[derive(Clone, Debug)]
pub struct CheckedBody {
    json: Json,
    model: Option<String>,
    implied: bool,
    dry_run: bool,
    callback: Option<String>,
    tags: Option<Arc<Tags>>,
    price_only: bool,
    /// Where its bytes count; `None` where nobody counts them.
    memory: Option<Arc<dyn RequestMemory>>,
}

/// What one pass over an object keeps of it; every other field is skipped.
#[derive(Default)]
struct Head<'a> {
    model: Option<Value>,
    dry_run: Option<&'a RawValue>,
    callback_url: Option<&'a RawValue>,
    /// What the client noted down.
    user: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
}

/// The name of a field; borrowed, unless it is written with escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Head<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeadVisitor)
    }
}

/// Fields of a body beside the few that are read here: no request has a hundred, and each is looked at more than once.
const MOST_NAMES: usize = 1_000;

struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = Head<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Head<'de>, A::Error> {
        let (mut head, mut others) = (Head::default(), 0);
        while let Some(Name(name)) = members.next_key()? {
            match name.as_ref() {
                "model" => head.model = Some(members.next_value()?),
                "dry_run" => head.dry_run = Some(members.next_value()?),
                "callback_url" => head.callback_url = Some(members.next_value()?),
                "user" => head.user = Some(members.next_value()?),
                "metadata" => head.metadata = Some(members.next_value()?),
                _ => {
                    members.next_value::<IgnoredAny>()?;
                    others += 1;
                    if others > MOST_NAMES {
                        return Err(A::Error::custom(format!("more than {MOST_NAMES} fields")));
                    }
                }
            }
        }
        Ok(head)
    }
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
    /// [`SubmitError::Invalid`]: the bytes are not one JSON object, its `model` is no name, its `dry_run` neither true nor
    /// false, or its `callback_url` no text.
    pub fn parse(bytes: Bytes, implied: Option<&str>) -> Result<Self, SubmitError> {
        if bytes.trim_ascii().is_empty() {
            return Err(SubmitError::invalid("the request body is empty, expected a JSON object".to_owned()));
        }
        let json = Json::try_from(bytes).map_err(|error| {
            SubmitError::invalid(format!("the request body is not UTF-8 after byte {}", error.valid_up_to()))
        })?;
        let text: &str = &json;
        check_json_text(text).map_err(|why| unreadable(&why))?;
        // Another value than an object is read as well: broken JSON deserves its position.
        let is_object = text.trim_start().starts_with('{');
        let head: Result<Head<'_>, _> = if is_object {
            serde_json::from_str(text)
        } else {
            serde_json::from_str::<IgnoredAny>(text).map(|_| Head::default())
        };
        let head =
            head.map_err(|error| SubmitError::invalid(format!("the request body is not JSON: {error}")))?;
        if !is_object {
            return Err(SubmitError::invalid("the request body must be a JSON object".to_owned()));
        }
        let implies = implied.is_some();
        let model = match (implied, head.model) {
            (Some(implied), _) => Some(implied.to_owned()),
            (None, None | Some(Value::Null)) => None,
            (None, Some(Value::String(model))) if !model.trim().is_empty() => Some(model),
            (None, Some(other)) => return Err(SubmitError::bad_model(&other)),
        };
        // The address is checked later. `null` counts as left out.
        let callback =
            head.callback_url.map(|raw| own::<Option<String>>(raw, "callback_url", "an address as a string"));
        let callback = callback.transpose()?.flatten();
        let tags = tags(head.user, head.metadata);
        // Money is at stake, so nothing else counts as an answer, `null` neither.
        let dry_run = head.dry_run.map(|raw| own::<bool>(raw, "dry_run", "true or false"));
        let dry_run = dry_run.transpose()?.unwrap_or_default();
        // The one behind goes first: the other's place stays as it is.
        let mut taken: Vec<&str> =
            [head.dry_run, head.callback_url].into_iter().flatten().map(RawValue::get).collect();
        taken.sort_by_key(|value| std::cmp::Reverse(value.as_ptr()));
        let json = match taken.as_slice() {
            [] => json,
            values => without_members(text, values).into(),
        };
        Ok(Self { json, model, implied: implies, dry_run, callback, tags, price_only: false, memory: None })
    }

    /// Where the end of the task is to be told, as the client wrote it.
    #[must_use]
    pub fn callback(&self) -> Option<&str> {
        self.callback.as_deref()
    }

    /// What the client noted down about the request.
    #[must_use]
    pub fn tags(&self) -> Option<&Arc<Tags>> {
        self.tags.as_ref()
    }

    /// The same body, made of one that had these tags.
    #[must_use]
    pub fn with_tags(self, tags: Option<Arc<Tags>>) -> Self {
        Self { tags, ..self }
    }

    /// Whether the client only asks what the request would come to.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// The same body. What its request brings along counts in `memory`, as its own bytes do.
    #[must_use]
    pub fn with_memory(self, memory: Option<Arc<dyn RequestMemory>>) -> Self {
        Self { memory, ..self }
    }

    /// Counts bytes that its request brings along.
    ///
    /// # Errors
    /// [`SubmitError::Memory`]: the memory is taken.
    pub(crate) fn bring(&self, bytes: u64) -> Result<(), SubmitError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        Ok(memory.bring(usize::try_from(bytes).unwrap_or(usize::MAX))?)
    }

    /// Where its bytes count, for work that goes on without its client.
    pub(crate) fn memory(&self) -> Option<Arc<dyn RequestMemory>> {
        self.memory.clone()
    }

    /// The same body, of which only the price is asked, of no payer in particular: rates, balance and quota do not matter.
    #[must_use]
    pub fn for_price(self) -> Self {
        Self { dry_run: true, price_only: true, ..self }
    }

    /// Whether only the price is asked.
    pub(crate) fn is_price_only(&self) -> bool {
        self.price_only
    }

    /// Whether the path names the model, and not the client.
    pub(crate) fn implies_model(&self) -> bool {
        self.implied
    }

    /// The bytes as they came, without the host's fields.
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

/// The value of a field of the host's own.
fn own<T: DeserializeOwned>(value: &RawValue, field: &str, expected: &str) -> Result<T, SubmitError> {
    serde_json::from_str(value.get()).map_err(|_| {
        let found: String = value.get().chars().take(SHOWN).collect();
        SubmitError::wrong_field(field, format_args!("expected {expected}, got {found}"))
    })
}

/// What of these members can be kept. Clients of messages tell their user in the metadata.
fn tags(user: Option<&RawValue>, metadata: Option<&RawValue>) -> Option<Arc<Tags>> {
    const USER: &str = "user_id";
    let counts = |value: &&RawValue| value.get().len() <= MAX_TAGS;
    let (user, metadata) = (user.filter(counts), metadata.filter(counts));
    let text = |value: &RawValue| serde_json::from_str::<String>(value.get()).ok();
    let pairs: BTreeMap<Cow<'_, str>, &RawValue> =
        metadata.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let named = pairs.get(USER).copied();
    let others = pairs.iter().filter(|(name, _)| *name != USER);
    let pairs = others.filter_map(|(name, value)| Some((name.clone().into_owned(), text(value)?)));
    let tags = Tags::new(user.and_then(text).or_else(|| named.and_then(text)), pairs);
    (!tags.is_empty()).then(|| Arc::new(tags))
}

/// An object without the members that have these values, which are parts of its text, the last one first. All other bytes
/// stay.
fn without_members(object: &str, values: &[&str]) -> String {
    let mut rest = object.to_owned();
    for value in values {
        rest = without_member(&rest, value.as_ptr() as usize - object.as_ptr() as usize, value.len());
    }
    rest
}

/// An object without the member whose value begins there and is so long.
fn without_member(object: &str, at: usize, length: usize) -> String {
    let before = object[..at].trim_end().trim_end_matches(':').trim_end();
    // The name has no quotation mark in it, escaped or not.
    let name = before[..before.len() - 1].rfind('"').unwrap_or_default();
    let (before, after) = (object[..name].trim_end(), object[at + length..].trim_start());
    // One comma goes with it: the one before, or else the one behind.
    match before.strip_suffix(',') {
        Some(before) => format!("{before}{after}"),
        None => format!("{}{}", &object[..name], after.strip_prefix(',').unwrap_or(after).trim_start()),
    }
}

fn unreadable(why: &UnreadableJson) -> SubmitError {
    match why.field() {
        Some(field) => SubmitError::Invalid { field: Some(field.to_owned()), message: why.to_string() },
        None => SubmitError::invalid(format!("the request body: {why}")),
    }
}

impl SubmitError {
    /// The price of a request to that model does not fit into an amount.
    pub(crate) fn too_dear(model: &str) -> Self {
        Self::Internal(format!("the price of {model:?} is more than can be counted"))
    }

    pub(crate) fn no_model() -> Self {
        Self::wrong_field("model", "expected the id of a model, nothing came")
    }

    fn bad_model(found: &Value) -> Self {
        let found: String = found.to_string().chars().take(SHOWN).collect();
        Self::wrong_field("model", format_args!("expected the id of a model as a string, got {found}"))
    }
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
    }

    #[test]
    fn a_dry_run_is_taken_out_and_every_other_byte_stays() {
        for (text, dry_run, rest) in [
            (r#"{"dry_run": true}"#, true, "{}"),
            (r#" { "dry_run" : true , "a": 1.0 }"#, true, r#" { "a": 1.0 }"#),
            (r#"{"a": [1,  2], "dry_run":false,"b":"x"}"#, false, r#"{"a": [1,  2],"b":"x"}"#),
            (r#"{"a": "dry_run\"", "dry_run":true}"#, true, r#"{"a": "dry_run\""}"#),
            (r#"{"a": {"dry_run": 7}, "dry\u005frun": true }"#, true, r#"{"a": {"dry_run": 7}}"#),
            (r#"{"a": {"dry_run": 7}}"#, false, r#"{"a": {"dry_run": 7}}"#),
        ] {
            let body = CheckedBody::parse(Bytes::copy_from_slice(text.as_bytes()), Some("m")).unwrap();
            assert_eq!((body.is_dry_run(), &**body.json()), (dry_run, rest), "{text}");
            assert!(serde_json::from_str::<Value>(body.json()).is_ok(), "{text}");
        }
        for value in ["null", "1", "\"true\"", "[true]", "{}"] {
            let text = format!(r#"{{"model": "m", "dry_run": {value}}}"#);
            let error = parse(text.as_bytes(), None).unwrap_err();
            assert_eq!(
                error,
                (Some("dry_run".into()), format!("dry_run: expected true or false, got {value}"))
            );
        }
    }

    /// Without it a plugin or a provider would read where a customer's events go.
    #[test]
    fn an_address_for_the_end_is_taken_out_with_or_without_a_dry_run() {
        for (text, dry_run, callback, rest) in [
            (
                r#"{"callback_url": "https://a.example/?k=\"1\""}"#,
                false,
                Some("https://a.example/?k=\"1\""),
                "{}",
            ),
            (
                r#"{"a": 1, "callback_url":"x", "dry_run": true,"b": 2}"#,
                true,
                Some("x"),
                r#"{"a": 1,"b": 2}"#,
            ),
            (r#"{"dry_run": true, "callback_url":"x"}"#, true, Some("x"), "{}"),
            (r#"{"callback_url":"x" , "b": 2, "dry_run": false}"#, false, Some("x"), r#"{"b": 2}"#),
            (
                r#"{"a": {"callback_url": 7}, "callback_url": null}"#,
                false,
                None,
                r#"{"a": {"callback_url": 7}}"#,
            ),
        ] {
            let body = CheckedBody::parse(Bytes::copy_from_slice(text.as_bytes()), Some("m")).unwrap();
            let found = (body.is_dry_run(), body.callback(), &**body.json());
            assert_eq!(found, (dry_run, callback, rest), "{text}");
        }
        for value in ["1", "[\"x\"]", "{}", "true"] {
            let (field, message) =
                parse(format!(r#"{{"callback_url": {value}}}"#).as_bytes(), Some("m")).unwrap_err();
            let expected = format!("callback_url: expected an address as a string, got {value}");
            assert_eq!((field.as_deref(), message), (Some("callback_url"), expected));
        }
    }

    /// Without it a note that a family ignores, or reads as its own, is a refusal, or hides what another client noted.
    #[test]
    fn notes_are_read_and_stay_where_they_are() {
        // Metadata of so many bytes, nearly all of them in an array.
        let noted = |bytes: usize| {
            let frame = r#"{"a":"b","n":[""]}"#;
            let long = "x".repeat(bytes - frame.len());
            format!(r#"{{"user":"u","metadata":{{"a":"b","n":["{long}"]}}}}"#)
        };
        for (text, user, pairs) in [
            (
                r#"{"user": "u", "metadata": {"team": "red", "n": 5, "o": {"a": "b"}}}"#,
                Some("u"),
                Some(("team", "red")),
            ),
            (r#"{"metadata": {"user_id": "claude", "a": "b"}}"#, Some("claude"), Some(("a", "b"))),
            (r#"{"user": "u", "metadata": {"user_id": "v"}}"#, Some("u"), None),
            (r#"{"user": 7, "metadata": "order 7"}"#, None, None),
            (r#"{"user": null, "metadata": null}"#, None, None),
            (r#"{"user": {"a": ["b"]}, "metadata": [{"a": "b"}]}"#, None, None),
            (r#"{"metadata": {"escaped\u0041": "\u0042"}}"#, None, Some(("escapedA", "B"))),
            (&noted(MAX_TAGS), Some("u"), Some(("a", "b"))),
            (&noted(MAX_TAGS + 1), Some("u"), None),
        ] {
            let body = CheckedBody::parse(Bytes::copy_from_slice(text.as_bytes()), Some("m")).unwrap();
            let tags = body.tags().map(|tags| Tags::clone(tags)).unwrap_or_default();
            let found = tags.metadata.iter().next().map(|(name, value)| (name.as_str(), value.as_str()));
            assert_eq!(
                (tags.user.as_deref(), found, tags.metadata.len()),
                (user, pairs, usize::from(pairs.is_some())),
                "{text}"
            );
            assert_eq!(&**body.json(), text);
        }
    }

    /// Without it a plugin prices one of two values, and the provider reads the other.
    #[test]
    fn a_field_stands_once_in_its_object() {
        for (text, path) in [
            (r#"{"model": "a", "model": "b"}"#, "model"),
            (r#"{"dry_run": true, "dry_run": false}"#, "dry_run"),
            (r#"{"user": "u", "metadata": {"a": "b"}, "user": "v"}"#, "user"),
            (r#"{"n": 1, "a": {}, "\u006e": 1}"#, "n"),
            (r#"{"input": {"prompt": "a", "prompt": "b"}}"#, "input.prompt"),
            (r#"{"a": [0, [{"b": {"c": 1, "c": null}}]]}"#, "a[1][0].b.c"),
            (r#"{"metadata": {"a": "b", "a": "c"}}"#, "metadata.a"),
        ] {
            let (field, message) = parse(text.as_bytes(), Some("m")).unwrap_err();
            assert_eq!(field.as_deref(), Some(path), "{text}");
            assert_eq!(message, format!("{path}: expected one value, got the same field twice in an object"));
        }
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
            (b" [1, {\"a\": null}] ", "the request body must be a JSON object"),
            (b"\"{}\"", "the request body must be a JSON object"),
            (b"-1", "the request body must be a JSON object"),
            (b"1.5", "the request body must be a JSON object"),
            (b"null", "the request body must be a JSON object"),
            (b"true", "the request body must be a JSON object"),
            (b"{\"a\": 1e400}", "the request body: expected numbers below 1.8e308, got 1e400 at byte 6"),
            (b"{\"\\ud800\": 1}", "the request body: expected whole characters in the names of fields"),
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
