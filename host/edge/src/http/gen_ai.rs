//! What is measured of text requests by the conventions of OpenTelemetry for generative models (at "Development" there), so that
//! dashboards made for other gateways read these numbers too. One HTTP request counts once, however many prompts it has.

use std::time::Duration;

use gatehouse_model::{RequestFacts, RequestLine, Span, metric};

/// The convention's word for what is asked on a surface; `None` where nothing is written or embedded.
fn operation(surface: &str) -> Option<&'static str> {
    Some(match surface {
        "chat.completions" | "messages.create" | "responses.create" => "chat",
        "completions.create" => "text_completion",
        "embeddings.create" => "embeddings",
        _ => return None,
    })
}

/// Says what became of a request that is traced.
pub(crate) fn describe(mut span: Span, line: &RequestLine, facts: &RequestFacts) {
    span.set("http.request.method", line.method);
    span.set("http.route", line.route);
    span.set("http.response.status_code", u32::from(line.status));
    span.set("gatehouse.request", line.id.to_string().as_str());
    let named = [
        ("gen_ai.request.model", &facts.model),
        ("gen_ai.provider.name", &facts.provider),
        ("gatehouse.account", &facts.account),
        ("gatehouse.target", &facts.target),
        ("gatehouse.plugin", &facts.plugin),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            span.set(name, &**value);
        }
    }
    if let Some(tokens) = &facts.tokens {
        span.set("gen_ai.usage.input_tokens", tokens.read());
        span.set("gen_ai.usage.output_tokens", tokens.output);
    }
    for (name, amount) in [("gatehouse.held_micro", facts.held), ("gatehouse.charged_micro", facts.charged)] {
        if let Some(amount) = amount {
            span.set(name, amount.0);
        }
    }
    if let Some(first) = facts.first_token_ms {
        span.set("gatehouse.first_token_ms", first);
    }
    if line.status >= 500 {
        span.fail(&line.status.to_string());
    }
}

/// Measures a request that has ended. One whose model was never found is no request of a model.
pub(crate) fn record(surface: &str, status: u16, took: Duration, facts: &RequestFacts) {
    let (Some(operation), Some(model)) = (operation(surface), facts.model.as_deref()) else { return };
    let provider = facts.provider.as_deref().unwrap_or_default();
    let labels = || {
        [
            ("gen_ai_operation_name", operation.to_owned()),
            ("gen_ai_provider_name", provider.to_owned()),
            ("gen_ai_request_model", model.to_owned()),
        ]
    };
    let error = if status < 400 { String::new() } else { status.to_string() };
    let [one, two, three] = labels();
    metrics::histogram!(metric::GEN_AI_DURATION, &[one, two, three, ("error_type", error)])
        .record(took.as_secs_f64());
    if let Some(first) = facts.first_token_ms {
        let first = Duration::from_millis(first.into());
        metrics::histogram!(metric::GEN_AI_FIRST_TOKEN, &labels()).record(first.as_secs_f64());
        // Of the first token the time says nothing of the others.
        let others = facts.tokens.map_or(0, |tokens| tokens.output).saturating_sub(1);
        if let Ok(others @ 1..) = u32::try_from(others) {
            let each = took.saturating_sub(first) / others;
            metrics::histogram!(metric::GEN_AI_OUTPUT_TOKEN, &labels()).record(each.as_secs_f64());
        }
    }
    let Some(tokens) = facts.tokens else { return };
    for (kind, count) in [("input", tokens.read()), ("output", tokens.output)] {
        let [one, two, three] = labels();
        #[expect(clippy::cast_precision_loss, reason = "a histogram takes no whole numbers")]
        metrics::histogram!(
            metric::GEN_AI_TOKENS,
            &[one, two, three, ("gen_ai_token_type", kind.to_owned())]
        )
        .record(count as f64);
    }
}
