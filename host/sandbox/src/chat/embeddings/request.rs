//! Checks the body of a request for embeddings.

use serde_json::Value;

use crate::chat::errors::{self, Chat, bad, invalid};
use crate::chat::models::{Details, EmbeddingsAsked, MODELS, Model};
use crate::common::schema::Kind::{Any, Integer, Text, Word};
use crate::common::schema::{Kind, check as check_schema, object, text};
use crate::text::answer::answer_text::AnswerInput;
use crate::text::answer::generate::Question;
use crate::text::answer::words;
use crate::text::endpoint::Checked;
use crate::text::refusal::Refusal;

/// Inputs of one request, and tokens of all of them.
const MAX_INPUTS: usize = 2048;
const MAX_TOKENS: u64 = 300_000;

const BODY: Kind = object! {
    model: Text, input: Any, encoding_format?: Word(&["float", "base64"]), dimensions?: Integer(1, i64::MAX), user?: Text,
};

/// Checks a body.
pub(in crate::chat) fn check(value: &Value) -> Result<Checked<Chat>, Refusal> {
    check_schema::<Chat>("", value, &BODY)?;
    let name = text(value, "model");
    let model = MODELS.iter().find(|model| model.id == name).ok_or_else(|| errors::unknown_model(name))?;
    let Some(full) = model.dimensions else {
        let message = "You are not allowed to generate embeddings from this model";
        return Err(Refusal::new(403, "invalid_request_error", message));
    };
    let dimensions = dimensions(value, model, full)?;
    let inputs = inputs(&value["input"])?;
    let tokens = tokens(&inputs, model)?;
    let texts: Vec<&str> = match &value["input"] {
        Value::String(text) => vec![text],
        other => other.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    // Nothing is written; the text is what markers are read from.
    let input = AnswerInput { text: texts.join("\n"), ..AnswerInput::default() };
    let question = Question { input, ..Question::default() };
    let is_base64 = value["encoding_format"] == "base64";
    let asked = EmbeddingsAsked { inputs, full, dimensions, is_base64 };
    let details = Details {
        model,
        include_usage: false,
        obfuscated: false,
        logprobs: None,
        prompt_tokens: tokens,
        prefixes: vec![],
        embeddings: Some(asked),
    };
    Ok(Checked { model: model.id, question, choices: 0, stream: false, details })
}

fn dimensions(value: &Value, model: &Model, full: usize) -> Result<usize, Refusal> {
    let Some(wanted) = value["dimensions"].as_u64() else { return Ok(full) };
    if !model.shortens {
        return Err(bad("This model does not support specifying dimensions."));
    }
    usize::try_from(wanted).ok().filter(|wanted| *wanted <= full).ok_or_else(|| {
        let message =
            format!("Invalid value for 'dimensions' = {wanted}. Must be less than or equal to {full}.");
        invalid("dimensions", message)
    })
}

/// The words or tokens of each input.
fn inputs(value: &Value) -> Result<Vec<Vec<String>>, Refusal> {
    let wrong = || {
        bad(
            "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
        )
    };
    let inputs: Option<Vec<Vec<String>>> = match value {
        Value::String(_) => Some(vec![words_of(value).ok_or_else(wrong)?]),
        Value::Array(items) if items.first().is_some_and(Value::is_number) => {
            Some(vec![tokens_of(value).ok_or_else(wrong)?])
        }
        Value::Array(items) if items.first().is_some_and(Value::is_array) => {
            items.iter().map(tokens_of).collect()
        }
        Value::Array(items) if !items.is_empty() => items.iter().map(words_of).collect(),
        _ => None,
    };
    let inputs = inputs.ok_or_else(wrong)?;
    if inputs.len() > MAX_INPUTS {
        let message = format!(
            "Invalid 'input': array too long. Expected an array with maximum length {MAX_INPUTS}, but got an array with \
             length {} instead.",
            inputs.len()
        );
        return Err(invalid("input", message).code("array_above_max_length"));
    }
    Ok(inputs)
}

fn words_of(value: &Value) -> Option<Vec<String>> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    // White space alone is a token too.
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    Some(if words.is_empty() { vec![" ".to_owned()] } else { words })
}

fn tokens_of(value: &Value) -> Option<Vec<String>> {
    let tokens = value.as_array().filter(|tokens| !tokens.is_empty())?;
    tokens.iter().map(|token| token.as_u64().map(|token| format!("#{token}"))).collect()
}

fn tokens(inputs: &[Vec<String>], model: &Model) -> Result<u64, Refusal> {
    let mut all = 0;
    for input in inputs {
        let tokens = words::count(&input.join(" ")).max(1);
        if tokens > model.context {
            return Err(bad(format!(
                "This model's maximum context length is {} tokens, however you requested {tokens} tokens ({tokens} in your \
                 prompt; 0 for the completion). Please reduce your prompt; or completion length.",
                model.context
            )));
        }
        all += tokens;
    }
    if all > MAX_TOKENS {
        let message = format!("Requested {all} tokens, max {MAX_TOKENS} tokens per request");
        return Err(Refusal::new(400, "max_tokens_per_request", message).code("max_tokens_per_request"));
    }
    Ok(all)
}
