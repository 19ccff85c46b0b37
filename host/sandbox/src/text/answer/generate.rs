//! Generates an answer: thinking, text, tool calls, the reason it stops, and its tokens.
//!
//! Knows no protocol. The same question with the same seed gives the same answer.

use serde_json::{Value, json};

use crate::text::answer::answer_text::{self, AnswerInput};
use crate::text::answer::json_sample;
use crate::text::answer::seed::{IdForm, Seed};
use crate::text::answer::words;
use crate::text::markers::{Faults, Marker};

/// Letters of the shortest word that stands for a tool.
const MIN_TOPIC: usize = 5;

/// A tool of a request.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The schema of a call's arguments.
    pub(crate) parameters: Value,
}

/// The tools a model may or must call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    #[default]
    Auto,
    Named(String),
    Never,
    Required,
}

impl ToolChoice {
    pub(crate) fn is_forced(&self) -> bool {
        matches!(self, Self::Named(_) | Self::Required)
    }
}

/// The form of the answer's text.
#[derive(Clone, Debug, Default)]
pub(crate) enum Format {
    Json,
    Schema(Value),
    #[default]
    Text,
}

/// The text of an answer that calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextWithCalls {
    /// A sentence about the first call.
    Announced,
    /// The text of any other answer.
    Full,
    #[default]
    None,
}

/// All that decides an answer, besides faults and seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    pub(crate) tools: Vec<Tool>,
    pub(crate) choice: ToolChoice,
    /// Several calls in one answer are allowed.
    pub(crate) parallel: bool,
    /// A tool that the text mentions is called even beside results of tools.
    pub(crate) calls_after_results: bool,
    pub(crate) max_tokens: u64,
    pub(crate) stops: Vec<String>,
    pub(crate) format: Format,
    pub(crate) thinks: bool,
    pub(crate) text_with_calls: TextWithCalls,
    /// The text of a refused answer.
    pub(crate) refusal: &'static str,
    pub(crate) call_id: IdForm,
    pub(crate) input: AnswerInput,
}

/// A part of an answer. A salt makes signatures differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Call(Call),
    Redacted { salt: u64 },
    Refusal(String),
    Text(String),
    Thinking { text: String, salt: u64 },
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON, unless it is cut or a fault broke it.
    pub(crate) arguments: String,
    pub(crate) is_cut: bool,
}

/// Why an answer stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    Calls,
    #[default]
    End,
    Filtered,
    Length,
    Paused,
    Refused,
    Sequence(String),
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
    pub(crate) stop: Stop,
    /// Tokens of all output.
    pub(crate) output: u64,
    /// Tokens of thinking, a part of the output.
    pub(crate) thinking: u64,
}

/// Generates one answer.
pub(crate) fn generate(question: &Question, faults: &Faults, seed: Seed) -> Answer {
    let mut generator = Generator { question, faults, seed, answer: Answer::default() };
    if question.max_tokens == 0 {
        generator.answer.stop = Stop::Length;
    } else if faults.has(Marker::Refusal) {
        generator.spend(words::count(question.refusal));
        generator.answer.parts.push(Part::Refusal(question.refusal.to_owned()));
        generator.answer.stop = Stop::Refused;
    } else if !faults.has(Marker::NoOutput)
        && let Some(stop) = generator.run()
    {
        generator.answer.stop = stop;
    }
    generator.answer
}

/// Whether a question asks for a tool: it has the tool's name, or the last word of it (`get_weather`).
fn is_mentioned(name: &str, text: &str) -> bool {
    let (name, text) = (name.to_lowercase(), text.to_lowercase());
    let topic = name.rsplit(['_', '-']).next().filter(|word| word.len() >= MIN_TOPIC);
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    text.contains(&name) || topic.is_some_and(|topic| words.any(|word| word == topic))
}

struct Generator<'a> {
    question: &'a Question,
    faults: &'a Faults,
    seed: Seed,
    answer: Answer,
}

impl<'a> Generator<'a> {
    /// All parts in order; gives the reason of an early stop.
    fn run(&mut self) -> Option<Stop> {
        if self.question.thinks && !self.think() {
            return Some(Stop::Length);
        }
        let calls = self.called_tools();
        let has_text = calls.is_empty() || self.question.text_with_calls != TextWithCalls::None;
        if has_text && let Some(stop) = self.write(calls.first().copied()) {
            return Some(stop);
        }
        for tool in calls {
            self.answer.stop = Stop::Calls;
            if !self.call(tool) {
                return Some(Stop::Length);
            }
        }
        let faults = self.faults;
        let paused = faults.has(Marker::PauseTurn).then_some(Stop::Paused);
        paused.or_else(|| faults.has(Marker::Filtered).then_some(Stop::Filtered))
    }

    fn left(&self) -> u64 {
        self.question.max_tokens - self.answer.output
    }

    /// Spends tokens; `false` when there are not so many.
    fn spend(&mut self, tokens: u64) -> bool {
        let spent = tokens.min(self.left());
        self.answer.output += spent;
        spent == tokens
    }

    /// Thinks; `false` when the limit cuts it.
    fn think(&mut self) -> bool {
        let length = 5 + u64::try_from(self.seed.below(8)).unwrap_or(0);
        let thought = format!("let me see: {}", words::prose(&mut self.seed, length));
        let (thought, complete) = words::first(&thought, self.left());
        self.answer.thinking = words::count(thought);
        self.spend(self.answer.thinking);
        let (text, salt) = (thought.to_owned(), self.seed.draw());
        self.answer.parts.push(Part::Thinking { text, salt });
        if complete && self.faults.has(Marker::Redacted) {
            self.answer.parts.push(Part::Redacted { salt: self.seed.draw() });
            self.spend(1);
            self.answer.thinking += 1;
        }
        complete
    }

    /// Writes the text; gives the reason when the answer stops within it.
    fn write(&mut self, called: Option<&Tool>) -> Option<Stop> {
        let announced = called.filter(|_| self.question.text_with_calls == TextWithCalls::Announced);
        let text = match (&self.question.format, announced) {
            (Format::Json, _) => json!({ "answer": words::prose(&mut self.seed, 4) }).to_string(),
            (Format::Schema(schema), _) => json_sample::of(schema, &mut self.seed).to_string(),
            (Format::Text, Some(tool)) => format!("I will use {} \u{1f6e0}", tool.name),
            (Format::Text, None) => answer_text::write(&self.question.input, &mut self.seed),
        };
        let (text, complete) = words::first(&text, self.left());
        let stopped = answer_text::stopped(text, &self.question.stops);
        let text = stopped.map_or(text, |(at, _)| &text[..at]);
        self.spend(words::count(text));
        if !text.is_empty() {
            self.answer.parts.push(Part::Text(text.to_owned()));
        }
        match stopped {
            Some((_, stop)) => Some(Stop::Sequence(stop.to_owned())),
            None => (!complete).then_some(Stop::Length),
        }
    }

    /// Calls a tool; `false` when the limit or a marker cuts the call.
    fn call(&mut self, tool: &Tool) -> bool {
        let mut arguments = match json_sample::of(&tool.parameters, &mut self.seed) {
            input @ Value::Object(_) => input.to_string(),
            _ => "{}".to_owned(),
        };
        if self.faults.has(Marker::BadArguments) {
            arguments = "{\"broken\": \"\u{1f30a}".to_owned();
        }
        let complete = self.spend(1 + words::count(&arguments)) && !self.faults.has(Marker::CutTool);
        if !complete {
            arguments.truncate(arguments.floor_char_boundary(arguments.len() / 2));
        }
        let id = self.question.call_id.draw(&mut self.seed);
        self.answer.parts.push(Part::Call(Call {
            id,
            name: tool.name.clone(),
            arguments,
            is_cut: !complete,
        }));
        complete
    }

    /// The tools that are called, in order.
    fn called_tools(&self) -> Vec<&'a Tool> {
        let (question, faults) = (self.question, self.faults);
        let tools = &question.tools;
        let forcing =
            [Marker::Tool, Marker::Tools, Marker::BadArguments, Marker::CutTool, Marker::Interleaved];
        let mentioned = tools.iter().position(|tool| is_mentioned(&tool.name, &question.input.text));
        let is_called = |at: usize| question.input.called.contains(&tools[at].name);
        let first = match &question.choice {
            _ if tools.is_empty() => None,
            ToolChoice::Never => None,
            ToolChoice::Named(name) => tools.iter().position(|tool| tool.name == *name),
            // A forced model calls something every time; what it has not called yet, as one that gets on would.
            ToolChoice::Required => mentioned
                .filter(|at| !is_called(*at))
                .or_else(|| (0..tools.len()).find(|at| !is_called(*at)))
                .or(Some(0)),
            ToolChoice::Auto if forcing.iter().any(|marker| faults.has(*marker)) => Some(0),
            ToolChoice::Auto if question.calls_after_results || question.input.results.is_empty() => {
                mentioned
            }
            ToolChoice::Auto => None,
        };
        let Some(first) = first else { return Vec::new() };
        let wanted = match faults.number(Marker::Tools) {
            Some(count) => usize::try_from(count.clamp(1, 64)).unwrap_or(1),
            None if faults.has(Marker::Interleaved) => 2,
            None => 1,
        };
        let count = if question.parallel { wanted } else { 1 };
        let stride = usize::from(!matches!(question.choice, ToolChoice::Named(_)));
        (0..count).map(|step| &tools[(first + step * stride) % tools.len()]).collect()
    }
}
