//! The glossary (host/README.md): old words stay out of names, comments, documentation and messages.
//!
//! Three tables. `NEVER` holds words with no use in this tree. `NAMES` holds words that are ordinary English but were
//! private metaphors as names of files, folders and types. `PHRASES` holds turns of speech. A word is a part of an
//! identifier (`snake_case` and `CamelCase` are split) or a word of a comment.

use crate::{assert_none, files_below, root, shown};

/// Words refused everywhere, with the word to use.
const NEVER: &[(&str, &str)] = &[
    ("distrust", "report_failure"),
    ("goodbye", "lame duck"),
    ("inquiry", "text request"),
    ("neighbourhood", "subnet"),
    ("rescue", "fallback"),
    ("rescued", "fallback"),
    ("shelf", "plugin store"),
    ("tally", "counter, limits, usage"),
    ("weave", "block assembler"),
    ("whoever", "caller, client, or the noun"),
    ("workshop", "verifier"),
];

/// Words refused as part of a file's, a folder's or a type's name.
const NAMES: &[(&str, &str)] = &[
    ("birth", "creation"),
    ("book", "oracle, table, storage"),
    ("books", "ledger storage"),
    ("chain", "deployment pipeline"),
    ("desk", "service, account check"),
    ("door", "admin listener, admin endpoint"),
    ("face", "api"),
    ("families", "runtime"),
    ("fates", "outcomes"),
    ("given", "lower"),
    ("house", "gateway, system under test"),
    ("inner", "what it is, such as LiveTasksState"),
    ("mask", "redact"),
    ("mistake", "error, invalid parameter"),
    ("notes", "guest log"),
    ("opened", "prepared"),
    ("place", "permit"),
    ("posting", "journal entry"),
    ("power", "fault injection"),
    ("room", "service, crate"),
    ("rooms", "wiring"),
    ("seat", "account assignment"),
    ("shelf", "plugin store"),
    ("sign", "health signal"),
    ("slot", "permit"),
    ("talk", "text service"),
    ("talks", "text scenarios"),
    ("tower", "canary"),
    ("trouble", "failure, obstacle"),
    ("turn", "step outcome"),
    ("turns", "fair queue"),
    ("visit", "run context"),
    ("watch", "canary"),
    ("watched", "canary"),
    ("wish", "command strategy"),
    ("withdrawn", "rolled back"),
    ("world", "simulation"),
];

/// Turns of speech refused in comments, documentation and messages (in lower case).
const PHRASES: &[&str] = &[
    "operators' door",
    "the house",
    "what is no ",
    "who asks",
    "who heard",
    "who has not heard",
    "stands by",
    "all rooms",
    "the chain a version",
    "the desk",
    "the door",
    "the room",
];

/// Files that must name old words: this one, and the glossary.
const EXEMPT: &[&str] = &["tests/tidy/words.rs", "host/README.md"];

#[test]
fn old_words_are_gone() {
    let mut broken = Vec::new();
    for path in texts() {
        let text = std::fs::read_to_string(root().join(&path)).expect("a readable file");
        for (at, line) in text.lines().enumerate() {
            for (old, new) in NEVER.iter().filter(|(old, _)| has_word(line, old)) {
                broken.push(format!("{path}:{}: {old:?}, use {new}", at + 1));
            }
            let lower = line.to_lowercase();
            for phrase in PHRASES.iter().filter(|phrase| lower.contains(**phrase)) {
                broken.push(format!("{path}:{}: {phrase:?}", at + 1));
            }
        }
    }
    assert_none("old words; the glossary is in host/README.md", &broken);
}

#[test]
fn names_of_files_folders_and_types_are_the_glossarys() {
    let mut broken = Vec::new();
    for path in texts().into_iter().filter(|path| path.ends_with(".rs")) {
        for (old, new) in NAMES.iter().filter(|(old, _)| has_word(&path, old)) {
            broken.push(format!("{path}: {old:?}, use {new}"));
        }
        let text = std::fs::read_to_string(root().join(&path)).expect("a readable file");
        for (at, name) in text.lines().enumerate().filter_map(|(at, line)| Some((at, declared(line)?))) {
            for (old, new) in NAMES.iter().filter(|(old, _)| has_word(name, old)) {
                broken.push(format!("{path}:{}: {name}: {old:?}, use {new}", at + 1));
            }
        }
    }
    assert_none("old words in names; the glossary is in host/README.md", &broken);
}

#[test]
fn words_are_found_inside_identifiers() {
    assert!(has_word("let tower_of = PluginShelf::open()", "tower"));
    assert!(has_word("PluginShelf", "shelf"));
    assert!(has_word("/// Whoever asks.", "whoever"));
    assert!(!has_word("bookshelf towers", "shelf"));
    assert_eq!(declared("pub(crate) struct Seat {"), Some("Seat"));
    assert_eq!(declared("    mod birth;"), Some("birth"));
    assert_eq!(declared("let seat = 1;"), None);
}

/// Sources, contracts, examples and documentation, as paths below the top.
fn texts() -> Vec<String> {
    let kinds = ["rs", "wit", "md", "toml"].iter().flat_map(|kind| files_below(&root(), kind));
    kinds.map(|path| shown(&path)).filter(|path| !EXEMPT.contains(&path.as_str())).collect()
}

/// Whether `word` (lower case) is a word of `text` or a part of one of its identifiers.
fn has_word(text: &str, word: &str) -> bool {
    let bytes = text.as_bytes();
    let matches = text.char_indices().filter(|(at, _)| {
        text.get(*at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
    });
    let mut matches = matches.map(|(at, _)| at);
    matches.any(|at| {
        let end = at + word.len();
        let first = bytes[at];
        let starts = at == 0 || {
            let before = bytes[at - 1];
            !before.is_ascii_alphanumeric() || (before.is_ascii_lowercase() && first.is_ascii_uppercase())
        };
        let ends = bytes.get(end).is_none_or(|after| !after.is_ascii_lowercase());
        starts && ends
    })
}

/// The name a line declares as a module or a type.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let rest =
        ["struct ", "enum ", "trait ", "type ", "mod "].iter().find_map(|kind| line.strip_prefix(kind))?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}
