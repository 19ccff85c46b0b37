//! Token counts, read from either protocol into counts that share no token.
//!
//! A chat provider's prompt includes the tokens read from a cache and written to one; a Messages provider
//! counts the three apart. A stream reports its counts several times, and they only grow: a smaller one that comes later
//! says less, not that less was read or written.

use gatehouse_sdk::Usage;

use crate::json::{Object, Raw, Writer};

/// The counts that every chat client reads.
const CHAT_COUNTS: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];

/// What was read, with what came from a cache: most servers, some SDKs, Gemini.
const PROMPTS: [&str; 4] = ["prompt_tokens", "promptTokens", "promptTokenCount", "prompt_token_count"];
/// What was read, where the names of a cache say whether it is in it.
const INPUTS: [&str; 3] = ["input_tokens", "inputTokens", "inputTokenCount"];
const COMPLETIONS: [&str; 7] = [
    "completion_tokens",
    "output_tokens",
    "completionTokens",
    "outputTokens",
    "outputTokenCount",
    "candidatesTokenCount",
    "candidates_token_count",
];
const TOTALS: [&str; 4] = ["total_tokens", "totalTokens", "totalTokenCount", "total_token_count"];

/// Those of a Messages provider: read, written, read from a cache, written to one.
const MESSAGES_NAMES: [&str; 4] =
    ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
/// What Bedrock adds to the last event of a stream, and the names there.
const BEDROCK_METRICS: &str = "amazon-bedrock-invocationMetrics";
const BEDROCK_NAMES: [&str; 4] =
    ["inputTokenCount", "outputTokenCount", "cacheReadInputTokenCount", "cacheWriteInputTokenCount"];
/// Bytes of text in a token, as the host guesses.
const USUAL_BYTES_PER_TOKEN: u64 = 4;

/// The counts reported so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenCounts {
    usage: Usage,
    /// What `usage` was made of, where a chat provider reports.
    chat: ChatCounts,
    reasoning: u64,
    reported: bool,
    /// The count of what was written is the one that a stream begins with, before anything is.
    is_of_beginning: bool,
}

impl TokenCounts {
    /// Those of a chat provider's completion.
    #[must_use]
    pub fn of_completion(completion: &Object<'_>) -> Self {
        let mut counts = Self::default();
        counts.read_completion(completion);
        counts
    }

    /// Reads a chat provider's completion, or a chunk of one; whether it has a count.
    pub fn read_completion(&mut self, completion: &Object<'_>) -> bool {
        let reports = chat_reports(completion).into_iter().map(|raw| self.read_chat(raw));
        reports.filter(|report| *report != Report::Nothing).count() > 0
    }

    /// Reads every count in an event of a Messages provider's stream, wherever it stands.
    pub fn read_event(&mut self, event: &Object<'_>) {
        let inner = |name: &str| event.object(name).and_then(|inner| inner.object("usage"));
        for usage in [inner("message"), event.object("usage"), inner("delta")].into_iter().flatten() {
            self.read_messages(&usage);
        }
        let is_beginning = event.get("message").is_some();
        self.is_of_beginning = self.reported && (is_beginning || self.is_of_beginning && !says_output(event));
        if let Some(metrics) = event.object(BEDROCK_METRICS) {
            self.read_names(&metrics, BEDROCK_NAMES);
        }
    }

    /// Reads `usage` of a Messages provider, whole or in part.
    pub fn read_messages(&mut self, usage: &Object<'_>) {
        let names = MESSAGES_NAMES;
        if !names.iter().any(|name| usage.get(name).is_some()) {
            // Some servers have the names of the other protocol.
            if let Some(counted) = ChatCounts::read(usage) {
                self.usage = greater(self.usage, counted.usage());
                self.reported = true;
            }
            return;
        }
        self.read_names(usage, names);
        // What the provider did on its own, such as to shorten the conversation, is counted there alone.
        let all = usage.items("iterations").unwrap_or_default();
        let mut sum = Self::default();
        for one in all.iter().filter_map(|raw| Object::parse(raw.get())) {
            let mut counts = Self::default();
            counts.read_names(&one, names);
            sum.usage = added(sum.usage, counts.usage);
        }
        self.usage = greater(self.usage, sum.usage);
    }

    /// Reads counts by their names, in the order of [`MESSAGES_NAMES`].
    fn read_names(&mut self, usage: &Object<'_>, [input, output, cached, written]: [&str; 4]) {
        let known = self.usage;
        let (minutes, hour) = cache_writes(usage);
        let mut read = |name: &str, known: u64| {
            let count = usage.count(name);
            self.reported |= count.is_some();
            count.unwrap_or(known)
        };
        let now = Usage {
            input: read(input, known.input),
            output: read(output, known.output).max(known.output),
            cached: read(cached, known.cached),
            cache_write: read(written, known.cache_write).max(minutes.saturating_add(hour)),
            cache_write_hour: hour.max(known.cache_write_hour),
        };
        // The end of a stream may tell apart what its beginning had counted as one.
        self.usage = if prompt(&now) >= prompt(&known) { now } else { greater(now, known) };
        let details = usage.object("output_tokens_details");
        let reasoning = details.and_then(|it| it.count("thinking_tokens"));
        self.reasoning = self.reasoning.max(reasoning.unwrap_or(0));
    }

    /// Reads `usage` of a chat provider; what it says of the counts so far.
    pub fn read_chat(&mut self, usage: Raw<'_>) -> Report {
        let Some(counted) = Object::parse(usage.get()).and_then(|usage| ChatCounts::read(&usage)) else {
            return Report::Nothing;
        };
        self.chat = self.chat.greater(counted);
        self.usage = self.chat.usage();
        self.reasoning = self.chat.reasoning;
        self.reported = true;
        if self.chat == counted { Report::All } else { Report::Less }
    }

    /// The counts of an answer that has ended, with `written` bytes of text: of a sum alone its part, and no count of what was
    /// written where there is only that of the beginning.
    #[must_use]
    pub fn settled(mut self, written: u64) -> Self {
        let guess = written.div_ceil(USUAL_BYTES_PER_TOKEN);
        if self.chat.is_sum() {
            self.chat.completion = guess.min(self.chat.total);
            self.chat.prompt = self.chat.total - self.chat.completion;
            self.usage = self.chat.usage();
        }
        if self.is_of_beginning && self.usage.output < guess {
            self.usage.output = 0;
        }
        self
    }

    /// For the host: `None` when the provider reported nothing.
    #[must_use]
    pub fn reported(&self) -> Option<Usage> {
        self.reported.then_some(self.usage)
    }

    /// The counts; zeros when the provider reported nothing.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// `usage` as a chat client reads it.
    #[must_use]
    pub fn chat_json(&self) -> String {
        let Usage { output, cached, cache_write, .. } = self.usage;
        let prompt = prompt(&self.usage);
        let mut out = Writer::new(192);
        out.member("prompt_tokens", &prompt.to_string());
        out.member("completion_tokens", &output.to_string());
        out.member("total_tokens", &prompt.saturating_add(output).to_string());
        let details = format!("{{\"cached_tokens\":{cached},\"cache_write_tokens\":{cache_write}}}");
        out.member("prompt_tokens_details", &details);
        let reasoning = self.reasoning;
        out.member("completion_tokens_details", &format!("{{\"reasoning_tokens\":{reasoning}}}"));
        out.done()
    }
}

/// What a `usage` says of the counts so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It has no count.
    Nothing,
    /// It has them all.
    All,
    /// Another one had more of something.
    Less,
}

/// Whether an event counts what was written.
fn says_output(event: &Object<'_>) -> bool {
    let places = [event.object("usage"), event.object("delta").and_then(|delta| delta.object("usage"))];
    places.iter().flatten().any(|usage| usage.get(MESSAGES_NAMES[1]).is_some())
        || event.get(BEDROCK_METRICS).is_some()
}

/// The names of a report.
const REPORTS: [&str; 3] = ["usage", "usageMetadata", "usage_metadata"];

/// Whether a completion or a chunk may have a report: most chunks have none.
#[must_use]
pub fn may_report(json: &str) -> bool {
    json.contains("\"usage")
}

/// Every `usage` in a completion or a chunk: in its own place, in Groq's extension, or in a choice, as Moonshot's
/// streams have it, or in its message.
#[must_use]
pub fn chat_reports<'a>(completion: &Object<'a>) -> Vec<Raw<'a>> {
    let mut found: Vec<Raw<'a>> = REPORTS.iter().filter_map(|name| completion.get(name)).collect();
    found.extend(completion.object("metadata").and_then(|metadata| metadata.get(REPORTS[0])));
    found.extend(completion.object("x_groq").and_then(|groq| groq.get("usage")));
    let choices = completion.get("choices").filter(|raw| raw.get().contains("\"usage\""));
    for choice in choices.and_then(crate::json::items).unwrap_or_default() {
        let Some(choice) = Object::parse(choice.get()) else { continue };
        found.extend(choice.get("usage"));
        let inner = ["delta", "message"].into_iter().filter_map(|name| choice.object(name));
        found.extend(inner.filter_map(|inner| inner.get("usage")));
    }
    found
}

/// One report of a chat provider, or the greatest counts of several: the prompt with what came from a cache or went into
/// one, the completion with its reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ChatCounts {
    prompt: u64,
    completion: u64,
    cached: u64,
    cache_write: u64,
    cache_write_hour: u64,
    reasoning: u64,
    /// All of them, where nothing else is counted.
    total: u64,
}

impl ChatCounts {
    /// `None` when it has no count.
    fn read(usage: &Object<'_>) -> Option<Self> {
        let either = |names: [&str; 2]| names.iter().find_map(|name| usage.object(name)).unwrap_or_default();
        let most = |object: &Object<'_>, names: &[&str]| {
            names.iter().filter_map(|name| object.count(name)).max().unwrap_or(0)
        };
        let read = either(["prompt_tokens_details", "input_tokens_details"]);
        let written = either(["completion_tokens_details", "output_tokens_details"]);
        // DeepSeek counts what its cache had and what it had not.
        let (hit, miss) = (usage.count("prompt_cache_hit_tokens"), usage.count("prompt_cache_miss_tokens"));
        let halves =
            (hit.is_some() || miss.is_some()).then(|| hit.unwrap_or(0).saturating_add(miss.unwrap_or(0)));
        let first = |names: &[&str]| names.iter().find_map(|name| usage.count(name));
        let named = first(&PROMPTS);
        let prompt = named.or_else(|| first(&INPUTS)).max(halves);
        let completion = first(&COMPLETIONS);
        let total = first(&TOTALS);
        if prompt.is_none() && completion.is_none() {
            return total.filter(|total| *total > 0).map(|total| Self { total, ..Self::default() });
        }
        let has_both = prompt.is_some() && completion.is_some();
        let rest = |known: Option<u64>| Some(total?.saturating_sub(known?));
        let (prompt, completion) = (prompt.or_else(|| rest(completion)), completion.or_else(|| rest(prompt)));
        let (prompt, mut completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
        let of_messages = most(usage, &["cache_read_input_tokens", "cacheReadInputTokens"]);
        let cached = most(&read, &["cached_tokens"])
            .max(hit.unwrap_or(0))
            .max(most(usage, &["cached_tokens", "cachedContentTokenCount", "cached_content_token_count"]))
            .max(of_messages);
        const WRITES: [&str; 4] = [
            "cache_write_tokens",
            "cache_creation_input_tokens",
            "cache_creation_tokens",
            "cacheWriteInputTokens",
        ];
        let (minutes, hour) = cache_writes(usage);
        let (minutes, hour) = (minutes.max(cache_writes(&read).0), hour.max(cache_writes(&read).1));
        let cache_write = most(&read, &WRITES).max(most(usage, &WRITES)).max(minutes.saturating_add(hour));
        const REASONING: [&str; 4] =
            ["reasoning_tokens", "thinking_tokens", "thoughtsTokenCount", "thoughts_token_count"];
        let reasoning = most(&written, &REASONING).max(most(usage, &REASONING));
        let sum = |parts: &[u64]| parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
        // xAI does not count reasoning in `completion_tokens`; its total shows it, or that there is more of it.
        let is_apart =
            reasoning > completion || (reasoning > 0 && total == Some(sum(&[prompt, completion, reasoning])));
        if is_apart {
            completion = completion.saturating_add(reasoning);
        }
        // Some count the prompt without its cache: the total shows it, or that the cache had more than the prompt, or the
        // names, which are those of Messages.
        let aside = sum(&[cached, cache_write]);
        let is_aside = aside > prompt
            || (!is_apart && total == Some(sum(&[prompt, aside, completion])))
            || (named.is_none() && halves.is_none() && of_messages > 0);
        let prompt = if is_aside { sum(&[prompt, aside]) } else { prompt };
        // Gemini counts its thinking in the total alone.
        if has_both {
            completion = completion.max(total.unwrap_or(0).saturating_sub(prompt));
        }
        Some(Self { prompt, completion, cached, cache_write, cache_write_hour: hour, reasoning, total: 0 })
    }

    /// Whether there is only the sum of the counts.
    fn is_sum(self) -> bool {
        self.total > 0 && self.prompt == 0 && self.completion == 0
    }

    /// The greater of each count.
    fn greater(self, other: Self) -> Self {
        Self {
            prompt: self.prompt.max(other.prompt),
            completion: self.completion.max(other.completion),
            cached: self.cached.max(other.cached),
            cache_write: self.cache_write.max(other.cache_write),
            cache_write_hour: self.cache_write_hour.max(other.cache_write_hour),
            reasoning: self.reasoning.max(other.reasoning),
            total: self.total.max(other.total),
        }
    }

    /// The same, no token in two of them.
    fn usage(self) -> Usage {
        let Self { prompt, completion, cached, cache_write, cache_write_hour, .. } = self;
        let input = prompt.saturating_sub(cached).saturating_sub(cache_write);
        Usage { input, output: completion, cached, cache_write, cache_write_hour }
    }
}

/// What went into a cache for five minutes, and for an hour, where it is told apart.
fn cache_writes(usage: &Object<'_>) -> (u64, u64) {
    let apart = usage.object("cache_creation").unwrap_or_default();
    let count = |name: &str| apart.count(name).unwrap_or(0);
    (count("ephemeral_5m_input_tokens"), count("ephemeral_1h_input_tokens"))
}

/// Tokens read.
fn prompt(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cached).saturating_add(usage.cache_write)
}

/// The sum of each count.
fn added(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
        cached: one.cached.saturating_add(other.cached),
        cache_write: one.cache_write.saturating_add(other.cache_write),
        cache_write_hour: one.cache_write_hour.saturating_add(other.cache_write_hour),
    }
}

/// The greater of each count.
fn greater(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.max(other.input),
        output: one.output.max(other.output),
        cached: one.cached.max(other.cached),
        cache_write: one.cache_write.max(other.cache_write),
        cache_write_hour: one.cache_write_hour.max(other.cache_write_hour),
    }
}

/// `usage` of a chat provider with the counts it lacks, JSON; `None` where it has all three or none.
#[must_use]
pub fn completed(usage: &Object<'_>) -> Option<String> {
    if CHAT_COUNTS.iter().all(|name| usage.unsigned(name).is_some()) {
        return None;
    }
    let ChatCounts { prompt, completion, .. } = ChatCounts::read(usage).filter(|counts| !counts.is_sum())?;
    let total = usage.count("total_tokens").unwrap_or(0).max(prompt.saturating_add(completion));
    let mut out = Writer::new(192);
    for (name, count) in CHAT_COUNTS.into_iter().zip([prompt, completion, total]) {
        out.member(name, &count.to_string());
    }
    for (name, raw) in usage.iter().filter(|(name, _)| !CHAT_COUNTS.contains(name)) {
        out.member(name, raw.get());
    }
    Some(out.done())
}

/// Whether `usage` of a chat provider has only the sum of the counts.
#[must_use]
pub fn is_sum(usage: &Object<'_>) -> bool {
    ChatCounts::read(usage).is_some_and(ChatCounts::is_sum)
}

/// Drops counts that are all zero although the model wrote text: some providers send zeros.
#[must_use]
pub fn plausible(usage: Option<Usage>, output_bytes: u64) -> Option<Usage> {
    usage.filter(|usage| output_bytes == 0 || *usage != Usage::default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn chat(completions: &[Value]) -> (u64, u64, u64, u64) {
        let mut counts = TokenCounts::default();
        for completion in completions {
            let json = completion.to_string();
            for raw in chat_reports(&Object::parse(&json).unwrap()) {
                counts.read_chat(raw);
            }
        }
        let Usage { input, output, cached, cache_write, .. } = counts.usage();
        (input, output, cached, cache_write)
    }

    /// Without it a provider's answer is charged by a guess, or its cache not at all.
    #[test]
    fn a_chat_providers_counts_are_found_in_every_spelling_and_place() {
        let plain = json!({"prompt_tokens": 1000, "completion_tokens": 100});
        for (completion, expected) in [
            (json!({"usage": plain}), (1000, 100, 0, 0)),
            (json!({"choices": [{"index": 0, "usage": plain}]}), (1000, 100, 0, 0)),
            (json!({"choices": [], "x_groq": {"id": "req", "usage": plain}}), (1000, 100, 0, 0)),
            (json!({"usage": null, "choices": [{"usage": plain}, {"usage": null}]}), (1000, 100, 0, 0)),
            (json!({"usage": {"input_tokens": 1000, "output_tokens": 100}}), (1000, 100, 0, 0)),
            // In the prompt, or beside it.
            (
                json!({"usage": {"prompt_tokens": 1000, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 600}}}),
                (400, 1, 600, 0),
            ),
            (
                json!({"usage": {"prompt_tokens": 10, "completion_tokens": 1, "cached_tokens": 10_000}}),
                (10, 1, 10_000, 0),
            ),
            (
                json!({"usage": {"prompt_tokens": 1000, "completion_tokens": 1, "total_tokens": 1601,
                    "prompt_tokens_details": {"cached_tokens": 600}}}),
                (1000, 1, 600, 0),
            ),
            (
                json!({"usage": {"prompt_tokens": 1000, "completion_tokens": 1, "total_tokens": 1001,
                    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300}}}),
                (100, 1, 600, 300),
            ),
            (
                json!({"usage": {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 5,
                    "cache_creation_input_tokens": 3}}),
                (7, 1, 5, 3),
            ),
            (
                json!({"usage": {"prompt_tokens": 15, "completion_tokens": 1, "cache_read_input_tokens": 5,
                    "cache_creation_input_tokens": 3}}),
                (7, 1, 5, 3),
            ),
            // DeepSeek, with and without the sum.
            (
                json!({"usage": {"prompt_tokens": 1000, "completion_tokens": 1, "prompt_cache_hit_tokens": 600,
                    "prompt_cache_miss_tokens": 400}}),
                (400, 1, 600, 0),
            ),
            (
                json!({"usage": {"completion_tokens": 1, "prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 400}}),
                (400, 1, 600, 0),
            ),
            // xAI: reasoning beside the completion.
            (
                json!({"usage": {"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 200,
                    "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 60}}}),
                (40, 100, 60, 0),
            ),
            // The same without a sum, and Perplexity.
            (
                json!({"usage": {"prompt_tokens": 100, "completion_tokens": 40, "completion_tokens_details": {"reasoning_tokens": 60}}}),
                (100, 100, 0, 0),
            ),
            (
                json!({"usage": {"prompt_tokens": 33, "completion_tokens": 7, "total_tokens": 40, "reasoning_tokens": 74}}),
                (33, 81, 0, 0),
            ),
            // Gemini counts its thinking in the sum alone.
            (
                json!({"usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 515}}),
                (10, 505, 0, 0),
            ),
            // Numbers in other forms.
            (json!({"usage": {"prompt_tokens": "1000", "completion_tokens": "100"}}), (1000, 100, 0, 0)),
            (json!({"usage": {"prompt_tokens": 1000.0, "completion_tokens": 99.2}}), (1000, 100, 0, 0)),
            (
                json!({"usage": {"prompt_tokens": 1000, "completion_tokens": -1, "total_tokens": 1100}}),
                (1000, 100, 0, 0),
            ),
            (json!({"usage": {"promptTokens": 1000, "completionTokens": 100}}), (1000, 100, 0, 0)),
            (json!({"choices": [{"message": {"usage": plain}}]}), (1000, 100, 0, 0)),
            (json!({"metadata": {"usage": plain}}), (1000, 100, 0, 0)),
            (
                json!({"usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 100, "thoughtsTokenCount": 50,
                    "cachedContentTokenCount": 600, "totalTokenCount": 1150}}),
                (400, 150, 600, 0),
            ),
            // Bedrock counts its cache apart.
            (
                json!({"usage": {"inputTokens": 7, "outputTokens": 1, "totalTokens": 16, "cacheReadInputTokens": 5,
                    "cacheWriteInputTokens": 3}}),
                (7, 1, 5, 3),
            ),
            (
                json!({"usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": null}}),
                (1000, 100, 0, 0),
            ),
            // No request has as many.
            (
                json!({"usage": {"prompt_tokens": 18_446_744_073_709_551_615_u64, "completion_tokens": 100, "total_tokens": 1100}}),
                (1000, 100, 0, 0),
            ),
            (
                json!({"usage": {"prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 1e300}}),
                (1000, 100, 0, 0),
            ),
            (json!({"choices": [{"delta": {"usage": plain}}]}), (1000, 100, 0, 0)),
        ] {
            assert_eq!(chat(std::slice::from_ref(&completion)), expected, "{completion}");
        }
        for nothing in [json!({}), json!({"usage": {}}), json!({"usage": 3, "x_groq": 3, "choices": "usage"})]
        {
            let json = nothing.to_string();
            assert!(TokenCounts::of_completion(&Object::parse(&json).unwrap()).reported().is_none());
        }
    }

    /// Without it an answer whose server counts only the sum is charged by a guess.
    #[test]
    fn a_sum_alone_is_shared_out_by_what_was_written() {
        for (written, expected) in [(0, (1100, 0)), (400, (1000, 100)), (40_000, (0, 1100))] {
            let counts =
                TokenCounts::of_completion(&Object::parse(r#"{"usage":{"total_tokens":1100}}"#).unwrap());
            let Usage { input, output, .. } = counts.settled(written).reported().expect("counts");
            assert_eq!((input, output), expected, "{written}");
        }
    }

    /// Without it the output of a stream that is counted at its beginning alone, or in another place, costs one token; and what
    /// a provider reads to shorten a conversation costs nothing.
    #[test]
    fn a_messages_providers_counts_are_found_in_every_place() {
        let begins =
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}});
        let ends = |usage: Value| json!({"type": "message_delta", "delta": {}, "usage": usage});
        for (events, expected) in [
            (vec![begins.clone()], (10, 0, 0)),
            (vec![begins.clone(), ends(json!({"output_tokens": 5}))], (10, 5, 0)),
            (vec![begins.clone(), ends(json!({"output_tokens": "5"}))], (10, 5, 0)),
            (vec![begins.clone(), json!({"delta": {"usage": {"output_tokens": 9}}})], (10, 9, 0)),
            (
                vec![json!({"type": "message_stop", "usage": {"input_tokens": 10, "output_tokens": 5}})],
                (10, 5, 0),
            ),
            (vec![ends(json!({"prompt_tokens": 10, "completion_tokens": 5}))], (10, 5, 0)),
            (
                vec![
                    begins.clone(),
                    json!({"type": "message_stop", BEDROCK_METRICS: {
                    "inputTokenCount": 12, "outputTokenCount": 7, "cacheReadInputTokenCount": 3}}),
                ],
                (12, 7, 3),
            ),
            (
                vec![ends(json!({"input_tokens": 10, "output_tokens": 5, "iterations": [
                    {"type": "compaction", "input_tokens": 1800, "output_tokens": 35},
                    {"type": "message", "input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 4}]}))],
                (1810, 40, 4),
            ),
        ] {
            let mut counts = TokenCounts::default();
            for event in &events {
                counts.read_event(&Object::parse(&event.to_string()).unwrap());
            }
            let Usage { input, output, cached, .. } = counts.settled(400).reported().expect("counts");
            assert_eq!((input, output, cached), expected, "{events:?}");
        }
        let mut counts = TokenCounts::default();
        counts.read_event(&Object::parse(&begins.to_string()).unwrap());
        assert_eq!(counts.settled(4).usage().output, 1, "a short answer has no more");
    }

    /// Without it an hour in the cache costs what five minutes do.
    #[test]
    fn what_a_cache_keeps_for_an_hour_is_counted_apart() {
        let apart = json!({"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 7});
        let messages = [
            json!({"input_tokens": 1, "cache_creation_input_tokens": 10, "cache_creation": apart}),
            json!({"input_tokens": 1, "cache_creation": apart}),
        ];
        let chat = [
            json!({"prompt_tokens": 11, "completion_tokens": 1, "prompt_tokens_details": {
                "cache_creation_input_tokens": 10, "cache_creation": apart}}),
            json!({"prompt_tokens": 11, "completion_tokens": 1, "cache_creation_input_tokens": 10, "cache_creation": apart}),
        ];
        let is_right = |counts: &TokenCounts, report: &Value| {
            let Usage { input, cache_write, cache_write_hour, .. } = counts.usage();
            assert_eq!((input, cache_write, cache_write_hour), (1, 10, 7), "{report}");
        };
        for report in messages {
            let mut counts = TokenCounts::default();
            counts.read_messages(&Object::parse(&report.to_string()).unwrap());
            // The end of a stream does not tell them apart any more.
            counts.read_messages(
                &Object::parse(r#"{"cache_creation_input_tokens":10,"output_tokens":1}"#).unwrap(),
            );
            is_right(&counts, &report);
        }
        for report in chat {
            let completion = json!({"usage": report}).to_string();
            is_right(&TokenCounts::of_completion(&Object::parse(&completion).unwrap()), &report);
        }
    }

    /// Without it a last report of zeros or of one chunk alone makes a long answer free.
    #[test]
    fn a_later_smaller_count_of_a_stream_says_nothing() {
        let report = |prompt: u64, completion: u64, cached: u64| {
            json!({"usage": {"prompt_tokens": prompt, "completion_tokens": completion,
                "prompt_tokens_details": {"cached_tokens": cached}}})
        };
        assert_eq!(chat(&[report(1000, 50, 0), report(0, 3, 0)]), (1000, 50, 0, 0));
        assert_eq!(chat(&[report(1000, 0, 0), report(1000, 50, 600)]), (400, 50, 600, 0));
        assert_eq!(chat(&[report(1000, 50, 600), report(1000, 50, 0)]), (400, 50, 600, 0));
        let messages = |reports: &[Value]| {
            let mut counts = TokenCounts::default();
            for report in reports {
                counts.read_messages(&Object::parse(&report.to_string()).unwrap());
            }
            let Usage { input, output, cached, cache_write, .. } = counts.usage();
            (input, output, cached, cache_write)
        };
        let begins = json!({"input_tokens": 1000, "output_tokens": 1, "cache_read_input_tokens": 20});
        for (ends, expected) in [
            (json!({"output_tokens": 50}), (1000, 50, 20, 0)),
            (json!({"input_tokens": 0, "output_tokens": 50}), (1000, 50, 20, 0)),
            (json!({"input_tokens": 5, "output_tokens": 0, "cache_read_input_tokens": 0}), (1000, 1, 20, 0)),
            (json!({"input_tokens": 2000, "output_tokens": 50}), (2000, 50, 20, 0)),
            // The same tokens, told apart.
            (
                json!({"input_tokens": 20, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 400}),
                (20, 1, 600, 400),
            ),
        ] {
            assert_eq!(messages(&[begins.clone(), ends.clone()]), expected, "{ends}");
        }
    }
}
