//! Thinking: what the client asks for, what the model knows, and what is asked of the provider. The
//! `-thinking` alias is the same wish without a `thinking` object; an object says more and wins.

use std::borrow::Cow;

use gatehouse_sdk::Refusal;

use crate::at::{At, words};
use crate::raw::{Raw, fields, text};
use crate::rules::{Kind, Rules};

/// The least budget the upstream takes.
const LEAST_BUDGET: u32 = 1024;
/// The least `max_tokens` the alias goes on with: 80 % of it is the least budget.
const LEAST_WITH_ALIAS: u32 = 1280;

/// A `thinking` object.
#[derive(Debug)]
pub(crate) enum Given<'a> {
    Enabled { budget: u64, display: Option<Raw<'a>>, raw: Raw<'a> },
    Adaptive { raw: Raw<'a> },
    Disabled { raw: Raw<'a> },
}

/// What is asked of the provider.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan<'a> {
    /// The `thinking` object for a Messages upstream.
    pub(crate) thinking: Option<Cow<'a, str>>,
    /// How deep, where the client's own `output_config` does not say: its `effort`.
    pub(crate) effort: Option<&'static str>,
    /// How deep, for a Chat upstream.
    pub(crate) reasoning: Option<&'static str>,
    /// The client's limit, raised where the alias needs more.
    pub(crate) max_tokens: u32,
    /// Whether sampling fields are left out: the alias leaves no choice.
    pub(crate) plain: bool,
    /// Whether the client is shown thinking blocks.
    pub(crate) shown: bool,
}

/// Reads the object.
pub(crate) fn read<'a>(at: &At<'_>, raw: Raw<'a>) -> Result<Given<'a>, Refusal> {
    let given = fields(at, raw)?;
    let kind = given.string(at, "type")?;
    match text(kind).as_deref() {
        Some("enabled") => {
            let at = &at.key("enabled");
            let budget = given.need(at, "budget_tokens")?;
            let at = &at.key("budget_tokens");
            let tokens: u64 =
                serde_json::from_str(budget.get()).map_err(|_| at.wrong("an integer", budget))?;
            if tokens < u64::from(LEAST_BUDGET) {
                return Err(at.says(&format!("Input should be greater than or equal to {LEAST_BUDGET}")));
            }
            let display = given.get("display");
            Ok(Given::Enabled { budget: tokens, display, raw })
        }
        Some("adaptive") => Ok(Given::Adaptive { raw }),
        Some("disabled") => Ok(Given::Disabled { raw }),
        _ => Err(at.key("type").wrong("`enabled`, `adaptive` or `disabled`", kind)),
    }
}

/// Decides.
pub(crate) fn plan<'a>(
    given: Option<&Given<'a>>,
    alias: bool,
    max_tokens: u32,
    rules: &Rules,
) -> Result<Plan<'a>, Refusal> {
    let off = Plan { thinking: None, effort: None, reasoning: None, max_tokens, plain: false, shown: false };
    match given {
        None if alias => by_alias(off, rules),
        None => Ok(off),
        // A model that does not think needs no telling.
        Some(Given::Disabled { raw }) => {
            Ok(Plan { thinking: (!rules.thinking.is_empty()).then_some(Cow::Borrowed(raw.get())), ..off })
        }
        Some(Given::Adaptive { raw }) if rules.knows(Kind::Adaptive) => {
            // Without `effort` the upstream thinks at its highest ordinary depth.
            Ok(Plan { thinking: Some(raw.get().into()), reasoning: Some("high"), shown: true, ..off })
        }
        Some(Given::Adaptive { .. }) => Err(unknown("adaptive")),
        Some(Given::Enabled { budget, .. }) if *budget >= u64::from(max_tokens) => Err(words(
            "thinking.budget_tokens",
            "`max_tokens` must be greater than `thinking.budget_tokens`.",
        )),
        Some(Given::Enabled { budget, raw, .. }) if rules.knows(Kind::Enabled) => {
            Ok(Plan { thinking: Some(raw.get().into()), reasoning: Some(depth(*budget)), shown: true, ..off })
        }
        Some(Given::Enabled { budget, display, .. }) if rules.knows(Kind::Adaptive) => Ok(Plan {
            thinking: Some(adaptive(display.map_or(r#""summarized""#, |display| display.get()))),
            effort: Some(depth(*budget)),
            reasoning: Some(depth(*budget)),
            shown: true,
            ..off
        }),
        Some(Given::Enabled { .. }) => Err(unknown("enabled")),
    }
}

fn by_alias<'a>(off: Plan<'a>, rules: &Rules) -> Result<Plan<'a>, Refusal> {
    let on = Plan { reasoning: Some("high"), plain: true, shown: true, ..off };
    if rules.knows(Kind::Enabled) {
        let max_tokens = on.max_tokens.max(LEAST_WITH_ALIAS);
        let budget = (u64::from(max_tokens) * 4 / 5).max(u64::from(LEAST_BUDGET));
        let thinking = format!(r#"{{"type":"enabled","budget_tokens":{budget}}}"#);
        return Ok(Plan { thinking: Some(thinking.into()), max_tokens, ..on });
    }
    if rules.knows(Kind::Adaptive) {
        return Ok(Plan { thinking: Some(adaptive(r#""summarized""#)), effort: Some("high"), ..on });
    }
    Err(words("model", "the model does not think: leave `-thinking` out of `model`"))
}

/// `display` because the newer models otherwise leave the text of their thinking out.
fn adaptive(display: &str) -> Cow<'static, str> {
    format!(r#"{{"type":"adaptive","display":{display}}}"#).into()
}

/// A budget in words.
fn depth(budget: u64) -> &'static str {
    match budget {
        ..4096 => "low",
        4096..16_384 => "medium",
        16_384.. => "high",
    }
}

fn unknown(kind: &str) -> Refusal {
    words("thinking.type", format!(r#""thinking.type.{kind}" is not supported for this model."#))
}
