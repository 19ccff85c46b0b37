//! A request's fields as OpenAI's clients write them, translated to those of the family that serves its model, by the family's
//! own schema. What the family has no word for is refused by its name, never dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::{CheckedBody, SubmitError};
use gatehouse_model::{FormTypes, Key, Tags};
use gatehouse_schema::{Field, Kind, Reader};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::backend::Backend;
use crate::endpoints::jobs;
use crate::errors::Refusal;
use crate::http::body::{self, MediaType};
use crate::http::context::EndpointRequest;
use crate::http::query::quoted;

/// Work on a longer body is done on a blocking thread.
const IN_PLACE: usize = 32 * 1024;
/// Values of a field that is looked at here.
const MOST_VALUES: usize = 1000;
/// Words that leave the choice to the model and its provider.
const NO_CHOICE: [&str; 5] = ["auto", "default", "disabled", "none", "off"];

/// The fields of one request.
pub(super) struct Fields {
    asked: BTreeMap<String, Box<RawValue>>,
    /// Those of the family; `None` where nobody serves the model, which the submission tells.
    family: Option<Vec<Field>>,
    /// The family's name of a field, and the client's.
    renamed: Vec<(&'static str, &'static str)>,
    dry_run: bool,
    callback: Option<String>,
    /// Some families have no word for what they were read from.
    tags: Option<Arc<Tags>>,
}

impl Fields {
    /// The fields of a request whose model serves `surface`. It may be a form of those types where there are any; texts of it are
    /// what the family says.
    pub(super) async fn read(
        request: &mut EndpointRequest<'_>,
        key: &Key,
        surface: &str,
        types: Option<&FormTypes>,
    ) -> Result<Self, Refusal> {
        let media_type = body::media_type(&request.parts.headers, types.is_some())?;
        let body = jobs::checked_body_of(request, key, None, &media_type, types).await?;
        let bytes = body.bytes().clone();
        let asked = off_worker(bytes.len(), move || serde_json::from_slice(&bytes)).await?;
        let asked = asked.map_err(Refusal::internal)?;
        let family = family_fields(&*request.context.backend, key, surface, body.model());
        let mut fields = Self {
            asked,
            family,
            renamed: Vec::new(),
            dry_run: body.is_dry_run(),
            callback: body.callback().map(str::to_owned),
            tags: body.tags().cloned(),
        };
        if media_type != MediaType::Json {
            fields.read_texts();
        }
        Ok(fields)
    }

    /// Numbers and switches of the family that came as the texts of a form.
    fn read_texts(&mut self) {
        let family = self.family.as_deref().unwrap_or_default();
        let typed = |kind: &Kind| matches!(kind, Kind::Boolean | Kind::Number { .. } | Kind::Object(_));
        for field in family.iter().filter(|field| typed(&field.kind)) {
            let Some(raw) = self.asked.get_mut(&field.name) else { continue };
            let text: Option<String> = serde_json::from_str(raw.get()).ok();
            if let Some(value) = text.and_then(|text| RawValue::from_string(text).ok()) {
                *raw = value;
            }
        }
    }

    /// Takes a field out; one with nothing in it counts as absent.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        let raw = self.asked.remove(name).filter(|raw| !is_empty(raw))?;
        // None of these fields has a thousand values; built they would take many times their bytes.
        if raw.get().bytes().filter(|byte| *byte == b',').count() > MOST_VALUES {
            return Some(raw.get().chars().take(64).collect::<String>().into());
        }
        serde_json::from_str(raw.get()).ok()
    }

    /// Puts a field there, which the client calls `asked`.
    pub(super) fn put(
        &mut self,
        name: &'static str,
        asked: &'static str,
        value: &Value,
    ) -> Result<(), Refusal> {
        if name != asked {
            self.renamed.push((name, asked));
        }
        let raw = serde_json::value::to_raw_value(value).map_err(Refusal::internal)?;
        self.asked.insert(name.to_owned(), raw);
        Ok(())
    }

    /// What the family takes in that field.
    fn kind(&self, name: &str) -> Option<&Kind> {
        self.family.as_ref()?.iter().find(|field| field.name == name).map(|field| &field.kind)
    }

    /// The first of these names that the family has.
    fn first_of(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().find(|name| self.kind(name).is_some()).copied()
    }

    /// Leaves a field to a family that has it. Otherwise only `neutral` values are taken, which change nothing.
    pub(super) fn pass(&mut self, name: &'static str, neutral: &[Value]) -> Result<(), Refusal> {
        if self.family.is_none() {
            return Ok(());
        }
        if self.kind(name).is_none() {
            return self.drop_neutral(name, neutral);
        }
        if self.asked.get(name).is_some_and(|raw| is_empty(raw)) {
            self.asked.remove(name);
        }
        Ok(())
    }

    /// Takes a field out that only changes nothing where it has one of these values, or leaves the choice to the model.
    pub(super) fn drop_neutral(&mut self, name: &'static str, neutral: &[Value]) -> Result<(), Refusal> {
        let changes_nothing = |value: &Value| {
            neutral.contains(value) || value.as_str().is_some_and(|word| NO_CHOICE.contains(&word))
        };
        match self.take(name) {
            Some(value) if !changes_nothing(&value) => Err(not_offered(name, &value, neutral)),
            _ => Ok(()),
        }
    }

    /// Translates `size`: to the family's ratio, and to its number of lines where it has one.
    pub(super) fn translate_size(&mut self, ratio_names: &[&'static str]) -> Result<(), Refusal> {
        const SIZE: &str = "size";
        if self.family.is_none() {
            return Ok(());
        }
        let Some(name) = self.first_of(ratio_names) else { return self.pass(SIZE, &["auto".into()]) };
        let Some(value) = self.take(SIZE) else { return Ok(()) };
        let Value::String(text) = &value else {
            return Err(Refusal::field(
                SIZE,
                format!("size: expected a text such as \"1024x1024\", got {value}"),
            ));
        };
        let Some(ratios) = self.kind(name).and_then(words) else { return self.put(name, SIZE, &value) };
        if ratios.contains(text) {
            return self.put(name, SIZE, &value);
        }
        if text == "auto" {
            return Ok(());
        }
        let wrong = |of: &[String]| {
            let message = format!(
                "size: expected pixels such as \"1280x720\" that are one of {}, got {}",
                of.join(", "),
                quoted(text)
            );
            Refusal::field(SIZE, message)
        };
        let pixels = pixels(text).ok_or_else(|| wrong(&ratios))?;
        let ratio = ratio(pixels, ratios.iter().map(String::as_str)).ok_or_else(|| wrong(&ratios))?;
        self.put(name, SIZE, &ratio.into())?;
        let of_lines =
            self.kind("resolution").and_then(words).filter(|_| !self.asked.contains_key("resolution"));
        if let Some(all) = of_lines {
            let lines = lines(pixels, all.iter().map(String::as_str)).ok_or_else(|| wrong(&all))?;
            self.put("resolution", SIZE, &lines.into())?;
        }
        Ok(())
    }

    /// Gives the family a value that the client sent as `asked`, under the first of these names that it has.
    pub(super) fn rename(
        &mut self,
        asked: &'static str,
        value: &Value,
        names: &[&'static str],
    ) -> Result<(), Refusal> {
        match self.first_of(names) {
            Some(name) => self.put(name, asked, value),
            None if self.family.is_none() => Ok(()),
            None => Err(not_offered(asked, value, &[])),
        }
    }

    /// Gives the family pictures that the client sent as `asked`, under the first of these names that it has.
    pub(super) fn give_pictures(
        &mut self,
        asked: &'static str,
        pictures: Vec<Value>,
        names: &[&'static str],
    ) -> Result<(), Refusal> {
        if pictures.is_empty() || self.family.is_none() {
            return Ok(());
        }
        let Some(name) = self.first_of(names) else {
            return Err(Refusal::field(asked, format!("{asked}: this model takes no pictures")));
        };
        let takes_list = matches!(self.kind(name), Some(Kind::List { .. }));
        match (takes_list, pictures.as_slice()) {
            (true, _) => self.put(name, asked, &Value::Array(pictures)),
            (false, [only]) => self.put(name, asked, &only.clone()),
            (false, several) => {
                let message = format!("{asked}: this model takes one picture, got {}", several.len());
                Err(Refusal::field(asked, message))
            }
        }
    }

    /// The body for the family.
    pub(super) async fn body(&mut self) -> Result<CheckedBody, Refusal> {
        if self.dry_run {
            self.put("dry_run", "dry_run", &true.into())?;
        }
        if let Some(url) = self.callback.take() {
            self.put("callback_url", "callback_url", &url.into())?;
        }
        let asked = std::mem::take(&mut self.asked);
        let length = asked.values().map(|raw| raw.get().len()).sum();
        let bytes =
            off_worker(length, move || serde_json::to_vec(&asked)).await?.map_err(Refusal::internal)?;
        let checked = CheckedBody::check(Bytes::from(bytes), None).await;
        let checked = checked.map_err(jobs::submit_refusal)?;
        Ok(checked.with_tags(self.tags.take()))
    }

    /// An error of the family in the client's names of fields.
    pub(super) fn in_clients_names(&self, error: SubmitError) -> SubmitError {
        let SubmitError::Invalid { field: Some(field), message } = error else { return error };
        let name = field.split(['[', '.']).next().unwrap_or_default();
        let Some((_, asked)) = self.renamed.iter().find(|(family, _)| *family == name) else {
            return SubmitError::Invalid { field: Some(field), message };
        };
        // Families write a field as it is, or in quotes.
        let rest = message.trim_start_matches('`').strip_prefix(field.as_str());
        let rest = rest.and_then(|rest| rest.trim_start_matches('`').strip_prefix(": "));
        let message = rest.unwrap_or(&message);
        SubmitError::Invalid { field: Some((*asked).to_owned()), message: format!("{asked}: {message}") }
    }
}

/// Whether a value asks for nothing, whatever its field: clients that write every field they have write one so.
pub(super) fn is_empty(raw: &RawValue) -> bool {
    match raw.get().as_bytes() {
        b"null" | b"false" | b"\"\"" => true,
        [b'[', inner @ .., b']'] | [b'{', inner @ .., b'}'] => inner.iter().all(u8::is_ascii_whitespace),
        _ => false,
    }
}

/// A field that the model has no word for.
fn not_offered(name: &'static str, value: &Value, neutral: &[Value]) -> Refusal {
    let neutral: Vec<String> = neutral.iter().map(Value::to_string).collect();
    let expected = match neutral.as_slice() {
        [] => "nothing".to_owned(),
        some => format!("nothing or {}", some.join(", ")),
    };
    let got = match value.as_str() {
        Some(text) if text.starts_with("data:") => "a file".to_owned(),
        _ => quoted(&value.to_string().chars().take(200).collect::<String>()),
    };
    Refusal::field(name, format!("{name}: expected {expected}, as this model has no such setting; got {got}"))
}

/// The texts that a field may be, where they are a list.
fn words(kind: &Kind) -> Option<Vec<String>> {
    let Kind::Choice(values) = kind else { return None };
    Some(values.iter().filter_map(|choice| choice.value.as_str().map(str::to_owned)).collect())
}

/// The fields of the family that serves that model on the surface; of several forms, those of the model's own.
fn family_fields(backend: &dyn Backend, key: &Key, surface: &str, model: Option<&str>) -> Option<Vec<Field>> {
    let families = backend.families(Some(key));
    let mut surfaces = families.iter().flat_map(|family| &family.surfaces).filter(|own| own.name == surface);
    let serving = surfaces.find(|own| match model {
        Some(model) => own.models.iter().any(|name| name == model),
        None => own.default_model.is_some(),
    })?;
    let schema: Value = serde_json::from_str(&serving.schema).ok()?;
    let own_id = model.and_then(|model| backend.model_id(model));
    Some(match Reader::new(&schema).kind(&schema) {
        Kind::Object(fields) => fields,
        Kind::Variants(forms) => {
            let is_own = |name: &str| model == Some(name) || own_id.as_deref() == Some(name);
            let has_own = forms.iter().any(|form| is_own(&form.name));
            let forms = forms.into_iter().filter(|form| !has_own || is_own(&form.name));
            forms
                .flat_map(|form| if let Kind::Object(fields) = form.kind { fields } else { Vec::new() })
                .collect()
        }
        _ => Vec::new(),
    })
}

/// Does work on a body of that length where it keeps no other request waiting.
pub(super) async fn off_worker<T: Send + 'static>(
    length: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    if length <= IN_PLACE {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(Refusal::internal)
}

/// How far a ratio may be from what was asked for: 1792x1024 is 16:9.
const RATIO_TOLERANCE: f64 = 0.03;
/// The same of the number of lines, by the pixels that there are in all.
const LINES_TOLERANCE: f64 = 0.1;

/// Width and height of `WxH`.
fn pixels(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(['x', 'X'])?;
    let side = |text: &str| text.parse().ok().filter(|side| (1..=65_536).contains(side));
    Some((side(width)?, side(height)?))
}

/// The ratio that those pixels have, of these, such as `16:9`.
fn ratio<'a>(pixels: (u32, u32), of: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = f64::from(pixels.0) / f64::from(pixels.1);
    let read = |word: &str| {
        let (width, height) = word.split_once(':')?;
        let (width, height): (f64, f64) = (width.parse().ok()?, height.parse().ok()?);
        (width > 0.0 && height > 0.0).then_some(width / height)
    };
    nearest(wanted, RATIO_TOLERANCE, of.filter_map(|word| Some((word, read(word)?))))
}

/// The number of lines that a film of so many pixels has, of these, such as `720p`: 1280x720 and 960x960 have 720.
fn lines<'a>(pixels: (u32, u32), of: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = (f64::from(pixels.0) * f64::from(pixels.1) * 9.0 / 16.0).sqrt();
    let read = |word: &str| match word.to_ascii_lowercase().as_str() {
        "4k" => Some(2160.0),
        word => word.strip_suffix('p')?.parse().ok(),
    };
    nearest(wanted, LINES_TOLERANCE, of.filter_map(|word| Some((word, read(word)?))))
}

fn nearest<'a>(wanted: f64, tolerance: f64, of: impl Iterator<Item = (&'a str, f64)>) -> Option<&'a str> {
    let distance = |found: f64| (found / wanted).ln().abs();
    let found = of.map(|(word, value)| (word, distance(value)));
    let found = found.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (found.1 <= tolerance.ln_1p()).then_some(found.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a client gets a picture of another shape than it asked for, or none.
    #[test]
    fn pixels_are_the_words_of_families() {
        let ratios = ["1:1", "16:9", "9:16", "3:2", "2:3", "adaptive"];
        let all_lines = ["480p", "720p", "1080P", "4k"];
        for (text, expected_ratio, expected_lines) in [
            ("1024x1024", Some("1:1"), Some("720p")),
            ("1536x1024", Some("3:2"), None),
            ("1024x1536", Some("2:3"), None),
            ("1792x1024", Some("16:9"), Some("1080P")),
            ("1280x720", Some("16:9"), Some("720p")),
            ("720x1280", Some("9:16"), Some("720p")),
            ("1024x1792", Some("9:16"), Some("1080P")),
            ("3840x2160", Some("16:9"), Some("4k")),
            ("960x960", Some("1:1"), Some("720p")),
            ("1000x100", None, None),
        ] {
            let pixels = pixels(text).unwrap();
            assert_eq!(ratio(pixels, ratios.into_iter()), expected_ratio, "{text}");
            assert_eq!(lines(pixels, all_lines.into_iter()), expected_lines, "{text}");
        }
        for text in ["", "x", "1024", "1024x", "0x1", "-1x1", "1x1x1", "16:9", "99999x1"] {
            assert_eq!(pixels(text), None, "{text}");
        }
    }
}
