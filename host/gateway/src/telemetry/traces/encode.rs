//! Spans as OTLP's messages.

use bytes::Bytes;
use gatehouse_model::{EndedSpan, SpanKind, SpanValue};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, span};
use prost::Message as _;

/// Of the flags of a span: its trace is sampled.
const SAMPLED: u32 = 1;

/// The body of one export.
pub(super) fn batch(service: &str, spans: Vec<EndedSpan>) -> Bytes {
    let version = env!("CARGO_PKG_VERSION");
    let attributes = vec![text("service.name", service), text("service.version", version)];
    let scope = InstrumentationScope {
        name: "gatehouse".to_owned(),
        version: version.to_owned(),
        ..Default::default()
    };
    let spans = spans.into_iter().map(encoded).collect();
    let of_scope = ScopeSpans { scope: Some(scope), spans, schema_url: String::new() };
    let resource = Resource { attributes, ..Default::default() };
    let of_resource =
        ResourceSpans { resource: Some(resource), scope_spans: vec![of_scope], schema_url: String::new() };
    ExportTraceServiceRequest { resource_spans: vec![of_resource] }.encode_to_vec().into()
}

fn encoded(span: EndedSpan) -> Span {
    let EndedSpan { place, parent, name, kind, began, ended, attributes, error } = span;
    let kind = match kind {
        SpanKind::Internal => span::SpanKind::Internal,
        SpanKind::Server => span::SpanKind::Server,
        SpanKind::Client => span::SpanKind::Client,
    };
    let status = error.map(|message| Status { message, code: StatusCode::Error.into() });
    Span {
        trace_id: place.trace.to_be_bytes().to_vec(),
        span_id: place.span.to_be_bytes().to_vec(),
        trace_state: place.state.map(|state| state.as_ref().to_owned()).unwrap_or_default(),
        parent_span_id: parent.map(|parent| parent.to_be_bytes().to_vec()).unwrap_or_default(),
        flags: SAMPLED,
        name: name.into_owned(),
        kind: kind.into(),
        start_time_unix_nano: began,
        end_time_unix_nano: ended,
        attributes: attributes.into_iter().map(|(name, value)| attribute(name, value)).collect(),
        status,
        ..Default::default()
    }
}

fn attribute(name: &str, value: SpanValue) -> KeyValue {
    let value = match value {
        SpanValue::Text(text) => Value::StringValue(text),
        SpanValue::Number(number) => Value::IntValue(number),
    };
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..Default::default() }
}

fn text(name: &str, value: &str) -> KeyValue {
    attribute(name, SpanValue::Text(value.to_owned()))
}
