//! How hard a Messages provider is to think: `reasoning_effort`, or the `-thinking` alias of a model.
//!
//! ```text
//! the model knows   reasoning_effort         the alias alone
//! adaptive only     adaptive, effort         adaptive, effort high
//! both              adaptive, effort         a budget of 80 % of the cap
//! enabled only      a budget by effort       a budget of 80 % of the cap
//! ```
//!
//! A forced tool call excludes thinking. So does a tool loop whose earlier messages lack their thinking, where
//! thinking has a budget. Then the call is made without thinking; the provider would refuse it.

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::check::{Checked, in_provider_words};
use gatehouse_text_protocols::limits::{MIN_THINKING_BUDGET, thinking_budget};
use gatehouse_text_protocols::rules::{Rules, ThinkingKind};

use crate::request::messages::Message;

/// What the provider is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThinkingPlan {
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

/// The fields of a request that concern thinking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThinkingRequest {
    /// The client used the `-thinking` alias.
    pub(crate) alias: bool,
    pub(crate) effort: Option<&'static str>,
    /// Tokens the model may write.
    pub(crate) cap: u32,
    /// The field that named the cap.
    pub(crate) field: &'static str,
    /// The model must call a tool.
    pub(crate) forced_tool: bool,
    /// See [`tool_loop_lacks_thinking`].
    pub(crate) unsigned_tool_loop: bool,
}

impl ThinkingRequest {
    /// Whether it asks for thinking.
    pub(crate) fn is_on(&self) -> bool {
        self.effort.map_or(self.alias, |effort| effort != "none")
    }
}

pub(crate) fn decide(rules: &Rules, request: &ThinkingRequest) -> Checked<ThinkingPlan> {
    if !request.is_on() {
        return Ok(ThinkingPlan::default());
    }
    if !rules.thinks() {
        return Err(unsupported(request));
    }
    let by_alias = request.effort.is_none() && rules.knows(ThinkingKind::Enabled);
    if rules.knows(ThinkingKind::Adaptive) && !by_alias {
        let thinking = if request.forced_tool { Thinking::Off } else { Thinking::Adaptive };
        return Ok(ThinkingPlan { thinking, effort: Some(effort(request.effort)) });
    }
    if request.forced_tool || request.unsigned_tool_loop {
        return Ok(ThinkingPlan::default());
    }
    if request.cap <= MIN_THINKING_BUDGET {
        let message = format!(
            "`{}` must be greater than `thinking.budget_tokens`: expected more than {MIN_THINKING_BUDGET} for an answer with \
             thinking, got {}",
            request.field, request.cap
        );
        return Err(in_provider_words(request.field, message));
    }
    // Always below the cap: no share is 100 %, and the cap is above the smallest budget.
    let budget = thinking_budget(request.cap, share(request.effort));
    Ok(ThinkingPlan { thinking: Thinking::Budget(budget), effort: None })
}

/// The refusal of thinking, for a model that does not think.
pub(crate) fn unsupported(request: &ThinkingRequest) -> Refusal {
    match request.effort {
        Some(effort) => in_provider_words(
            "reasoning_effort",
            format!(
                "`reasoning_effort`: expected `none` or nothing, this model does not think; got the string {effort:?}"
            ),
        ),
        None => {
            in_provider_words("model", "`model`: this model does not think, use its name without `-thinking`")
        }
    }
}

/// The effort in the words of Messages.
fn effort(request: Option<&'static str>) -> &'static str {
    match request {
        Some("minimal" | "low") => "low",
        Some("medium") => "medium",
        Some("xhigh") => "xhigh",
        Some("max") => "max",
        _ => "high",
    }
}

/// The thinking budget in percent of the cap.
fn share(request: Option<&'static str>) -> u32 {
    match request {
        Some("minimal") => 0,
        Some("low") => 20,
        Some("medium") => 50,
        Some("xhigh" | "max") => 90,
        _ => 80,
    }
}

/// Whether the tool loop at the end of the conversation has a message of the model without its thinking.
pub(crate) fn tool_loop_lacks_thinking(messages: &[Message<'_>]) -> bool {
    let tool_loop = messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
    tool_loop.into_iter().any(|message| match message {
        Message::Assistant(message) => !message.calls.is_empty() && message.thinking.is_empty(),
        _ => false,
    })
}
