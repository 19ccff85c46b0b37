//! How hard a messages provider is to think: `reasoning_effort`, or the `-thinking` alias of a model.
//!
//! ```text
//! the model knows   reasoning_effort         the alias alone
//! adaptive only     adaptive, effort         adaptive, effort high
//! both              adaptive, effort         a budget of 80 % of the cap
//! enabled only      a budget by effort       a budget of 80 % of the cap
//! ```
//!
//! A forced tool call and thinking exclude each other, and so do a budget and an earlier turn of the same
//! tool loop without its thinking: then the call is made without thinking rather than refused by the provider.

use crate::read::{Checked, in_these_words};
use crate::rules::{Mode, Rules};

/// The smallest budget a provider takes; it must stay below the cap.
const LEAST: u32 = 1024;

/// What the provider is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Depth {
    pub(crate) thinking: Thinking,
    pub(crate) effort: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Thinking {
    #[default]
    Off,
    Budget(u32),
    Adaptive,
}

/// What a request says that bears on thinking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) alias: bool,
    pub(crate) effort: Option<&'static str>,
    /// Tokens the model may write.
    pub(crate) cap: u32,
    /// The field that named the cap.
    pub(crate) field: &'static str,
    /// A tool call is forced.
    pub(crate) forced: bool,
    /// The tool loop under way began without thinking, or lost it.
    pub(crate) bare: bool,
}

impl Asked {
    /// Whether it asks for thinking at all.
    pub(crate) fn thinks(&self) -> bool {
        self.effort.map_or(self.alias, |effort| effort != "none")
    }
}

pub(crate) fn decide(rules: &Rules, asked: &Asked) -> Checked<Depth> {
    if !asked.thinks() {
        return Ok(Depth::default());
    }
    if !rules.thinks() {
        return Err(unable(asked));
    }
    let by_name = asked.effort.is_none() && rules.knows(Mode::Enabled);
    if rules.knows(Mode::Adaptive) && !by_name {
        let thinking = if asked.forced { Thinking::Off } else { Thinking::Adaptive };
        return Ok(Depth { thinking, effort: Some(effort(asked.effort)) });
    }
    if asked.forced || asked.bare {
        return Ok(Depth::default());
    }
    if asked.cap <= LEAST {
        let words = format!(
            "`{}` must be greater than `thinking.budget_tokens`: expected more than {LEAST} for an answer with \
             thinking, got {}",
            asked.field, asked.cap
        );
        return Err(in_these_words(asked.field, words));
    }
    // Below the cap either way: no share is the whole of it, and the cap is above the least.
    let budget = u64::from(asked.cap) * share(asked.effort) / 100;
    let budget = u32::try_from(budget).unwrap_or(u32::MAX).max(LEAST);
    Ok(Depth { thinking: Thinking::Budget(budget), effort: None })
}

/// A refusal of thinking by a model that does not.
pub(crate) fn unable(asked: &Asked) -> gatehouse_sdk::Refusal {
    match asked.effort {
        Some(effort) => in_these_words(
            "reasoning_effort",
            format!(
                "`reasoning_effort`: expected `none` or nothing, this model does not think; got the string {effort:?}"
            ),
        ),
        None => {
            in_these_words("model", "`model`: this model does not think, use its name without `-thinking`")
        }
    }
}

/// The effort in the words of the messages protocol.
fn effort(asked: Option<&'static str>) -> &'static str {
    match asked {
        Some("minimal" | "low") => "low",
        Some("medium") => "medium",
        Some("xhigh") => "xhigh",
        Some("max") => "max",
        _ => "high",
    }
}

/// The share of the cap a model without efforts may think, in percent.
fn share(asked: Option<&'static str>) -> u64 {
    match asked {
        Some("minimal") => 0,
        Some("low") => 20,
        Some("medium") => 50,
        Some("xhigh" | "max") => 90,
        _ => 80,
    }
}
