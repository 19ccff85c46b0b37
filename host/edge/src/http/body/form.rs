//! Bodies that are a form (`multipart/form-data`), as the JSON object that they stand for: files become `data:` URIs, which the
//! driver cuts out as it does those of JSON, and texts what the schema of the model's family says.

use std::collections::BTreeMap;
use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use gatehouse_model::{FormFields, FormTypes, FormValue};
use multer::Multipart;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::errors::{Kind, Refusal};
use crate::http::query::quoted;

/// Parts of one form.
const MAX_PARTS: usize = 256;
/// The host's field, which no schema has.
const DRY_RUN: &str = "dry_run";
/// The field that says whose schema it is.
const MODEL: &str = "model";

/// What came under one name.
#[derive(Default)]
struct Field {
    parts: Vec<Part>,
    /// Its name was written with brackets.
    is_list: bool,
}

/// One part.
enum Part {
    Text(String),
    File { mime: String, bytes: Bytes },
}

/// The body as JSON. The path may imply the model.
pub(crate) async fn to_json(
    body: Bytes,
    boundary: &str,
    types: &FormTypes,
    implied: Option<&str>,
) -> Result<Bytes, Refusal> {
    let fields = read(body, boundary).await?;
    let types = types.of(model(&fields).or(implied)).clone();
    let written = tokio::task::spawn_blocking(move || write(fields, &types));
    written.await.map_err(|error| Refusal::internal(error.to_string()))?.map(Bytes::from)
}

async fn read(body: Bytes, boundary: &str) -> Result<BTreeMap<String, Field>, Refusal> {
    let mut fields: BTreeMap<String, Field> = BTreeMap::new();
    let mut parts = Multipart::new(stream::iter([Ok::<_, Infallible>(body)]), boundary);
    let mut count = 0;
    while let Some(part) = parts.next_field().await.map_err(|error| unreadable(&error.to_string()))? {
        count += 1;
        if count > MAX_PARTS {
            return Err(unreadable(&format!("it has more than {MAX_PARTS} parts")));
        }
        let written = part.name().ok_or_else(|| unreadable("a part has no name"))?;
        let (name, is_list) = match written.strip_suffix("[]") {
            Some(name) => (name.to_owned(), true),
            None => (written.to_owned(), false),
        };
        let is_file = part.file_name().is_some();
        // What browsers send for a file that nobody has chosen.
        let is_unset = part.file_name() == Some("");
        let mime =
            part.content_type().map_or("application/octet-stream", |mime| mime.essence_str()).to_owned();
        let bytes = part.bytes().await.map_err(|error| unreadable(&error.to_string()))?;
        if is_file && bytes.is_empty() {
            if is_unset {
                continue;
            }
            let message = format!("{}: expected a file, got an empty one", quoted(&name));
            return Err(Refusal::field(name, message));
        }
        let part = match is_file {
            true => Part::File { mime, bytes },
            false => Part::Text(text(&name, &bytes)?),
        };
        let field = fields.entry(name).or_default();
        field.is_list |= is_list;
        field.parts.push(part);
    }
    Ok(fields)
}

fn model(fields: &BTreeMap<String, Field>) -> Option<&str> {
    match fields.get(MODEL)?.parts.first()? {
        Part::Text(model) => Some(model),
        Part::File { .. } => None,
    }
}

/// The object. Files go into it piece by piece: there is no second copy of one beside it.
fn write(fields: BTreeMap<String, Field>, types: &FormFields) -> Result<String, Refusal> {
    let mut json = String::from("{");
    for (name, field) in fields {
        let own = match name.as_str() {
            DRY_RUN => FormValue { boolean: true, ..FormValue::default() },
            _ => types.get(&name).cloned().unwrap_or_else(FormValue::text),
        };
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&Value::from(name.as_str()).to_string());
        json.push(':');
        write_field(&mut json, &name, field, &own)?;
    }
    json.push('}');
    Ok(json)
}

fn write_field(json: &mut String, name: &str, field: Field, own: &FormValue) -> Result<(), Refusal> {
    let Field { mut parts, is_list } = field;
    let is_one = own.text || own.number || own.boolean || own.object;
    let whole = |part: &Part| matches!(part, Part::Text(text) if text.starts_with('['));
    match &own.items {
        Some(_) if !is_list && parts.len() == 1 && (is_one || whole(&parts[0])) => {}
        Some(item) => {
            json.push('[');
            for (number, part) in parts.into_iter().enumerate() {
                if number > 0 {
                    json.push(',');
                }
                write_part(json, name, part, item)?;
            }
            json.push(']');
            return Ok(());
        }
        None => {}
    }
    match (parts.pop(), parts.len()) {
        (Some(part), 0) => write_part(json, name, part, own),
        (_, more) => {
            let message = format!("{}: expected once, got {} times", quoted(name), more + 1);
            Err(Refusal::field(name.to_owned(), message))
        }
    }
}

fn write_part(json: &mut String, name: &str, part: Part, own: &FormValue) -> Result<(), Refusal> {
    match part {
        Part::File { mime, bytes } => {
            let lead = Value::from(format!("data:{mime};base64,")).to_string();
            json.push_str(lead.strip_suffix('"').unwrap_or(&lead));
            STANDARD.encode_string(&bytes, json);
            json.push('"');
        }
        Part::Text(text) => json.push_str(&value(name, text, own)?),
    }
    Ok(())
}

/// What a text stands for, as JSON: what it reads as of all that the field may be, and a text only where nothing else fits. Its
/// values are not built: a long list of numbers would take many times its bytes.
fn value(name: &str, text: String, own: &FormValue) -> Result<String, Refusal> {
    let may_be = match text.trim_ascii_start().bytes().next() {
        Some(b'{') => own.object,
        Some(b'[') => own.items.is_some(),
        Some(b't' | b'f') => own.boolean,
        Some(b'-' | b'0'..=b'9') => own.number,
        _ => false,
    };
    if may_be && serde_json::from_str::<&RawValue>(&text).is_ok() {
        return Ok(text);
    }
    if own.text {
        return Ok(Value::from(text).to_string());
    }
    let allowed = [
        (own.number, "a number"),
        (own.boolean, "true or false"),
        (own.object, "an object as JSON"),
        (own.items.is_some(), "a list as JSON"),
    ];
    let words: Vec<&str> = allowed.into_iter().filter_map(|(may, word)| may.then_some(word)).collect();
    let message = format!("{}: expected {}, got {}", quoted(name), words.join(" or "), quoted(&text));
    Err(Refusal::field(name.to_owned(), message))
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
    use std::sync::Arc;

    use super::*;

    fn form(parts: &[(&str, &str)]) -> Bytes {
        let part = |(head, body): &(&str, &str)| {
            format!("--B\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n")
        };
        let parts: String = parts.iter().map(part).collect();
        format!("{parts}--B--\r\n").into()
    }

    fn list(item: FormValue) -> FormValue {
        FormValue { items: Some(Box::new(item)), ..FormValue::default() }
    }

    fn types() -> FormTypes {
        let number = FormValue { number: true, ..FormValue::default() };
        let boolean = FormValue { boolean: true, ..FormValue::default() };
        let usual = [
            ("speed".to_owned(), number.clone()),
            ("images".to_owned(), list(FormValue::text())),
            ("size".to_owned(), number.clone().or(FormValue::text())),
            ("stop".to_owned(), list(FormValue::text()).or(FormValue::text())),
            ("weights".to_owned(), list(number.or(boolean))),
        ];
        let other = [("speed".to_owned(), FormValue::text())];
        FormTypes {
            usual: Arc::new(usual.into()),
            by_model: [("other".to_owned(), Arc::new(other.into()))].into(),
        }
    }

    async fn read(parts: &[(&str, &str)]) -> Result<String, String> {
        let json = to_json(form(parts), "B", &types(), None).await;
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
        let unset = read(&[("name=\"file\"; filename=\"\"", "")]).await;
        assert_eq!(unset.as_deref(), Ok("{}"), "nobody has chosen a file");
    }

    /// Without it a field that may be a number or a text would always be one of them, and a list of numbers a list of texts.
    #[tokio::test]
    async fn unions_and_lists_are_what_their_texts_read_as() {
        for (parts, expected) in [
            (&[("name=\"size\"", "7")][..], r#"{"size":7}"#),
            (&[("name=\"size\"", "7x7")], r#"{"size":"7x7"}"#),
            (&[("name=\"stop\"", "a")], r#"{"stop":"a"}"#),
            (&[("name=\"stop[]\"", "a")], r#"{"stop":["a"]}"#),
            (&[("name=\"stop\"", "a"), ("name=\"stop\"", "b")], r#"{"stop":["a","b"]}"#),
            (&[("name=\"stop\"", "[\"a\"]")], r#"{"stop":["a"]}"#),
            (&[("name=\"stop\"", "[a")], r#"{"stop":"[a"}"#),
            (&[("name=\"weights[]\"", "1"), ("name=\"weights[]\"", "true")], r#"{"weights":[1,true]}"#),
            (&[("name=\"weights\"", "2")], r#"{"weights":[2]}"#),
            (
                &[("name=\"model\"", "other"), ("name=\"speed\"", "fast")],
                r#"{"model":"other","speed":"fast"}"#,
            ),
        ] {
            assert_eq!(read(parts).await.as_deref(), Ok(expected), "{parts:?}");
        }
    }

    #[tokio::test]
    async fn what_is_no_form_or_no_value_is_refused() {
        for (parts, words) in [
            (&[("name=\"speed\"", "fast")][..], "\"speed\": expected a number"),
            (&[("name=\"model\"", "a"), ("name=\"model\"", "b")], "\"model\": expected once, got 2 times"),
            (&[("name=\"weights\"", "a")], "\"weights\": expected a number or true or false, got \"a\""),
            (&[("filename=\"a\"", "b")], "a part has no name"),
            (&[("name=\"images\"; filename=\"a\"", "")], "\"images\": expected a file, got an empty one"),
        ] {
            let refused = read(parts).await.unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        let whole = String::from_utf8(form(&[("name=\"speed\"", "1")]).to_vec()).unwrap();
        let many_lines: String = (0..5_000).map(|line| format!("\r\nX-{line}: a")).collect();
        for body in [
            String::new(),
            "hello".to_owned(),
            "--C--".to_owned(),
            "--B".to_owned(),
            whole.replace("--B--", ""),
            whole.replace("\r\n", "\n"),
            whole.replace("speed", "sp\0eed"),
            whole.replace("\r\n\r\n1", &format!("{many_lines}\r\n\r\n1")),
            format!("--B\r\n\r\n1\r\n{whole}"),
        ] {
            let refused = to_json(body.clone().into(), "B", &types(), None).await.unwrap_err();
            assert_eq!(refused.kind(), Kind::Invalid, "{body:.80}");
            assert!(refused.parts().1.starts_with("the request body is not a form: "), "{body:.80}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(&[("name=\"images\"", &deep)]).await.is_err_and(|said| said.contains("\"images\"")));
        let many = vec![("name=\"a\"", "b"); 10_000];
        assert!(read(&many).await.unwrap_err().contains("more than 256 parts"));
    }
}
