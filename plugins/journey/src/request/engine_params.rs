//! The engine's arguments as body fields: shape and range of each. `engine` turns them into flags.

use std::fmt;

use garde::Validate;
use gatehouse_sdk::params::{rule, unsupported};
use gatehouse_sdk::source::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use crate::action::Speed;
use crate::request::flags::has_flag;
use crate::request::rules;

/// The arguments of the engine. Each overrides the same flag in the prompt.
#[derive(Debug, Default, Deserialize, JsonSchema, Validate)]
pub(crate) struct EngineParams {
    /// Ratio `W:H`, as `--ar`.
    #[garde(inner(custom(rules::ratio)))]
    #[schemars(regex(pattern = r"^0*[1-9][0-9]*:0*[1-9][0-9]*$"))]
    pub(crate) size: Option<String>,
    /// `8.2`, `8.1`, `7`, `6.1`, `5.2` or `5.1`; with `niji` `7` or `6`.
    #[garde(skip)]
    #[serde(default, deserialize_with = "scalar")]
    #[schemars(extend("type" = ["string", "number", "null"]))]
    pub(crate) version: Option<String>,
    /// Draw with the niji model; version 7 unless `version` says 6.
    #[garde(skip)]
    pub(crate) niji: Option<bool>,
    /// `0.25`, `0.5`, `1` or `2`, as `--q`.
    #[garde(inner(custom(check_quality)))]
    #[serde(default, deserialize_with = "scalar")]
    #[schemars(extend(
        "type" = ["string", "number", "null"],
        "enum" = ["0.25", "0.5", "1", "2", 0.25, 0.5, 1, 2, null]
    ))]
    pub(crate) quality: Option<String>,
    /// One word such as `raw`, as `--style`.
    #[garde(inner(custom(word)))]
    #[schemars(regex(pattern = r"^[A-Za-z0-9_][A-Za-z0-9_-]*$"))]
    pub(crate) style: Option<String>,
    /// 0 to 1000, as `--s`.
    #[garde(range(min = 0, max = 1000))]
    pub(crate) stylize: Option<i64>,
    /// 0 to 100, as `--c`.
    #[garde(range(min = 0, max = 100))]
    pub(crate) chaos: Option<i64>,
    /// 0 to 3000, as `--w`.
    #[garde(range(min = 0, max = 3000))]
    pub(crate) weird: Option<i64>,
    /// 0 to 4294967295, as `--seed`.
    #[garde(range(min = 0_i64, max = 4_294_967_295_i64))]
    pub(crate) seed: Option<i64>,
    /// What must not be in the picture, as `--no`.
    #[garde(inner(custom(plain_text)))]
    pub(crate) negative_prompt: Option<String>,
    /// A picture that repeats without a seam, as `--tile`.
    #[garde(skip)]
    pub(crate) tile: Option<bool>,
    /// Weight of the pictures in the prompt, 0 to 3, as `--iw`.
    #[garde(range(min = 0.0, max = 3.0))]
    pub(crate) iw: Option<f64>,
    /// Weight of `cref`, 0 to 100.
    #[garde(range(min = 0, max = 100))]
    pub(crate) cw: Option<i64>,
    /// Weight of `sref`, 0 to 1000.
    #[garde(range(min = 0, max = 1000))]
    pub(crate) sw: Option<i64>,
    /// Weight of `dref`, 0 to 100.
    #[garde(range(min = 0, max = 100))]
    pub(crate) dw: Option<i64>,
    /// URL of a picture of a character.
    #[garde(inner(custom(urls)))]
    pub(crate) cref: Option<String>,
    /// URL of a picture of a style, or a style's number.
    #[garde(inner(custom(urls_or_codes)))]
    pub(crate) sref: Option<String>,
    /// URL of a picture of depth.
    #[garde(inner(custom(urls)))]
    pub(crate) dref: Option<String>,
    #[garde(custom(unsupported("send one request for each picture")))]
    #[schemars(skip)]
    repeat: Option<Value>,
    /// Less of the engine's own taste, as `--raw`.
    #[garde(skip)]
    pub(crate) raw: Option<bool>,
    /// A cheaper sketch, as `--draft`; from version 7.
    #[garde(skip)]
    pub(crate) draft: Option<bool>,
    /// As `--hd`; version 8.
    #[garde(skip)]
    pub(crate) hd: Option<bool>,
    /// Stop at this share of the work, 10 to 100, as `--stop`.
    #[garde(range(min = 10, max = 100))]
    pub(crate) stop: Option<i64>,
    /// Appended to the prompt as it is.
    #[garde(skip)]
    pub(crate) extra: Option<String>,
    /// `relax` (default), `fast` or `turbo`.
    #[garde(skip)]
    #[schemars(extend("default" = "relax"))]
    pub(crate) speed: Option<Speed>,
}

/// The values of `quality`.
const QUALITIES: [&str; 4] = ["0.25", "0.5", "1", "2"];

fn check_quality(text: &str, (): &()) -> garde::Result {
    rule(QUALITIES.contains(&text), "expected 0.25, 0.5, 1 or 2")
}

fn word(text: &str, (): &()) -> garde::Result {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    rule(is_plain && !text.is_empty() && !text.starts_with('-'), "expected one word such as raw")
}

fn plain_text(text: &str, (): &()) -> garde::Result {
    rule(!has_flag(text), "expected a text without flags")
}

fn urls(text: &str, (): &()) -> garde::Result {
    rule(all_words(text, is_url), "expected an http(s) URL")
}

fn urls_or_codes(text: &str, (): &()) -> garde::Result {
    let is_code = |word: &str| word == "random" || word.bytes().all(|byte| byte.is_ascii_digit());
    let fits = all_words(text, |word| is_url(word) || is_code(word));
    rule(fits, "expected an http(s) URL or a style's number")
}

/// Whether there is a word, and each is fit.
fn all_words(text: &str, fits: impl Fn(&str) -> bool) -> bool {
    !text.trim().is_empty() && text.split_whitespace().all(fits)
}

/// A link in the form that every field takes.
pub(crate) fn is_url(word: &str) -> bool {
    matches!(Source::of(word), Some(Source::Link(_)))
}

/// A text, or a number as text: `7` and `"7"` are the same version.
fn scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Scalar;

    impl de::Visitor<'_> for Scalar {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or a number")
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(Scalar)
}
