//! Stage five, first half: the document that `describe` returns, read. Its second half is `describe`.

use gatehouse_model::{About, Offers};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::stages::describe::{DescribeError, at_most, wrong};

/// Bytes of a document.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// Features that a manifest may name in `requires`.
pub(crate) const MAX_REQUIRED: usize = 32;
/// The features of this host that a manifest may require.
const FEATURES: &[&str] = &[];

/// What is read before all else: a document for a later host may have another shape in everything that follows.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Needs {
    #[serde(default)]
    requires: Vec<String>,
}

/// Reads the manifest of a component that exports `offers`.
pub(crate) fn read(document: &str, offers: Offers) -> Result<About, DescribeError> {
    if document.len() > MAX_DOCUMENT_BYTES {
        let why = format!("expected at most {MAX_DOCUMENT_BYTES} bytes, got {}", document.len());
        return Err(DescribeError::Unreadable(why));
    }
    check_requires(&parse::<Needs>(document, &mut |_| ())?.requires)?;
    let mut unknown = None;
    let about = parse::<About>(document, &mut |path| {
        if path.ends_with('!') {
            unknown.get_or_insert(path);
        }
    });
    match unknown {
        Some(key) => {
            Err(wrong(key, "this host does not know the key, and a key that ends in `!` must be known"))
        }
        None => about.map(|about| About { offers, ..about }),
    }
}

/// Compares the manifest that a file carries with the one that its component returns: its readers believe it.
pub(crate) fn compare(carried: &str, returned: &str) -> Result<(), DescribeError> {
    let read = |text: &str| {
        serde_json::from_str::<Value>(text).map_err(|error| DescribeError::Carried(error.to_string()))
    };
    match difference(&read(carried)?, &read(returned)?, &mut String::new()) {
        Some(at) => Err(DescribeError::Carried(format!("the component says something else at {at:?}"))),
        None => Ok(()),
    }
}

/// Where two documents differ first, as a JSON pointer.
fn difference(one: &Value, other: &Value, at: &mut String) -> Option<String> {
    let here = at.len();
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => one.keys().chain(other.keys()).find_map(|key| {
            at.truncate(here);
            *at += &format!("/{key}");
            match (one.get(key), other.get(key)) {
                (Some(one), Some(other)) => difference(one, other, at),
                _ => Some(at.clone()),
            }
        }),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).enumerate().find_map(|(index, (one, other))| {
                at.truncate(here);
                *at += &format!("/{index}");
                difference(one, other, at)
            })
        }
        _ => (one != other).then(|| at.clone()),
    }
}

fn check_requires(requires: &[String]) -> Result<(), DescribeError> {
    at_most("requires", MAX_REQUIRED, requires.len())?;
    match requires.iter().find(|feature| !FEATURES.contains(&feature.as_str())) {
        None => Ok(()),
        Some(feature) => {
            let known = if FEATURES.is_empty() { "none".to_owned() } else { FEATURES.join(", ") };
            let why = format!("this host does not have the feature {feature:?}; it has {known}");
            Err(wrong("requires", why))
        }
    }
}

/// Parses the whole document, and tells `ignored` the path of each key that `T` does not have.
fn parse<T: DeserializeOwned>(document: &str, ignored: &mut dyn FnMut(String)) -> Result<T, DescribeError> {
    let mut text = serde_json::Deserializer::from_str(document);
    let mut tell = |path: serde_ignored::Path<'_>| ignored(path.to_string());
    let keys = serde_ignored::Deserializer::new(&mut text, &mut tell);
    let value = serde_path_to_error::deserialize(keys).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.inner().to_string());
        if path == "." || !error.inner().is_data() {
            return DescribeError::Unreadable(why);
        }
        // The path says where; the document is one line.
        wrong(path, why.rsplit_once(" at line ").map_or(why.as_str(), |(why, _)| why))
    })?;
    text.end().map_err(|error| DescribeError::Unreadable(error.to_string()))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(document: &str) -> String {
        read(document, Offers::default()).expect_err("refused").to_string()
    }

    #[test]
    fn a_document_may_say_more_than_this_host_knows() {
        let about = read(
            r#"{"family": "painter", "version": "1.0.0", "weather": {"sky": 1},
                "models": [{"id": "painter-1", "colour": "red", "surfaces": []}],
                "surfaces": [{"name": "images.generate", "schema": {"type":  "object"}, "smell": [{}],
                              "parent": {"field": "follows"}, "names": [{"scheme": "asset"}, {"field": "id"}]}],
                "self_tests": [{"surface": "images.generate", "body": {"b": 1,  "a": 2}, "expect": "doomed",
                                "parents": [{"family": "painter", "model": "painter-1", "shoe": 1,
                                             "media": [{"kind": "image", "mime": "image/png", "bytes": 1}]}]}]}"#,
            Offers::default(),
        )
        .expect("read");
        assert_eq!(about.state_version, 1);
        // Schemas and bodies are the author's, byte for byte.
        assert_eq!(about.surfaces[0].schema, r#"{"type":  "object"}"#);
        assert_eq!(about.self_tests[0].body, r#"{"b": 1,  "a": 2}"#);
        assert_eq!(about.self_tests[0].parents[0].private, "null");
    }

    /// Without the mark a newer family would run on a host that ignores what it relies on.
    #[test]
    fn what_must_be_understood_is_refused_by_its_name() {
        for (document, message) in [
            (
                r#"{"family": "painter", "version": "1.0.0", "sealed!": true}"#,
                "manifest.sealed!: this host does not know the key, and a key that ends in `!` must be known",
            ),
            (
                r#"{"family": "painter", "version": "1.0.0", "models": [{"id": "painter-1", "tiers!": [1]}]}"#,
                "manifest.models.0.tiers!: this host does not know the key, and a key that ends in `!` must be known",
            ),
            (
                r#"{"families": ["painter"], "requires": ["choirs"]}"#,
                "manifest.requires: this host does not have the feature \"choirs\"; it has none",
            ),
        ] {
            assert_eq!(refusal(document), message);
        }
        // What is inside a schema or a body is no key of the manifest.
        let inside = r#"{"family": "painter", "version": "1.0.0",
            "surfaces": [{"name": "images.generate", "schema": {"x!": 1}}],
            "self_tests": [{"surface": "images.generate", "body": {"x!": 1}, "expect": "accepted"}]}"#;
        assert!(read(inside, Offers::default()).is_ok());
    }

    /// Somebody reads the section before the code runs, and decides by it.
    #[test]
    fn a_manifest_for_readers_that_says_something_else_is_refused() {
        let returned =
            r#"{"family": "painter", "version": "1.0.0", "models": [{"id": "a"}], "licence": null}"#;
        assert_eq!(
            compare(
                r#"{"version":"1.0.0","licence":null,"models":[{"id":"a"}],"family":"painter"}"#,
                returned
            ),
            Ok(())
        );
        for (carried, at) in [
            (
                r#"{"family": "painter", "version": "2.0.0", "models": [{"id": "a"}], "licence": null}"#,
                "/version",
            ),
            (
                r#"{"family": "painter", "version": "1.0.0", "models": [{"id": "b"}], "licence": null}"#,
                "/models/0/id",
            ),
            (r#"{"family": "painter", "version": "1.0.0", "models": [], "licence": null}"#, "/models"),
            (r#"{"family": "painter", "version": "1.0.0", "models": [{"id": "a"}]}"#, "/licence"),
            ("{", "EOF while parsing"),
        ] {
            let error = compare(carried, returned).expect_err("refused").to_string();
            assert!(error.contains(at) && error.contains("gatehouse plugin pack"), "{error}");
        }
    }

    #[test]
    fn an_error_names_its_place_in_the_document() {
        for (document, message) in [
            (
                "7b",
                "the manifest cannot be read: invalid type: integer `7`, expected an object at line 1 column 1",
            ),
            (
                r#"{"version": "1.0.0"}"#,
                "the manifest cannot be read: missing field `family` at line 1 column 20",
            ),
            (
                r#"{"family": "painter", "version": "1.0.0", "models": [{"id": 7}]}"#,
                "manifest.models[0].id: invalid type: integer `7`, expected a string",
            ),
            (
                r#"{"family": "painter", "version": "1.0.0", "surfaces": [{"name": "a", "schema": {}, "parent": "here"}]}"#,
                "manifest.surfaces[0].parent: unknown variant `here`, expected one of `nowhere`, `path`, `field`",
            ),
        ] {
            assert_eq!(refusal(document), message);
        }
        let long = format!(r#"{{"family": "{}"}}"#, "a".repeat(MAX_DOCUMENT_BYTES));
        let message = "the manifest cannot be read: expected at most 1048576 bytes, got 1048590";
        assert_eq!(refusal(&long), message);
    }
}
