//! Thinking: how it is asked for, how it is signed, and whether what comes back is what was given out.
//!
//! A signature is base64 of eight bytes of salt and HMAC-SHA256 over model, place among the turn's thinking, salt
//! and text. The salt lets thinking that is not shown be told apart; the place makes reordering visible. The key is
//! the same at every start, so that a conversation outlives the sandbox.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::refusal::Refusal;
use super::rules::Model;
use super::shape::{Judged, Shape};

const KEY: &[u8] = b"thinking is signed with this by the sandbox, and by nobody else";
const SALT: usize = 8;

/// What a request wants of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    Off,
    /// With a budget; the turn being answered must begin with thinking.
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

    /// Judges the `thinking` field.
    pub(super) fn asked(body: &Shape<'_>, model: &Model, max_tokens: u64) -> Judged<Self> {
        let Some(value) = body.maybe("thinking") else { return Ok(Self::Off) };
        let shape = Shape::of("thinking", value)?;
        let tag = shape.tag(&["adaptive", "disabled", "enabled"])?;
        let shape = Shape { at: format!("thinking.{tag}"), ..shape };
        let display = |shape: &Shape<'_>| {
            let word = shape.word("display", &["summarized", "omitted"])?;
            Ok(word.map_or(model.shows_thinking, |word| word == "summarized"))
        };
        match tag {
            "enabled" => {
                shape.only(&["type", "budget_tokens", "display"])?;
                shape.need("budget_tokens")?;
                let budget = shape.whole("budget_tokens")?.unwrap_or_default();
                let shown = display(&shape)?;
                if !model.enabled {
                    return Err(Refusal::invalid(
                        "\"thinking.type.enabled\" is not supported for this model. Use \
                         \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
                    ));
                }
                if budget < 1024 {
                    return Err(shape.wrong("budget_tokens", "Input should be greater than or equal to 1024"));
                }
                if budget >= max_tokens {
                    return Err(Refusal::invalid(
                        "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our \
                         documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
                    ));
                }
                Ok(Self::Enabled { shown })
            }
            "adaptive" => {
                shape.only(&["type", "display"])?;
                let shown = display(&shape)?;
                if !model.adaptive {
                    return Err(Refusal::invalid("adaptive thinking is not supported on this model"));
                }
                Ok(Self::Adaptive { shown })
            }
            _ => shape.only(&["type"]).map(|()| Self::Off),
        }
    }
}

/// Signs thinking as it is given out.
pub(super) fn sign(model: &str, place: usize, salt: u64, text: &str) -> String {
    let salt = salt.to_le_bytes();
    let mut bytes = salt.to_vec();
    bytes.extend_from_slice(&mac(model, place, &salt, text).finalize().into_bytes());
    STANDARD.encode(bytes)
}

/// Whether a signature fits.
pub(super) fn verify(model: &str, place: usize, text: &str, signature: &str) -> bool {
    let Ok(bytes) = STANDARD.decode(signature) else { return false };
    let Some((salt, tag)) = bytes.split_at_checked(SALT) else { return false };
    mac(model, place, salt, text).verify_slice(tag).is_ok()
}

/// What redacted thinking consists of: a signature of nothing that anybody may read.
pub(super) fn redact(model: &str, place: usize, salt: u64) -> String {
    sign(model, place, salt, "redacted")
}

pub(super) fn verify_redacted(model: &str, place: usize, data: &str) -> bool {
    verify(model, place, "redacted", data)
}

fn mac(model: &str, place: usize, salt: &[u8], text: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(KEY).expect("HMAC takes a key of any length");
    for part in [model, &place.to_string(), text] {
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
    fn signatures_bind_model_place_and_text() {
        let signature = sign("m", 0, 7, "hm");
        assert!(verify("m", 0, "hm", &signature));
        for (model, place, text) in [("n", 0, "hm"), ("m", 1, "hm"), ("m", 0, "hm "), ("m", 0, "")] {
            assert!(!verify(model, place, text, &signature), "{model} {place} {text}");
        }
        for forged in
            ["", "AAAA", "no base64", &signature[..signature.len() - 4], &format!("AAAA{signature}")]
        {
            assert!(!verify("m", 0, "hm", forged), "{forged}");
        }
        assert_ne!(sign("m", 0, 8, "hm"), signature);
        assert!(verify_redacted("m", 2, &redact("m", 2, 1)) && !verify_redacted("m", 1, &redact("m", 2, 1)));
    }
}
