//! Whether a request is the call that a script expects, and how much the script says of it.

use std::collections::BTreeSet;

use bytes::Bytes;
use gatehouse_sandbox::scripted::Received;
use gatehouse_testkit::difference;
use http::{HeaderMap, header};
use serde_json::{Map, Value, json};

/// What of an expected call shows on the wire. The rest concerns the host alone.
const SHOWN: [&str; 8] = ["provider", "method", "path", "url", "headers", "json", "form", "raw"];

/// A request in the form in which scripts expect calls.
pub(super) struct Request(Map<String, Value>);

impl Request {
    pub(super) async fn of(received: &Received, providers: &BTreeSet<String>) -> Self {
        let mut call = Map::new();
        call.insert("method".to_owned(), json!(received.method.as_str()));
        call.insert("headers".to_owned(), headers(&received.headers));
        let target = received.target.as_str();
        let named = target.trim_start_matches('/').split_once('/');
        if let Some(rest) = target.strip_prefix("/url/") {
            call.insert("url".to_owned(), json!(rest));
        } else if let Some((provider, rest)) = named.filter(|(first, _)| providers.contains(*first)) {
            call.insert("provider".to_owned(), json!(provider));
            call.insert("path".to_owned(), json!(format!("/{rest}")));
        } else {
            call.insert("path".to_owned(), json!(target));
        }
        let mime = received.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mime = mime.unwrap_or_default();
        if let Some(parts) = form(mime, &received.body).await {
            call.insert("form".to_owned(), parts);
        } else if let Ok(body) = serde_json::from_slice::<Value>(&received.body) {
            call.insert("raw".to_owned(), json!({"mime": mime, "data": &body}));
            call.insert("json".to_owned(), body);
        } else if !received.body.is_empty() {
            call.insert("raw".to_owned(), json!({"mime": mime, "data": text(&received.body)}));
        }
        Self(call)
    }
}

fn headers(headers: &HeaderMap) -> Value {
    let text = |value: &header::HeaderValue| json!(value.to_str().unwrap_or_default());
    Value::Object(headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect())
}

fn text(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)))
}

/// The parts of a multipart body; `None` for any other body.
async fn form(mime: &str, body: &Bytes) -> Option<Value> {
    let boundary = multer::parse_boundary(mime).ok()?;
    let whole = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(body.clone())]);
    let mut form = multer::Multipart::new(whole, boundary);
    let mut parts = Vec::new();
    while let Some(part) = form.next_field().await.ok()? {
        let (name, filename) = (part.name().map(str::to_owned), part.file_name().map(str::to_owned));
        let mime = part.content_type().map(ToString::to_string);
        let data = part.bytes().await.ok()?;
        parts.push(json!({"name": name, "filename": filename, "mime": mime, "data": text(&data)}));
    }
    Some(Value::Array(parts))
}

/// How many values of the expected call are known and equal to the request's.
///
/// # Errors
/// The same number for the fields that are equal, and the first difference.
pub(super) fn fit(expected: &Value, request: &Request) -> Result<usize, (usize, String)> {
    let (mut known, mut first) = (0, None);
    for field in SHOWN {
        let Some(expected) = expected.get(field) else { continue };
        match differs(field, expected, request.0.get(field)) {
            None => known += leaves(expected),
            Some(problem) => drop(first.get_or_insert(problem)),
        }
    }
    first.map_or(Ok(known), |problem| Err((known, problem)))
}

fn differs(field: &str, expected: &Value, came: Option<&Value>) -> Option<String> {
    let came = match (field, came) {
        // A base URL without the provider's name in its path means any provider.
        ("provider", None) => return None,
        ("path" | "url", Some(Value::String(came))) => {
            let expected = expected.as_str()?;
            let expected = expected.split_once("://").map_or(expected, |(_, rest)| rest);
            let differs =
                || format!("{field}: expected {expected}\n  came: {}", without_secrets(expected, came));
            return (!is_path(expected, came)).then(differs);
        }
        (_, came) => came.cloned().unwrap_or(Value::Null),
    };
    let expected = with_blobs(expected, &came);
    let difference = difference(&json!({field: expected}), &json!({field: came})).err()?;
    // Without the whole request behind it.
    Some(difference.lines().take(2).collect::<Vec<_>>().join("\n"))
}

/// An account's key may stand behind the query.
fn is_path(expected: &str, came: &str) -> bool {
    let separator = if expected.contains('?') { '&' } else { '?' };
    came.strip_prefix(expected).is_some_and(|rest| rest.is_empty() || rest.starts_with(separator))
}

/// A target as it is told: in its query only the parameters that the expected one has, for another may be an account's key.
fn without_secrets(expected: &str, came: &str) -> String {
    let Some((path, query)) = came.split_once('?') else { return came.to_owned() };
    let known = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        let asked = expected.split_once('?').map_or("", |(_, query)| query);
        asked.split('&').any(|asked| asked.split('=').next() == Some(name))
    };
    let shown: Vec<&str> = query.split('&').filter(known).collect();
    if shown.is_empty() { path.to_owned() } else { format!("{path}?{}", shown.join("&")) }
}

/// What is expected, with the request's own text where a blob is expected: the host has put its content there.
fn with_blobs(expected: &Value, came: &Value) -> Value {
    match (expected, came) {
        (Value::String(text), Value::String(_)) if text.starts_with("blob:") => came.clone(),
        (Value::Array(items), Value::Array(came)) if items.len() == came.len() => {
            items.iter().zip(came).map(|(expected, came)| with_blobs(expected, came)).collect()
        }
        (Value::Object(fields), came) => {
            let field = |(name, value): (&String, &Value)| (name.clone(), with_blobs(value, &came[name]));
            Value::Object(fields.iter().map(field).collect())
        }
        _ => expected.clone(),
    }
}

fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(fields) => fields.values().map(leaves).sum(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn received(method: Method, target: &str, mime: &str, body: &'static str) -> Received {
        let headers = [(header::CONTENT_TYPE, mime.parse().unwrap())].into_iter().collect();
        Received { method, target: target.to_owned(), headers, body: body.into() }
    }

    /// A mock that took any request would prove nothing about a family.
    #[tokio::test]
    async fn a_request_is_held_against_an_expected_call() {
        let providers = BTreeSet::from(["sketcher".to_owned()]);
        let json = received(
            Method::POST,
            "/sketcher/v1/sketches?key=k",
            "application/json",
            r#"{"text": "a kite", "image": "data:image/png;base64,AA=="}"#,
        );
        let form = received(
            Method::POST,
            "/v1/files",
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"size\"\r\n\r\n4\r\n--b--\r\n",
        );
        let url = received(Method::GET, "/url/api.e/jobs/7", "text/plain", "hello");
        assert_eq!(without_secrets("/a?size=4", "/a?key=k&size=5"), "/a?size=5");
        assert_eq!(without_secrets("/a", "/a?key=k"), "/a", "a key is never told");
        for (request, expected, outcome) in [
            (&json, json!({}), Ok(0)),
            (
                &json,
                json!({"provider": "sketcher", "method": "POST", "path": "/v1/sketches", "replay": "once"}),
                Ok(3),
            ),
            (&json, json!({"json": {"text": "a kite", "image": "blob:1"}}), Ok(2)),
            (&json, json!({"headers": {"content-type": "application/json"}}), Ok(1)),
            (
                &json,
                json!({"method": "POST", "json": {"text": "a boat"}}),
                Err((1, "json.text: expected \"a boat\"")),
            ),
            (&json, json!({"provider": "other"}), Err((0, "provider: expected \"other\""))),
            (
                &json,
                json!({"path": "/v1/sketch?size=4"}),
                Err((0, "path: expected /v1/sketch?size=4\n  came: /v1/sketches")),
            ),
            (&json, json!({"url": "https://api.e/jobs/7"}), Err((0, "url: expected"))),
            (&form, json!({"provider": "any", "form": [{"name": "size", "data": 4}]}), Ok(3)),
            (&form, json!({"form": [{"name": "size"}, {"name": "file"}]}), Err((0, "form: expected"))),
            (&url, json!({"url": "https://api.e/jobs/7", "raw": {"data": "hello"}}), Ok(2)),
            (&url, json!({"url": "https://api.e/jobs/8"}), Err((0, "url: expected api.e/jobs/8"))),
        ] {
            let came = fit(&expected, &Request::of(request, &providers).await);
            match (&came, outcome) {
                (Ok(known), Ok(expected)) => assert_eq!(*known, expected, "{came:?}"),
                (Err((known, problem)), Err((most, words))) => {
                    assert!(*known == most && problem.contains(words), "{expected}: {came:?}");
                }
                _ => panic!("{expected}: {came:?}"),
            }
        }
    }
}
