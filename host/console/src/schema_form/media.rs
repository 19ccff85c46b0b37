//! Which fields take the address of a picture, a film or a sound: what their schema says (`x-widget`), else what their name
//! says. A wrong guess offers a file where none is taken, which the plugin then refuses; nothing else depends on it.

use gatehouse_schema::{Field, Kind};
use serde_json::{Map, Value};

use super::control::{Control, of_field};

/// What a field takes the address of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    Picture,
    Film,
    Sound,
    /// It does not say.
    Any,
}

/// Words of names.
const WORDS: &[(&str, Medium)] = &[
    ("image", Medium::Picture),
    ("images", Medium::Picture),
    ("picture", Medium::Picture),
    ("pictures", Medium::Picture),
    ("frame", Medium::Picture),
    ("mask", Medium::Picture),
    ("video", Medium::Film),
    ("videos", Medium::Film),
    ("audio", Medium::Sound),
    ("audios", Medium::Sound),
];

impl Medium {
    /// By its type, such as `image/png`.
    pub(crate) fn of_type(mime: &str) -> Self {
        match mime.split('/').next() {
            Some("image") => Self::Picture,
            Some("video") => Self::Film,
            Some("audio") => Self::Sound,
            _ => Self::Any,
        }
    }

    /// What a browser offers to choose.
    pub(super) fn accept(self) -> Option<&'static str> {
        match self {
            Self::Picture => Some("image/*"),
            Self::Film => Some("video/*"),
            Self::Sound => Some("audio/*"),
            Self::Any => None,
        }
    }

    fn takes(self, other: Self) -> bool {
        self == Self::Any || self == other
    }
}

/// What the field takes; none where it takes no address, or its control is none for it.
pub(super) fn of(field: &Field) -> Option<Medium> {
    let has_control = matches!(of_field(field, 0), Control::Line | Control::Rows(_) | Control::Variants(_));
    shape(&field.kind).filter(|_| has_control)?;
    by_widget(field).or_else(|| by_name(&field.name))
}

/// How a value holds addresses.
enum Shape {
    One,
    Several,
}

/// Of several forms of a value the first that holds any counts.
fn shape(kind: &Kind) -> Option<Shape> {
    match kind {
        Kind::Text { .. } => Some(Shape::One),
        Kind::List { item, .. } if matches!(**item, Kind::Text { .. }) => Some(Shape::Several),
        Kind::Variants(forms) => forms.iter().find_map(|form| shape(&form.kind)),
        _ => None,
    }
}

fn by_widget(field: &Field) -> Option<Medium> {
    let widget = field.widget.as_deref()?;
    let word = widget.strip_suffix("-urls").or_else(|| widget.strip_suffix("-url"))?;
    Some(WORDS.iter().find(|(known, _)| *known == word).map_or(Medium::Any, |(_, medium)| *medium))
}

fn by_name(name: &str) -> Option<Medium> {
    let words: Vec<&str> = name.split(['_', '-']).collect();
    let of_word = |word: &&str| WORDS.iter().find(|(known, _)| known == word).map(|(_, medium)| *medium);
    let medium = words.iter().find_map(of_word);
    match words.as_slice() {
        ["url" | "urls"] => Some(Medium::Any),
        [.., "url" | "urls"] => medium,
        [.., last] => of_word(last),
        [] => None,
    }
}

/// Whether any of the fields takes a file.
pub(crate) fn takes_files(fields: &[Field]) -> bool {
    fields.iter().any(|field| of(field).is_some())
}

/// Puts an address into the first field that takes such a medium, in place of what is there; whether there is one.
pub(crate) fn place(fields: &[Field], medium: Medium, address: &str, body: &mut Map<String, Value>) -> bool {
    let fits = |field: &&Field| of(field).is_some_and(|taken| taken.takes(medium));
    // One that says what it takes goes before one that does not.
    let exact = fields.iter().find(|field| of(field) == Some(medium));
    let Some(field) = exact.or_else(|| fields.iter().find(fits)) else { return false };
    let value: Value = match shape(&field.kind) {
        Some(Shape::Several) => vec![Value::from(address)].into(),
        _ => address.into(),
    };
    body.insert(field.name.clone(), value);
    true
}

/// The name of the control that takes a file for the control of that name.
pub(super) fn file_name(name: &str) -> String {
    format!("{name}{FILE}")
}

/// The control that a file is for.
pub(crate) fn control_of(file: &str) -> Option<&str> {
    file.strip_suffix(FILE)
}

const FILE: &str = "|file";

#[cfg(test)]
mod tests {
    use gatehouse_schema::Reader;
    use serde_json::json;

    use super::*;

    fn fields(schema: &Value) -> Vec<Field> {
        match Reader::new(schema).kind(schema) {
            Kind::Object(fields) => fields,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_of_media_are_found() {
        let (text, list) = (json!({"type": "string"}), json!({"type": "array", "items": {"type": "string"}}));
        for (name, schema, expected) in [
            ("image_urls", &list, Some(Medium::Picture)),
            ("video_urls", &list, Some(Medium::Film)),
            ("audio_urls", &list, Some(Medium::Sound)),
            ("first_frame_image", &text, Some(Medium::Picture)),
            ("url", &text, Some(Medium::Any)),
            ("prompt", &text, None),
            ("callback_url", &text, None),
            ("video_style", &text, None),
            ("tags", &list, None),
            (
                "image_urls",
                &json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]}),
                Some(Medium::Picture),
            ),
            ("generate_audio", &json!({"type": "boolean"}), None),
            ("image", &json!({"enum": ["a", "b"]}), None),
            (
                "image_urls",
                &json!({"type": "array", "items": {"type": "object", "properties": {"url": {"type": "string"}}}}),
                None,
            ),
            ("source", &json!({"type": "string", "x-widget": "video-url"}), Some(Medium::Film)),
            (
                "sources",
                &json!({"type": "array", "items": {"type": "string"}, "x-widget": "image-urls"}),
                Some(Medium::Picture),
            ),
        ] {
            let found = fields(&json!({"type": "object", "properties": {name: schema}}));
            assert_eq!(of(&found[0]), expected, "{name}: {schema}");
            assert_eq!(takes_files(&found), expected.is_some());
        }
    }

    #[test]
    fn an_address_goes_where_it_fits_best() {
        let schema = json!({"type": "object", "properties": {
            "url": {"type": "string"},
            "image_urls": {"type": "array", "items": {"type": "string"}},
            "prompt": {"type": "string"},
        }});
        let fields = fields(&schema);
        for (medium, expected) in [
            (Medium::Picture, json!({"image_urls": ["x"], "prompt": "p"})),
            (Medium::Film, json!({"url": "x", "image_urls": ["old"], "prompt": "p"})),
        ] {
            let mut body = json!({"image_urls": ["old"], "prompt": "p"}).as_object().unwrap().clone();
            assert!(place(&fields, medium, "x", &mut body));
            assert_eq!(Value::Object(body), expected);
        }
        let none = fields.iter().filter(|field| field.name == "prompt").cloned().collect::<Vec<_>>();
        assert!(!place(&none, Medium::Picture, "x", &mut Map::new()));
    }
}
