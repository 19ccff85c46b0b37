//! Files and addresses in a form: which controls take a file, and where the address of an input goes.
//!
//! Which fields take the address of a picture, a film or a sound: what their schema says (`x-widget`), else what their name
//! says, for a bare `url` inside of an object the name of that object. A wrong guess offers a file where none is taken, which
//! the plugin then refuses; nothing else depends on it.

use gatehouse_schema::{Field, Kind};
use serde_json::{Map, Value};

use super::control::{Control, control, item, member, of_field};

/// What the field's control takes, in the object of that name; none where it takes no address, or its control is none for it.
pub(super) fn of(field: &Field, within: &str, depth: usize) -> Option<Medium> {
    let has_control =
        matches!(of_field(field, depth), Control::Line | Control::Rows(_) | Control::Variants(_));
    medium_of(field, within).filter(|_| has_control)
}

/// A field for an address, or the first row of a list of such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputField {
    medium: Medium,
    /// From the whole to the address.
    path: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    /// The first row, in place of all rows that are there.
    Row,
}

impl InputField {
    /// The pointer of the control.
    pub(crate) fn pointer(&self) -> String {
        self.path.iter().fold(String::new(), |pointer, step| match step {
            Step::Member(name) => member(&pointer, name),
            Step::Row => item(&pointer, 0),
        })
    }

    /// The field as people read it: `image_urls`, `camera.mask`.
    pub(crate) fn name(&self) -> String {
        self.members().collect::<Vec<_>>().join(".")
    }

    /// Puts an address there, in place of what is there.
    pub(crate) fn put(&self, address: &str, body: &mut Map<String, Value>) {
        let mut whole = Value::Object(std::mem::take(body));
        put(&mut whole, &self.path, address);
        if let Value::Object(members) = whole {
            *body = members;
        }
    }

    fn members(&self) -> impl Iterator<Item = &str> {
        self.path.iter().filter_map(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Row => None,
        })
    }
}

fn put(value: &mut Value, path: &[Step], address: &str) {
    match path.split_first() {
        None => *value = address.into(),
        Some((Step::Row, rest)) => {
            let mut row = Value::Null;
            put(&mut row, rest, address);
            *value = vec![row].into();
        }
        Some((Step::Member(name), rest)) => {
            if !value.is_object() {
                *value = Map::new().into();
            }
            put(&mut value[name.as_str()], rest, address);
        }
    }
}

/// Whether any control of these fields takes a file.
pub(crate) fn takes_files(fields: &[Field]) -> bool {
    !every_input_field(fields, true).is_empty()
}

/// Where the address of such a medium fits, the best one first: one that says what it takes goes before one that does not,
/// and a field before one inside of an object.
pub(crate) fn input_fields(fields: &[Field], medium: Medium) -> Vec<InputField> {
    let mut found = every_input_field(fields, false);
    found.retain(|one| one.medium.takes(medium));
    found.sort_by_key(|one| (one.medium != medium, one.members().count()));
    found
}

/// With those in objects that are one of several forms of a value, which an address alone cannot choose.
fn every_input_field(fields: &[Field], in_variants: bool) -> Vec<InputField> {
    let mut search = Search { in_variants, path: Vec::new(), found: Vec::new() };
    search.fields(fields, "", 0);
    search.found
}

/// Visits what the controls show, so nothing deeper than they do.
struct Search {
    in_variants: bool,
    path: Vec<Step>,
    found: Vec<InputField>,
}

impl Search {
    fn fields(&mut self, fields: &[Field], within: &str, depth: usize) {
        for field in fields {
            self.path.push(Step::Member(field.name.clone()));
            if let Some(medium) = of(field, within, depth) {
                let mut path = self.path.clone();
                if matches!(shape(&field.kind), Some(Shape::Several)) {
                    path.push(Step::Row);
                }
                self.found.push(InputField { medium, path });
            }
            self.inside(of_field(field, depth), &field.name, depth);
            self.path.pop();
        }
    }

    fn inside(&mut self, with: Control<'_>, name: &str, depth: usize) {
        match with {
            Control::Group(fields) => self.fields(fields, name, depth + 1),
            Control::Items(fields) => {
                self.path.push(Step::Row);
                self.fields(fields, name, depth + 1);
                self.path.pop();
            }
            Control::Variants(variants) if self.in_variants => {
                for one in variants {
                    self.inside(control(None, "", &one.kind, depth + 1), name, depth + 1);
                }
            }
            _ => {}
        }
    }
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

    pub(super) fn takes(self, other: Self) -> bool {
        self == Self::Any || self == other
    }
}

/// What a field takes by its schema and its name, in the object of that name (empty for the whole).
pub(super) fn medium_of(field: &Field, within: &str) -> Option<Medium> {
    shape(&field.kind)?;
    by_widget(field).or_else(|| by_name(&field.name, within))
}

/// How a value holds addresses.
pub(super) enum Shape {
    One,
    Several,
}

/// Of several forms of a value the first that holds any counts.
pub(super) fn shape(kind: &Kind) -> Option<Shape> {
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
    Some(of_word(word).unwrap_or(Medium::Any))
}

fn by_name(name: &str, within: &str) -> Option<Medium> {
    let words = words(name);
    let medium = words.iter().copied().find_map(of_word);
    match words.as_slice() {
        ["url" | "urls"] if within.is_empty() => Some(Medium::Any),
        ["url" | "urls"] => self::words(within).into_iter().find_map(of_word),
        [.., "url" | "urls"] => medium,
        [.., last] => of_word(last),
        [] => None,
    }
}

fn words(name: &str) -> Vec<&str> {
    name.split(['_', '-']).collect()
}

fn of_word(word: &str) -> Option<Medium> {
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, medium)| *medium)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema_form::tests::fields;

    #[test]
    fn an_address_goes_where_it_fits_best() {
        let fields = fields(&json!({"type": "object", "properties": {
            "url": {"type": "string"},
            "image_with_roles": {"type": "array", "items": {"type": "object", "required": ["url"], "properties": {
                "url": {"type": "string"}, "role": {"enum": ["first", "last"]},
            }}},
            "image_urls": {"type": "array", "items": {"type": "string"}},
            "camera": {"type": "object", "properties": {"mask": {"type": "string"}, "zoom": {"type": "number"}}},
            "callback": {"type": "object", "properties": {"url": {"type": "string"}}},
            "prompt": {"type": "string"},
        }}));
        let old = json!({"image_urls": ["old"], "camera": {"zoom": 2}, "prompt": "p"});
        let put = |medium| -> Vec<(String, Value)> {
            let result = |one: &InputField| {
                let mut body = old.as_object().unwrap().clone();
                one.put("x", &mut body);
                body.retain(|name, value| old.get(name) != Some(value));
                (one.pointer(), Value::Object(body))
            };
            input_fields(&fields, medium).iter().map(result).collect()
        };
        let url = ("/url".to_owned(), json!({"url": "x"}));
        assert_eq!(
            put(Medium::Picture),
            [
                ("/image_urls/0".to_owned(), json!({"image_urls": ["x"]})),
                ("/camera/mask".to_owned(), json!({"camera": {"zoom": 2, "mask": "x"}})),
                ("/image_with_roles/0/url".to_owned(), json!({"image_with_roles": [{"url": "x"}]})),
                url.clone(),
            ]
        );
        assert_eq!(put(Medium::Film), [url]);
        assert_eq!(input_fields(&fields, Medium::Picture)[2].name(), "image_with_roles.url");
    }

    #[test]
    fn a_form_takes_files_where_a_control_does() {
        let list = |properties: Value| json!({"type": "array", "items": {"type": "object", "properties": properties}});
        for (name, schema, expected) in [
            ("prompt", json!({"type": "string"}), false),
            ("image_url", json!({"type": "string"}), true),
            ("images", list(json!({"url": {"type": "string"}, "role": {"type": "string"}})), true),
            ("shots", list(json!({"image_url": {"type": "string"}})), true),
            ("tools", list(json!({"url": {"type": "string"}})), false),
            ("image", json!({"type": "object", "properties": {"url": {"type": "string"}}}), true),
            (
                "source",
                json!({"oneOf": [{"type": "number"}, {"type": "object", "properties": {"image": {"type": "string"}}}]}),
                true,
            ),
            ("images", json!({"type": "array", "items": list(json!({"url": {"type": "string"}}))}), false),
        ] {
            let found = fields(&json!({"type": "object", "properties": {name: schema}}));
            assert_eq!(takes_files(&found), expected, "{name}: {schema}");
        }
    }

    #[test]
    fn fields_of_media_are_found() {
        let (text, list) = (json!({"type": "string"}), json!({"type": "array", "items": {"type": "string"}}));
        for (name, within, schema, expected) in [
            ("image_urls", "", &list, Some(Medium::Picture)),
            ("video_urls", "", &list, Some(Medium::Film)),
            ("audio_urls", "", &list, Some(Medium::Sound)),
            ("first_frame_image", "", &text, Some(Medium::Picture)),
            ("prompt", "", &text, None),
            ("callback_url", "", &text, None),
            ("video_style", "", &text, None),
            ("tags", "", &list, None),
            (
                "image_urls",
                "",
                &json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]}),
                Some(Medium::Picture),
            ),
            ("generate_audio", "", &json!({"type": "boolean"}), None),
            ("image", "", &json!({"enum": ["a", "b"]}), None),
            (
                "image_urls",
                "",
                &json!({"type": "array", "items": {"type": "object", "properties": {"url": {"type": "string"}}}}),
                None,
            ),
            ("source", "", &json!({"type": "string", "x-widget": "video-url"}), Some(Medium::Film)),
            (
                "sources",
                "",
                &json!({"type": "array", "items": {"type": "string"}, "x-widget": "image-urls"}),
                Some(Medium::Picture),
            ),
            // A bare address is what its object says.
            ("url", "", &text, Some(Medium::Any)),
            ("url", "image_with_roles", &text, Some(Medium::Picture)),
            ("url", "reference-videos", &text, Some(Medium::Film)),
            ("url", "callback", &text, None),
            ("audio_url", "images", &text, Some(Medium::Sound)),
        ] {
            let found = fields(&json!({"type": "object", "properties": {name: schema}}));
            assert_eq!(medium_of(&found[0], within), expected, "{name} in {within:?}: {schema}");
        }
    }
}
