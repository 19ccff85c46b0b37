//! Items as the messages of a chat completion.
//!
//! Adjacent items of the model are one message, in the order reasoning, text, calls; the outputs of its calls follow it
//! at once, whatever the order in which the client sent them. Both protocols of providers refuse anything else.

use crate::check::Checked;
use crate::json::{Writer, quote};

use super::entry::Entry;
use super::items::{Item, no_call, no_output};
use super::parts::Parts;
use crate::responses::sealed::{self, Owner};

/// What a provider takes back of earlier thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Signed blocks of the Messages protocol.
    Blocks,
    /// `reasoning_content`.
    Text,
    Nothing,
}

/// The messages, and where each came from.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<String>,
    /// The path of the item that each message begins with.
    pub(crate) origins: Vec<String>,
}

/// An output, until its call takes it.
struct Output {
    call: String,
    text: String,
    media: Vec<String>,
    is_taken: bool,
}

/// A message of the model under way.
#[derive(Default)]
struct ModelMessage {
    origin: String,
    texts: Vec<String>,
    blocks: Vec<String>,
    reasoning: String,
    calls: Vec<(String, String, bool)>,
}

impl ModelMessage {
    fn has_answered(&self) -> bool {
        !self.texts.is_empty() || !self.calls.is_empty()
    }
}

impl Conversation {
    /// `instructions` is JSON of a text.
    pub(crate) fn write(
        instructions: Option<&str>,
        entries: &[Entry<'_>],
        owner: Owner<'_>,
        thinking: Thinking,
    ) -> Checked<Self> {
        let items: Vec<Item> = entries.iter().map(Item::read).collect::<Checked<_>>()?;
        let mut conversation = Self::default();
        if let Some(text) = instructions {
            conversation.message("instructions".to_owned(), "system", text);
        }
        let mut outputs: Vec<Output> = Vec::new();
        for item in &items {
            if let Item::Output { call: Some(call), text, media } = item {
                let (call, text, media) = (call.clone(), text.clone(), media.clone());
                outputs.push(Output { call, text, media, is_taken: false });
            }
        }
        let mut outputs_seen = 0;
        let mut message = ModelMessage::default();
        for (entry, item) in entries.iter().zip(items) {
            match item {
                Item::Nothing => {}
                Item::Assistant(parts) => {
                    message.origin_of(entry);
                    message.texts.extend(parts.all);
                }
                Item::Call { id, json, is_cut } => {
                    message.origin_of(entry);
                    message.calls.push((id, json, is_cut));
                }
                Item::Reasoning { sealed, text } => {
                    if message.has_answered() {
                        conversation.end(&mut message, &mut outputs)?;
                    }
                    message.origin_of(entry);
                    match thinking {
                        Thinking::Blocks => {
                            message.blocks.extend(sealed.and_then(|sealed| sealed::open(owner, &sealed)));
                        }
                        Thinking::Text => message.reasoning.push_str(&text),
                        Thinking::Nothing => {}
                    }
                }
                Item::Output { call, text, media } => {
                    conversation.end(&mut message, &mut outputs)?;
                    match call {
                        Some(call) if !outputs[outputs_seen].is_taken => return Err(no_call(&call)),
                        Some(_) => outputs_seen += 1,
                        // Codex writes such items; without a call they are words of the user.
                        None => conversation.free_output(entry, &text, &media),
                    }
                }
                Item::System(parts) => {
                    conversation.end(&mut message, &mut outputs)?;
                    conversation.parts(entry, "system", &parts);
                }
                Item::User(parts) => {
                    conversation.end(&mut message, &mut outputs)?;
                    conversation.parts(entry, "user", &parts);
                }
            }
        }
        conversation.end(&mut message, &mut outputs)?;
        Ok(conversation)
    }

    /// The array.
    pub(crate) fn json(&self) -> String {
        format!("[{}]", self.messages.join(","))
    }

    /// Whether a message of someone else than the operator is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    fn message(&mut self, origin: String, role: &str, content: &str) {
        let mut message = Writer::new(content.len() + 64);
        quote(role, message.name("role"));
        message.member("content", content);
        self.messages.push(message.done());
        self.origins.push(origin);
    }

    fn parts(&mut self, entry: &Entry<'_>, role: &str, parts: &Parts) {
        if !parts.all.is_empty() {
            self.message(entry.name(), role, &parts.content());
        }
    }

    fn free_output(&mut self, entry: &Entry<'_>, text: &str, media: &[String]) {
        let content = if media.is_empty() { text.to_owned() } else { format!("[{}]", media.join(",")) };
        if content != "\"\"" {
            self.message(entry.name(), "user", &content);
        }
    }

    /// Writes the model's message, and the outputs of its calls behind it.
    fn end(&mut self, message: &mut ModelMessage, outputs: &mut [Output]) -> Checked<()> {
        let message = std::mem::take(message);
        let ModelMessage { origin, texts, blocks, reasoning, calls } = message;
        let mut taken = Vec::new();
        let mut written = Vec::new();
        for (id, json, is_cut) in calls {
            match outputs.iter().position(|output| output.call == id && !output.is_taken) {
                Some(at) => {
                    outputs[at].is_taken = true;
                    taken.push(at);
                    written.push(json);
                }
                // The call of an answer that was cut short was never made.
                None if is_cut => {}
                None => return Err(no_output(&id)),
            }
        }
        // Thinking without an answer behind it says nothing.
        if texts.is_empty() && written.is_empty() {
            return Ok(());
        }
        let mut message = Writer::new(256);
        message.member("role", "\"assistant\"");
        let content = if texts.is_empty() { "null".to_owned() } else { format!("[{}]", texts.join(",")) };
        message.member("content", &content);
        if !blocks.is_empty() {
            message.member("thinking_blocks", &format!("[{}]", blocks.join(",")));
        }
        if !reasoning.is_empty() {
            quote(&reasoning, message.name("reasoning_content"));
        }
        if !written.is_empty() {
            message.member("tool_calls", &format!("[{}]", written.join(",")));
        }
        self.messages.push(message.done());
        self.origins.push(origin.clone());
        let mut media = Vec::new();
        for at in taken {
            let output = &mut outputs[at];
            let mut message = Writer::new(output.text.len() + 96);
            message.member("role", "\"tool\"");
            quote(&output.call, message.name("tool_call_id"));
            message.member("content", &output.text);
            self.messages.push(message.done());
            self.origins.push(origin.clone());
            media.append(&mut output.media);
        }
        // A tool's message has text alone; all of them come before anything else.
        if !media.is_empty() {
            self.message(origin, "user", &format!("[{}]", media.join(",")));
        }
        Ok(())
    }
}

impl ModelMessage {
    fn origin_of(&mut self, entry: &Entry<'_>) {
        if self.origin.is_empty() {
            self.origin = entry.name();
        }
    }
}
