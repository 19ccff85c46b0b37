//! The vector of a text: each of its words has a direction of its own, and the text has that of their sum. And the answer
//! with the vectors.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::chat::errors::Chat;
use crate::chat::models::EmbeddingsAsked;
use crate::text::answer::seed::Seed;
use crate::text::endpoint::Written;
use crate::text::markers::Marker;

/// The answer in one piece.
pub(in crate::chat) fn write(answer: &Written<'_, Chat>, asked: &EmbeddingsAsked) -> Value {
    let is_base64 = asked.is_base64 != answer.faults.has(Marker::OtherEncoding);
    let mut data: Vec<Value> = Vec::new();
    for (index, words) in asked.inputs.iter().enumerate() {
        let vector = vector_of(words, asked.full, asked.dimensions);
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

/// Of unit length, shortened to the first `dimensions` of `full`.
fn vector_of(words: &[String], full: usize, dimensions: usize) -> Vec<f32> {
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for word in words {
        let bare: String =
            word.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        *counts.entry(if bare.is_empty() { word.clone() } else { bare }).or_default() += 1.0;
    }
    let mut sum = vec![0.0_f64; full];
    for (word, count) in &counts {
        let mut seed = Seed::of(word.as_bytes());
        // A word that comes again says less each time.
        let weight = count.sqrt();
        for part in &mut sum {
            *part += weight * direction(&mut seed);
        }
    }
    sum.truncate(dimensions);
    let length = sum.iter().map(|part| part * part).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    sum.iter().map(|part| (part / length) as f32).collect()
}

/// From -1 to 1.
fn direction(seed: &mut Seed) -> f64 {
    const STEPS: usize = 1 << 20;
    seed.below(STEPS) as f64 / (STEPS as f64 / 2.0) - 1.0
}
