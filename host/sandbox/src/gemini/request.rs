//! Checks a request's body, and reads from it what an answer depends on.

use serde_json::Value;

use super::errors::{Gemini, invalid};
use super::protocol::MODEL;
use crate::common::schema::{items, text};
use crate::text::answer::answer_text::{AnswerInput, own_words, told_beginning};
use crate::text::answer::generate::{Format, Question, TextWithCalls, Tool, ToolChoice};
use crate::text::answer::seed::IdForm;
use crate::text::answer::words;
use crate::text::endpoint::Checked;
use crate::text::input_image::{self, OPAQUE_TOKENS};
use crate::text::refusal::Refusal;

/// Tokens of an answer.
const MAX_OUTPUT: u64 = 65_536;
/// Tokens of a prompt.
const MAX_INPUT: u64 = 1_048_576;
/// Fields that a body may have; Google refuses any other by its name.
const FIELDS: [&str; 8] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "labels",
];

/// What only this protocol knows of a request.
pub(crate) struct Details {
    pub(super) prompt_tokens: u64,
    /// Thoughts are shown.
    pub(super) shows_thoughts: bool,
}

/// One content of the conversation.
#[derive(Default)]
struct Content {
    is_model: bool,
    text: String,
    results: Vec<String>,
    images: Vec<String>,
    called: Vec<String>,
}

/// Checks a body.
pub(super) fn check(body: &Value, stream: bool) -> Result<Checked<Gemini>, Refusal> {
    let fields =
        body.as_object().ok_or_else(|| invalid("Invalid JSON payload received. Expected an object."))?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(invalid(format!(
            "Invalid JSON payload received. Unknown name \"{unknown}\": Cannot find field."
        )));
    }
    let mut prompt_tokens = tokens(&body["systemInstruction"]) + words::count(&body["tools"].to_string());
    let mut contents = Vec::new();
    for (at, value) in items(body, "contents").iter().enumerate() {
        contents.push(content(at, value, &mut prompt_tokens)?);
    }
    if contents.is_empty() {
        return Err(invalid("* GenerateContentRequest.contents: contents is not specified"));
    }
    if prompt_tokens > MAX_INPUT {
        let message = format!(
            "The input token count ({prompt_tokens}) exceeds the maximum number of tokens allowed ({MAX_INPUT})."
        );
        return Err(invalid(message));
    }
    let config = &body["generationConfig"];
    let max_tokens = config["maxOutputTokens"].as_u64().unwrap_or(MAX_OUTPUT);
    if max_tokens == 0 || max_tokens > MAX_OUTPUT {
        let message = format!(
            "Unable to submit request because it has a maxOutputTokens value of {max_tokens} but the supported range is from 1 \
             (inclusive) to {} (exclusive).",
            MAX_OUTPUT + 1
        );
        return Err(invalid(message));
    }
    let shows_thoughts = config["thinkingConfig"]["includeThoughts"] == true;
    let tools = tools(body);
    let question = Question {
        choice: choice(&body["toolConfig"]["functionCallingConfig"], &tools)?,
        tools,
        parallel: true,
        calls_after_results: false,
        max_tokens,
        stops: items(config, "stopSequences").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        format: format(config),
        thinks: shows_thoughts,
        text_with_calls: TextWithCalls::None,
        refusal: "",
        call_id: IdForm { prefix: "", chars: 8 },
        input: input(&contents),
    };
    let details = Details { prompt_tokens, shows_thoughts };
    Ok(Checked { model: MODEL, question, choices: 1, stream, details })
}

fn content(at: usize, value: &Value, prompt_tokens: &mut u64) -> Result<Content, Refusal> {
    let is_model = match value["role"].as_str() {
        Some("user") | None => false,
        Some("model") => true,
        Some(_) => return Err(invalid("Please use a valid role: user, model.")),
    };
    let mut found = Content { is_model, ..Content::default() };
    let parts = items(value, "parts");
    if parts.is_empty() {
        let message =
            format!("* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.");
        return Err(invalid(message));
    }
    for (number, part) in parts.iter().enumerate() {
        let path = format!("contents[{at}].parts[{number}]");
        *prompt_tokens += tokens(part);
        if part["thought"] != true {
            found.text.push_str(text(part, "text"));
        }
        if part["functionCall"].is_object() {
            if found.called.is_empty() && text(part, "thoughtSignature").is_empty() {
                let name = text(&part["functionCall"], "name");
                let message = format!(
                    "Function call is missing a thought_signature in functionCall parts. Function call `{name}`, position {number}."
                );
                return Err(invalid(message));
            }
            found.called.push(text(&part["functionCall"], "name").to_owned());
        }
        let result = &part["functionResponse"]["response"];
        if result.is_object() {
            let said = result.get("output").or_else(|| result.get("error")).and_then(Value::as_str);
            found.results.push(said.map_or_else(|| result.to_string(), str::to_owned));
        }
        if let Some(data) = part["inlineData"]["data"].as_str() {
            found.images.push(image(&path, text(&part["inlineData"], "mimeType"), data, prompt_tokens)?);
        }
    }
    Ok(found)
}

/// The name of an image; other files are not looked into.
fn image(path: &str, mime: &str, data: &str, prompt_tokens: &mut u64) -> Result<String, Refusal> {
    if !mime.starts_with("image/") {
        *prompt_tokens += OPAQUE_TOKENS;
        return Ok(mime.to_owned());
    }
    let image = input_image::inspect(data).map_err(|_| {
        invalid(format!("Unable to process input image at '{path}.inline_data'. Please retry or report."))
    })?;
    *prompt_tokens += image.tokens();
    Ok(image.name())
}

/// Words of the texts, calls and results of a part, or of all parts of a content.
fn tokens(value: &Value) -> u64 {
    let parts = items(value, "parts").iter().map(tokens).sum::<u64>();
    let call = &value["functionCall"]["args"];
    let result = &value["functionResponse"]["response"];
    let called = [call, result].into_iter().filter(|part| part.is_object());
    parts
        + words::count(text(value, "text"))
        + called.map(|part| 1 + words::count(&part.to_string())).sum::<u64>()
}

fn tools(body: &Value) -> Vec<Tool> {
    let declared = items(body, "tools").iter().flat_map(|tool| items(tool, "functionDeclarations"));
    let tool = |function: &Value| Tool {
        name: text(function, "name").to_owned(),
        parameters: function
            .get("parameters")
            .or_else(|| function.get("parametersJsonSchema"))
            .cloned()
            .unwrap_or_default(),
    };
    declared.map(tool).collect()
}

fn choice(config: &Value, tools: &[Tool]) -> Result<ToolChoice, Refusal> {
    let allowed = items(config, "allowedFunctionNames").first().and_then(Value::as_str);
    match config["mode"].as_str() {
        Some("ANY") if tools.is_empty() => {
            Err(invalid("Function calling config is set without function_declarations."))
        }
        Some("ANY") => Ok(allowed.map_or(ToolChoice::Required, |name| ToolChoice::Named(name.to_owned()))),
        Some("NONE") => Ok(ToolChoice::Never),
        _ => Ok(ToolChoice::Auto),
    }
}

fn format(config: &Value) -> Format {
    let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
    match (schema, config["responseMimeType"].as_str()) {
        (Some(schema), _) => Format::Schema(schema.clone()),
        (None, Some("application/json")) => Format::Json,
        _ => Format::Text,
    }
}

/// Markers are read in the last words of the user's own, unless a result follows them.
fn input(contents: &[Content]) -> AnswerInput {
    let asks = |content: &&Content| !content.is_model && !own_words(&content.text).trim().is_empty();
    let last_input = contents.iter().rfind(|content| asks(content) || !content.results.is_empty());
    let since = contents.iter().rposition(|content| content.is_model).map_or(0, |at| at + 1);
    let last = &contents[since..];
    let asked = contents.iter().rposition(|content| asks(&content)).unwrap_or(0);
    AnswerInput {
        text: last_input.map_or_else(String::new, |content| own_words(&content.text)),
        results: last.iter().flat_map(|content| content.results.clone()).collect(),
        images: last.iter().flat_map(|content| content.images.clone()).collect(),
        continues: last.is_empty(),
        called: contents[asked..].iter().flat_map(|content| content.called.clone()).collect(),
        begins_with: contents.last().map(|content| told_beginning(&content.text)).unwrap_or_default(),
        turns: contents.iter().filter(|content| !content.is_model).count(),
        words: None,
    }
}
