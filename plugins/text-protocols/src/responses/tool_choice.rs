//! `tool_choice`: whether and what the model must call, as chat has it.

use crate::check::{Checked, array, choice, nonempty_string, object, required, required_choice, wrong};
use crate::json::{JsonString, Object, Raw, quoted};
use crate::path::Path;

use super::tools::{Tools, flat_name};

/// A choice in the words of chat.
#[derive(Debug, Default)]
pub(super) struct ToolChoice {
    /// `tool_choice`, JSON.
    pub(super) json: Option<String>,
    /// The only tools that may be called.
    pub(super) allowed: Option<Vec<String>>,
}

impl ToolChoice {
    /// Whether the function of that name may be called.
    pub(super) fn allows(&self, name: &String) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(name))
    }

    pub(super) fn read(path: &Path<'_>, raw: Raw<'_>, tools: &Tools) -> Checked<Self> {
        const EXPECTED: &str =
            "`none`, `auto`, `required`, a `function` or `custom` tool by its name, or `allowed_tools`";
        if JsonString::of(raw).is_some() {
            let word = choice(path, raw, &["none", "auto", "required"])?;
            if word == "required" && tools.functions.is_empty() {
                return Err(wrong(path, "`none` or `auto` where there are no `tools`", Some(raw)));
            }
            return Ok(Self { json: Some(quoted(word)), allowed: None });
        }
        let Some(named) = Object::parse(raw.get()) else { return Err(wrong(path, EXPECTED, Some(raw))) };
        match named.text("type").as_deref() {
            Some("function" | "custom") => {
                let name = tool_name(path, &named, tools)?;
                let json = format!("{{\"type\":\"function\",\"function\":{{\"name\":{}}}}}", quoted(&name));
                Ok(Self { json: Some(json), allowed: None })
            }
            Some("allowed_tools") => {
                let mode = required_choice(path, &named, "mode", &["auto", "required"])?;
                let child = path.key("tools");
                let mut allowed = Vec::new();
                for (at, raw) in
                    array(&child, required(path, &named, "tools", "an array")?)?.iter().enumerate()
                {
                    let path = child.index(at);
                    allowed.push(tool_name(&path, &object(&path, raw)?, tools)?);
                }
                if allowed.is_empty() {
                    return Err(wrong(&child, "an array of at least one tool", named.get("tools")));
                }
                Ok(Self { json: Some(quoted(mode)), allowed: Some(allowed) })
            }
            _ => Err(wrong(&path.key("type"), EXPECTED, named.get("type"))),
        }
    }
}

/// The name of a tool that is in `tools`.
fn tool_name(path: &Path<'_>, named: &Object<'_>, tools: &Tools) -> Checked<String> {
    let raw = required(path, named, "name", "the name of a tool")?;
    let name = nonempty_string(&path.key("name"), raw)?.decoded();
    let name = flat_name(named.text("namespace").as_deref(), &name);
    let is_known = tools.functions.iter().any(|(known, _)| *known == name);
    if is_known { Ok(name) } else { Err(wrong(&path.key("name"), "the name of one of `tools`", Some(raw))) }
}
