//! Thinking: the field that asks for it, and its signatures, which are verified when a client sends it back.
//!
//! A signature is base64 of eight bytes of salt and HMAC-SHA256 over model, position among the thinking of its message, salt
//! and text. The salt lets thinking that is not shown be told apart; the position makes reordering visible. The key is
//! the same at every start, so that a conversation outlives the sandbox.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;

use super::errors::invalid;
use super::models::Model;
use crate::common::schema::text;
use crate::text::refusal::Refusal;

const KEY: &[u8] = b"thinking is signed with this by the sandbox, and by nobody else";
const SALT: usize = 8;
/// The text under the signature of redacted thinking.
pub(super) const REDACTED_TEXT: &str = "redacted";

/// What a request wants of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    Off,
    /// With a budget; the answer's turn must begin with thinking.
    Enabled {
        shown: bool,
    },
    Adaptive {
        shown: bool,
    },
}

impl Thinking {
    pub(super) fn is_on(self) -> bool {
        self != Self::Off
    }

    pub(super) fn is_shown(self) -> bool {
        matches!(self, Self::Enabled { shown: true } | Self::Adaptive { shown: true })
    }

    /// Checks the `thinking` field against the model and the limit of tokens.
    pub(super) fn check(body: &Value, model: &Model, max_tokens: u64) -> Result<Self, Refusal> {
        let shown = body["display"].as_str().map_or(model.shows_thinking, |display| display == "summarized");
        match text(body, "type") {
            "enabled" if !model.enabled => Err(invalid(
                "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \
                 \"output_config.effort\" to control thinking behavior.",
            )),
            "enabled" if body["budget_tokens"].as_u64().unwrap_or_default() >= max_tokens => Err(invalid(
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at \
                 https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
            )),
            "enabled" => Ok(Self::Enabled { shown }),
            "adaptive" if !model.adaptive => Err(invalid("adaptive thinking is not supported on this model")),
            "adaptive" => Ok(Self::Adaptive { shown }),
            _ => Ok(Self::Off),
        }
    }
}

/// Signs thinking as it is given out.
pub(super) fn sign(model: &str, position: usize, salt: u64, text: &str) -> String {
    let salt = salt.to_le_bytes();
    let mut bytes = salt.to_vec();
    bytes.extend_from_slice(&mac(model, position, &salt, text).finalize().into_bytes());
    STANDARD.encode(bytes)
}

/// Whether a signature fits.
pub(super) fn verify(model: &str, position: usize, text: &str, signature: &str) -> bool {
    let Ok(bytes) = STANDARD.decode(signature) else { return false };
    let Some((salt, tag)) = bytes.split_at_checked(SALT) else { return false };
    mac(model, position, salt, text).verify_slice(tag).is_ok()
}

fn mac(model: &str, position: usize, salt: &[u8], text: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(KEY).expect("HMAC takes a key of any length");
    for part in [model, &position.to_string(), text] {
        mac.update(part.as_bytes());
        mac.update(&[0]);
    }
    mac.update(salt);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_cover_model_position_and_text() {
        let signature = sign("m", 0, 7, "hm");
        assert!(verify("m", 0, "hm", &signature));
        for (model, position, text) in [("n", 0, "hm"), ("m", 1, "hm"), ("m", 0, "hm "), ("m", 0, "")] {
            assert!(!verify(model, position, text, &signature), "{model} {position} {text}");
        }
        for forged in
            ["", "AAAA", "no base64", &signature[..signature.len() - 4], &format!("AAAA{signature}")]
        {
            assert!(!verify("m", 0, "hm", forged), "{forged}");
        }
        assert_ne!(sign("m", 0, 8, "hm"), signature);
        let redacted = sign("m", 2, 1, REDACTED_TEXT);
        assert!(verify("m", 2, REDACTED_TEXT, &redacted) && !verify("m", 1, REDACTED_TEXT, &redacted));
    }
}
