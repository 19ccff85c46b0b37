//! One item of a response's output, under construction.

use crate::json::{Writer, quote, quoted};

use crate::responses::echo::Echo;
use crate::responses::tools::custom_input;

/// An item; what it has of the model's text is JSON without quotes.
#[derive(Debug)]
pub(crate) struct OutputItem {
    pub(crate) id: String,
    pub(crate) content: Content,
    pub(crate) is_open: bool,
    /// The answer was cut short in it.
    pub(crate) is_cut: bool,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// `logprobs` are entries, JSON without brackets.
    Text {
        text: String,
        logprobs: String,
    },
    Refusal(String),
    Reasoning {
        text: String,
        sealed: Option<String>,
    },
    Call {
        call_id: String,
        name: String,
        arguments: String,
        is_custom: bool,
    },
}

impl OutputItem {
    pub(crate) fn status(&self) -> &'static str {
        match (self.is_open, self.is_cut) {
            (_, true) => "incomplete",
            (true, false) => "in_progress",
            (false, false) => "completed",
        }
    }

    /// The one part of a message.
    pub(crate) fn part(&self) -> String {
        match &self.content {
            Content::Refusal(text) => format!("{{\"type\":\"refusal\",\"refusal\":\"{text}\"}}"),
            Content::Text { text, logprobs } => text_part(text, logprobs),
            Content::Reasoning { text, .. } => summary_part(text),
            Content::Call { .. } => String::new(),
        }
    }

    /// The arguments as JSON of a text.
    pub(crate) fn arguments(&self) -> String {
        match &self.content {
            Content::Call { arguments, is_custom: true, .. } => {
                let decoded: String = serde_json::from_str(&format!("\"{arguments}\"")).unwrap_or_default();
                quoted(&custom_input(&decoded))
            }
            Content::Call { arguments, .. } => format!("\"{arguments}\""),
            _ => String::new(),
        }
    }

    /// The item; `is_new` leaves out what will be told piece by piece.
    pub(crate) fn json(&self, echo: &Echo, is_new: bool) -> String {
        let mut out = Writer::new(256);
        quote(&self.id, out.name("id"));
        match &self.content {
            Content::Text { .. } | Content::Refusal(_) => {
                out.member("type", "\"message\"");
                quote(self.status(), out.name("status"));
                let content = if is_new { "[]".to_owned() } else { format!("[{}]", self.part()) };
                out.member("content", &content);
                out.member("role", "\"assistant\"");
            }
            Content::Reasoning { text, sealed } => {
                out.member("type", "\"reasoning\"");
                let is_empty = is_new || text.is_empty();
                let summary = if is_empty { "[]".to_owned() } else { format!("[{}]", self.part()) };
                out.member("summary", &summary);
                if let Some(sealed) = sealed.as_ref().filter(|_| !is_new) {
                    quote(sealed, out.name("encrypted_content"));
                }
            }
            Content::Call { call_id, name, is_custom, .. } => {
                let (kind, member) =
                    if *is_custom { ("custom_tool_call", "input") } else { ("function_call", "arguments") };
                quote(kind, out.name("type"));
                quote(self.status(), out.name("status"));
                let arguments = if is_new { "\"\"".to_owned() } else { self.arguments() };
                out.member(member, &arguments);
                quote(call_id, out.name("call_id"));
                match echo.space(name) {
                    Some((space, bare)) => {
                        quote(bare, out.name("name"));
                        if !space.is_empty() {
                            quote(space, out.name("namespace"));
                        }
                    }
                    None => quote(name, out.name("name")),
                }
            }
        }
        out.done()
    }
}

pub(crate) fn text_part(text: &str, logprobs: &str) -> String {
    format!("{{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[{logprobs}],\"text\":\"{text}\"}}")
}

pub(crate) fn summary_part(text: &str) -> String {
    format!("{{\"type\":\"summary_text\",\"text\":\"{text}\"}}")
}
