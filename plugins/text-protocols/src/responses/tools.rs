//! `tools`: functions as chat has them, custom tools as functions of one text, namespaces as prefixes.
//!
//! A tool that runs on OpenAI's servers is refused by name. Two declarations that Codex always sends, and that mean "none
//! of it", are dropped.

use crate::check::{
    Checked, array, boolean, in_provider_words, instead, map, nonempty_string, object, required, string,
};
use crate::json::{JsonString, Object, Raw, Writer, is_null, quote, quoted};
use crate::path::Path;
use crate::tool_names::{CHAT_MAX, fitted};

/// The parameter of a function that stands for a custom tool.
pub(super) const CUSTOM_PARAMETER: &str = "input";
const CUSTOM_SCHEMA: &str = r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}"#;
const EMPTY_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;
/// Between the name of a namespace and that of its tool.
const SEPARATOR: &str = "__";

/// What the model is offered.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// Chat tools, JSON each, with the name of each.
    pub(super) functions: Vec<(String, String)>,
    /// The client's path of each.
    pub(super) places: Vec<String>,
    /// Names of functions that stand for custom tools.
    pub(super) custom: Vec<String>,
    /// Names of functions that have another name for the client: the name, the namespace, which may be empty, the client's name.
    pub(super) spaces: Vec<(String, String, String)>,
    /// A provider refuses `strict` with a schema that is open.
    pub(super) is_strict_closed: bool,
}

/// The name of a tool, of a namespace or of none, as every provider takes it.
pub(super) fn flat_name(space: Option<&str>, name: &str) -> String {
    let flat = space
        .filter(|space| !space.is_empty())
        .map_or_else(|| name.to_owned(), |it| format!("{it}{SEPARATOR}{name}"));
    fitted(&flat, CHAT_MAX).into_owned()
}

impl Tools {
    pub(super) fn read(path: &Path<'_>, raw: Raw<'_>, is_strict_closed: bool) -> Checked<Self> {
        let mut tools = Self { is_strict_closed, ..Self::default() };
        for (at, raw) in array(path, raw)?.into_iter().enumerate() {
            let path = path.index(at);
            tools.tool(&path, &object(&path, raw)?, None)?;
        }
        Ok(tools)
    }

    fn tool(&mut self, path: &Path<'_>, tool: &Object<'_>, space: Option<&str>) -> Checked<()> {
        let kind = required(path, tool, "type", "`function`, `custom` or `namespace`")?;
        let kind = string(&path.key("type"), kind)?.decoded();
        match kind.as_ref() {
            "function" => self.function(path, tool, space),
            "custom" => self.custom(path, tool, space),
            "namespace" if space.is_none() => {
                let name = required(path, tool, "name", "a string")?;
                let name = nonempty_string(&path.key("name"), name)?.decoded();
                let child = path.key("tools");
                for (at, raw) in array(&child, required(path, tool, "tools", "an array")?)?.iter().enumerate()
                {
                    let path = child.index(at);
                    self.tool(&path, &object(&path, raw)?, Some(&name))?;
                }
                Ok(())
            }
            "web_search" if tool.get("external_web_access").is_some_and(|raw| raw.get() == "false") => Ok(()),
            "tool_search" if tool.text("execution").is_some_and(|it| it == "client") => Ok(()),
            kind => Err(hosted(path, kind)),
        }
    }

    fn function(&mut self, path: &Path<'_>, tool: &Object<'_>, space: Option<&str>) -> Checked<()> {
        let name = self.name(path, tool, space)?;
        let mut function = Writer::new(256);
        quote(&name, function.name("name"));
        if let Some(description) = tool.get("description") {
            function.member("description", string(&path.key("description"), description)?.quoted());
        }
        let parameters = match tool.get("parameters") {
            Some(raw) => {
                map(&path.key("parameters"), raw)?;
                raw.get()
            }
            None => EMPTY_SCHEMA,
        };
        function.member("parameters", parameters);
        let strict = tool.get("strict").map(|raw| boolean(&path.key("strict"), raw)).transpose()?;
        if let Some(strict) =
            strict.filter(|strict| !strict || !self.is_strict_closed || is_closed(parameters, MAX_DEPTH))
        {
            function.member("strict", if strict { "true" } else { "false" });
        }
        // A field of Messages that other clients send too.
        function.optional("cache_control", tool.get("cache_control"));
        self.push(path, name, &function.done())
    }

    fn custom(&mut self, path: &Path<'_>, tool: &Object<'_>, space: Option<&str>) -> Checked<()> {
        let name = self.name(path, tool, space)?;
        let mut description = match tool.get("description") {
            Some(raw) => string(&path.key("description"), raw)?.decoded().into_owned(),
            None => String::new(),
        };
        let format = tool.object("format").unwrap_or_default();
        if let Some(definition) = format.text("definition") {
            let syntax = format.text("syntax").unwrap_or_default();
            description.push_str(&format!(
                "\n\nThe text in `{CUSTOM_PARAMETER}` must follow this {syntax} grammar:\n{definition}"
            ));
        }
        let mut function = Writer::new(256);
        quote(&name, function.name("name"));
        if !description.is_empty() {
            quote(&description, function.name("description"));
        }
        function.member("parameters", CUSTOM_SCHEMA);
        self.custom.push(name.clone());
        self.push(path, name, &function.done())
    }

    fn name(&mut self, path: &Path<'_>, tool: &Object<'_>, space: Option<&str>) -> Checked<String> {
        let name = required(path, tool, "name", "a string")?;
        let name = nonempty_string(&path.key("name"), name)?.decoded();
        let flat = flat_name(space, &name);
        if space.is_some() || flat != name {
            self.spaces.push((flat.clone(), space.unwrap_or_default().to_owned(), name.into_owned()));
        }
        Ok(flat)
    }

    fn push(&mut self, path: &Path<'_>, name: String, function: &str) -> Checked<()> {
        if self.functions.iter().any(|(known, _)| *known == name) {
            let came = format!("the name {} again", quoted(&name));
            return Err(instead(&path.key("name"), "a name of its own for each tool", &came));
        }
        self.places.push(path.to_string());
        self.functions.push((name, format!("{{\"type\":\"function\",\"function\":{function}}}")));
        Ok(())
    }
}

/// The refusal of a tool that somebody else would have to run.
fn hosted(path: &Path<'_>, kind: &str) -> gatehouse_sdk::Refusal {
    let hint = if kind.starts_with("web_search") { " In Codex set web_search = \"disabled\"." } else { "" };
    // The client runs these itself, but only OpenAI's models know how to call them.
    let is_clients =
        matches!(kind, "local_shell" | "shell" | "apply_patch" | "computer" | "computer_use_preview");
    let whose = if is_clients { "is known to OpenAI's models alone" } else { "runs on OpenAI's servers" };
    let message = format!(
        "The tool type '{kind}' {whose} and is not available here. Remove it or use function tools.{hint}"
    );
    in_provider_words(&path.key("type").to_string(), message)
}

/// How deep a schema is looked into; providers take none as deep with `strict`.
const MAX_DEPTH: usize = 64;

/// Whether every object of a schema says that it has no other members. Of one that is too deep nobody knows.
fn is_closed(schema: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let Some(object) = Object::parse(schema) else {
        let items: Option<Vec<Raw<'_>>> = serde_json::from_str(schema).ok();
        return items.is_none_or(|items| items.into_iter().all(|raw| is_closed(raw.get(), depth)));
    };
    let is_object =
        object.text("type").is_some_and(|kind| kind == "object") || object.get("properties").is_some();
    let is_own_closed = object.get("additionalProperties").is_some_and(|raw| raw.get() == "false");
    if is_object && !is_own_closed {
        return false;
    }
    object.iter().filter(|(_, raw)| !is_null(raw)).all(|(name, raw)| match name {
        "properties" | "$defs" | "definitions" => {
            let members = Object::parse(raw.get()).unwrap_or_default();
            members.iter().all(|(_, raw)| is_closed(raw.get(), depth))
        }
        "items" | "anyOf" | "oneOf" | "allOf" => is_closed(raw.get(), depth),
        _ => true,
    })
}

/// What a client reads of the arguments of a function that stands for a custom tool: the one text in them.
pub(super) fn custom_input(arguments: &str) -> String {
    let object = Object::parse(arguments);
    let only = |object: &Object<'_>| {
        let mut members = object.iter();
        let first = members.next().and_then(|(_, raw)| JsonString::of(raw));
        first.filter(|_| members.next().is_none()).map(|text| text.decoded().into_owned())
    };
    if let Some(object) = &object {
        let input = object.text(CUSTOM_PARAMETER).map(|text| text.into_owned());
        if let Some(text) = input.or_else(|| only(object)) {
            return text;
        }
    }
    serde_json::from_str::<String>(arguments).unwrap_or_else(|_| arguments.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_is_kept_only_where_every_object_is_closed() {
        for (schema, expected) in [
            (r#"{"type":"object","properties":{},"additionalProperties":false}"#, true),
            (r#"{"type":"object","properties":{}}"#, false),
            (r#"{"type":"object","additionalProperties":false,"properties":{"a":{"type":"object"}}}"#, false),
            (r#"{"type":"array","items":{"type":"object","additionalProperties":true}}"#, false),
            (r#"{"anyOf":[{"type":"string"},{"type":"object","additionalProperties":false}]}"#, true),
            (
                r#"{"type":"object","additionalProperties":false,"properties":{"type":{"type":"string"}}}"#,
                true,
            ),
        ] {
            assert_eq!(is_closed(schema, MAX_DEPTH), expected, "{schema}");
        }
        let deep = 100_000;
        let deep = format!("{}{}{}", "{\"items\":".repeat(deep), "{}", "}".repeat(deep));
        assert!(!is_closed(&deep, MAX_DEPTH), "it is not followed to its end");
    }

    #[test]
    fn a_custom_tool_gets_its_text_back() {
        for (arguments, expected) in [
            (r#"{"input":"a\nb"}"#, "a\nb"),
            (r#"{"patch":"x"}"#, "x"),
            (r#""bare""#, "bare"),
            ("no json", "no json"),
            (r#"{"a":"x","b":"y"}"#, r#"{"a":"x","b":"y"}"#),
            ("", ""),
        ] {
            assert_eq!(custom_input(arguments), expected, "{arguments}");
        }
    }
}
