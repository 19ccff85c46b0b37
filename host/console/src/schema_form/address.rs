//! Which fields take the address of a picture, a film or a sound: what their schema says (`x-widget`), else what their name
//! says, for a bare `url` inside of an object the name of that object. A wrong guess offers a file where none is taken, which
//! the plugin then refuses; nothing else depends on it.

use gatehouse_schema::{Field, Kind};

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
pub(super) fn of(field: &Field, within: &str) -> Option<Medium> {
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
    use gatehouse_schema::Reader;
    use serde_json::{Value, json};

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
            assert_eq!(of(&found[0], ""), expected, "{name}: {schema}");
        }
    }

    #[test]
    fn a_bare_address_is_what_its_object_says() {
        let found = fields(&json!({"type": "object", "properties": {"url": {"type": "string"}}}));
        for (within, expected) in [
            ("", Some(Medium::Any)),
            ("image_with_roles", Some(Medium::Picture)),
            ("reference-videos", Some(Medium::Film)),
            ("callback", None),
        ] {
            assert_eq!(of(&found[0], within), expected, "{within}");
        }
        let own = fields(&json!({"type": "object", "properties": {"audio_url": {"type": "string"}}}));
        assert_eq!(of(&own[0], "images"), Some(Medium::Sound));
    }
}
