//! The fields of a body: what `metadata` adds where the body has none, and other names of a field. Errors name what the
//! client wrote.
//!
//! `metadata` is the client's own note. What in it fits an argument counts as that, after the body and the flags of the
//! prompt; what does not fit is only a note, and never a reason to refuse a request.

use std::borrow::Cow;

use garde::Validate;
use gatehouse_sdk::params::{self, came};
use gatehouse_sdk::{InvalidParam, Refusal};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::action::Action;
use crate::request::flags::Prompt;

/// Other names of a field: `customId` is how the buttons of a task spell it, the others are common elsewhere.
const ALIASES: [(&str, &str); 3] =
    [("customId", "custom_id"), ("image_url", "image_urls"), ("mask", "mask_url")];

/// Fields of `metadata` that fill a field of the body, with the flags of a prompt that go before them. Not `task_id`: the
/// host reads it from the body only.
const TEXTS: [(&str, &[&str]); 20] = [
    ("prompt", &[]),
    ("size", &["ar"]),
    ("version", &["v", "niji"]),
    ("quality", &["q"]),
    ("style", &["style"]),
    ("negative_prompt", &["no"]),
    ("cref", &["cref"]),
    ("sref", &["sref"]),
    ("dref", &["dref"]),
    ("extra", &[]),
    ("speed", &["relax", "fast", "turbo"]),
    ("dimensions", &[]),
    ("custom_id", &[]),
    ("direction", &[]),
    ("mask_url", &[]),
    ("image_urls", &[]),
    ("video_type", &[]),
    ("end_url", &["end"]),
    ("animate_mode", &[]),
    ("motion", &["motion"]),
];
/// The same for fields that are no text. Some clients can only write texts into `metadata`.
const VALUES: [(&str, &[&str]); 17] = [
    ("niji", &["v", "niji"]),
    ("stylize", &["s"]),
    ("chaos", &["c"]),
    ("weird", &["w"]),
    ("seed", &["seed"]),
    ("tile", &["tile"]),
    ("iw", &["iw"]),
    ("cw", &["cw"]),
    ("sw", &["sw"]),
    ("dw", &["dw"]),
    ("raw", &["raw"]),
    ("draft", &["draft"]),
    ("hd", &["hd"]),
    ("stop", &["stop"]),
    ("index", &[]),
    ("zoom_ratio", &[]),
    ("batch_size", &["bs"]),
];

/// The field for pictures, of the routes that have it.
const PICTURES: [&str; 1] = ["image_urls"];
/// The same for what says where to paint.
const MASK: [&str; 1] = ["mask_url"];
/// The client's own note.
const NOTE: &str = "metadata";
/// How the name of a field in it begins.
const NOTE_LEAD: &str = "metadata.";

/// The fields of a request.
#[derive(Clone)]
pub(crate) struct Fields {
    body: Value,
    /// Paths of `body`, and what the client wrote instead.
    renamed: Vec<(String, String)>,
}

impl Fields {
    /// Reads a body.
    ///
    /// # Errors
    /// It is no object.
    pub(crate) fn read(body: &Value) -> Result<Self, InvalidParam> {
        let Some(fields) = body.as_object() else {
            return Err(InvalidParam::at(None, format!("expected a JSON object, got {}", came(Some(body)))));
        };
        let mut read = Self { body: Value::Null, renamed: Vec::new() };
        let mut fields = fields.clone();
        read.rename_aliases(&mut fields, "");
        if let Some(Value::Object(mut metadata)) = fields.get(NOTE).cloned() {
            let own = read.renamed.len();
            read.rename_aliases(&mut metadata, NOTE_LEAD);
            let renamed = read.renamed.split_off(own);
            read.fill(&mut fields, metadata, &renamed);
        }
        read.body = Value::Object(fields);
        Ok(read)
    }

    /// The fields as `P`.
    ///
    /// # Errors
    /// The first invalid field, as the client wrote it.
    pub(crate) fn params<P>(&self) -> Result<P, Refusal>
    where
        P: DeserializeOwned + Validate,
        P::Context: Default,
    {
        params::read(&self.body).map_err(|invalid| self.invalid(invalid).into())
    }

    /// The same with no more than the first entry of a list, of which the route ignores the rest.
    pub(crate) fn with_first_of(&self, list: &str) -> Self {
        let body = params::with_first_of(Cow::Borrowed(&self.body), list).into_owned();
        Self { body, renamed: self.renamed.clone() }
    }

    /// Refuses a picture that the route does not take: another one would be made than the one that was meant, and charged.
    pub(crate) fn known_media(&self, action: Action) -> Result<(), Refusal> {
        let own: &[&str] = match action {
            Action::Modal => &MASK,
            Action::Imagine | Action::Blend | Action::Describe | Action::Edits | Action::Video => &PICTURES,
            _ => &[],
        };
        let refused = |mut invalid: InvalidParam| {
            if action != Action::Modal && invalid.field.as_deref() == Some(MASK[0]) {
                let problem = "there is no such field, a mask is for the modal request of an inpaint task";
                invalid = InvalidParam::at(Some(MASK[0]), problem.to_owned());
            }
            self.invalid(invalid)
        };
        params::known_media(&self.body, own).map_err(|invalid| refused(invalid).into())
    }

    /// The same error with the client's own name of the field.
    pub(crate) fn invalid(&self, mut invalid: InvalidParam) -> InvalidParam {
        if let Some(field) = &mut invalid.field {
            *field = self.written(field);
        }
        invalid
    }

    /// How the client wrote a field.
    pub(crate) fn written(&self, field: &str) -> String {
        let found = self.renamed.iter().find_map(|(path, written)| {
            let rest = field.strip_prefix(path.as_str())?;
            (rest.is_empty() || rest.starts_with(['[', '.'])).then(|| format!("{written}{rest}"))
        });
        found.unwrap_or_else(|| field.to_owned())
    }

    /// What the client has noted.
    pub(crate) fn note(&self) -> Value {
        self.body.get(NOTE).cloned().unwrap_or_default()
    }

    /// Removes the value that `metadata` added under the name `written`. Returns whether there was one.
    pub(crate) fn forget(&mut self, written: &str) -> bool {
        let is_named = |(_, own): &(String, String)| {
            let rest = written.strip_prefix(own.as_str());
            own.starts_with(NOTE_LEAD)
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
        };
        let Some(at) = self.renamed.iter().position(is_named) else { return false };
        let (path, _) = self.renamed.remove(at);
        let field = path.split('[').next().unwrap_or_default();
        self.body.as_object_mut().is_some_and(|body| body.remove(field).is_some())
    }

    /// The names, as written, of what `metadata` added.
    pub(crate) fn noted(&self) -> Vec<String> {
        let written = self.renamed.iter().map(|(_, written)| written);
        written.filter(|written| written.starts_with(NOTE_LEAD)).cloned().collect()
    }

    /// What a field asks for.
    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        self.body.get(field).filter(|value| !is_absent(Some(value)))
    }

    fn rename_aliases(&mut self, fields: &mut Map<String, Value>, lead: &str) {
        for (alias, field) in ALIASES {
            if !is_absent(fields.get(field)) {
                continue;
            }
            let Some(value) = fields.remove(alias).filter(|value| !is_absent(Some(value))) else { continue };
            let is_one = field == "image_urls" && !value.is_array();
            let path = if is_one { format!("{field}[0]") } else { field.to_owned() };
            self.renamed.push((path, format!("{lead}{alias}")));
            fields.insert(field.to_owned(), if is_one { Value::Array(vec![value]) } else { value });
        }
    }

    /// `renamed`: what `metadata` calls by another name.
    fn fill(
        &mut self,
        fields: &mut Map<String, Value>,
        metadata: Map<String, Value>,
        renamed: &[(String, String)],
    ) {
        let text = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default();
        let prompts = [Prompt::read(text("prompt")), Prompt::read(text("extra"))];
        let flagged = |flags: &[&str]| prompts.iter().any(|prompt| prompt.last_of(flags).is_some());
        let known = |name: &str| {
            let of = |(known, flags): &(&str, &'static [&'static str])| (*known == name).then_some(*flags);
            let value = VALUES.iter().find_map(of).map(|flags| (flags, true));
            value.or_else(|| Some((TEXTS.iter().find_map(of)?, false)))
        };
        let mut added = Vec::new();
        for (name, value) in metadata {
            let Some((flags, is_value)) = known(&name) else { continue };
            if is_absent(Some(&value)) || !is_absent(fields.get(&name)) || flagged(flags) {
                continue;
            }
            let value = match value.as_str() {
                Some(extra) if name == "extra" => Value::from(without_flags(extra, &flagged)),
                _ if is_value => unquoted(value),
                _ => value,
            };
            added.push((name, value));
        }
        for (name, value) in added {
            let alias = renamed.iter().find(|(path, _)| path.split('[').next() == Some(name.as_str()));
            self.renamed.push(alias.cloned().unwrap_or_else(|| (name.clone(), format!("{NOTE_LEAD}{name}"))));
            fields.insert(name, value);
        }
    }
}

/// `extra` without the flags that stand in the prompt: those go before a note. Where one flag of a field is `flagged`, all flags of
/// that field are left out, such as `--v` and `--niji`.
fn without_flags(extra: &str, flagged: &impl Fn(&[&str]) -> bool) -> String {
    let mut extra = Prompt::read(extra);
    let taken = TEXTS.iter().chain(&VALUES).map(|(_, flags)| *flags).filter(|flags| flagged(flags));
    taken.flatten().for_each(|flag| extra.drop_flag(flag));
    extra.write()
}

/// A number or a truth value that stands in quotes.
fn unquoted(value: Value) -> Value {
    let plain = value.as_str().and_then(|text| serde_json::from_str::<Value>(text.trim()).ok());
    match plain {
        Some(plain @ (Value::Bool(_) | Value::Number(_))) => plain,
        _ => value,
    }
}

/// Whether a field asks for nothing: `null` and an empty list do so everywhere.
fn is_absent(value: Option<&Value>) -> bool {
    value.is_none_or(|value| value.is_null() || *value == json!([]))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, Validate)]
    struct Params {
        #[garde(skip)]
        style: Option<String>,
        #[garde(range(max = 10))]
        stylize: Option<i64>,
        #[garde(inner(length(min = 1)))]
        image_urls: Option<Vec<String>>,
    }

    fn error(body: Value) -> String {
        let fields = match Fields::read(&body) {
            Ok(fields) => fields,
            Err(invalid) => return invalid.to_string(),
        };
        match fields.params::<Params>() {
            Ok(params) => format!("{params:?}"),
            Err(Refusal::Invalid { message, .. }) => message,
            Err(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn metadata_fills_what_the_body_lacks() {
        let read = |body: Value| {
            let params: Params = Fields::read(&body).unwrap().params().unwrap();
            (params.style, params.stylize)
        };
        assert_eq!(
            read(json!({"metadata": {"style": "raw", "stylize": "7"}})),
            (Some("raw".into()), Some(7))
        );
        assert_eq!(
            read(json!({"style": "body", "stylize": null, "metadata": {"style": "raw", "stylize": 7}})),
            (Some("body".into()), Some(7))
        );
        assert_eq!(read(json!({"metadata": null})), (None, None));
        assert_eq!(read(json!({"metadata": {"order": "A-7"}})), (None, None));
        assert_eq!(read(json!({"metadata": "order A-7"})), (None, None));
        // The flags of the prompt go before a note.
        let note = json!({"style": "raw", "stylize": 7});
        assert_eq!(read(json!({"prompt": "a kite --s 9", "metadata": note})), (Some("raw".into()), None));
    }

    /// Without it a note would refuse the request where it only looks like an argument.
    #[test]
    fn what_does_not_fit_is_forgotten() {
        let body = json!({"style": "raw", "metadata": {"image_url": 5, "stylize": "many", "style": 7}});
        let mut fields = Fields::read(&body).unwrap();
        assert!(!fields.forget("style"), "a field of the body stays");
        assert!(!fields.forget("metadata.style"), "the body goes before it");
        assert!(fields.forget("metadata.stylize") && !fields.forget("metadata.stylize"));
        assert!(fields.forget("metadata.image_url"));
        assert_eq!((fields.get("stylize"), fields.get("image_urls")), (None, None));
        assert_eq!(fields.note(), body["metadata"]);
        // What the body itself says is never taken for the note's.
        let body = json!({"image_urls": ["x"], "metadata": {"image_url": "y"}});
        let mut fields = Fields::read(&body).unwrap();
        assert_eq!(fields.written("image_urls[0]"), "image_urls[0]");
        assert!(!fields.forget("metadata.image_url") && fields.get("image_urls").is_some());
    }

    #[test]
    fn errors_name_what_the_client_wrote() {
        for (body, expected) in [
            (json!([]), "expected a JSON object, got an array of 0"),
            (json!({"stylize": "7"}), "`stylize`: expected an integer, got the string \"7\""),
            (
                json!({"metadata": {"stylize": "many"}}),
                "`metadata.stylize`: expected an integer, got the string \"many\"",
            ),
            (json!({"metadata": {"stylize": "11"}}), "`metadata.stylize`: expected at most 10, got 11"),
            (json!({"image_url": 5}), "`image_url`: expected a string, got 5"),
            (json!({"image_urls": [], "image_url": 5}), "`image_url`: expected a string, got 5"),
            (json!({"image_url": ["a", 5]}), "`image_url[1]`: expected a string, got 5"),
            (json!({"metadata": {"image_url": 5}}), "`metadata.image_url`: expected a string, got 5"),
            (
                json!({"image_urls": [], "metadata": {"image_url": 5}}),
                "`metadata.image_url`: expected a string, got 5",
            ),
            (
                json!({"image_url": [], "metadata": {"image_urls": [5]}}),
                "`metadata.image_urls[0]`: expected a string, got 5",
            ),
            (json!({"image_urls": [5], "image_url": "x"}), "`image_urls[0]`: expected a string, got 5"),
        ] {
            assert_eq!(error(body.clone()), expected, "{body}");
        }
    }
}
