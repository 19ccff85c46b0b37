//! Google's token counts as those of a Messages answer, which share no token.

use gatehouse_text_protocols::json::{Object, Writer};
use serde::{Deserialize, Deserializer};

/// `usageMetadata`. What the prompt took from a cache is in its count; what the model thought is not in that of its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsageMetadata {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    /// Tokens of the answer without its thoughts.
    pub(crate) candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    total_token_count: Option<u64>,
    /// Of the prompt and of the answer, those of sounds.
    prompt_audio: Option<u64>,
    candidates_audio: Option<u64>,
}

impl<'de> Deserialize<'de> for UsageMetadata {
    /// A count of a form that nobody can read is as none: the answer is worth more.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let counts = Object::deserialize(deserializer)?;
        let count = |camel: &str, snake: &str| counts.count(camel).or_else(|| counts.count(snake));
        Ok(Self {
            prompt_token_count: count("promptTokenCount", "prompt_token_count"),
            cached_content_token_count: count("cachedContentTokenCount", "cached_content_token_count"),
            candidates_token_count: count("candidatesTokenCount", "candidates_token_count"),
            thoughts_token_count: count("thoughtsTokenCount", "thoughts_token_count"),
            tool_use_prompt_token_count: count("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
            total_token_count: count("totalTokenCount", "total_token_count"),
            prompt_audio: audio(&counts, "promptTokensDetails", "prompt_tokens_details"),
            candidates_audio: audio(&counts, "candidatesTokensDetails", "candidates_tokens_details"),
        })
    }
}

/// Tokens of sounds in a list of counts by modality.
fn audio(counts: &Object<'_>, camel: &str, snake: &str) -> Option<u64> {
    let listed = counts.items(camel).or_else(|| counts.items(snake))?;
    let all = listed.into_iter().filter_map(|raw| Object::parse(raw.get()));
    let sounds =
        all.filter(|one| one.text("modality").is_some_and(|kind| kind.eq_ignore_ascii_case("audio")));
    sounds.filter_map(|one| one.count("tokenCount").or_else(|| one.count("token_count"))).max()
}

impl UsageMetadata {
    /// With what another report of the same stream has more of: a later one may leave out what an earlier one had.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            prompt_token_count: self.prompt_token_count.max(other.prompt_token_count),
            cached_content_token_count: self.cached_content_token_count.max(other.cached_content_token_count),
            candidates_token_count: self.candidates_token_count.max(other.candidates_token_count),
            thoughts_token_count: self.thoughts_token_count.max(other.thoughts_token_count),
            tool_use_prompt_token_count: self
                .tool_use_prompt_token_count
                .max(other.tool_use_prompt_token_count),
            total_token_count: self.total_token_count.max(other.total_token_count),
            prompt_audio: self.prompt_audio.max(other.prompt_audio),
            candidates_audio: self.candidates_audio.max(other.candidates_audio),
        }
    }

    /// With that many tokens of the answer without its thoughts, at least.
    pub(crate) fn with_candidates(self, tokens: u64) -> Self {
        Self { candidates_token_count: self.candidates_token_count.max(Some(tokens)), ..self }
    }

    /// `usage` of a Messages answer.
    pub(crate) fn json(&self) -> String {
        let count = |count: Option<u64>| count.unwrap_or_default();
        let prompt = count(self.prompt_token_count).saturating_add(count(self.tool_use_prompt_token_count));
        let cached = count(self.cached_content_token_count);
        // A cache that had more than the prompt was counted beside it.
        let input = prompt.checked_sub(cached).unwrap_or(prompt);
        let thoughts = count(self.thoughts_token_count);
        let told = count(self.candidates_token_count).saturating_add(thoughts);
        // What is in no other count was written. A total alone says nothing of what was read.
        let read = input.saturating_add(cached);
        let rest = self.total_token_count.filter(|_| read > 0).map_or(0, |total| total.saturating_sub(read));
        let output = told.max(rest);
        let mut out = Writer::new(192);
        out.member("input_tokens", &input.to_string());
        out.member("cache_creation_input_tokens", "0");
        out.member("cache_read_input_tokens", &cached.to_string());
        out.member("output_tokens", &output.to_string());
        for (name, parts) in [
            ("input_tokens_details", [("audio_tokens", count(self.prompt_audio)), ("", 0)]),
            (
                "output_tokens_details",
                [("thinking_tokens", thoughts), ("audio_tokens", count(self.candidates_audio))],
            ),
        ] {
            let mut details = Writer::new(48);
            for (part, tokens) in parts.into_iter().filter(|(_, tokens)| *tokens > 0) {
                details.member(part, &tokens.to_string());
            }
            let details = details.done();
            if details != "{}" {
                out.member(name, &details);
            }
        }
        out.done()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Without it cached tokens are paid twice, or thoughts not at all.
    #[test]
    fn every_token_is_counted_once() {
        for (reported, expected) in [
            (json!({}), [0, 0, 0]),
            (json!({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}), [10, 0, 5]),
            (
                json!({"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 5,
                    "thoughtsTokenCount": 7, "toolUsePromptTokenCount": 3}),
                [23, 80, 12],
            ),
            (json!({"promptTokenCount": 1, "cachedContentTokenCount": 9}), [1, 9, 0]),
            (json!({"prompt_token_count": 10, "candidates_token_count": 5}), [10, 0, 5]),
            (json!({"promptTokenCount": "10", "candidatesTokenCount": 5.0}), [10, 0, 5]),
            (json!({"promptTokenCount": 10, "thoughtsTokenCount": 3, "totalTokenCount": 18}), [10, 0, 8]),
            (json!({"totalTokenCount": 18}), [0, 0, 0]),
            (
                json!({"promptTokenCount": -10, "candidatesTokenCount": 5, "thoughtsTokenCount": 1e300}),
                [0, 0, 5],
            ),
        ] {
            let usage: UsageMetadata = serde_json::from_str(&reported.to_string()).expect("counts");
            assert_eq!(usage.with(usage), usage);
            let json: Value = serde_json::from_str(&usage.json()).expect("JSON");
            let counts = ["input_tokens", "cache_read_input_tokens", "output_tokens"]
                .map(|name| json[name].as_u64().expect("a count"));
            assert_eq!(counts, expected, "{reported}");
        }
    }

    /// Without it an operator who pays more for sound charges it as text.
    #[test]
    fn sounds_are_told_apart() {
        let details =
            |name: &str| json!([{"modality": "TEXT", "tokenCount": 3}, {"modality": name, "tokenCount": 7}]);
        let reported = json!({"promptTokenCount": 10, "candidatesTokenCount": 10, "thoughtsTokenCount": 2,
            "promptTokensDetails": details("AUDIO"), "candidates_tokens_details": details("audio")});
        let usage: UsageMetadata = serde_json::from_str(&reported.to_string()).expect("counts");
        let json: Value = serde_json::from_str(&usage.json()).expect("JSON");
        assert_eq!(json["input_tokens_details"], json!({"audio_tokens": 7}));
        assert_eq!(json["output_tokens_details"], json!({"thinking_tokens": 2, "audio_tokens": 7}));
    }
}
