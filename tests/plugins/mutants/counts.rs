//! Token counts as servers write them, in every place and spelling: the same bill for every client, whole and as a stream, and the
//! client reads what it pays.

use serde_json::{Value, json};

use super::client::Client;
use super::recorded::Provider;
use super::{Found, check_all};

/// Read beside a cache, read from one, written to one, and written by the model. `None` where the host has to guess.
type Told = Option<[u64; 4]>;

/// What is wrong with a bill, or with what the client reads of it.
fn wrong(found: &Found, told: Told) -> Option<String> {
    let Ok(heard) = found else { return Some(format!("{found:?}")) };
    let paid = heard.usage.map(|all| [all.input, all.cached, all.cache_write, all.output]);
    // Zeros are what the host guesses, too.
    let paid = paid.filter(|paid| *paid != [0; 4]);
    let shown = told.map(|[input, cached, new, output]| [input + cached + new, cached, output]);
    let is_shown = told.is_none() || heard.counts == shown;
    (paid != told || !is_shown || heard.text != "Hello").then(|| format!("{heard:?}"))
}

fn check(faults: &mut Vec<String>, provider: Provider, whole: &Value, events: &[Value], told: Told) {
    let (body, data) = (whole.to_string(), provider.data(events));
    // A client whose stream begins with the host's estimate reads that.
    let asks = |client: Client| {
        [("whole", client.whole(provider, &body)), ("stream", client.stream(provider, &data))]
    };
    check_all(faults, &format_args!("{whole}, {told:?}"), asks, |_, found| wrong(found, told));
}

/// A completion with these members beside its choices, and one with them in its choice, as answers and as streams.
fn completion(members: &Value) -> (Value, Vec<Value>) {
    let with = |body: Value, members: &Value| crate::over(body, members.clone());
    let choice = |name: &str, message: Value, reason: Value| json!({"index": 0, name: message, "finish_reason": reason});
    let head = json!({"id": "c", "created": 1, "model": "m"});
    let chunk =
        |choices: Value| with(head.clone(), &json!({"object": "chat.completion.chunk", "choices": choices}));
    let said = json!({"role": "assistant", "content": "Hello"});
    let mut whole = with(
        head.clone(),
        &json!({"object": "chat.completion", "choices": [choice("message", said.clone(), json!("stop"))]}),
    );
    let mut last = chunk(json!([]));
    match members.get("choice") {
        Some(inner) => {
            whole["choices"][0] = with(whole["choices"][0].clone(), inner);
            last["choices"] = json!([with(choice("delta", json!({}), json!("stop")), inner)]);
        }
        None => (whole, last) = (with(whole, members), with(last, members)),
    }
    let begun = chunk(json!([choice("delta", said, Value::Null)]));
    (whole, vec![begun, chunk(json!([choice("delta", json!({}), json!("stop"))])), last])
}

/// Without it a provider's answer is charged by a guess, a part of it twice or not at all, or its client cannot read the counts.
#[test]
fn a_chat_providers_counts_are_paid_and_shown() {
    let mut faults = Vec::new();
    let of_usage = [
        // Together, Fireworks, vLLM; OpenRouter with what it cost.
        (json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}), Some([100, 0, 0, 20])),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cost": 0.00014, "is_byok": false,
                "cost_details": {"upstream_inference_cost": null}, "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 10}}),
            Some([60, 30, 10, 20]),
        ),
        // DeepSeek, as one text of digits each.
        (
            json!({"prompt_tokens": "100", "completion_tokens": "20", "total_tokens": "120", "prompt_cache_hit_tokens": "30",
                "prompt_cache_miss_tokens": "70"}),
            Some([70, 30, 0, 20]),
        ),
        // Moonshot.
        (
            json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cached_tokens": 30}),
            Some([70, 30, 0, 20]),
        ),
        // xAI counts its reasoning beside the completion, Perplexity what it cites, too.
        (
            json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 180, "prompt_tokens_details": {"cached_tokens": 30},
                "completion_tokens_details": {"reasoning_tokens": 60}, "num_sources_used": 0}),
            Some([70, 30, 0, 80]),
        ),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "citation_tokens": 900, "num_search_queries": 2,
                "reasoning_tokens": 60, "cost": {"total_cost": 0.2}}),
            Some([1000, 0, 0, 80]),
        ),
        // A server that guesses how much of the completion was reasoning.
        (
            json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "completion_tokens_details": {"reasoning_tokens": 23}}),
            Some([100, 0, 0, 20]),
        ),
        // Bedrock, with the names of its two versions.
        (
            json!({"inputTokens": 60, "outputTokens": 20, "totalTokens": 120, "cacheReadInputTokens": 30, "cacheWriteInputTokens": 10}),
            Some([60, 30, 10, 20]),
        ),
        (
            json!({"inputTokens": 60, "outputTokens": 20, "totalTokens": 120, "cacheReadInputTokenCount": 30, "cacheWriteInputTokenCount": 10}),
            Some([60, 30, 10, 20]),
        ),
        // Messages, with a cache that was written for the first time.
        (
            json!({"input_tokens": 60, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 10}),
            Some([60, 0, 10, 20]),
        ),
        // Those of libraries in other languages, and Hunyuan.
        (json!({"PromptTokens": 100, "CompletionTokens": 20, "TotalTokens": 120}), Some([100, 0, 0, 20])),
        (
            json!({"promptTokens": 100, "completionTokens": 20, "totalTokens": 120, "promptTokensDetails": {"cachedTokens": 30},
                "completionTokensDetails": {"reasoningTokens": 5}}),
            Some([70, 30, 0, 20]),
        ),
        (
            json!({"inputTokens": 100, "outputTokens": 20, "cachedInputTokens": 30, "inputTokenDetails": {"cacheWriteTokens": 10}}),
            Some([60, 30, 10, 20]),
        ),
        // Cohere.
        (json!({"billed_units": {"input_tokens": 100.0, "output_tokens": 20.0}}), Some([100, 0, 0, 20])),
        // Numbers that strict libraries do not read.
        (
            json!({"prompt_tokens": 100.0, "completion_tokens": 19.2, "total_tokens": 120.0, "prompt_tokens_details": {"cached_tokens": 30.0}}),
            Some([70, 30, 0, 20]),
        ),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "prompt_tokens_details": {"cached_tokens": "30"}}),
            Some([70, 30, 0, 20]),
        ),
        (
            json!({"prompt_tokens": u64::MAX, "completion_tokens": 20, "total_tokens": 120}),
            Some([100, 0, 0, 20]),
        ),
        (json!({"prompt_tokens": 0, "completion_tokens": 20, "total_tokens": 120}), Some([100, 0, 0, 20])),
        (json!({"prompt_tokens": -1, "completion_tokens": 20, "total_tokens": 120}), Some([100, 0, 0, 20])),
        // A cache that had more than the prompt.
        (
            json!({"prompt_tokens": 70, "completion_tokens": 20, "total_tokens": 90, "cached_tokens": 300}),
            Some([70, 300, 0, 20]),
        ),
        // A sum: five letters are two tokens.
        (json!({"total_tokens": 120}), Some([118, 0, 0, 2])),
        // Nothing that could be a count.
        (Value::Null, None),
        (json!([]), None),
        (json!("120"), None),
        (json!({}), None),
        (json!({"cost": 0.1}), None),
        (json!({"prompt_tokens": 1e300, "completion_tokens": "many", "total_tokens": {}}), None),
        (json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}), None),
    ];
    let of_members = [
        // Moonshot, in the choice.
        (
            json!({"choice": {"usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cached_tokens": 30}}}),
            Some([70, 30, 0, 20]),
        ),
        // Groq, beside an empty one and beside none.
        (
            json!({"x_groq": {"id": "r", "usage": {"prompt_tokens": 100, "completion_tokens": 20, "queue_time": 0.01}}}),
            Some([100, 0, 0, 20]),
        ),
        (
            json!({"usage": [], "x_groq": {"usage": {"prompt_tokens": 100, "completion_tokens": 20}}}),
            Some([100, 0, 0, 20]),
        ),
        (
            json!({"usage": {}, "x_groq": {"usage": {"prompt_tokens": 100, "completion_tokens": 20}}}),
            Some([100, 0, 0, 20]),
        ),
        // Gemini behind a chat protocol.
        (
            json!({"usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 60, "totalTokenCount": 180,
                "cachedContentTokenCount": 30}}),
            Some([70, 30, 0, 80]),
        ),
        // Bedrock.
        (
            json!({"metadata": {"usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}}}),
            Some([100, 0, 0, 20]),
        ),
        // Cohere, and llama.cpp before it had a usage.
        (
            json!({"meta": {"billed_units": {"input_tokens": 100.0, "output_tokens": 20.0}}}),
            Some([100, 0, 0, 20]),
        ),
        (
            json!({"timings": {"cache_n": 30, "prompt_n": 70, "prompt_ms": 30.9, "predicted_n": 20, "predicted_ms": 661.1}}),
            Some([70, 30, 0, 20]),
        ),
    ];
    let of_usage = of_usage.map(|(usage, told)| (json!({"usage": usage}), told));
    for (members, told) in of_usage.into_iter().chain(of_members) {
        let (whole, events) = completion(&members);
        check(&mut faults, Provider::Chat, &whole, &events, told);
        // The counts with the reason, and in each chunk.
        let [begun, ended, counted] = &events[..] else { panic!("three chunks") };
        if members.get("choice").is_none() {
            let one = crate::over(ended.clone(), members.clone());
            check(&mut faults, Provider::Chat, &whole, &[begun.clone(), one.clone()], told);
            check(
                &mut faults,
                Provider::Chat,
                &whole,
                &[begun.clone(), counted.clone(), one, counted.clone()],
                told,
            );
        }
    }
    super::none(&faults);
}

/// Without it the last of several reports, which says less, is what is paid or what the client reads.
#[test]
fn what_was_counted_is_never_less_again() {
    let mut faults = Vec::new();
    let report = |usage: Value| json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage});
    let counts = |prompt: u64, completion: u64| json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion});
    for reports in [
        vec![counts(100, 20), counts(0, 0)],
        vec![counts(100, 20), counts(100, 1)],
        vec![counts(0, 0), counts(100, 20)],
        vec![counts(100, 1), counts(100, 20)],
        vec![counts(100, 20), json!({"total_tokens": 7})],
        vec![json!({"total_tokens": 7}), counts(100, 20)],
        vec![counts(100, 20), json!([])],
    ] {
        let (whole, events) = completion(&json!({"usage": counts(100, 20)}));
        // Before the reason, after it, and on both sides of it.
        for at in 0..=reports.len() {
            let mut all = vec![events[0].clone()];
            all.extend(reports[..at].iter().cloned().map(report));
            all.push(events[1].clone());
            all.extend(reports[at..].iter().cloned().map(report));
            check(&mut faults, Provider::Chat, &whole, &all, Some([100, 0, 0, 20]));
        }
    }
    super::none(&faults);
}

/// Without it an answer of a thousand tokens costs one, where each chunk counts its own.
#[test]
fn what_each_chunk_counts_for_itself_is_paid_as_a_whole() {
    let mut faults = Vec::new();
    let counts = |completion: u64| json!({"prompt_tokens": 100, "completion_tokens": completion, "total_tokens": 100 + completion});
    let chunk = |text: &str, usage: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": usage,
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null}]})
    };
    let end = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let frame = |text: &str, tokens: u64, reason: Value| {
        json!({"responseId": "r", "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": tokens},
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason}]})
    };
    for (pieces, all) in [
        (&[("H", 2), ("e", 1), ("llo", 1)][..], 4),
        (&[("Hel", 2), ("lo", 1)], 3),
        // The whole count in each.
        (&[("H", 1), ("e", 1), ("llo", 1)], 1),
        (&[("Hel", 1), ("lo", 2)], 2),
    ] {
        let told = Some([100, 0, 0, all]);
        let (whole, _) = completion(&json!({"usage": counts(all)}));
        let mut events: Vec<Value> = pieces.iter().map(|(text, count)| chunk(text, counts(*count))).collect();
        events.push(end.clone());
        check(&mut faults, Provider::Chat, &whole, &events, told);
        let reason = |at: usize| if at + 1 == pieces.len() { json!("STOP") } else { Value::Null };
        let frames: Vec<Value> =
            pieces.iter().enumerate().map(|(at, (text, count))| frame(text, *count, reason(at))).collect();
        check(&mut faults, Provider::Google, &frame("Hello", all, json!("STOP")), &frames, told);
    }
    super::none(&faults);
}

/// The same of Google's servers, of which some count only all of it.
#[test]
fn a_google_models_counts_are_paid_and_shown() {
    let mut faults = Vec::new();
    for (usage, told) in [
        (
            json!({"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 60, "toolUsePromptTokenCount": 10,
                "cachedContentTokenCount": 30, "totalTokenCount": 190, "trafficType": "ON_DEMAND",
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}], "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 30}]}),
            Some([80, 30, 0, 80]),
        ),
        (json!({"promptTokenCount": 100, "totalTokenCount": 120}), Some([100, 0, 0, 20])),
        (
            json!({"promptTokenCount": 100, "thoughtsTokenCount": 5, "totalTokenCount": 120}),
            Some([100, 0, 0, 20]),
        ),
        (json!({"promptTokenCount": "100", "candidatesTokenCount": 20.0}), Some([100, 0, 0, 20])),
        (
            json!({"prompt_token_count": 100, "candidates_token_count": 20, "total_token_count": 120}),
            Some([100, 0, 0, 20]),
        ),
        (json!({"PromptTokenCount": 100, "CandidatesTokenCount": 20}), Some([100, 0, 0, 20])),
        (json!([{"promptTokenCount": 100, "candidatesTokenCount": 20}]), Some([100, 0, 0, 20])),
        (
            json!({"promptTokenCount": 20, "cachedContentTokenCount": 80, "candidatesTokenCount": 20, "totalTokenCount": 120}),
            Some([20, 80, 0, 20]),
        ),
        (Value::Null, None),
        (json!([]), None),
        (json!({"totalTokenCount": 0}), None),
    ] {
        let frame = |text: &str, usage: &Value, reason: Value| {
            json!({"responseId": "r", "usageMetadata": usage,
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason}]})
        };
        let whole = frame("Hello", &usage, json!("STOP"));
        let early = json!({"promptTokenCount": 100, "totalTokenCount": 100});
        check(&mut faults, Provider::Google, &whole, std::slice::from_ref(&whole), told);
        let events = [frame("Hel", &usage, Value::Null), frame("lo", &usage, json!("STOP"))];
        check(&mut faults, Provider::Google, &whole, &events, told);
        if told.is_some_and(|told| told[0] == 100) {
            let events = [frame("Hel", &early, Value::Null), frame("lo", &usage, json!("STOP"))];
            check(&mut faults, Provider::Google, &whole, &events, told);
        }
    }
    super::none(&faults);
}

/// The same of servers that speak Messages: Bedrock, Kimi, GLM, DeepSeek and vLLM, which tell what was read at the beginning or at the end.
#[test]
fn a_messages_providers_counts_are_paid_and_shown() {
    let mut faults = Vec::new();
    for (begins, ends, told) in [
        (
            json!({"input_tokens": 60, "output_tokens": 1, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 10}),
            json!({"output_tokens": 20}),
            Some([60, 30, 10, 20]),
        ),
        (
            json!({"input_tokens": 0, "output_tokens": 0}),
            json!({"input_tokens": 60, "output_tokens": 20, "cache_read_input_tokens": 30}),
            Some([60, 30, 0, 20]),
        ),
        (
            json!({"input_tokens": null, "output_tokens": null}),
            json!({"input_tokens": "60", "output_tokens": 20.0}),
            Some([60, 0, 0, 20]),
        ),
        (
            json!({"inputTokens": 60, "outputTokens": 0, "cacheReadInputTokens": 30}),
            json!({"inputTokens": 60, "outputTokens": 20, "cacheReadInputTokens": 30}),
            Some([60, 30, 0, 20]),
        ),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 0}),
            json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}),
            Some([100, 0, 0, 20]),
        ),
        // One token at the beginning, and a shorter text than its tokens would be.
        (
            json!({"prompt_tokens": 100, "completion_tokens": 1}),
            json!({"completion_tokens": 1}),
            Some([100, 0, 0, 1]),
        ),
        (
            json!({"input_tokens": 100, "output_tokens": 1}),
            json!({"output_tokens": -1}),
            Some([100, 0, 0, 0]),
        ),
        (
            json!({"input_tokens": 100, "output_tokens": 20}),
            json!({"output_tokens": 0}),
            Some([100, 0, 0, 20]),
        ),
        // A sum beside one of its parts, beside zeros, and alone: five letters are two tokens.
        (json!({"input_tokens": 100}), json!({"total_tokens": 120}), Some([100, 0, 0, 20])),
        (
            json!({"input_tokens": 60, "output_tokens": 1, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 10}),
            json!({"total_tokens": 120}),
            Some([60, 30, 10, 20]),
        ),
        (Value::Null, json!({"output_tokens": 20, "total_tokens": 120}), Some([100, 0, 0, 20])),
        (
            json!({"input_tokens": 0, "output_tokens": 0}),
            json!({"output_tokens": 20, "total_tokens": 120}),
            Some([100, 0, 0, 20]),
        ),
        (
            json!({"input_tokens": 100, "output_tokens": 0}),
            json!({"input_tokens": 100, "output_tokens": 0, "total_tokens": 120}),
            Some([100, 0, 0, 20]),
        ),
        (
            json!({"input_tokens": 0, "output_tokens": 0}),
            json!({"input_tokens": 0, "output_tokens": 0, "total_tokens": 120}),
            Some([118, 0, 0, 2]),
        ),
        (Value::Null, json!({"total_tokens": 120}), Some([118, 0, 0, 2])),
        (json!({"totalTokens": 0}), json!({"totalTokens": 120}), Some([118, 0, 0, 2])),
        (Value::Null, Value::Null, None),
        (json!([]), json!("20"), None),
    ] {
        let message = |content: Value, reason: Value, usage: &Value| {
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage})
        };
        let mut both = if begins.is_object() { begins.clone() } else { ends.clone() };
        if let (Some(both), Some(ends)) = (both.as_object_mut(), ends.as_object()) {
            both.extend(ends.clone());
        }
        let whole = message(json!([{"type": "text", "text": "Hello"}]), json!("end_turn"), &both);
        let events = [
            json!({"type": "message_start", "message": message(json!([]), Value::Null, &begins)}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": ends}),
            json!({"type": "message_stop"}),
        ];
        // What a whole message says at its end alone is all that it says.
        let is_sum = ends.get("total_tokens").is_some();
        let is_growing = is_sum || ends["output_tokens"].as_i64().is_none_or(|count| count > 0);
        let body = if is_growing {
            &whole
        } else {
            &message(json!([{"type": "text", "text": "Hello"}]), json!("end_turn"), &begins)
        };
        if is_growing || told.is_some_and(|told| told[3] == 20) {
            check(&mut faults, Provider::Messages, body, &events, told);
        }
    }
    super::none(&faults);
}

/// Without it an answer is paid by a guess where its provider counts behind the end.
#[test]
fn counts_behind_the_end_are_paid_and_shown() {
    let mut streams = Vec::new();
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    for (members, told) in [
        (json!({"usage": usage}), Some([100, 0, 0, 20])),
        (json!({"x_groq": {"usage": usage}}), Some([100, 0, 0, 20])),
        (json!({"usage": {"total_tokens": 120}}), Some([118, 0, 0, 2])),
        (json!({"usage": null}), None),
    ] {
        let (_, events) = completion(&members);
        let [begun, ended, counted] = &events[..] else { panic!("three chunks") };
        for late in [counted, &members, &Value::Null] {
            let told = told.filter(|_| !late.is_null());
            for ends in [&[][..], &["[DONE]".to_owned()]] {
                let data =
                    [&[begun.to_string(), ended.to_string(), "[DONE]".to_owned(), late.to_string()], ends];
                streams.push((Provider::Chat, data.concat(), told));
            }
        }
    }
    let message = |usage: &Value| {
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [], "stop_reason": null, "usage": usage}})
    };
    let ends =
        |usage: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let usage = json!({"input_tokens": 100, "output_tokens": 20});
    for begins in
        [json!({"input_tokens": 100, "output_tokens": 1}), json!({"input_tokens": 100}), Value::Null]
    {
        for late in [
            json!({"type": "message_delta", "delta": {}, "usage": usage}),
            json!({"type": "message_delta", "usage": usage}),
            json!({"usage": usage}),
            json!({"usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}),
            ends(usage.clone()),
        ] {
            let events = [
                message(&begins),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}),
                json!({"type": "content_block_stop", "index": 0}),
                ends(Value::Null),
                json!({"type": "message_stop"}),
                late,
            ];
            let data = events.iter().map(Value::to_string).collect();
            streams.push((Provider::Messages, data, Some([100, 0, 0, 20])));
        }
    }
    let mut faults = Vec::new();
    for (provider, data, told) in streams {
        let asks = |client: Client| [("stream", client.stream(provider, &data))];
        check_all(&mut faults, &format_args!("{data:?}"), asks, |_, found| wrong(found, told));
    }
    super::none(&faults);
}

/// Keeps the harness honest: what a client reads is taken from the answer alone.
#[test]
fn a_client_without_counts_reads_none() {
    let (whole, _) = completion(&json!({}));
    let heard = Client::Chat.whole(Provider::Chat, &whole.to_string()).expect("an answer");
    assert_eq!((heard.counts, heard.usage), (None, None));
}
