//! Tools: custom ones as they are, the typed ones after the table of what providers still know.
//!
//! The three tools of 2024 are gone from the listed models; their successors have the same names and
//! arguments, so a client that asks for the old type is served with the new one.

use gatehouse_sdk::Refusal;

use crate::at::At;
use crate::blocks::Notes;
use crate::raw::{Raw, fields, items, quoted, text, text_len};
use crate::rules::Rules;

/// Tool type, the type the provider gets, and the beta it needs. Tools that run at the provider and are
/// billed there are not in it: an operator adds them by name.
const TABLE: &[(&str, &str, Option<&str>)] = &[
    ("bash_20241022", "bash_20250124", None),
    ("bash_20250124", "bash_20250124", None),
    ("computer_20241022", "computer_20250124", Some("computer-use-2025-01-24")),
    ("computer_20250124", "computer_20250124", Some("computer-use-2025-01-24")),
    ("computer_20251124", "computer_20251124", Some("computer-use-2025-11-24")),
    ("text_editor_20241022", "text_editor_20250124", None),
    ("text_editor_20250124", "text_editor_20250124", None),
    ("text_editor_20250429", "text_editor_20250429", None),
    ("text_editor_20250728", "text_editor_20250728", None),
];
/// Letters of a custom tool's name.
const LONGEST_NAME: usize = 128;

/// A tool; strings are raw.
#[derive(Debug)]
pub(crate) enum Tool<'a> {
    Custom {
        name: Raw<'a>,
        description: Option<Raw<'a>>,
        schema: Raw<'a>,
        strict: Option<bool>,
    },
    /// Its type, and the beta its successor needs.
    Typed {
        kind: String,
        beta: Option<String>,
    },
}

/// Which tool the model is to use.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) which: Which<'a>,
    /// At most one tool at a time.
    pub(crate) single: bool,
}

impl Choice<'_> {
    /// Whether the model has to use a tool.
    pub(crate) fn forces(&self) -> bool {
        matches!(self.which, Which::Any | Which::Named(_))
    }
}

/// As [`Choice`].
#[derive(Debug)]
pub(crate) enum Which<'a> {
    Auto,
    Any,
    Named(Raw<'a>),
    None,
}

/// The tools of a request.
pub(crate) fn read<'a>(
    at: &At<'_>,
    raw: Raw<'a>,
    rules: &Rules,
    notes: &mut Notes,
) -> Result<Vec<Tool<'a>>, Refusal> {
    items(at, raw)?
        .into_iter()
        .enumerate()
        .map(|(index, raw)| {
            notes.weight.read += raw.get().len() as u64;
            tool(&at.item(index), raw, rules, notes)
        })
        .collect()
}

fn tool<'a>(at: &At<'_>, raw: Raw<'a>, rules: &Rules, notes: &mut Notes) -> Result<Tool<'a>, Refusal> {
    let given = fields(at, raw)?;
    let kind = match given.get("type") {
        None => None,
        Some(kind) => Some((kind, text(kind).ok_or_else(|| at.key("type").wrong("a string", kind))?)),
    };
    let Some((written, kind)) = kind.filter(|(_, kind)| kind != "custom") else {
        let at = &at.key("custom");
        let name = given.string(at, "name")?;
        if !is_name(name) {
            return Err(at.key("name").says("String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"));
        }
        let schema = given.need(at, "input_schema")?;
        if !schema.get().starts_with('{') {
            return Err(at.key("input_schema").wrong("an object", schema));
        }
        let description = given.get("description").map(|_| given.string(at, "description")).transpose()?;
        let strict = given.flag(at, "strict")?;
        return Ok(Tool::Custom { name, description, schema, strict });
    };
    given.string(at, "name")?;
    let (successor, beta) = successor(at, &kind, rules)?;
    if successor != kind {
        notes.edits.replace(written, quoted(&successor));
    }
    Ok(Tool::Typed { kind: kind.into_owned(), beta })
}

/// The operator's row, or the built-in one.
fn successor(at: &At<'_>, kind: &str, rules: &Rules) -> Result<(String, Option<String>), Refusal> {
    match rules.tools.get(kind) {
        Some(Some(upgrade)) => return Ok((upgrade.kind.clone(), upgrade.beta.clone())),
        Some(None) => return Err(unknown(at, kind, rules)),
        None => {}
    }
    let row = TABLE.iter().find(|(known, ..)| *known == kind);
    row.map(|(_, successor, beta)| ((*successor).to_owned(), beta.map(str::to_owned)))
        .ok_or_else(|| unknown(at, kind, rules))
}

fn unknown(at: &At<'_>, kind: &str, rules: &Rules) -> Refusal {
    let shown: String = kind.chars().take(60).collect();
    let built_in = TABLE.iter().map(|(kind, ..)| *kind).filter(|kind| !rules.tools.contains_key(*kind));
    let added = rules.tools.iter().filter(|(_, row)| row.is_some()).map(|(kind, _)| kind.as_str());
    let mut tags: Vec<&str> = built_in.chain(added).chain(["custom"]).collect();
    tags.sort_unstable();
    let tags = tags.iter().map(|tag| format!("'{tag}'")).collect::<Vec<_>>().join(", ");
    at.says(&format!(
        "Input tag '{shown}' found using 'type' does not match any of the expected tags: {tags}"
    ))
}

/// The `tool_choice` of a request.
pub(crate) fn choice<'a>(at: &At<'_>, raw: Raw<'a>) -> Result<Choice<'a>, Refusal> {
    let given = fields(at, raw)?;
    let kind = given.string(at, "type")?;
    let which = match text(kind).as_deref() {
        Some("auto") => Which::Auto,
        Some("any") => Which::Any,
        Some("none") => Which::None,
        Some("tool") => Which::Named(given.string(at, "name")?),
        _ => return Err(at.key("type").wrong("`auto`, `any`, `tool` or `none`", kind)),
    };
    let single = given.flag(at, "disable_parallel_tool_use")?.unwrap_or(false);
    Ok(Choice { which, single })
}

fn is_name(raw: Raw<'_>) -> bool {
    let fits = (1..=LONGEST_NAME as u64).contains(&text_len(raw));
    fits && text(raw)
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)))
}
