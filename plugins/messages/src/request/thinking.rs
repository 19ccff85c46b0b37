//! Thinking: reads the client's `thinking` object and decides what the provider is asked for, by the kinds of
//! thinking the model knows. The `-thinking` alias asks for thinking without an object; an object wins.

use std::borrow::Cow;

use gatehouse_sdk::Refusal;

use gatehouse_text_protocols::check::in_provider_words;
use gatehouse_text_protocols::json::{Raw, UniqueObject, Writer};
use gatehouse_text_protocols::limits::{
    MIN_THINKING_BUDGET, SUMMARIZED, thinking_adaptive, thinking_budget, thinking_enabled,
};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::{Rules, ThinkingKind};

use super::fields::{object, required, string, wrong};

/// The smallest `max_tokens` with the alias; 80 % of it is the smallest budget.
const MIN_TOKENS_WITH_ALIAS: u32 = 1280;

/// A `thinking` object.
#[derive(Debug)]
pub(crate) enum ThinkingField<'a> {
    Enabled { budget: u64, display: Option<Raw<'a>>, raw: Raw<'a> },
    Adaptive { display: Option<Raw<'a>>, raw: Raw<'a> },
    Disabled { raw: Raw<'a> },
}

/// What the provider is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ThinkingPlan<'a> {
    /// The `thinking` object for a Messages provider.
    pub(crate) thinking: Option<Cow<'a, str>>,
    /// The `effort`, unless the client's `output_config` has one.
    pub(crate) effort: Option<&'static str>,
    /// The `reasoning_effort` for a chat provider.
    pub(crate) reasoning: Option<&'static str>,
    /// The client's limit, raised where the alias needs more.
    pub(crate) max_tokens: u32,
    /// Whether the sampling fields are left out, as the alias requires.
    pub(crate) no_sampling: bool,
    /// Whether the client is shown thinking blocks.
    pub(crate) shown: bool,
}

/// Reads the object.
pub(crate) fn read<'a>(at: &Path<'_>, raw: Raw<'a>) -> Result<ThinkingField<'a>, Refusal> {
    let given = object(at, raw)?;
    let kind = string(at, &given, "type")?;
    match kind.decode().as_deref() {
        Some("enabled") => {
            let at = &at.key("enabled");
            let budget = required(at, &given, "budget_tokens")?;
            let at = &at.key("budget_tokens");
            let tokens = given.unsigned("budget_tokens").ok_or_else(|| wrong(at, "an integer", budget))?;
            if tokens < u64::from(MIN_THINKING_BUDGET) {
                return Err(
                    at.sentence(&format!("Input should be greater than or equal to {MIN_THINKING_BUDGET}"))
                );
            }
            let display = given.get("display");
            Ok(ThinkingField::Enabled { budget: tokens, display, raw })
        }
        // The second is of a later version: thinking between calls is what an adaptive model does.
        Some("adaptive" | "between_tools") => {
            Ok(ThinkingField::Adaptive { display: given.get("display"), raw })
        }
        Some("disabled") => Ok(ThinkingField::Disabled { raw }),
        _ => Err(wrong(&at.key("type"), "`enabled`, `adaptive` or `disabled`", kind.raw())),
    }
}

/// The other fields of a request that the decision depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// The model is named by its `-thinking` alias.
    pub(crate) alias: bool,
    pub(crate) max_tokens: u32,
    /// The client's own limit, which may be above the model's.
    pub(crate) requested: u64,
    /// The provider speaks chat completions.
    pub(crate) is_chat: bool,
    /// The provider refuses thinking with a budget: a tool is forced, or a tool loop began without thinking.
    pub(crate) excludes_budget: bool,
    /// The budget, in percent of `max_tokens`, that stands for the client's `effort`.
    pub(crate) share: u32,
}

/// Decides.
pub(crate) fn plan<'a>(
    given: Option<&ThinkingField<'a>>,
    situation: Situation,
    rules: &Rules,
) -> Result<ThinkingPlan<'a>, Refusal> {
    let Situation { alias, max_tokens, is_chat, .. } = situation;
    let off = ThinkingPlan { max_tokens, ..ThinkingPlan::default() };
    match given {
        None if alias => by_alias(off, rules),
        None => Ok(off),
        Some(ThinkingField::Enabled { budget, .. }) if *budget >= situation.requested => {
            Err(in_provider_words(
                "thinking.budget_tokens",
                "`max_tokens` must be greater than `thinking.budget_tokens`.",
            ))
        }
        // Thinking is a wish that a chat provider has no field for, unless its model is known to take an effort.
        Some(field) if is_chat && (rules.thinks() || !rules.strict) => {
            Ok(at_chat_provider(field, off, rules))
        }
        // A model that does not think does not take the object.
        Some(ThinkingField::Disabled { raw }) => {
            Ok(ThinkingPlan { thinking: rules.thinks().then_some(Cow::Borrowed(raw.get())), ..off })
        }
        Some(ThinkingField::Adaptive { raw, .. }) if rules.knows(ThinkingKind::Adaptive) => {
            // Without `effort` the upstream thinks at its highest ordinary depth.
            Ok(ThinkingPlan { thinking: Some(known_form(raw)), reasoning: Some("high"), shown: true, ..off })
        }
        Some(ThinkingField::Adaptive { display, .. }) if rules.knows(ThinkingKind::Enabled) => {
            Ok(by_budget(*display, off, situation))
        }
        Some(ThinkingField::Adaptive { .. }) => Err(unknown("adaptive")),
        Some(ThinkingField::Enabled { budget, display, raw }) if rules.knows(ThinkingKind::Enabled) => {
            let thinking = if *budget < u64::from(max_tokens) {
                known_form(raw)
            } else if max_tokens > MIN_THINKING_BUDGET {
                enabled(lowered(*budget, situation), *display).into()
            } else {
                return Ok(off);
            };
            let reasoning = Some(depth(*budget));
            Ok(ThinkingPlan { thinking: Some(thinking), reasoning, shown: true, ..off })
        }
        Some(ThinkingField::Enabled { budget, display, .. }) if rules.knows(ThinkingKind::Adaptive) => {
            Ok(ThinkingPlan {
                thinking: Some(
                    thinking_adaptive(display.map_or(SUMMARIZED, |display| known_display(display))).into(),
                ),
                effort: Some(depth(*budget)),
                reasoning: Some(depth(*budget)),
                shown: true,
                ..off
            })
        }
        Some(ThinkingField::Enabled { .. }) => Err(unknown("enabled")),
    }
}

/// The object without values of later versions: a provider takes those only with betas, which are the operator's to pass.
fn known_form(raw: Raw<'_>) -> Cow<'_, str> {
    let given: UniqueObject<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let kind = given.text("type");
    let is_new_kind = kind.as_deref() == Some("between_tools");
    if !is_new_kind && given.get("display").is_none_or(|display| known_display(display) == display.get()) {
        return Cow::Borrowed(raw.get());
    }
    let mut out = Writer::new(64);
    for (name, raw) in given.iter() {
        match name {
            "type" if is_new_kind => out.string(name, "adaptive"),
            "display" => out.member(name, known_display(raw)),
            _ => out.member(name, raw.get()),
        }
    }
    Cow::Owned(out.done())
}

/// A `display` that every version knows.
fn known_display(display: Raw<'_>) -> &str {
    if display.get() == r#""updates""# { SUMMARIZED } else { display.get() }
}

/// What a chat provider is asked for: an effort, if its model takes one.
fn at_chat_provider<'a>(field: &ThinkingField<'_>, off: ThinkingPlan<'a>, rules: &Rules) -> ThinkingPlan<'a> {
    let reasoning = match field {
        ThinkingField::Disabled { .. } => return off,
        ThinkingField::Adaptive { .. } => "high",
        ThinkingField::Enabled { budget, .. } => depth(*budget),
    };
    ThinkingPlan { reasoning: rules.is_known_to_think().then_some(reasoning), shown: true, ..off }
}

/// Adaptive thinking of a model that thinks with a budget only. Where that is impossible the model answers without.
fn by_budget<'a>(display: Option<Raw<'a>>, off: ThinkingPlan<'a>, situation: Situation) -> ThinkingPlan<'a> {
    if situation.excludes_budget || situation.max_tokens <= MIN_THINKING_BUDGET {
        return off;
    }
    let budget = thinking_budget(situation.max_tokens, situation.share);
    let thinking = enabled(budget.into(), display);
    ThinkingPlan { thinking: Some(thinking.into()), no_sampling: true, shown: true, ..off }
}

fn enabled(budget: u64, display: Option<Raw<'_>>) -> String {
    match display {
        Some(display) => {
            format!(r#"{{"type":"enabled","budget_tokens":{budget},"display":{}}}"#, known_display(display))
        }
        None => thinking_enabled(budget),
    }
}

/// The budget in the same proportion to the model's limit as to the client's own. It stays below the model's limit where that
/// is above [`MIN_THINKING_BUDGET`].
fn lowered(budget: u64, situation: Situation) -> u64 {
    let part = budget.saturating_mul(situation.max_tokens.into()) / situation.requested;
    part.max(MIN_THINKING_BUDGET.into())
}

/// The budget, in percent of the cap, for an `effort`.
pub(crate) fn share(effort: Option<&str>) -> u32 {
    match effort {
        Some("low") => 20,
        Some("medium") => 50,
        Some("xhigh" | "max") => 90,
        _ => 80,
    }
}

fn by_alias<'a>(off: ThinkingPlan<'a>, rules: &Rules) -> Result<ThinkingPlan<'a>, Refusal> {
    let on = ThinkingPlan { reasoning: Some("high"), no_sampling: true, shown: true, ..off };
    if rules.knows(ThinkingKind::Enabled) {
        let max_tokens = on.max_tokens.max(MIN_TOKENS_WITH_ALIAS);
        let thinking = thinking_enabled(thinking_budget(max_tokens, 80).into());
        return Ok(ThinkingPlan { thinking: Some(thinking.into()), max_tokens, ..on });
    }
    if rules.knows(ThinkingKind::Adaptive) {
        return Ok(ThinkingPlan {
            thinking: Some(thinking_adaptive(SUMMARIZED).into()),
            effort: Some("high"),
            ..on
        });
    }
    Err(in_provider_words("model", "the model does not think: leave `-thinking` out of `model`"))
}

/// A budget as an effort.
fn depth(budget: u64) -> &'static str {
    match budget {
        ..4096 => "low",
        4096..16_384 => "medium",
        16_384.. => "high",
    }
}

fn unknown(kind: &str) -> Refusal {
    in_provider_words("thinking.type", format!(r#""thinking.type.{kind}" is not supported for this model."#))
}
