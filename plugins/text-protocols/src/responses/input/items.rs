//! What each kind of item says, read once.

use gatehouse_sdk::Refusal;

use crate::check::{
    Checked, array, choice, in_provider_words, instead, nonempty_string, object, required, string, wrong,
};
use crate::json::{JsonString, Writer, quote, quoted};

use super::entry::{Entry, INPUT};
use super::parts::{self, CACHE, Output, Parts};
use crate::responses::tools::{CUSTOM_PARAMETER, flat_name};

/// An item as a conversation reads it.
#[derive(Debug)]
pub(crate) enum Item {
    /// A message of `system` (or `developer`, which becomes it) or of `user`.
    Said(&'static str, Parts),
    Assistant(Parts),
    /// A call, as JSON of a chat message's `tool_calls`; one that was cut short is dropped where it has no output.
    Call {
        id: String,
        json: String,
        is_cut: bool,
    },
    /// What a tool has answered, which its call takes.
    Output {
        call: Option<String>,
        output: Option<Output>,
    },
    Reasoning {
        sealed: Option<String>,
        text: String,
    },
    /// Says nothing to a model here.
    Nothing,
}

impl Item {
    pub(crate) fn read(entry: &Entry<'_>) -> Checked<Self> {
        let kind = entry.kind();
        match kind.as_str() {
            "message" => message(entry),
            "function_call" => tool_call(entry, false),
            "custom_tool_call" => tool_call(entry, true),
            "function_call_output" | "custom_tool_call_output" => {
                let output = Some(entry.at(parts::output)?);
                Ok(Self::Output { call: entry.text("call_id"), output })
            }
            "reasoning" => reasoning(entry),
            "item_reference" => {
                let id = entry.text("id").unwrap_or_default();
                Err(Refusal::NotFound(format!("Item with id '{id}' not found.")))
            }
            "shell_call" | "local_shell_call" | "apply_patch_call" | "computer_call" | "tool_search_call" => {
                Ok(client_call(entry, &kind))
            }
            "shell_call_output"
            | "local_shell_call_output"
            | "apply_patch_call_output"
            | "computer_call_output"
            | "tool_search_output" => {
                let call = entry.text("call_id").or_else(|| entry.text("id"));
                Ok(Self::Output { call, output: Some(Output::Text(quoted(&whole(entry)))) })
            }
            // What ran on OpenAI's servers; its result is in the answer's text.
            "web_search_call"
            | "file_search_call"
            | "code_interpreter_call"
            | "image_generation_call"
            | "mcp_call"
            | "mcp_list_tools"
            | "mcp_approval_request"
            | "mcp_approval_response"
            | "additional_tools"
            | "configuration_update" => Ok(Self::Nothing),
            _ => Err(entry.at(|path, item| {
                let expected = "`message`, `function_call`, `function_call_output`, `custom_tool_call`, \
                                `custom_tool_call_output`, `reasoning` or `item_reference`";
                wrong(&path.key("type"), expected, item.get("type"))
            })),
        }
    }
}

fn message(entry: &Entry<'_>) -> Checked<Item> {
    const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];
    entry.at(|path, item| {
        let role = required(path, item, "role", "`user`, `assistant`, `system` or `developer`")?;
        let role = choice(&path.key("role"), role, &ROLES)?;
        let content = required(path, item, "content", "a string or an array of parts")?;
        let mut parts = Parts::read(&path.key("content"), content)?;
        parts.cache(item.get(CACHE));
        if role != "user" && parts.has_media() {
            return Err(instead(&path.key("content"), &format!("text alone from `{role}`"), "other parts"));
        }
        Ok(match role {
            "user" => Item::Said(role, parts),
            "assistant" => Item::Assistant(parts),
            _ => Item::Said("system", parts),
        })
    })
}

/// `call_id`, which pairs a call with its output.
fn call_id(entry: &Entry<'_>) -> Checked<String> {
    entry.at(|path, item| {
        let id = required(path, item, "call_id", "a string")?;
        Ok(nonempty_string(&path.key("call_id"), id)?.decoded().into_owned())
    })
}

/// A call of a function, or of a custom tool, which is a function of one text (see `tools`).
fn tool_call(entry: &Entry<'_>, is_custom: bool) -> Checked<Item> {
    let id = call_id(entry)?;
    let said = if is_custom { "input" } else { "arguments" };
    entry.at(|path, item| {
        let name = nonempty_string(&path.key("name"), required(path, item, "name", "a string")?)?;
        let space = item.get("namespace").map(|raw| string(&path.key("namespace"), raw)).transpose()?;
        let name = flat_name(space.map(JsonString::decoded).as_deref(), &name.decoded());
        let written = string(&path.key(said), required(path, item, said, "a string")?)?.quoted();
        let is_cut = item.text("status").is_some_and(|status| status == "incomplete");
        Ok(if is_custom {
            call(id, &name, &quoted(&format!("{{\"{CUSTOM_PARAMETER}\":{written}}}")), is_cut)
        } else {
            call(id, &name, written, is_cut)
        })
    })
}

/// A built-in tool that the client ran itself: a call of that name, and its output as JSON.
fn client_call(entry: &Entry<'_>, kind: &str) -> Item {
    let id = entry.text("call_id").or_else(|| entry.text("id")).unwrap_or_else(|| entry.name());
    let is_cut = entry.text("status").is_some_and(|status| status == "incomplete");
    call(id, kind.trim_end_matches("_call"), &quoted(&whole(entry)), is_cut)
}

fn call(id: String, name: &str, arguments: &str, is_cut: bool) -> Item {
    let mut function = Writer::new(arguments.len() + 64);
    quote(name, function.name("name"));
    function.member("arguments", arguments);
    let mut json = Writer::new(arguments.len() + 128);
    quote(&id, json.name("id"));
    json.member("type", "\"function\"");
    json.member("function", &function.done());
    Item::Call { id, json: json.done(), is_cut }
}

fn reasoning(entry: &Entry<'_>) -> Checked<Item> {
    entry.at(|path, item| {
        let mut text = String::new();
        for list in ["summary", "content"] {
            let Some(raw) = item.get(list) else { continue };
            let path = path.key(list);
            let mut found = String::new();
            for (at, raw) in array(&path, raw)?.into_iter().enumerate() {
                let part = object(&path.index(at), raw)?;
                found.push_str(&part.text("text").unwrap_or_default());
            }
            // The thinking itself says more than its summary.
            if !found.is_empty() {
                text = found;
            }
        }
        let sealed = item.get("encrypted_content").map(|raw| string(&path.key("encrypted_content"), raw));
        let sealed = sealed.transpose()?.map(|sealed| sealed.decoded().into_owned());
        Ok(Item::Reasoning { sealed, text })
    })
}

/// The item's own members, without those that only name it.
fn whole(entry: &Entry<'_>) -> String {
    let own = |name: &str| !matches!(name, "id" | "call_id" | "type" | "status");
    let members = entry.item.iter().filter(|(name, _)| own(name)).map(|(name, raw)| (name, raw.get()));
    members.collect::<Writer>().done()
}

/// An output whose call is not in the conversation.
pub(crate) fn no_call(id: &str) -> Refusal {
    in_provider_words(INPUT, format!("No tool call found for function call output with call_id {id}."))
}

/// A call whose output is not in the conversation.
pub(crate) fn no_output(id: &str) -> Refusal {
    in_provider_words(INPUT, format!("No tool output found for function call {id}."))
}
