//! Counts of every spelling, place and form, and of streams that say them several times.

use serde_json::{Value, json};

use super::*;

fn chat(completions: &[Value]) -> (u64, u64, u64, u64) {
    let mut counts = TokenCounts::default();
    for completion in completions {
        let json = completion.to_string();
        for report in chat_reports(&Object::parse(&json).unwrap()) {
            counts.read_chat(&report);
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
        (json!({"usage": {"prompt_eval_count": 1000, "eval_count": 100}}), (1000, 100, 0, 0)),
        (
            json!({"usage": {"billed_units": {"input_tokens": 1000, "output_tokens": 100},
                "tokens": {"input_tokens": 1070, "output_tokens": 101}}}),
            (1000, 100, 0, 0),
        ),
        (json!({"usage": {"tokens": {"input_tokens": 1000, "output_tokens": 100}}}), (1000, 100, 0, 0)),
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
    for nothing in [json!({}), json!({"usage": {}}), json!({"usage": 3, "x_groq": 3, "choices": "usage"})] {
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
        (vec![begins.clone(), json!({"type": "ping", "usage": {"output_tokens": 5}})], (10, 5, 0)),
        (
            vec![json!({"type": "message", "metadata": {"usage": {"input_tokens": 10, "output_tokens": 5}}})],
            (10, 5, 0),
        ),
        (
            vec![json!({"type": "message", "message": {"usage": {"input_tokens": 10, "output_tokens": 5}}})],
            (10, 5, 0),
        ),
        (
            vec![
                json!({"type": "message", "content": [], BEDROCK_METRICS: {"inputTokenCount": 10, "outputTokenCount": 5}}),
            ],
            (10, 5, 0),
        ),
        (
            vec![
                json!({"type": "message", "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}}),
            ],
            (10, 5, 0),
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
