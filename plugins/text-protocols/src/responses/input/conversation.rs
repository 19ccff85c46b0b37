//! Items as the messages of a chat completion.
//!
//! Adjacent items of the model are one message, in the order reasoning, text, calls; the outputs of its calls follow it
//! at once, whatever the order in which the client sent them. Both protocols of providers refuse anything else.

use crate::check::Checked;
use crate::field_names::MessagePaths;
use crate::json::{Writer, quote};

use super::entry::Entry;
use super::items::{Item, no_call, no_output};
use super::parts::{self, Output, Part};
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
    /// The item that each message begins with, and where its parts came from.
    pub(crate) origins: Vec<MessagePaths>,
    /// How many messages there are up to the last one that says something.
    said: usize,
}

/// An output, until its call takes it.
struct Pending {
    call: String,
    /// The path of its item.
    origin: String,
    /// `None` once its call has it.
    output: Option<Output>,
}

/// A message of the model under way.
#[derive(Default)]
struct ModelMessage {
    origin: String,
    /// An item without a text, where nothing else came: the user has spoken twice, and a chat knows.
    silent: Option<String>,
    texts: Vec<Part>,
    blocks: Vec<String>,
    reasoning: String,
    calls: Vec<(String, String, bool)>,
}

impl ModelMessage {
    fn has_answered(&self) -> bool {
        !self.texts.is_empty() || !self.calls.is_empty()
    }

    fn origin_of(&mut self, entry: &Entry<'_>) {
        if self.origin.is_empty() {
            self.origin = entry.name();
        }
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
        let mut items: Vec<Item> = entries.iter().map(Item::read).collect::<Checked<_>>()?;
        let mut conversation = Self::default();
        if let Some(text) = instructions {
            let origin = MessagePaths { own: "instructions".to_owned(), parts: Vec::new() };
            conversation.message(origin, "system", text);
        }
        let mut outputs: Vec<Pending> = Vec::new();
        for (entry, item) in entries.iter().zip(&mut items) {
            if let Item::Output { call: Some(call), output } = item {
                outputs.push(Pending { call: call.clone(), origin: entry.name(), output: output.take() });
            }
        }
        let mut outputs_seen = 0;
        let mut message = ModelMessage::default();
        for (entry, item) in entries.iter().zip(items) {
            match item {
                Item::Nothing => {}
                Item::Assistant(parts) if parts.0.is_empty() => {
                    message.silent.get_or_insert_with(|| entry.name());
                }
                Item::Assistant(parts) => {
                    message.origin_of(entry);
                    message.texts.extend(parts.0);
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
                Item::Output { call, output } => {
                    conversation.end(&mut message, &mut outputs)?;
                    match call {
                        Some(call) if outputs[outputs_seen].output.is_some() => return Err(no_call(&call)),
                        Some(_) => outputs_seen += 1,
                        // Codex writes such items; without a call they are words of the user.
                        None => conversation.free_output(entry, output),
                    }
                }
                Item::Said(role, parts) => {
                    conversation.end(&mut message, &mut outputs)?;
                    conversation.parts(entry, role, &parts.0);
                }
            }
        }
        conversation.end(&mut message, &mut outputs)?;
        conversation.messages.truncate(conversation.said);
        conversation.origins.truncate(conversation.said);
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

    fn message(&mut self, origin: MessagePaths, role: &str, content: &str) {
        let mut message = Writer::new(content.len() + 64);
        quote(role, message.name("role"));
        message.member("content", content);
        self.push(message, origin);
    }

    fn push(&mut self, message: Writer, origin: MessagePaths) {
        self.messages.push(message.done());
        self.origins.push(origin);
        self.said = self.messages.len();
    }

    /// A message that says nothing. What becomes of it is decided where that of every chat is; behind the last word it is left out.
    fn silence(&mut self, own: String, role: &str) {
        let said = self.said;
        self.message(MessagePaths { own, parts: Vec::new() }, role, "\"\"");
        self.said = said;
    }

    fn parts(&mut self, entry: &Entry<'_>, role: &str, parts: &[Part]) {
        if parts.is_empty() {
            return self.silence(entry.name(), role);
        }
        let origin = MessagePaths { own: entry.name(), parts: parts::paths(parts) };
        self.message(origin, role, &parts::content(parts));
    }

    fn free_output(&mut self, entry: &Entry<'_>, output: Option<Output>) {
        match output {
            Some(Output::Text(text)) if text != "\"\"" => {
                let origin = MessagePaths { own: entry.name(), parts: Vec::new() };
                self.message(origin, "user", &text);
            }
            Some(Output::Parts(parts)) => self.parts(entry, "user", &parts),
            _ => {}
        }
    }

    /// Writes the model's message, and the outputs of its calls behind it.
    fn end(&mut self, message: &mut ModelMessage, outputs: &mut [Pending]) -> Checked<()> {
        let message = std::mem::take(message);
        let ModelMessage { origin, silent, texts, blocks, reasoning, calls } = message;
        let mut taken = Vec::new();
        let mut written = Vec::new();
        for (id, json, is_cut) in calls {
            let own = outputs.iter_mut().find(|pending| pending.call == id && pending.output.is_some());
            match own.and_then(|pending| Some((pending.output.take()?, pending.origin.clone()))) {
                Some((output, origin)) => {
                    taken.push((id, output, origin));
                    written.push(json);
                }
                // The call of an answer that was cut short was never made.
                None if is_cut => {}
                None => return Err(no_output(&id)),
            }
        }
        // Thinking without an answer behind it says nothing.
        if texts.is_empty() && written.is_empty() {
            silent.into_iter().for_each(|own| self.silence(own, "assistant"));
            return Ok(());
        }
        let mut message = Writer::new(256);
        message.member("role", "\"assistant\"");
        let content = if texts.is_empty() { "null".to_owned() } else { parts::content(&texts) };
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
        self.push(message, MessagePaths { own: origin, parts: parts::paths(&texts) });
        self.results(taken);
        Ok(())
    }

    /// Writes the outputs of calls, and their media behind them: a tool's message has text alone, and all of them come before
    /// anything else.
    fn results(&mut self, taken: Vec<(String, Output, String)>) {
        let (mut all, mut owners) = (Vec::new(), Vec::new());
        for (call, output, origin) in taken {
            let (text, texts, mut media) = output.split();
            let mut message = Writer::new(text.len() + 96);
            message.member("role", "\"tool\"");
            quote(&call, message.name("tool_call_id"));
            message.member("content", &text);
            if !media.is_empty() {
                owners.push(origin.clone());
            }
            self.push(message, MessagePaths { own: origin, parts: texts });
            all.append(&mut media);
        }
        if !all.is_empty() {
            // Media of several outputs are told one by one.
            let own = if owners.len() == 1 { owners.remove(0) } else { String::new() };
            let origin = MessagePaths { own, parts: parts::paths(&all) };
            self.message(origin, "user", &parts::content(&all));
        }
    }
}
