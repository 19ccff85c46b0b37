//! Bodies that are a form (`multipart/form-data`), as the JSON object that they stand for: files become `data:` URIs, which the
//! driver cuts out as it does those of JSON, and texts what the family's schema says.

use std::collections::BTreeMap;
use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use gatehouse_driver::{FormFields, FormValue};
use multer::Multipart;
use serde_json::{Map, Value};

use crate::errors::{Kind, Refusal};
use crate::http::query::quoted;

/// Parts of one form.
const MAX_PARTS: usize = 256;
/// The host's field, which no schema has.
const DRY_RUN: &str = "dry_run";

/// One part.
enum Part {
    Text(String),
    File { mime: String, bytes: Bytes },
}

/// The body as JSON. It takes its part of the memory budget as long as the form does.
pub(super) async fn to_json(body: Bytes, boundary: &str, fields: &FormFields) -> Result<Bytes, Refusal> {
    let mut values: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    let mut parts = Multipart::new(stream::iter([Ok::<_, Infallible>(body.clone())]), boundary);
    let mut count = 0;
    while let Some(field) = parts.next_field().await.map_err(|error| unreadable(&error.to_string()))? {
        count += 1;
        if count > MAX_PARTS {
            return Err(unreadable(&format!("it has more than {MAX_PARTS} parts")));
        }
        let name = field.name().ok_or_else(|| unreadable("a part has no name"))?;
        let name = name.strip_suffix("[]").unwrap_or(name).to_owned();
        let is_file = field.file_name().is_some();
        let mime =
            field.content_type().map_or("application/octet-stream", |mime| mime.essence_str()).to_owned();
        let bytes = field.bytes().await.map_err(|error| unreadable(&error.to_string()))?;
        let part = match is_file {
            true => Part::File { mime, bytes },
            false => Part::Text(text(&name, &bytes)?),
        };
        values.entry(name).or_default().push(part);
    }
    let fields = fields.clone();
    let written = tokio::task::spawn_blocking(move || {
        let mut object = Map::new();
        for (name, parts) in values {
            let value = value(&name, parts, kind(&fields, &name))?;
            object.insert(name, value);
        }
        Ok(Bytes::from(Value::Object(object).to_string()))
    });
    let json = written.await.map_err(|error| Refusal::internal(error.to_string()))??;
    Ok(Bytes::from_owner(Written { json, _form: body }))
}

/// JSON that was made of a form.
struct Written {
    json: Bytes,
    /// Counted until the last of the JSON is dropped.
    _form: Bytes,
}

impl AsRef<[u8]> for Written {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}

fn kind(fields: &FormFields, name: &str) -> FormValue {
    if name == DRY_RUN {
        return FormValue::Json;
    }
    fields.get(name).copied().unwrap_or(FormValue::Text)
}

fn value(name: &str, mut parts: Vec<Part>, kind: FormValue) -> Result<Value, Refusal> {
    if kind == FormValue::List && !matches!(parts.as_slice(), [Part::Text(text)] if text.starts_with('[')) {
        let item = |part| one(name, part, FormValue::Text);
        return parts.into_iter().map(item).collect::<Result<Vec<_>, _>>().map(Value::Array);
    }
    match (parts.pop(), parts.len()) {
        (Some(part), 0) => one(name, part, kind),
        (_, more) => {
            let message = format!("{}: expected once, got {} times", quoted(name), more + 1);
            Err(Refusal::field(name.to_owned(), message))
        }
    }
}

fn one(name: &str, part: Part, kind: FormValue) -> Result<Value, Refusal> {
    match (part, kind) {
        (Part::File { mime, bytes }, _) => {
            Ok(Value::from(format!("data:{mime};base64,{}", STANDARD.encode(&bytes))))
        }
        (Part::Text(text), FormValue::Text) => Ok(Value::from(text)),
        (Part::Text(text), FormValue::Json | FormValue::List) => serde_json::from_str(&text).map_err(|_| {
            let message =
                format!("{}: expected a number, true, false or JSON, got {}", quoted(name), quoted(&text));
            Refusal::field(name.to_owned(), message)
        }),
    }
}

fn text(name: &str, bytes: &Bytes) -> Result<String, Refusal> {
    String::from_utf8(bytes.to_vec())
        .map_err(|_| Refusal::field(name.to_owned(), format!("{}: expected text in UTF-8", quoted(name))))
}

fn unreadable(why: &str) -> Refusal {
    Refusal::new(Kind::Invalid, format!("the request body is not a form: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(parts: &[(&str, &str)]) -> Bytes {
        let part = |(head, body): &(&str, &str)| {
            format!("--B\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n")
        };
        let parts: String = parts.iter().map(part).collect();
        format!("{parts}--B--\r\n").into()
    }

    async fn read(parts: &[(&str, &str)]) -> Result<String, String> {
        let fields: FormFields =
            [("speed".to_owned(), FormValue::Json), ("images".to_owned(), FormValue::List)].into();
        let json = to_json(form(parts), "B", &fields).await;
        json.map(|json| String::from_utf8(json.to_vec()).unwrap())
            .map_err(|refusal| refusal.parts().1.to_owned())
    }

    /// Without it a client's file or number would come to its family as something else.
    #[tokio::test]
    async fn a_form_is_the_json_that_its_schema_says() {
        let found = read(&[
            ("name=\"model\"", "7"),
            ("name=\"speed\"", "1.5"),
            ("name=\"dry_run\"", "true"),
            ("name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav", "RIFF"),
            ("name=\"images[]\"; filename=\"a\"\r\nContent-Type: image/png", "a"),
            ("name=\"images[]\"", "https://b"),
        ]);
        let expected = r#"{"dry_run":true,"file":"data:audio/wav;base64,UklGRg==","images":["data:image/png;base64,YQ==","https://b"],"model":"7","speed":1.5}"#;
        assert_eq!(found.await.as_deref(), Ok(expected));
        assert_eq!(read(&[("name=\"images\"", "[\"a\"]")]).await.as_deref(), Ok(r#"{"images":["a"]}"#));
        assert_eq!(read(&[]).await.as_deref(), Ok("{}"));
    }

    #[tokio::test]
    async fn what_is_no_form_or_no_value_is_refused() {
        for (parts, words) in [
            (&[("name=\"speed\"", "fast")][..], "\"speed\": expected a number"),
            (&[("name=\"model\"", "a"), ("name=\"model\"", "b")], "\"model\": expected once, got 2 times"),
            (&[("filename=\"a\"", "b")], "a part has no name"),
        ] {
            let refused = read(parts).await.unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        assert!(to_json(Bytes::from_static(b"--C--"), "B", &FormFields::new()).await.is_err());
        let many = vec![("name=\"a\"", "b"); MAX_PARTS + 1];
        assert!(read(&many).await.unwrap_err().contains("more than 256 parts"));
    }
}
