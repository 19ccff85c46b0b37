//! What the model says: blocks, why it stops, and what that costs. The same request gives the same answer.

use serde_json::{Value, json};

use super::block::{Content, Role};
use super::order::Order;
use super::thinking;
use super::tools::{Choice, Tool};
use crate::text::answer::answer_text::{self, AnswerInput};
use crate::text::answer::json_sample;
use crate::text::answer::seed::Seed;
use crate::text::answer::words;
use crate::text::faults::Faults;
use crate::text::markers::Marker;
use crate::text::record::Usage;

/// A block of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Redacted(String),
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Tool {
        id: String,
        name: String,
        /// The input as it is written out.
        json: String,
        /// Written out only in part.
        cut: bool,
    },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) blocks: Vec<Said>,
    pub(super) stop: &'static str,
    pub(super) stop_sequence: Option<String>,
    pub(super) usage: Usage,
}

/// The text that markers are looked for in: the last that the user wrote.
pub(super) fn last_text(order: &Order<'_>) -> String {
    let last = order.turns.iter().rfind(|turn| turn.role != Role::Assistant);
    last.map_or_else(String::new, super::turn::Turn::text)
}

/// Answers.
pub(super) fn answer(order: &Order<'_>, faults: &Faults, seed: &Seed, input: Usage) -> Reply {
    let mut speaker = Speaker {
        order,
        faults,
        seed: seed.fork("answer"),
        left: order.max_tokens,
        output: 0,
        said: Reply { blocks: Vec::new(), stop: "end_turn", stop_sequence: None, usage: input },
    };
    if order.max_tokens == 0 {
        speaker.said.stop = "max_tokens";
    } else if faults.has(Marker::Refusal) {
        speaker.said.blocks.push(Said::Text(String::new()));
        speaker.said.stop = "refusal";
    } else if !faults.has(Marker::NoOutput) {
        speaker.speak();
    }
    speaker.said.usage.output = speaker.output;
    speaker.said
}

struct Speaker<'a> {
    order: &'a Order<'a>,
    faults: &'a Faults,
    seed: Seed,
    /// Tokens that may still be said.
    left: u64,
    output: u64,
    said: Reply,
}

impl Speaker<'_> {
    fn speak(&mut self) {
        if !self.think() {
            return;
        }
        let calls = self.calls();
        let forced = matches!(self.order.choice, Choice::Any | Choice::Named(_));
        let is_silent = forced && !calls.is_empty();
        if !is_silent && !self.write(&calls) {
            return;
        }
        for name in calls {
            if !self.call(&name) {
                return;
            }
        }
        if self.faults.has(Marker::PauseTurn) {
            self.said.stop = "pause_turn";
        }
    }

    /// Spends tokens; `false` when there are not so many.
    fn spend(&mut self, tokens: u64) -> bool {
        let spent = tokens.min(self.left);
        self.left -= spent;
        self.output += spent;
        spent == tokens
    }

    fn full(&mut self) -> bool {
        self.said.stop = "max_tokens";
        false
    }

    /// Thinks first, where that is asked for.
    fn think(&mut self) -> bool {
        if !self.order.thinking.is_on() {
            return true;
        }
        let model = self.order.model.id;
        let length = 5 + u64::try_from(self.seed.below(8)).unwrap_or(0);
        let thought = format!("let me see: {}", words::prose(&mut self.seed, length));
        let (thought, complete) = words::first(&thought, self.left);
        self.spend(words::count(thought));
        self.said.usage.thinking = words::count(thought);
        let text = if self.order.thinking.is_shown() { thought.to_owned() } else { String::new() };
        let signature = thinking::sign(model, 0, self.seed.draw(), &text);
        self.said.blocks.push(Said::Thinking { text, signature });
        if complete && self.faults.has(Marker::Redacted) {
            self.said.blocks.push(Said::Redacted(thinking::redact(model, 1, self.seed.draw())));
            self.spend(1);
            self.said.usage.thinking += 1;
        }
        if complete { true } else { self.full() }
    }

    /// Writes text; `false` when that was the end.
    fn write(&mut self, calls: &[String]) -> bool {
        let text = match (self.order.format, calls.first()) {
            (Some(schema), _) => json_sample::of(schema, &mut self.seed).to_string(),
            (None, Some(name)) => format!("I will use {name} \u{1f6e0}"),
            (None, None) => answer_text::speak(&self.asked(), &mut self.seed),
        };
        let (text, complete) = words::first(&text, self.left);
        let stopped = answer_text::stopped(text, &self.order.stops);
        let text = stopped.map_or(text, |(at, _)| &text[..at]);
        self.spend(words::count(text));
        if !text.is_empty() {
            self.said.blocks.push(Said::Text(text.to_owned()));
        }
        if let Some((_, stop)) = stopped {
            self.said.stop = "stop_sequence";
            self.said.stop_sequence = Some(stop.to_owned());
            return false;
        }
        if complete { true } else { self.full() }
    }

    /// Calls a tool; `false` when that was the end.
    fn call(&mut self, name: &str) -> bool {
        let tool = self.order.tools.iter().find(|tool| tool.name == name);
        let input = tool.map_or_else(|| json!({}), |tool| input(tool, &mut self.seed));
        let mut json = input.to_string();
        if self.faults.has(Marker::BadArguments) {
            json = "{\"broken\": \"\u{1f30a}".to_owned();
        }
        let complete = self.spend(1 + words::count(&json)) && !self.faults.has(Marker::CutTool);
        if !complete {
            let half = (0..=json.len() / 2).rev().find(|at| json.is_char_boundary(*at));
            json.truncate(half.unwrap_or(0));
        }
        let id = format!("toolu_01{}", self.seed.id(22));
        self.said.blocks.push(Said::Tool { id, name: name.to_owned(), json, cut: !complete });
        self.said.stop = "tool_use";
        if complete { true } else { self.full() }
    }

    /// The tools that are called.
    fn calls(&mut self) -> Vec<String> {
        let order = self.order;
        let Some(first) = order.tools.first() else { return Vec::new() };
        let wanted = match self.faults.number(Marker::Tools) {
            Some(count) => usize::try_from(count.clamp(1, 64)).unwrap_or(1),
            None => 1,
        };
        let asked = [Marker::Tool, Marker::Tools, Marker::BadArguments, Marker::CutTool];
        let mentioned = order.tools.iter().find(|tool| self.faults.rest.contains(tool.name));
        let first = match order.choice {
            Choice::Never => return Vec::new(),
            Choice::Named(name) => name,
            Choice::Any => mentioned.unwrap_or(first).name,
            Choice::Auto if asked.iter().any(|mark| self.faults.has(*mark)) => first.name,
            Choice::Auto => match mentioned {
                Some(tool) if !self.answers_a_tool() => tool.name,
                _ => return Vec::new(),
            },
        };
        let start = order.tools.iter().position(|tool| tool.name == first).unwrap_or(0);
        let wanted = if order.parallel { wanted } else { 1 };
        let named = matches!(order.choice, Choice::Named(_));
        let at = |step: usize| if named { start } else { (start + step) % order.tools.len() };
        (0..wanted).map(|step| order.tools[at(step)].name.to_owned()).collect()
    }

    fn answers_a_tool(&self) -> bool {
        !self.asked().results.is_empty()
    }

    fn asked(&self) -> AnswerInput {
        let questions = self.order.turns.iter().filter(|turn| turn.role == Role::User).count();
        let mut asked = AnswerInput {
            text: self.faults.rest.clone(),
            continues: self.order.turns.last().is_some_and(|turn| turn.role == Role::Assistant),
            turns: questions,
            words: self.faults.number(Marker::Words),
            ..AnswerInput::default()
        };
        let last = self.order.turns.iter().rfind(|turn| turn.role == Role::User);
        for block in last.map_or(&[][..], |turn| &turn.blocks) {
            match &block.content {
                Content::Image(name) => asked.images.push(name.clone()),
                Content::ToolResult { text, images, .. } => {
                    asked.results.push(text.clone());
                    asked.images.extend_from_slice(images);
                }
                _ => {}
            }
        }
        asked
    }
}

/// What a tool is called with.
fn input(tool: &Tool<'_>, seed: &mut Seed) -> Value {
    match (tool.schema, tool.name) {
        (Some(schema), _) => json_sample::of(schema, seed),
        (None, "computer") => json!({ "action": "screenshot" }),
        (None, "bash") => json!({ "command": format!("echo {}", words::prose(seed, 2)) }),
        (None, "web_search") => json!({ "query": words::prose(seed, 2) }),
        (None, _) => json!({ "command": "view", "path": "/tmp/\u{706f}\u{53f0}.txt" }),
    }
}
