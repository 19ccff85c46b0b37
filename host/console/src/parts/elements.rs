//! Small elements: states, copy buttons, empty pages, dialogs, bars.

use gatehouse_model::{Credits, QuotaUse};
use maud::{Markup, html};

use crate::format::{credits_text, seconds};

/// How good a state is; decides colour and shape, never the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Ok,
    Warn,
    Error,
    Info,
    Neutral,
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Ok => "chip ok",
            Self::Warn => "chip warn",
            Self::Error => "chip error",
            Self::Info => "chip info",
            Self::Neutral => "chip",
        }
    }

    /// A shape of its own beside the word, for those who see no colours.
    const fn mark(self) -> &'static str {
        match self {
            Self::Ok => "●",
            Self::Warn => "▲",
            Self::Error => "✕",
            Self::Info => "◆",
            Self::Neutral => "○",
        }
    }
}

/// A state: shape and word.
pub(crate) fn chip(tone: Tone, word: &str) -> Markup {
    html! { span class=(tone.class()) { span aria-hidden="true" { (tone.mark()) } " " (word) } }
}

/// A block of text to paste, with a button that copies it.
pub(crate) fn paste(id: &str, label: &str, text: &str) -> Markup {
    html! {
        div.paste {
            pre tabindex="0" role="region" aria-label=(label) { code id=(id) { (text) } }
            button type="button" data-copies=(id) { "Copy" }
        }
    }
}

/// A page or table without rows.
pub(crate) fn empty(sentence: &str, button: Option<(&str, &str)>, command: &str) -> Markup {
    html! {
        div.empty {
            p { (sentence) }
            @if let Some((address, name)) = button { p { a.button.primary href=(address) { (name) } } }
            p.muted { "On the command line: " code { (command) } }
        }
    }
}

/// A button and the dialog it opens, with what it will do and the form that does it.
pub(crate) struct Confirm<'c> {
    pub(crate) id: &'c str,
    /// The verb on both buttons.
    pub(crate) button: &'c str,
    /// Names the thing.
    pub(crate) title: &'c str,
    /// What follows.
    pub(crate) consequence: &'c str,
    pub(crate) action: &'c str,
    pub(crate) danger: bool,
}

impl Confirm<'_> {
    /// With more fields in its form.
    pub(crate) fn with(&self, fields: &Markup) -> Markup {
        let title = format!("{}-title", self.id);
        html! {
            button type="button" .danger[self.danger] command="show-modal" commandfor=(self.id) { (self.button) }
            dialog id=(self.id) aria-labelledby=(title) {
                h2 id=(title) { (self.title) }
                p { (self.consequence) }
                form method="post" action=(self.action) {
                    (fields)
                    div.buttons {
                        button .danger[self.danger] .primary[!self.danger] { (self.button) }
                        button type="button" command="close" commandfor=(self.id) { "Cancel" }
                    }
                }
            }
        }
    }

    pub(crate) fn show(&self) -> Markup {
        self.with(&html! {})
    }
}

/// How far something is, in percent; nothing once it has ended.
pub(crate) fn progress(percent: Option<u64>) -> Markup {
    let Some(percent) = percent else { return html! { span.muted { "ended" } } };
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={ (percent) " %" } {
            rect.track width="100" height="6" rx="2" {}
            rect.fill width=(percent) height="6" rx="2" {}
        }
        span.num { (percent) " %" }
    }
}

/// What is used of a quota, and when it resets; `used` is what was used in all.
pub(crate) fn quota(used: Credits, quota: Option<QuotaUse>) -> Markup {
    let Some(QuotaUse { limit, used, resets }) = quota else {
        return html! { span.muted.num { "unlimited" br; (credits_text(used)) " used" } };
    };
    let share = percent(used, limit);
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={ (share) " % used" } {
            rect.track width="100" height="6" rx="2" {}
            rect .fill .full[share >= 90] width=(share) height="6" rx="2" {}
        }
        span.num { (credits_text(used)) " of " (credits_text(limit)) }
        @if let Some(resets) = resets { br; span.muted { "resets " (seconds(resets)) " UTC" } }
    }
}

/// Whole percent of a quota, at most 100.
fn percent(used: Credits, quota: Credits) -> u8 {
    let (used, quota) = (i128::from(used.0.max(0)), i128::from(quota.0.max(0)));
    if quota == 0 {
        return 100;
    }
    u8::try_from((used * 100 / quota).min(100)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_bounded() {
        for (used, quota, expected) in [
            (0, 0, 100),
            (0, 10, 0),
            (1, 3, 33),
            (10, 10, 100),
            (30, 10, 100),
            (-5, 10, 0),
            (i64::MAX, 1, 100),
        ] {
            assert_eq!(percent(Credits(used), Credits(quota)), expected, "{used} of {quota}");
        }
    }
}
