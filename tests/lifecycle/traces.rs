//! Traces as a collector gets them: a strict receiver reads OTLP's messages by their published definition, and puts the spans
//! together again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Provider, Setup, reply, run, until};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;

use crate::lifecycle::{sandbox, setup};

const CLIENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const CLIENTS_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A collector that takes what is right, and refuses the rest.
async fn collector() -> Provider {
    Provider::start(|received| {
        let is_right = received.path() == "/v1/traces"
            && received.header("content-type") == Some("application/x-protobuf")
            && received.header("x-collector-key") == Some("sandbox-key")
            && ExportTraceServiceRequest::decode(received.body.clone()).is_ok();
        reply(if is_right { 200 } else { 400 }, &[], "")
    })
    .await
}

fn traced(setup: Setup, collector: &Provider, more: &str) -> Setup {
    let file = format!(
        "[traces]\nendpoint = \"{}\"\nheaders = {{ x-collector-key = {{ file = \"SECRET\" }} }}\n{more}\n\n",
        collector.url()
    );
    setup.with(&file)
}

/// Every span that came, each checked by itself.
fn spans(collector: &Provider) -> Vec<Span> {
    let mut spans = Vec::new();
    for received in collector.received() {
        let batch = ExportTraceServiceRequest::decode(received.body).expect("OTLP");
        for of_resource in batch.resource_spans {
            let resource = of_resource.resource.expect("a resource");
            assert!(resource.attributes.iter().any(|one| one.key == "service.name"), "{resource:?}");
            for of_scope in of_resource.scope_spans {
                assert_eq!(of_scope.scope.expect("a scope").name, "gatehouse");
                spans.extend(of_scope.spans);
            }
        }
    }
    for span in &spans {
        assert!(span.trace_id.len() == 16 && span.span_id.len() == 8, "{span:?}");
        assert!(span.parent_span_id.is_empty() || span.parent_span_id.len() == 8, "{span:?}");
        assert!(!span.name.is_empty() && (1..=5).contains(&span.kind), "{span:?}");
        assert!(
            span.start_time_unix_nano > 0 && span.start_time_unix_nano <= span.end_time_unix_nano,
            "{span:?}"
        );
    }
    spans
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let value = span.attributes.iter().find(|one| one.key == name)?.value.clone()?.value?;
    Some(match value {
        AnyValue::StringValue(text) => text,
        AnyValue::IntValue(number) => number.to_string(),
        other => panic!("{name}: {other:?}"),
    })
}

/// The spans of one trace as an indented tree; each parent is one of them, or the client's.
fn tree(spans: &[Span], trace: &str) -> String {
    let own: Vec<&Span> = spans.iter().filter(|span| hex(&span.trace_id) == trace).collect();
    let mut parts: BTreeMap<Vec<u8>, Vec<&Span>> = BTreeMap::new();
    for span in &own {
        let is_there = own.iter().any(|other| other.span_id == span.parent_span_id);
        assert!(is_there || hex(&span.parent_span_id) == CLIENT[36..52], "{} hangs on nothing", span.name);
        parts.entry(span.parent_span_id.clone()).or_default().push(span);
    }
    let mut text = String::new();
    let root: Vec<u8> =
        (36..52).step_by(2).map(|at| u8::from_str_radix(&CLIENT[at..at + 2], 16).expect("hex")).collect();
    write_parts(&mut text, &parts, &root, 0);
    text
}

fn write_parts(text: &mut String, parts: &BTreeMap<Vec<u8>, Vec<&Span>>, of: &[u8], depth: usize) {
    let mut own = parts.get(of).cloned().unwrap_or_default();
    own.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
    for span in own {
        let took = Duration::from_nanos(span.end_time_unix_nano - span.start_time_unix_nano);
        let _ = writeln!(text, "{}{} {:.1} ms", "  ".repeat(depth), span.name, took.as_secs_f64() * 1e3);
        write_parts(text, parts, &span.span_id, depth + 1);
    }
}

async fn send_traced(caller: &Caller, path: &str, body: &serde_json::Value) -> String {
    let headers = [("x-response-format", "bare"), ("traceparent", CLIENT), ("tracestate", "vendor=1")];
    let answer = caller.post_with(&headers, path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

/// A stream in three pieces, and what it counts.
fn stream() -> String {
    let piece = |text: &str| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null}]})
    };
    let end = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}});
    format!("data: {}\n\ndata: {}\n\ndata: {end}\n\ndata: [DONE]\n\n", piece("one "), piece("two"))
}

/// Without it an operator sees that a stream was slow, and not where.
#[test]
fn a_streamed_text_is_one_tree_and_its_provider_is_told() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let collector = collector().await;
        let provider =
            Provider::start(|_| reply(200, &[("content-type", "text/event-stream")], stream())).await;
        let setup = traced(setup(&sandbox), &collector, "sample = 0.0")
            .with_provider("texts", &provider.url(), "\"bearer\"", 8, &["only"])
            .with("[providers.texts]\ntrace = true\n\n")
            .with_model("streamed", "texts", "chat", "upstream-name", "");
        let gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("acme", "100").await;
        let body =
            json!({"model": "streamed", "stream": true, "messages": [{"role": "user", "content": "hello"}]});
        assert!(send_traced(&caller, "/v1/chat/completions", &body).await.contains("two"));
        // Nobody asked for a trace of this one.
        assert_eq!(caller.post("/v1/chat/completions", &body).await.status, 200);
        until("the trace is there", async || spans(&collector).iter().any(|span| span.kind == 2)).await;
        let spans = spans(&collector);
        assert!(spans.iter().all(|span| hex(&span.trace_id) == CLIENTS_TRACE), "{spans:?}");
        let tree = tree(&spans, CLIENTS_TRACE);
        println!("{tree}");
        let names: Vec<&str> =
            tree.lines().map(|line| line.rsplitn(3, ' ').nth(2).expect("a name")).collect();
        assert_eq!(
            names,
            ["POST /v1/chat/completions", "  plugin prepare", "  hold", "  chat upstream-name"],
            "{tree}"
        );
        let call = spans.iter().find(|span| span.kind == 3).expect("a call");
        for (name, value) in [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.request.model", "upstream-name"),
            ("gen_ai.provider.name", "texts"),
            ("gatehouse.account", "only"),
            ("gen_ai.usage.output_tokens", "3"),
        ] {
            assert_eq!(attribute(call, name).as_deref(), Some(value), "{name}: {call:?}");
        }
        let told = &provider.received()[0];
        let expected = format!("00-{CLIENTS_TRACE}-{}-01", hex(&call.span_id));
        assert_eq!(told.header("traceparent"), Some(expected.as_str()));
        assert_eq!(told.header("tracestate"), Some("vendor=1"));
        assert_eq!(provider.received()[1].header("traceparent"), None);
        assert!(!gateway.log_text().contains("sandbox-key"), "a secret in the log");
    });
}

/// Without it the trace of a task ends with its receipt, or with the process that took it.
#[test]
fn a_task_keeps_its_trace_across_a_restart() {
    run(async {
        let sandbox = sandbox(Duration::from_secs(2)).await;
        let collector = collector().await;
        let mut gateway = Gateway::start(traced(setup(&sandbox), &collector, "sample = 0.0")).await;
        let caller = gateway.open_account("acme", "100").await;
        let body = json!({"model": "ctx-pro", "prompt": "x"});
        let headers = [("x-response-format", "wrapped"), ("traceparent", CLIENT)];
        let task = caller.post_with(&headers, "/v1/images/generations", &body).await.task_id();
        until("the call has left", async || !sandbox.context_record().submits.is_empty()).await;
        gateway.terminate().await;
        let before = spans(&collector).len();
        assert!(before > 2, "the first process has sent its spans before it ended: {before}");
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        caller.end_of(&task).await;
        until("the copy is there", async || spans(&collector).iter().any(|span| span.name == "copy")).await;
        until("its step is there", async || {
            let spans = spans(&collector);
            let copy = spans.iter().find(|span| span.name == "copy").expect("a copy");
            spans.iter().any(|span| span.span_id == copy.parent_span_id)
        })
        .await;
        let spans = spans(&collector);
        let tree = tree(&spans, CLIENTS_TRACE);
        println!("{tree}");
        for name in [
            "POST /v1/images/generations ",
            "  plugin submit ",
            "  hold ",
            "  step ",
            "    provider call ",
            "    plugin advance ",
            "    copy ",
        ] {
            assert!(tree.lines().any(|line| line.starts_with(name)), "{name:?} is missing in\n{tree}");
        }
        let steps = spans.iter().filter(|span| span.name == "step");
        assert!(steps.into_iter().all(|span| attribute(span, "gatehouse.task").as_deref() == Some(&task)));
    });
}

/// Without it a collector that is down holds up requests, or takes memory without end.
#[test]
fn a_collector_that_is_down_costs_spans_and_no_request() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let nobody = Provider::start(|_| reply(503, &[], "")).await;
        let gateway = Gateway::start(traced(setup(&sandbox), &nobody, "sample = 1.0\nqueue = 8")).await;
        let caller = gateway.open_account("acme", "100").await;
        for _ in 0..8 {
            caller.finish("/v1/images/generations", &json!({"model": "ctx-pro", "prompt": "x"})).await;
        }
        until("the log says it", async || {
            gateway.log_text().contains("traces cannot be sent to their collector")
        })
        .await;
        let lines = gateway.log_text();
        assert_eq!(lines.matches("traces cannot be sent to their collector").count(), 1, "a line a minute");
    });
}
