//! Token counts, read from either protocol into counts that share no token.
//!
//! A chat provider's prompt includes the tokens read from a cache and written to one; a Messages provider
//! counts the three apart. A stream reports its counts several times, and they only grow: a smaller one that comes later
//! says less, not that less was read or written.

mod pieces;
mod reports;

use gatehouse_sdk::{Answered, Counter, Usage};

use crate::json::{Object, Writer};

pub use pieces::PieceCounts;
use reports::{ChatCounts, cache_writes};
pub use reports::{ChatReport, Report, chat_reports, is_odd, may_report};

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
    /// What the last report counted as written, until it is known whether its chunk has a text.
    last_written: Option<u64>,
    pieces: PieceCounts,
}

impl TokenCounts {
    /// Those of a chat provider's completion.
    #[must_use]
    pub fn of_completion(completion: &Object<'_>) -> Self {
        Self::of_reports(&chat_reports(completion))
    }

    /// The same, by its reports.
    #[must_use]
    pub fn of_reports(reports: &[ChatReport<'_>]) -> Self {
        let mut counts = Self::default();
        reports.iter().for_each(|report| _ = counts.read_chat(report));
        counts
    }

    /// Reads a chat provider's completion, or a chunk of one; whether it has a count.
    pub fn read_completion(&mut self, completion: &Object<'_>) -> bool {
        let reports = chat_reports(completion);
        reports.iter().for_each(|report| _ = self.read_chat(report));
        !reports.is_empty()
    }

    /// Reads every count in a Messages provider's message, or in an event of its stream, wherever it stands.
    pub fn read_event(&mut self, event: &Object<'_>) {
        let inner = |name: &str| event.object(name).and_then(|inner| inner.object("usage"));
        let reports = reports::NAMES.iter().map(|name| event.object(name));
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
                self.chat = self.chat.greater(counted);
                self.usage = greater(self.usage, self.chat.usage());
                self.reasoning = self.reasoning.max(counted.reasoning);
                self.reported = true;
                self.read_rest(counted.total);
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
            sum.usage = each(sum.usage, counts.usage, u64::saturating_add);
        }
        self.usage = greater(self.usage, sum.usage);
        self.read_rest(reports::total(usage));
    }

    /// Reads the sum of all counts: what it has beside those that are known is the one that is not, or was told too low.
    fn read_rest(&mut self, total: u64) {
        let read = prompt(&self.usage);
        if read > 0 {
            self.usage.output = self.usage.output.max(total.saturating_sub(read));
        } else if self.usage.output > 0 {
            self.usage.input = total.saturating_sub(self.usage.output);
        } else {
            self.chat.total = self.chat.total.max(total);
        }
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

    /// Reads a report of a chat provider; what it says of the counts so far.
    pub fn read_chat(&mut self, report: &ChatReport<'_>) -> Report {
        let counted = report.counts;
        self.last_written = self.last_written.max(Some(counted.completion));
        self.chat = self.chat.greater(counted);
        self.usage = self.chat.usage();
        self.reasoning = self.chat.reasoning;
        self.reported = true;
        if self.chat == counted { Report::All } else { Report::Less }
    }

    /// Whether the last chunk that was read has a report.
    #[must_use]
    pub fn is_reported_now(&self) -> bool {
        self.last_written.is_some()
    }

    /// The chunk that was read last has so many bytes of text.
    pub fn came_with(&mut self, bytes: u64) {
        if let Some(count) = self.last_written.take().filter(|_| bytes > 0) {
            self.pieces.add(count);
        }
    }

    /// The counts of an answer that has ended, with `written` bytes of text: of a sum alone its part, all of the pieces that were
    /// counted one by one, and no count of what was written where there is only that of the beginning.
    #[must_use]
    pub fn settled(mut self, written: u64) -> Self {
        let guess = written.div_ceil(USUAL_BYTES_PER_TOKEN);
        if self.is_sum() {
            self.chat.completion = guess.min(self.chat.total);
            self.chat.prompt = self.chat.total - self.chat.completion;
            self.usage = self.chat.usage();
        }
        let of_pieces = self.pieces.sum(written).unwrap_or(0);
        if of_pieces > self.chat.completion {
            self.chat.completion = of_pieces;
            self.usage = self.chat.usage();
        }
        if self.is_of_beginning && self.usage.output < guess {
            self.usage.output = 0;
        }
        self
    }

    /// Whether what was written is counted, after it was.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        (self.usage.output > 0 && !self.is_of_beginning) || self.is_sum()
    }

    /// Whether there is only the sum of the counts.
    #[must_use]
    pub fn is_sum(&self) -> bool {
        self.chat.is_sum() && self.usage == Usage::default()
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

/// Whether an event counts what was written.
fn says_output(event: &Object<'_>) -> bool {
    let places = [event.object("usage"), event.object("delta").and_then(|delta| delta.object("usage"))];
    places.iter().flatten().any(|usage| reports::says_output(usage)) || event.get(BEDROCK_METRICS).is_some()
}

/// Tokens read.
fn prompt(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cached).saturating_add(usage.cache_write)
}

/// The greater of each count.
fn greater(one: Usage, other: Usage) -> Usage {
    each(one, other, u64::max)
}

/// Joins the two values of each count.
fn each(one: Usage, other: Usage, join: fn(u64, u64) -> u64) -> Usage {
    Usage {
        input: join(one.input, other.input),
        output: join(one.output, other.output),
        cached: join(one.cached, other.cached),
        cache_write: join(one.cache_write, other.cache_write),
        cache_write_hour: join(one.cache_write_hour, other.cache_write_hour),
    }
}

/// Drops counts that are all zero although the model wrote text: some providers send zeros.
#[must_use]
pub fn plausible(usage: Option<Usage>, output_bytes: u64) -> Option<Usage> {
    usage.filter(|usage| output_bytes == 0 || *usage != Usage::default())
}

#[cfg(test)]
mod tests;
