//! Tokens, as either protocol counts them, and as this one writes them.
//!
//! A chat provider's prompt includes what came from a cache or went into one; a messages provider counts the
//! three apart. Counts are kept as they come and the latest of each field stands.

use gatehouse_sdk::Usage;

use crate::json::{Object, Writer};

/// What a chat provider counted. `None` when it counted nothing.
pub(crate) fn of_chat(usage: &Object<'_>) -> Option<Usage> {
    let told = |object: &Option<Object<'_>>, name: &str| object.as_ref().and_then(|it| it.count_in(name));
    let prompt = usage.count_in("prompt_tokens");
    let written = usage.count_in("completion_tokens");
    if prompt.is_none() && written.is_none() {
        return None;
    }
    let (prompt, mut output) = (prompt.unwrap_or(0), written.unwrap_or(0));
    let details = usage.object("prompt_tokens_details");
    let cached = told(&details, "cached_tokens")
        // DeepSeek's and Moonshot's names of it.
        .or_else(|| usage.count_in("prompt_cache_hit_tokens"))
        .or_else(|| usage.count_in("cached_tokens"))
        .unwrap_or(0);
    let cache_write = told(&details, "cache_write_tokens").unwrap_or(0);
    // xAI leaves thinking out of what was written, and shows so by its total.
    let reasoning = told(&usage.object("completion_tokens_details"), "reasoning_tokens").unwrap_or(0);
    let apart = prompt.saturating_add(output).saturating_add(reasoning);
    if reasoning > 0 && usage.count_in("total_tokens") == Some(apart) {
        output = output.saturating_add(reasoning);
    }
    let cached = cached.min(prompt);
    let cache_write = cache_write.min(prompt - cached);
    Some(Usage { input: prompt - cached - cache_write, output, cached, cache_write })
}

/// A count of nothing at all, although something was written, is no count: some clones send zeros.
pub(crate) fn believable(usage: Option<Usage>, written: u64) -> Option<Usage> {
    usage.filter(|usage| written == 0 || *usage != Usage::default())
}

/// What a messages provider counted so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    usage: Usage,
    thinking: Option<u64>,
    told: bool,
}

impl Counted {
    /// Takes a `usage` object in: the latest of each field stands.
    pub(crate) fn take(&mut self, usage: &Object<'_>) {
        let slots = [
            ("input_tokens", &mut self.usage.input),
            ("output_tokens", &mut self.usage.output),
            ("cache_read_input_tokens", &mut self.usage.cached),
            ("cache_creation_input_tokens", &mut self.usage.cache_write),
        ];
        for (name, slot) in slots {
            if let Some(count) = usage.count_in(name) {
                *slot = count;
                self.told = true;
            }
        }
        let details = usage.object("output_tokens_details");
        self.thinking = details.and_then(|it| it.count_in("thinking_tokens")).or(self.thinking);
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.told.then_some(self.usage)
    }

    /// The same as a chat client reads it.
    pub(crate) fn written(&self) -> String {
        let Usage { input, output, cached, cache_write } = self.usage;
        let prompt = input.saturating_add(cached).saturating_add(cache_write);
        let mut out = Writer::new(192);
        out.member("prompt_tokens", &prompt.to_string());
        out.member("completion_tokens", &output.to_string());
        out.member("total_tokens", &prompt.saturating_add(output).to_string());
        let details = format!("{{\"cached_tokens\":{cached},\"cache_write_tokens\":{cache_write}}}");
        out.member("prompt_tokens_details", &details);
        let thinking = self.thinking.unwrap_or(0);
        out.member("completion_tokens_details", &format!("{{\"reasoning_tokens\":{thinking}}}"));
        out.done()
    }
}

/// A stop reason of the messages protocol in this one's words; unknown ones are newer than this file.
pub(crate) fn finish(stop: &str) -> &'static str {
    match stop {
        "max_tokens" | "model_context_window_exceeded" => "length",
        "tool_use" => "tool_calls",
        "refusal" => "content_filter",
        _ => "stop",
    }
}
