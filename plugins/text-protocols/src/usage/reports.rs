//! What a chat provider reports, in every spelling and place that servers have for it, and as its clients read it.
//!
//! Names are compared without their case and underscores: one server writes `prompt_tokens`, another `promptTokens`, and those
//! written in Go or Java `PromptTokens`.

use gatehouse_sdk::Usage;

use super::TokenCounts;
use crate::json::{Object, Raw, Writer, count, is_null};

/// The counts that every chat client reads.
const CHAT_COUNTS: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];

/// The names of a report.
pub(super) const NAMES: [&str; 3] = ["usage", "usageMetadata", "usage_metadata"];

/// What was read, with what came from a cache: most servers, Gemini, Ollama.
const PROMPTS: [&str; 3] = ["prompttokens", "prompttokencount", "promptevalcount"];
/// What was read, where the names of a cache say whether it is in it; the last of llama.cpp's timings.
const INPUTS: [&str; 3] = ["inputtokens", "inputtokencount", "promptn"];
/// What was written; the last of TGI, Ollama and llama.cpp's timings.
const COMPLETIONS: [&str; 9] = [
    "completiontokens",
    "outputtokens",
    "completiontokencount",
    "outputtokencount",
    "candidatestokencount",
    "generatedtokens",
    "generatedtokencount",
    "evalcount",
    "predictedn",
];
const TOTALS: [&str; 2] = ["totaltokens", "totaltokencount"];
/// Where Cohere has its counts: as they are billed, and as they were read.
const DEEPER: [&str; 2] = ["billedunits", "tokens"];
/// Parts of what was read, and of what was written.
const READ_DETAILS: [&str; 3] = ["prompttokensdetails", "inputtokensdetails", "inputtokendetails"];
const WRITTEN_DETAILS: [&str; 3] = ["completiontokensdetails", "outputtokensdetails", "outputtokendetails"];
/// What came from a cache and is in the prompt.
const CACHED: [&str; 5] =
    ["cachedtokens", "cachereadtokens", "cachedcontenttokencount", "cachedinputtokens", "cachedprompttokens"];
/// What came from a cache and is counted beside [`INPUTS`]: Messages, Bedrock, llama.cpp.
const CACHED_BESIDE: [&str; 4] =
    ["cachereadinputtokens", "cachereadinputtokencount", "cachereadinputtokenscount", "cachen"];
const WRITES: [&str; 6] = [
    "cachewritetokens",
    "cachecreationinputtokens",
    "cachecreationtokens",
    "cachewriteinputtokens",
    "cachewriteinputtokencount",
    "cachewriteinputtokenscount",
];
const REASONING: [&str; 4] =
    ["reasoningtokens", "thinkingtokens", "thoughtstokencount", "reasoningtokencount"];
const AUDIO: [&str; 1] = ["audiotokens"];
const SEARCHES: [&str; 3] = ["numsearchqueries", "websearchrequests", "searchqueries"];
/// DeepSeek counts what its cache had and what it had not, Perplexity what it cites, and others what their tools did.
const OTHERS: [&str; 4] =
    ["promptcachehittokens", "promptcachemisstokens", "citationtokens", "servertooluse"];

/// What a `usage` says of the counts so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It has them all.
    All,
    /// Another one had more of something.
    Less,
}

/// Whether a completion or a chunk may have a report: most chunks have none.
#[must_use]
pub fn may_report(json: &str) -> bool {
    ["\"usage", "\"timings\"", "\"meta\""].iter().any(|name| json.contains(name))
}

/// A report of a chat provider that has counts.
#[derive(Debug)]
pub struct ChatReport<'a> {
    /// As it is written.
    pub raw: Raw<'a>,
    fields: Object<'a>,
    pub(super) counts: ChatCounts,
}

/// Every report in a completion or a chunk: in its own place, in Groq's extension, or in a choice, as Moonshot's streams have it,
/// or in its message; Cohere's, and that of older llama.cpp servers, where there is no other.
#[must_use]
pub fn chat_reports<'a>(completion: &Object<'a>) -> Vec<ChatReport<'a>> {
    let mut found: Vec<Raw<'a>> = NAMES.iter().filter_map(|name| completion.get(name)).collect();
    let inner = ["metadata", "x_groq"].into_iter().filter_map(|name| completion.object(name));
    found.extend(inner.filter_map(|inner| inner.get(NAMES[0])));
    let choices = completion.get("choices").filter(|raw| raw.get().contains("\"usage\""));
    for choice in choices.and_then(crate::json::items).unwrap_or_default() {
        let Some(choice) = Object::parse(choice.get()) else { continue };
        found.extend(choice.get(NAMES[0]));
        let inner = ["delta", "message"].into_iter().filter_map(|name| choice.object(name));
        found.extend(inner.filter_map(|inner| inner.get(NAMES[0])));
    }
    if found.is_empty() {
        found.extend(["meta", "timings"].into_iter().filter_map(|name| completion.get(name)));
    }
    found.into_iter().filter_map(ChatReport::read).collect()
}

/// All names of counts, and of what has some.
const KNOWN: [&[&str]; 14] = [
    &PROMPTS,
    &INPUTS,
    &COMPLETIONS,
    &TOTALS,
    &DEEPER,
    &READ_DETAILS,
    &WRITTEN_DETAILS,
    &CACHED,
    &CACHED_BESIDE,
    &WRITES,
    &REASONING,
    &AUDIO,
    &SEARCHES,
    &OTHERS,
];
/// More letters than any of them has.
const MOST_LETTERS: usize = 32;

/// The members of a report under their names here, whatever their spelling is.
struct Members<'a>(Vec<(&'static str, Raw<'a>)>);

impl<'a> Members<'a> {
    fn of(report: &Object<'a>) -> Self {
        let members = report.iter().filter(|(_, raw)| !is_null(raw));
        Self(members.filter_map(|(name, raw)| Some((known(name)?, raw))).collect())
    }

    fn get(&self, name: &str) -> Option<Raw<'a>> {
        self.0.iter().rfind(|(known, _)| *known == name).map(|(_, raw)| *raw)
    }

    fn has(&self, names: &[&str]) -> bool {
        self.0.iter().any(|(known, _)| names.contains(known))
    }

    /// The first of these that is a count.
    fn first(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| count(self.get(name)?))
    }

    /// The greatest of these.
    fn most(&self, names: &[&str]) -> u64 {
        names.iter().filter_map(|name| count(self.get(name)?)).max().unwrap_or(0)
    }

    fn object(&self, names: &[&str]) -> Option<Object<'a>> {
        names.iter().find_map(|name| Object::parse(self.get(name)?.get()))
    }

    fn members(&self, names: &[&str]) -> Self {
        self.object(names).map_or(Self(Vec::new()), |object| Self::of(&object))
    }
}

/// The name that a member's is a spelling of.
fn known(name: &str) -> Option<&'static str> {
    let (mut letters, mut length) = ([0; MOST_LETTERS], 0);
    for letter in name.bytes().filter(u8::is_ascii_alphanumeric) {
        *letters.get_mut(length)? = letter.to_ascii_lowercase();
        length += 1;
    }
    KNOWN.into_iter().flatten().copied().find(|known| known.as_bytes() == &letters[..length])
}

/// Whether a report counts what was written, by itself or in a sum.
pub(super) fn says_output(usage: &Object<'_>) -> bool {
    let usage = Members::of(usage);
    usage.has(&COMPLETIONS) || usage.has(&TOTALS)
}

/// The sum of a report's counts; 0 where it has none.
pub(super) fn total(usage: &Object<'_>) -> u64 {
    Members::of(usage).first(&TOTALS).unwrap_or(0)
}

/// One report of a chat provider, or the greatest counts of several: the prompt with what came from a cache or went into
/// one, the completion with its reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChatCounts {
    pub(super) prompt: u64,
    pub(super) completion: u64,
    cached: u64,
    cache_write: u64,
    cache_write_hour: u64,
    pub(super) reasoning: u64,
    pub(super) input_audio: u64,
    pub(super) output_audio: u64,
    pub(super) searches: u64,
    /// All of them, where nothing else is counted.
    pub(super) total: u64,
}

fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part))
}

impl ChatCounts {
    /// `None` when it has no count.
    pub(super) fn read(usage: &Object<'_>) -> Option<Self> {
        let given = Members::of(usage);
        let is_deeper = ![&PROMPTS[..], &INPUTS, &COMPLETIONS].iter().any(|names| given.has(names));
        let deeper = DEEPER.iter().filter(|_| is_deeper).find_map(|name| given.object(&[name]));
        let inner = deeper.as_ref().map(Members::of);
        let (object, usage) = (deeper.as_ref().unwrap_or(usage), inner.unwrap_or(given));
        let read = usage.object(&READ_DETAILS).unwrap_or_default();
        let (parts, written) = (Members::of(&read), usage.members(&WRITTEN_DETAILS));
        let (hit, miss) = (usage.first(&OTHERS[..1]), usage.first(&OTHERS[1..2]));
        let halves = (hit.is_some() || miss.is_some()).then(|| sum(&[hit.unwrap_or(0), miss.unwrap_or(0)]));
        let named = usage.first(&PROMPTS);
        let (completion, total) = (usage.first(&COMPLETIONS), usage.first(&TOTALS));
        let prompt = named.or_else(|| usage.first(&INPUTS)).max(halves);
        // Something was read: no count of it is meant where the total has more.
        let is_nothing = prompt == Some(0) && total.is_some_and(|total| total > completion.unwrap_or(0));
        let prompt = prompt.filter(|_| !is_nothing);
        if prompt.is_none() && completion.is_none() {
            return total.filter(|total| *total > 0).map(|total| Self { total, ..Self::default() });
        }
        let has_both = prompt.is_some() && completion.is_some();
        let rest = |known: Option<u64>| Some(total?.saturating_sub(known?));
        let (prompt, completion) = (prompt.or_else(|| rest(completion)), completion.or_else(|| rest(prompt)));
        let (mut prompt, mut completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
        let beside = usage.most(&CACHED_BESIDE);
        let is_beside = usage.has(&CACHED_BESIDE);
        let cached = parts.most(&CACHED).max(usage.most(&CACHED)).max(beside).max(hit.unwrap_or(0));
        let (minutes, hour) = cache_writes(object);
        let (minutes, hour) = (minutes.max(cache_writes(&read).0), hour.max(cache_writes(&read).1));
        let cache_write = parts.most(&WRITES).max(usage.most(&WRITES)).max(sum(&[minutes, hour]));
        let (inside, beside_it) = (written.most(&REASONING), usage.most(&REASONING));
        let reasoning = inside.max(beside_it);
        // xAI does not count reasoning in `completion_tokens`; its total shows it, or that there is more of it. A part of the completion
        // that is more than that is a guess of its server, where the total has nothing else.
        let is_guess = beside_it < reasoning && total == Some(sum(&[prompt, completion]));
        let is_apart = (reasoning > completion && !is_guess)
            || (reasoning > 0 && total == Some(sum(&[prompt, completion, reasoning])));
        if is_apart {
            completion = completion.saturating_add(reasoning);
        }
        // Some count the prompt without its cache: the total shows it, or that the cache had more than the prompt, or the
        // names, which are those of Messages.
        let aside = sum(&[cached, cache_write]);
        let is_aside = aside > prompt
            || (!is_apart && total == Some(sum(&[prompt, aside, completion])))
            || (named.is_none() && halves.is_none() && is_beside);
        if is_aside {
            prompt = sum(&[prompt, aside]);
        }
        // Perplexity reads what it cites, and has it in no other count.
        prompt = sum(&[prompt, usage.most(&OTHERS[2..3])]);
        // Gemini counts its thinking in the total alone.
        if has_both {
            completion = completion.max(total.unwrap_or(0).saturating_sub(prompt));
        }
        let server_tools = usage.members(&OTHERS[3..]);
        Some(Self {
            prompt,
            completion,
            cached,
            cache_write,
            cache_write_hour: hour,
            reasoning,
            input_audio: parts.most(&AUDIO),
            output_audio: written.most(&AUDIO),
            searches: usage.most(&SEARCHES).max(server_tools.most(&SEARCHES)),
            total: 0,
        })
    }

    /// Whether there is only the sum of the counts.
    pub(super) fn is_sum(self) -> bool {
        self.total > 0 && self.prompt == 0 && self.completion == 0
    }

    /// The greater of each count.
    pub(super) fn greater(self, other: Self) -> Self {
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
    pub(super) fn usage(self) -> Usage {
        let Self { prompt, completion, cached, cache_write, cache_write_hour, .. } = self;
        let input = prompt.saturating_sub(cached).saturating_sub(cache_write);
        Usage { input, output: completion, cached, cache_write, cache_write_hour }
    }
}

/// What went into a cache for five minutes, and for an hour, where it is told apart.
pub(super) fn cache_writes(usage: &Object<'_>) -> (u64, u64) {
    let apart = usage.object("cache_creation").unwrap_or_default();
    let count = |name: &str| apart.count(name).unwrap_or(0);
    (count("ephemeral_5m_input_tokens"), count("ephemeral_1h_input_tokens"))
}

impl<'a> ChatReport<'a> {
    /// `None` where it has no count.
    #[must_use]
    pub fn read(raw: Raw<'a>) -> Option<Self> {
        let fields = Object::parse(raw.get())?;
        let counts = ChatCounts::read(&fields)?;
        Some(Self { raw, fields, counts })
    }

    /// The report as its client reads it, JSON: the counts that are paid, each a whole number. `None` where it is that already, or
    /// has a sum alone.
    #[must_use]
    pub fn completed(&self) -> Option<String> {
        if self.counts.is_sum() {
            return None;
        }
        if !CHAT_COUNTS.iter().any(|name| self.fields.get(name).is_some()) {
            let (usage, reasoning) = (self.counts.usage(), self.counts.reasoning);
            return Some(TokenCounts { usage, reasoning, ..TokenCounts::default() }.chat_json());
        }
        completed(&self.fields, self.counts)
    }
}

fn completed(usage: &Object<'_>, counts: ChatCounts) -> Option<String> {
    let ChatCounts { prompt, completion, cached, cache_write, reasoning, .. } = counts;
    let total = usage.count(CHAT_COUNTS[2]).unwrap_or(0).max(prompt.saturating_add(completion));
    let (mut out, mut has_changed) = (Writer::new(192), false);
    for (name, count) in CHAT_COUNTS.into_iter().zip([prompt, completion, total]) {
        let count = count.to_string();
        has_changed |= usage.get(name).is_none_or(|raw| raw.get() != count);
        out.member(name, &count);
    }
    let parts = [
        ("prompt_tokens_details", [("cached_tokens", cached), ("cache_write_tokens", cache_write)]),
        ("completion_tokens_details", [("reasoning_tokens", reasoning), ("", 0)]),
    ];
    let lacking =
        parts.iter().filter(|(name, parts)| usage.get(name).is_none() && parts.iter().any(|part| part.1 > 0));
    let lacking: Vec<_> = lacking.collect();
    let is_own = |name: &str| CHAT_COUNTS.contains(&name) || lacking.iter().any(|part| part.0 == name);
    for (name, raw) in usage.iter().filter(|(name, _)| !is_own(name)) {
        has_changed |= out.changed(name, raw, mended(name, raw).as_deref());
    }
    for (name, parts) in &lacking {
        has_changed = true;
        let known = parts.iter().filter(|(_, count)| *count > 0);
        let details = known.map(|(part, count)| format!("\"{part}\":{count}")).collect::<Vec<_>>().join(",");
        out.member(name, &format!("{{{details}}}"));
    }
    has_changed.then(|| out.done())
}

/// Whether something of a `usage` is no count that a client reads: one below 0, with a fraction, or in a text.
#[must_use]
pub fn is_odd(usage: &Object<'_>) -> bool {
    usage.iter().any(|(name, raw)| mended(name, raw).is_some())
}

/// A count, or an object with some, as whole numbers, JSON; `None` where that changes nothing.
fn mended(name: &str, raw: Raw<'_>) -> Option<String> {
    let Some(object) = Object::parse(raw.get()) else { return counted(name, raw) };
    if !object.iter().any(|(name, raw)| counted(name, raw).is_some()) {
        return None;
    }
    let mut out = Writer::new(raw.get().len());
    for (name, raw) in object.iter() {
        out.member(name, counted(name, raw).as_deref().unwrap_or_else(|| raw.get()));
    }
    Some(out.done())
}

fn counted(name: &str, raw: Raw<'_>) -> Option<String> {
    let json = raw.get();
    if json.starts_with('-') {
        return Some("0".to_owned());
    }
    let is_number = json.starts_with(|first: char| first.is_ascii_digit() || first == '"');
    let new = count(raw).unwrap_or(0).to_string();
    (name.ends_with("tokens") && is_number && new != json).then_some(new)
}
