//! A plugin as one file: what a component carries beside its code, in custom sections that any other tool ignores.
//!
//! Owns the names of the sections, their bounds, and how they are read and written. Runs nothing, and believes nothing: a
//! deployment compares the manifest with what the component says of itself, and the defaults are checked like a file's.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use wasm_encoder::{CustomSection, Section as _};
use wasmparser::BinaryReader;

/// The manifest, as the component describes itself.
const MANIFEST: &str = "gatehouse:manifest";
/// Prices, providers and settings that come with the family, as TOML.
const DEFAULTS: &str = "gatehouse:defaults";
/// The text of its licence.
const LICENCE: &str = "gatehouse:licence";
/// Its scripts, a JSON object of texts by file name.
const PLAY: &str = "gatehouse:play";

/// The most bytes of each section.
const LIMITS: [(&str, usize); 4] =
    [(MANIFEST, 1 << 20), (DEFAULTS, 64 << 10), (LICENCE, 256 << 10), (PLAY, 2 << 20)];

/// The bytes before the first section: magic number and version.
const HEAD_BYTES: usize = 8;

/// What a component carries beside its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// The manifest, for readers that run nothing.
    pub manifest: Option<String>,
    /// The defaults of its family.
    pub defaults: Option<String>,
    /// Its licence.
    pub licence: Option<String>,
    /// Its scripts by file name.
    pub play: BTreeMap<String, String>,
}

/// Why the sections of a plugin are not acceptable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The file has no sections.
    #[error("the file's sections cannot be read: {0}; give a WebAssembly component")]
    Unreadable(String),
    /// A section is there twice.
    #[error("section {0} is there twice; pack the plugin again with `gatehouse plugin pack`")]
    Twice(&'static str),
    /// A section has too many bytes.
    #[error("section {name} has {bytes} bytes, {limit} are allowed")]
    TooLarge {
        /// Its name.
        name: &'static str,
        /// Its size.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    /// A section is not what it has to be.
    #[error("section {name}: expected {expected}")]
    Wrong {
        /// Its name.
        name: &'static str,
        /// What was expected.
        expected: String,
    },
}

/// A section of the outermost component.
struct Section<'a> {
    /// With its head.
    range: Range<usize>,
    /// Name and content, of a custom section.
    custom: Option<(&'a str, &'a [u8])>,
}

impl Package {
    /// Reads the sections of a component; all are absent from one that was not packed.
    pub fn read(wasm: &[u8]) -> Result<Self, PackageError> {
        let mut found: BTreeMap<&'static str, String> = BTreeMap::new();
        for (name, content) in sections(wasm)?.iter().filter_map(|section| section.custom) {
            let Some((name, limit)) = LIMITS.into_iter().find(|(known, _)| *known == name) else { continue };
            check_size(name, content.len(), limit)?;
            let text = std::str::from_utf8(content).map_err(|_| wrong(name, "text in UTF-8"))?;
            if found.insert(name, text.to_owned()).is_some() {
                return Err(PackageError::Twice(name));
            }
        }
        let play = found.remove(PLAY).map(|text| scripts(&text)).transpose()?.unwrap_or_default();
        let mut take = |name| found.remove(name);
        Ok(Self { manifest: take(MANIFEST), defaults: take(DEFAULTS), licence: take(LICENCE), play })
    }

    /// The component with these sections in place of those that it has.
    pub fn write(&self, wasm: &[u8]) -> Result<Vec<u8>, PackageError> {
        let mut packed = wasm.to_vec();
        for section in sections(wasm)?.iter().rev() {
            if section.custom.is_some_and(|(name, _)| LIMITS.iter().any(|(known, _)| *known == name)) {
                packed.drain(section.range.clone());
            }
        }
        let text = |text: &Option<String>| text.clone().map(String::into_bytes);
        let play = match self.play.is_empty() {
            true => None,
            false => Some(serde_json::to_vec(&self.play).map_err(|error| wrong(PLAY, error))?),
        };
        let contents = [text(&self.manifest), text(&self.defaults), text(&self.licence), play];
        for ((name, limit), content) in LIMITS.into_iter().zip(contents) {
            let Some(content) = content else { continue };
            check_size(name, content.len(), limit)?;
            let section = CustomSection { name: Cow::Borrowed(name), data: Cow::Owned(content) };
            section.append_to(&mut packed);
        }
        Self::read(&packed)?;
        Ok(packed)
    }
}

fn wrong(name: &'static str, expected: impl ToString) -> PackageError {
    PackageError::Wrong { name, expected: expected.to_string() }
}

fn check_size(name: &'static str, bytes: usize, limit: usize) -> Result<(), PackageError> {
    if bytes > limit { Err(PackageError::TooLarge { name, bytes, limit }) } else { Ok(()) }
}

/// Texts by the names of files: nobody who unpacks them gets a path.
fn scripts(text: &str) -> Result<BTreeMap<String, String>, PackageError> {
    let all: BTreeMap<String, String> = serde_json::from_str(text)
        .map_err(|error| wrong(PLAY, format!("a JSON object of texts by file name: {error}")))?;
    let is_plain = |name: &String| {
        let bytes = name.strip_suffix(".play").unwrap_or_default().bytes();
        bytes.len() > 0
            && bytes.clone().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    match all.keys().find(|name| !is_plain(name)) {
        Some(name) => {
            Err(wrong(PLAY, format!("names of letters, digits, `-` and `_` that end in .play, got {name:?}")))
        }
        None => Ok(all),
    }
}

/// The sections of the outermost component or module, in order.
fn sections(wasm: &[u8]) -> Result<Vec<Section<'_>>, PackageError> {
    let read = || {
        let mut reader = BinaryReader::new(wasm, 0);
        reader.read_bytes(HEAD_BYTES)?;
        let mut all = Vec::new();
        while !reader.eof() {
            let start = reader.current_position();
            let (id, size) = (reader.read_u8()?, reader.read_var_u32()?);
            let content = reader.read_bytes(size as usize)?;
            let custom = match id {
                0 => {
                    let mut inside = BinaryReader::new(content, 0);
                    let name = inside.read_string()?;
                    Some((name, &content[inside.current_position()..]))
                }
                _ => None,
            };
            all.push(Section { range: start..reader.current_position(), custom });
        }
        Ok(all)
    };
    read().map_err(|error: wasmparser::BinaryReaderError| PackageError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn full() -> Package {
        Package {
            manifest: Some("{\"family\": \"f\"}".to_owned()),
            defaults: Some("[prices]\n".to_owned()),
            licence: Some("Ours.".to_owned()),
            play: BTreeMap::from([("draws.play".to_owned(), "\"start\"".to_owned())]),
        }
    }

    #[test]
    fn what_was_packed_is_read_and_packing_again_replaces_it() {
        let packed = full().write(EMPTY).unwrap();
        assert_eq!(Package::read(&packed), Ok(full()));
        let less = Package { defaults: None, ..full() };
        let again = less.write(&packed).unwrap();
        assert_eq!(Package::read(&again), Ok(less));
        assert_eq!(Package::default().write(&packed).unwrap(), EMPTY, "nothing of it is left");
        // Other sections stay where they are, and the component is one for every tool.
        let built = [crate::tests::common::unruly(), &[0, 3, 1, b'b', 7]].concat();
        let packed = full().write(&built).unwrap();
        assert!(packed.starts_with(&built));
        wasmparser::Validator::new().validate_all(&packed).unwrap();
        assert_eq!(Package::default().write(&packed).unwrap(), built);
    }

    #[test]
    fn a_wrong_section_is_named_with_what_was_expected() {
        let with = |before: &[u8], name: &str, content: &[u8]| {
            let mut wasm = before.to_vec();
            CustomSection { name: name.into(), data: content.into() }.append_to(&mut wasm);
            wasm
        };
        let packed = full().write(EMPTY).unwrap();
        for (wasm, part) in [
            (with(&packed, DEFAULTS, b""), "section gatehouse:defaults is there twice"),
            (with(EMPTY, DEFAULTS, &[b' '; (64 << 10) + 1]), "has 65537 bytes, 65536 are allowed"),
            (with(EMPTY, LICENCE, b"\xff"), "gatehouse:licence: expected text in UTF-8"),
            (with(EMPTY, PLAY, b"[]"), "expected a JSON object of texts by file name"),
            (with(EMPTY, PLAY, b"{\"../a.play\": \"\"}"), "that end in .play, got \"../a.play\""),
            (with(EMPTY, PLAY, b"{\".play\": \"\"}"), "got \".play\""),
            (EMPTY[..4].to_vec(), "give a WebAssembly component"),
            ([EMPTY, &[0, 200]].concat(), "cannot be read"),
        ] {
            let error = Package::read(&wasm).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
        let large = Package { licence: Some(" ".repeat(300 << 10)), ..full() };
        assert!(matches!(large.write(EMPTY), Err(PackageError::TooLarge { name: LICENCE, .. })));
        // A later gateway may know more of them.
        assert_eq!(Package::read(&with(&packed, "gatehouse:more", b"x")), Ok(full()));
    }

    proptest! {
        /// Bytes of a third party.
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(Package::read(&bytes));
            drop(Package::read(&[EMPTY, &bytes].concat()));
        }
    }
}
