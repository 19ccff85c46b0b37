//! What the model says: choices, why each stops, and what that costs. The same request gives the same answer.

use serde_json::{Value, json};

use super::order::{Format, Order};
use super::tools::Choice;
use crate::text::answer::answer_text::{self, AnswerInput};
use crate::text::answer::json_sample;
use crate::text::answer::seed::Seed;
use crate::text::answer::words;
use crate::text::faults::Faults;
use crate::text::markers::Marker;
use crate::text::record::Usage;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// One choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    /// Thinking that is shown, as clones do.
    pub(super) reasoning: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) finish: &'static str,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) choices: Vec<Said>,
    pub(super) usage: Usage,
}

/// The text that markers are looked for in: the last that the user wrote, unless a tool spoke after that.
pub(super) fn last_text(order: &Order<'_>) -> String {
    let last = order.messages.iter().rfind(|it| ["user", "tool"].contains(&it.role));
    last.filter(|it| it.role == "user").map_or_else(String::new, |it| it.content.text.clone())
}

/// Answers.
pub(super) fn answer(order: &Order<'_>, faults: &Faults, seed: &Seed, input: Usage) -> Reply {
    let mut usage = input;
    let choices = (0..order.count).map(|at| {
        let mut speaker = Speaker {
            order,
            faults,
            seed: seed.fork(&format!("choice {at}")),
            left: order.max_tokens,
            said: Said { finish: "stop", ..Said::default() },
            thought: 0,
        };
        speaker.speak();
        usage.output += order.max_tokens - speaker.left;
        usage.thinking += speaker.thought;
        speaker.said
    });
    let choices = choices.collect();
    Reply { choices, usage }
}

struct Speaker<'a> {
    order: &'a Order<'a>,
    faults: &'a Faults,
    seed: Seed,
    /// Tokens that may still be said.
    left: u64,
    said: Said,
    thought: u64,
}

impl Speaker<'_> {
    fn speak(&mut self) {
        if self.faults.has(Marker::NoOutput) {
            return;
        }
        if self.faults.has(Marker::Refusal) {
            let words = "I'm sorry, I can't help with that.";
            self.said.refusal = Some(words.to_owned());
            self.spend(words::count(words));
            return;
        }
        if !self.think() {
            return;
        }
        let calls = self.calls();
        let interleaves = self.order.model.clone;
        if (calls.is_empty() || interleaves) && !self.write() {
            return;
        }
        for name in calls {
            if !self.call(&name) {
                return;
            }
        }
        if self.faults.has(Marker::Filtered) {
            self.said.finish = "content_filter";
        }
    }

    /// Spends tokens; `false` when there are not so many.
    fn spend(&mut self, tokens: u64) -> bool {
        let spent = tokens.min(self.left);
        self.left -= spent;
        spent == tokens
    }

    fn full(&mut self) -> bool {
        self.said.finish = "length";
        false
    }

    fn think(&mut self) -> bool {
        let model = self.order.model;
        if !(model.clone || model.reasons && self.order.effort != Some("none")) {
            return true;
        }
        let length = 5 + u64::try_from(self.seed.below(8)).unwrap_or(0);
        let thought = format!("let me see: {}", words::prose(&mut self.seed, length));
        let (thought, complete) = words::first(&thought, self.left);
        self.thought = words::count(thought);
        self.spend(self.thought);
        if model.clone {
            self.said.reasoning = Some(thought.to_owned());
        }
        if complete { true } else { self.full() }
    }

    fn write(&mut self) -> bool {
        let text = match self.order.format {
            Format::Json => json!({ "answer": words::prose(&mut self.seed, 4) }).to_string(),
            Format::Schema(schema) => json_sample::of(schema, &mut self.seed).to_string(),
            Format::Text => answer_text::speak(&self.asked(), &mut self.seed),
        };
        let (text, complete) = words::first(&text, self.left);
        let stopped = answer_text::stopped(text, &self.order.stops);
        let text = stopped.map_or(text, |(at, _)| &text[..at]);
        self.spend(words::count(text));
        text.clone_into(&mut self.said.text);
        if stopped.is_some() {
            return false;
        }
        if complete { true } else { self.full() }
    }

    fn call(&mut self, name: &str) -> bool {
        let tool = self.order.tools.iter().find(|tool| tool.name == name);
        let schema = tool.and_then(|tool| tool.parameters);
        let input = schema.map_or_else(|| json!({}), |schema| json_sample::of(schema, &mut self.seed));
        let mut arguments = match &input {
            Value::Object(_) => input.to_string(),
            _ => "{}".to_owned(),
        };
        if self.faults.has(Marker::BadArguments) {
            arguments = "{\"broken\": \"\u{1f30a}".to_owned();
        }
        let complete = self.spend(1 + words::count(&arguments)) && !self.faults.has(Marker::CutTool);
        if !complete {
            let half = (0..=arguments.len() / 2).rev().find(|at| arguments.is_char_boundary(*at));
            arguments.truncate(half.unwrap_or(0));
        }
        let id = format!("call_{}", self.seed.id(24));
        self.said.calls.push(Call { id, name: name.to_owned(), arguments });
        self.said.finish = "tool_calls";
        if complete { true } else { self.full() }
    }

    /// The tools that are called.
    fn calls(&self) -> Vec<String> {
        let order = self.order;
        let Some(first) = order.tools.first() else { return Vec::new() };
        let wanted = match self.faults.number(Marker::Tools) {
            Some(count) => usize::try_from(count.clamp(1, 64)).unwrap_or(1),
            None if self.faults.has(Marker::Interleaved) => 2,
            None => 1,
        };
        let asked = [Marker::Tool, Marker::Tools, Marker::BadArguments, Marker::CutTool, Marker::Interleaved];
        let mentioned = order.tools.iter().find(|tool| self.faults.rest.contains(tool.name));
        let first = match order.choice {
            Choice::Never => return Vec::new(),
            Choice::Named(name) => name,
            Choice::Required => mentioned.unwrap_or(first).name,
            Choice::Auto if asked.iter().any(|mark| self.faults.has(*mark)) => first.name,
            Choice::Auto => match mentioned {
                Some(tool) => tool.name,
                None => return Vec::new(),
            },
        };
        let start = order.tools.iter().position(|tool| tool.name == first).unwrap_or(0);
        let wanted = if order.parallel { wanted } else { 1 };
        let named = matches!(order.choice, Choice::Named(_));
        let at = |step: usize| if named { start } else { (start + step) % order.tools.len() };
        (0..wanted).map(|step| order.tools[at(step)].name.to_owned()).collect()
    }

    fn asked(&self) -> AnswerInput {
        let messages = &self.order.messages;
        let since = messages.iter().rposition(|it| it.role == "assistant").map_or(0, |at| at + 1);
        let last = &messages[since.min(messages.len())..];
        let of = |role: &'static str| last.iter().filter(move |it| it.role == role);
        AnswerInput {
            text: self.faults.rest.clone(),
            results: of("tool").map(|it| it.content.text.clone()).collect(),
            images: of("user").flat_map(|it| it.content.images.clone()).collect(),
            continues: last.is_empty(),
            turns: messages.iter().filter(|it| it.role == "user").count(),
            words: self.faults.number(Marker::Words),
        }
    }
}
