//! Token counts, read from either protocol into counts that share no token.
//!
//! A chat provider's prompt includes the tokens read from a cache and written to one; a Messages provider
//! counts the three apart. A stream reports its counts several times, and they only grow: a smaller one that comes later
//! says less, not that less was read or written.

use gatehouse_sdk::{Answered, Counter, Usage};

use crate::json::{Object, Raw, Writer};

/// The counts that every chat client reads.
const CHAT_COUNTS: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];

/// What was read, with what came from a cache: most servers, some SDKs, Gemini, Ollama.
const PROMPTS: [&str; 5] =
    ["prompt_tokens", "promptTokens", "promptTokenCount", "prompt_token_count", "prompt_eval_count"];
/// What was read, where the names of a cache say whether it is in it.
const INPUTS: [&str; 3] = ["input_tokens", "inputTokens", "inputTokenCount"];
const COMPLETIONS: [&str; 9] = [
    "completion_tokens",
    "output_tokens",
    "completionTokens",
    "outputTokens",
    "outputTokenCount",
    "candidatesTokenCount",
    "candidates_token_count",
    // TGI, Ollama.
    "generated_tokens",
    "eval_count",
];
/// Where Cohere has its counts: as they are billed, and as they were read.
const DEEPER: [&str; 2] = ["billed_units", "tokens"];
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
    /// Searches of the web that the provider made.
    searches: u64,
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

    /// Reads every count in a Messages provider's message, or in an event of its stream, wherever it stands.
    pub fn read_event(&mut self, event: &Object<'_>) {
        let inner = |name: &str| event.object(name).and_then(|inner| inner.object("usage"));
        let reports = REPORTS.iter().map(|name| event.object(name));
        for usage in reports.chain(["message", "delta", "metadata"].map(inner)).flatten() {
            self.read_messages(&usage);
        }
        let is_whole = event.text("type").as_deref() == Some("message");
        let is_beginning = !is_whole && event.object("message").is_some();
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
        let audio = |name: &str| usage.object(name).and_then(|it| it.count("audio_tokens")).unwrap_or(0);
        self.chat.input_audio = self.chat.input_audio.max(audio("input_tokens_details"));
        self.chat.output_audio = self.chat.output_audio.max(audio("output_tokens_details"));
        let server_tools = usage.object("server_tool_use");
        let searches = server_tools.and_then(|it| it.count("web_search_requests"));
        self.searches = self.searches.max(searches.unwrap_or(0));
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

    /// For the host: what of the counts has a name of its own, which an operator may give a price. Tokens among them are tokens of
    /// [`Self::reported`] too; [`apart`] tells both without counting one twice.
    #[must_use]
    pub fn counters(&self) -> Vec<Counter> {
        let ChatCounts { input_audio, output_audio, searches, .. } = self.chat;
        [
            (INPUT_AUDIO, input_audio),
            (OUTPUT_AUDIO, output_audio),
            (OUTPUT_REASONING, self.reasoning),
            (SEARCHES, searches.max(self.searches)),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
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

/// The counts that have names of their own.
const INPUT_AUDIO: &str = "input-audio";
const OUTPUT_AUDIO: &str = "output-audio";
const OUTPUT_REASONING: &str = "output-reasoning";
const SEARCHES: &str = "searches";

/// Counts and counters as the contract has them: no token is in two of them. A counter of more than its tokens has those.
#[must_use]
pub fn apart(mut usage: Usage, mut counters: Vec<Counter>) -> (Usage, Vec<Counter>) {
    for (name, count) in &mut counters {
        let tokens = match name.as_str() {
            INPUT_AUDIO => &mut usage.input,
            OUTPUT_AUDIO | OUTPUT_REASONING => &mut usage.output,
            _ => continue,
        };
        *count = (*count).min(*tokens);
        *tokens -= *count;
    }
    counters.retain(|(_, count)| *count > 0);
    (usage, counters)
}

/// An answer with its counts as [`apart`] has them.
#[must_use]
pub fn told(answered: Answered) -> Answered {
    let Some(usage) = answered.usage else { return answered };
    let (usage, counters) = apart(usage, answered.counters);
    Answered { usage: Some(usage), counters, ..answered }
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
    input_audio: u64,
    output_audio: u64,
    searches: u64,
    /// All of them, where nothing else is counted.
    total: u64,
}

impl ChatCounts {
    /// `None` when it has no count.
    fn read(usage: &Object<'_>) -> Option<Self> {
        let mut names = PROMPTS.iter().chain(&INPUTS).chain(&COMPLETIONS);
        let is_deeper = !names.any(|name| usage.get(name).is_some());
        let deeper = DEEPER.iter().filter(|_| is_deeper).find_map(|name| usage.object(name));
        let usage = deeper.as_ref().unwrap_or(usage);
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
        let cached = most(&read, &["cached_tokens", "cache_read_tokens"])
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
        const AUDIO: [&str; 2] = ["audio_tokens", "audioTokens"];
        const SEARCHED: [&str; 3] = ["num_search_queries", "web_search_requests", "search_queries"];
        let server_tools = usage.object("server_tool_use").unwrap_or_default();
        Some(Self {
            prompt,
            completion,
            cached,
            cache_write,
            cache_write_hour: hour,
            reasoning,
            input_audio: most(&read, &AUDIO),
            output_audio: most(&written, &AUDIO),
            searches: most(usage, &SEARCHED).max(most(&server_tools, &SEARCHED)),
            total: 0,
        })
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
            input_audio: self.input_audio.max(other.input_audio),
            output_audio: self.output_audio.max(other.output_audio),
            searches: self.searches.max(other.searches),
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

/// `usage` of a chat provider with the counts it lacks and without those below 0, JSON; `None` where it has all three or none.
#[must_use]
pub fn completed(usage: &Object<'_>) -> Option<String> {
    if CHAT_COUNTS.iter().all(|name| usage.unsigned(name).is_some()) && !is_below_zero(usage) {
        return None;
    }
    let ChatCounts { prompt, completion, .. } = ChatCounts::read(usage).filter(|counts| !counts.is_sum())?;
    let total = usage.count("total_tokens").unwrap_or(0).max(prompt.saturating_add(completion));
    let mut out = Writer::new(192);
    for (name, count) in CHAT_COUNTS.into_iter().zip([prompt, completion, total]) {
        out.member(name, &count.to_string());
    }
    for (name, raw) in usage.iter().filter(|(name, _)| !CHAT_COUNTS.contains(name)) {
        out.member(name, not_below_zero(raw).as_deref().unwrap_or_else(|| raw.get()));
    }
    Some(out.done())
}

/// Whether something of a `usage` is counted below 0.
#[must_use]
pub fn is_below_zero(usage: &Object<'_>) -> bool {
    usage.iter().any(|(_, raw)| not_below_zero(raw).is_some())
}

/// A count below 0, or an object with one, with 0 in its place, JSON; `None` for any other value.
fn not_below_zero(raw: Raw<'_>) -> Option<String> {
    if raw.get().starts_with('-') {
        return Some("0".to_owned());
    }
    let object =
        Object::parse(raw.get()).filter(|_| raw.get().contains(":-") || raw.get().contains(": -"))?;
    let mut out = Writer::new(raw.get().len());
    for (name, raw) in object.iter() {
        out.member(name, if raw.get().starts_with('-') { "0" } else { raw.get() });
    }
    Some(out.done())
}

/// Whether `usage` of a chat provider has counts, but none that can be one.
#[must_use]
pub fn is_senseless(usage: &Object<'_>) -> bool {
    ChatCounts::read(usage).is_none() && CHAT_COUNTS.iter().any(|name| usage.get(name).is_some())
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
mod tests;
