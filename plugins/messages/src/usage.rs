//! Tokens as providers count them, in counts that share no token.

use gatehouse_sdk::Usage;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What is known so far; the latest report of a count wins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    known: bool,
    usage: Usage,
}

/// `usage` of a message: the three counts of input are disjoint there already.
#[derive(Deserialize)]
struct OfMessages {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

/// `usage` of a chat completion: `prompt_tokens` includes what was cached.
#[derive(Deserialize)]
struct OfChat {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for what was read from a cache.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

/// `usage` as a client of Messages reads it in a stream.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Counts {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

/// The same in a whole answer.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct FullCounts {
    #[serde(flatten)]
    counts: Counts,
    cache_creation: Creation,
    service_tier: &'static str,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Creation {
    ephemeral_5m_input_tokens: u64,
    ephemeral_1h_input_tokens: u64,
}

impl Tally {
    /// Takes in a message's `usage`, whole or in part. What does not read counts as not reported.
    pub(crate) fn messages(&mut self, raw: &RawValue) {
        let Ok(Some(told)) = serde_json::from_str::<Option<OfMessages>>(raw.get()) else { return };
        let fields = [
            (told.input_tokens, &mut self.usage.input),
            (told.output_tokens, &mut self.usage.output),
            (told.cache_read_input_tokens, &mut self.usage.cached),
            (told.cache_creation_input_tokens, &mut self.usage.cache_write),
        ];
        for (told, known) in fields {
            if let Some(count) = told {
                *known = count;
                self.known = true;
            }
        }
    }

    /// Takes in a chat completion's `usage`; says whether it reported anything.
    pub(crate) fn chat(&mut self, raw: &RawValue) -> bool {
        let Ok(Some(told)) = serde_json::from_str::<Option<OfChat>>(raw.get()) else { return false };
        let (Some(prompt), Some(output)) = (told.prompt_tokens, told.completion_tokens) else { return false };
        let details = told.prompt_tokens_details.unwrap_or_default();
        let cached = details.cached_tokens.or(told.prompt_cache_hit_tokens).unwrap_or(0).min(prompt);
        let cache_write = details.cache_write_tokens.unwrap_or(0).min(prompt - cached);
        self.known = true;
        self.usage = Usage { input: prompt - cached - cache_write, output, cached, cache_write };
        true
    }

    /// For the host: nothing where the provider has said nothing.
    pub(crate) fn reported(&self) -> Option<Usage> {
        self.known.then_some(self.usage)
    }

    /// For the client, who must be given numbers: zeros where nothing is known.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            input_tokens: self.usage.input,
            cache_creation_input_tokens: self.usage.cache_write,
            cache_read_input_tokens: self.usage.cached,
            output_tokens: self.usage.output,
        }
    }

    /// The full structure, for a whole answer.
    pub(crate) fn full(&self) -> FullCounts {
        FullCounts {
            counts: self.counts(),
            cache_creation: Creation {
                ephemeral_5m_input_tokens: self.usage.cache_write,
                ephemeral_1h_input_tokens: 0,
            },
            service_tier: "standard",
        }
    }
}
