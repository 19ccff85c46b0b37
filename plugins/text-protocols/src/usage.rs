//! Token counts, read from either protocol into counts that share no token.
//!
//! A chat provider's prompt includes the tokens read from a cache and written to one; a Messages provider
//! counts the three apart. A stream reports a count several times; the latest report counts.

use gatehouse_sdk::Usage;

use crate::json::{Object, Writer};

/// The counts reported so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenCounts {
    usage: Usage,
    reasoning: Option<u64>,
    reported: bool,
}

impl TokenCounts {
    /// Reads `usage` of a Messages provider, whole or in part.
    pub fn read_messages(&mut self, usage: &Object<'_>) {
        let fields = [
            ("input_tokens", &mut self.usage.input),
            ("output_tokens", &mut self.usage.output),
            ("cache_read_input_tokens", &mut self.usage.cached),
            ("cache_creation_input_tokens", &mut self.usage.cache_write),
        ];
        for (name, field) in fields {
            if let Some(count) = usage.unsigned(name) {
                *field = count;
                self.reported = true;
            }
        }
        let details = usage.object("output_tokens_details");
        self.reasoning = details.and_then(|it| it.unsigned("thinking_tokens")).or(self.reasoning);
    }

    /// Reads `usage` of a chat provider; whether it reported anything.
    pub fn read_chat(&mut self, usage: &Object<'_>) -> bool {
        let Some(counted) = of_chat(usage) else { return false };
        self.usage = counted;
        self.reported = true;
        true
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
        let Usage { input, output, cached, cache_write } = self.usage;
        let prompt = input.saturating_add(cached).saturating_add(cache_write);
        let mut out = Writer::new(192);
        out.member("prompt_tokens", &prompt.to_string());
        out.member("completion_tokens", &output.to_string());
        out.member("total_tokens", &prompt.saturating_add(output).to_string());
        let details = format!("{{\"cached_tokens\":{cached},\"cache_write_tokens\":{cache_write}}}");
        out.member("prompt_tokens_details", &details);
        let reasoning = self.reasoning.unwrap_or(0);
        out.member("completion_tokens_details", &format!("{{\"reasoning_tokens\":{reasoning}}}"));
        out.done()
    }
}

/// Reads `usage` of a chat provider. `None` when it has no count.
#[must_use]
pub fn of_chat(usage: &Object<'_>) -> Option<Usage> {
    let count = |object: &Option<Object<'_>>, name: &str| object.as_ref().and_then(|it| it.unsigned(name));
    let prompt = usage.unsigned("prompt_tokens");
    let completion = usage.unsigned("completion_tokens");
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let (prompt, mut output) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let details = usage.object("prompt_tokens_details");
    let cached = count(&details, "cached_tokens")
        // The names of DeepSeek and Moonshot.
        .or_else(|| usage.unsigned("prompt_cache_hit_tokens"))
        .or_else(|| usage.unsigned("cached_tokens"))
        .unwrap_or(0);
    let cache_write = count(&details, "cache_write_tokens").unwrap_or(0);
    // xAI does not count reasoning in `completion_tokens`; its total shows it.
    let reasoning = count(&usage.object("completion_tokens_details"), "reasoning_tokens").unwrap_or(0);
    let apart = prompt.saturating_add(output).saturating_add(reasoning);
    if reasoning > 0 && usage.unsigned("total_tokens") == Some(apart) {
        output = output.saturating_add(reasoning);
    }
    let cached = cached.min(prompt);
    let cache_write = cache_write.min(prompt - cached);
    Some(Usage { input: prompt - cached - cache_write, output, cached, cache_write })
}

/// `usage` of a chat provider with the counts it lacks, JSON; `None` where it has all three or none.
#[must_use]
pub fn completed(usage: &Object<'_>) -> Option<String> {
    const NAMES: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];
    let [prompt, completion, total] = NAMES.map(|name| usage.unsigned(name));
    of_chat(usage)?;
    if prompt.is_some() && completion.is_some() && total.is_some() {
        return None;
    }
    let rest = |known: Option<u64>| Some(total?.saturating_sub(known?));
    let prompt = prompt.or_else(|| rest(completion)).unwrap_or(0);
    let completion = completion.or_else(|| rest(Some(prompt))).unwrap_or(0);
    let total = total.unwrap_or_else(|| prompt.saturating_add(completion));
    let mut out = Writer::new(192);
    for (name, count) in NAMES.into_iter().zip([prompt, completion, total]) {
        out.member(name, &count.to_string());
    }
    for (name, raw) in usage.iter().filter(|(name, _)| !NAMES.contains(name)) {
        out.member(name, raw.get());
    }
    Some(out.done())
}

/// Drops counts that are all zero although the model wrote text: some providers send zeros.
#[must_use]
pub fn plausible(usage: Option<Usage>, output_bytes: u64) -> Option<Usage> {
    usage.filter(|usage| output_bytes == 0 || *usage != Usage::default())
}
