//! Writes the answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::vector;
use crate::chat::details::EmbeddingsAsked;
use crate::chat::errors::Chat;
use crate::text::endpoint::Written;
use crate::text::markers::Marker;

/// The answer in one piece.
pub(in crate::chat) fn write(answer: &Written<'_, Chat>, asked: &EmbeddingsAsked) -> Value {
    let is_base64 = asked.is_base64 != answer.faults.has(Marker::OtherEncoding);
    let mut data: Vec<Value> = Vec::new();
    for (index, words) in asked.inputs.iter().enumerate() {
        let vector = vector::of(words, asked.full, asked.dimensions);
        let embedding = if is_base64 { base64(&vector).into() } else { json!(vector) };
        data.push(json!({ "object": "embedding", "index": index, "embedding": embedding }));
    }
    if answer.faults.has(Marker::FewerVectors) {
        data.pop();
    }
    let mut body = json!({ "object": "list", "data": data, "model": answer.request.model });
    if !answer.faults.has(Marker::NoUsage) {
        let tokens = answer.usage.input;
        body["usage"] = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    }
    body
}

fn base64(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|part| part.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}
