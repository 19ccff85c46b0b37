//! Tools: custom ones are kept, typed ones are replaced by the type the provider still knows.
//!
//! The listed models no longer know the three tools of 2024. Their successors have the same names and
//! arguments, so a request for the old type is sent with the new one.

use gatehouse_sdk::Refusal;

use gatehouse_text_protocols::check::array;
use gatehouse_text_protocols::json::{JsonString, Raw, quoted};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::Rules;

use super::fields::{boolean, object, required, string, wrong};
use super::findings::Findings;

/// Tool type, the type sent to the provider, and the beta it needs. Tools that run at the provider and are
/// billed there are not in the table; an operator adds them by name.
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
const MAX_NAME: usize = 128;

/// A tool.
#[derive(Debug)]
pub(crate) enum Tool<'a> {
    Custom {
        name: JsonString<'a>,
        description: Option<JsonString<'a>>,
        schema: Raw<'a>,
        strict: Option<bool>,
    },
    /// The tool's type, its successor at the provider, and the beta that one needs.
    Typed { kind: String, successor: String, beta: Option<String> },
}

/// Which tool the model is to use.
#[derive(Debug)]
pub(crate) struct ToolChoice<'a> {
    pub(crate) which: Which<'a>,
    /// At most one tool at a time.
    pub(crate) single: bool,
}

impl ToolChoice<'_> {
    /// Whether the model has to use a tool.
    pub(crate) fn forces(&self) -> bool {
        matches!(self.which, Which::Any | Which::Named(_))
    }
}

/// As [`ToolChoice`].
#[derive(Debug)]
pub(crate) enum Which<'a> {
    Auto,
    Any,
    Named(JsonString<'a>),
    None,
}

/// The tools of a request.
pub(crate) fn read<'a>(
    at: &Path<'_>,
    raw: Raw<'a>,
    rules: &Rules,
    findings: &mut Findings,
) -> Result<Vec<Tool<'a>>, Refusal> {
    array(at, raw)?
        .into_iter()
        .enumerate()
        .map(|(index, raw)| {
            findings.count_raw(raw);
            tool(&at.index(index), raw, rules, findings)
        })
        .collect()
}

fn tool<'a>(
    at: &Path<'_>,
    raw: Raw<'a>,
    rules: &Rules,
    findings: &mut Findings,
) -> Result<Tool<'a>, Refusal> {
    let given = object(at, raw)?;
    let written = given.get("type");
    let kind = written.map(|kind| {
        let text = JsonString::of(kind).and_then(JsonString::decode);
        text.ok_or_else(|| wrong(&at.key("type"), "a string", kind))
    });
    let Some((written, kind)) = written.zip(kind.transpose()?).filter(|(_, kind)| kind != "custom") else {
        let at = &at.key("custom");
        let name = string(at, &given, "name")?;
        if !is_name(name) {
            return Err(at.key("name").sentence("String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"));
        }
        let schema = required(at, &given, "input_schema")?;
        if !schema.get().starts_with('{') {
            return Err(wrong(&at.key("input_schema"), "an object", schema));
        }
        let description = given.get("description").map(|_| string(at, &given, "description")).transpose()?;
        let strict = boolean(at, &given, "strict")?;
        return Ok(Tool::Custom { name, description, schema, strict });
    };
    string(at, &given, "name")?;
    let (successor, beta) = successor(at, &kind, rules)?;
    if successor != kind {
        findings.edits.replace(written, quoted(&successor));
    }
    Ok(Tool::Typed { kind: kind.into_owned(), successor, beta })
}

/// The operator's row, or the built-in one.
fn successor(at: &Path<'_>, kind: &str, rules: &Rules) -> Result<(String, Option<String>), Refusal> {
    match rules.tools.get(kind) {
        Some(Some(upgrade)) => return Ok((upgrade.kind.clone(), upgrade.beta.clone())),
        Some(None) => return Err(unknown(at, kind, rules)),
        None => {}
    }
    let row = TABLE.iter().find(|(known, ..)| *known == kind);
    row.map(|(_, successor, beta)| ((*successor).to_owned(), beta.map(str::to_owned)))
        .ok_or_else(|| unknown(at, kind, rules))
}

fn unknown(at: &Path<'_>, kind: &str, rules: &Rules) -> Refusal {
    let shown: String = kind.chars().take(60).collect();
    let built_in = TABLE.iter().map(|(kind, ..)| *kind).filter(|kind| !rules.tools.contains_key(*kind));
    let added = rules.tools.iter().filter(|(_, row)| row.is_some()).map(|(kind, _)| kind.as_str());
    let mut tags: Vec<&str> = built_in.chain(added).chain(["custom"]).collect();
    tags.sort_unstable();
    let tags = tags.iter().map(|tag| format!("'{tag}'")).collect::<Vec<_>>().join(", ");
    at.sentence(&format!(
        "Input tag '{shown}' found using 'type' does not match any of the expected tags: {tags}"
    ))
}

/// The `tool_choice` of a request.
pub(crate) fn choice<'a>(at: &Path<'_>, raw: Raw<'a>) -> Result<ToolChoice<'a>, Refusal> {
    let given = object(at, raw)?;
    let kind = string(at, &given, "type")?;
    let which = match kind.decode().as_deref() {
        Some("auto") => Which::Auto,
        Some("any") => Which::Any,
        Some("none") => Which::None,
        Some("tool") => Which::Named(string(at, &given, "name")?),
        _ => return Err(wrong(&at.key("type"), "`auto`, `any`, `tool` or `none`", kind.raw())),
    };
    let single = boolean(at, &given, "disable_parallel_tool_use")?.unwrap_or(false);
    Ok(ToolChoice { which, single })
}

fn is_name(name: JsonString<'_>) -> bool {
    let fits = (1..=MAX_NAME as u64).contains(&name.len());
    fits && name
        .decode()
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)))
}
