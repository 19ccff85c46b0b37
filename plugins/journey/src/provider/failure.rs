//! The provider's reasons in the client's words: the three of the specification, or the engine's own English text.

use std::time::Duration;

use gatehouse_sdk::job::Policy;
use gatehouse_sdk::provider::{REFUSED, shown};
use gatehouse_sdk::{Failure, Reply, log};

/// Banned words in a prompt, however the provider calls them.
const BANNED: [&str; 4] = ["banned prompt", "banned word", "\u{654f}\u{611f}\u{8bcd}", "sensitive word"];
/// The provider's own time is over.
const TIMEOUT: [&str; 4] = [
    "\u{4efb}\u{52a1}\u{8d85}\u{65f6}",
    "\u{6267}\u{884c}\u{8d85}\u{65f6}",
    "\u{63d0}\u{4ea4}\u{8d85}\u{65f6}",
    "timed out",
];
/// The engine's refusals of what was asked for or drawn.
const MODERATED: [&str; 3] = ["image denied", "output filters", "moderat"];
/// The engine's refusals of arguments.
const INVALID: [&str; 4] = ["invalid parameter", "invalid link", "invalid image", "unrecognized"];
/// How the engine begins a text about the request. What follows may quote the prompt, so it says nothing of accounts.
const OF_REQUEST: [&str; 4] = ["[invalid parameter", "[invalid link", "[invalid image", "[image denied"];
/// Words about the operator's accounts. A client does not read a text with one of them.
const ACCOUNT: [&str; 11] = [
    "account",
    "quota",
    "channel",
    "subscri",
    "credit",
    "token",
    "instance",
    "discord",
    "secret",
    "\u{8d26}\u{53f7}",
    "\u{989d}\u{5ea6}",
];

/// How a refusal of the operator's account begins: used-up quota, no account of the engine.
const SPENT: [&str; 8] = [
    "quota_not_enough",
    "quota not enough",
    "insufficient",
    "\u{65e0}\u{53ef}\u{7528}\u{7684}\u{8d26}\u{53f7}",
    "\u{6ca1}\u{6709}\u{53ef}\u{7528}\u{7684}\u{8d26}\u{53f7}",
    "\u{8d26}\u{53f7}",
    "\u{989d}\u{5ea6}",
    "\u{4f59}\u{989d}",
];

/// What a client reads when the provider does not do it: in most cases the specification's own words. A full queue and
/// a missing connection are tried for a minute at the usual pace.
pub(crate) const POLICY: Policy = Policy {
    retries: 5,
    unreachable: Duration::MAX,
    unavailable: UNAVAILABLE,
    failed: UNAVAILABLE,
    lost: UNAVAILABLE,
    interrupted: FAILED,
    ..Policy::DEFAULT
};
const UNAVAILABLE: &str = "No available upstream";
const FAILED: &str = "the upstream failed to finish the task";

/// The provider's word filter, or the engine's.
pub(crate) fn banned() -> Failure {
    Failure::moderation("Banned prompt detected")
}

/// The task that was followed up is gone at the provider.
pub(crate) fn parent_gone() -> Failure {
    Failure::upstream("the upstream no longer knows the task that this one follows up")
}

/// The provider failed without a reason that a client could use.
pub(crate) fn failed() -> Failure {
    Failure::upstream(FAILED)
}

/// The answer has a status that says the operator's account was refused, or that the provider is down.
pub(crate) fn of_status(reply: &Reply) -> Failure {
    let status = reply.status.to_string();
    if matches!(reply.status, 401..=403) {
        log::error("the provider refused the operator's account", &[("status", &status)]);
        return POLICY.account();
    }
    log::error("the provider answered with an error", &[("status", &status)]);
    POLICY.unavailable()
}

/// The failure of a submission whose text begins with the provider's word for a used-up quota, or for having no account of the
/// engine. Only the beginning counts: what follows may be the client's.
pub(crate) fn of_spent_account(text: &str) -> Option<Failure> {
    is_of_spent_account(text).then(|| {
        log::error("the provider refused the operator's account", &[("reason", text)]);
        POLICY.account()
    })
}

/// Whether a text begins so.
pub(crate) fn is_of_spent_account(text: &str) -> bool {
    let lower = text.trim_start().to_lowercase();
    SPENT.iter().any(|lead| lower.starts_with(lead))
}

/// Whether a text is about the operator's accounts.
pub(crate) fn is_about_accounts(text: &str) -> bool {
    has_any(text, &ACCOUNT)
}

/// The reason a task failed, or was refused at the submission.
pub(crate) fn of_text(text: &str) -> Failure {
    if has_any(text, &BANNED) {
        return banned();
    }
    let lower = text.trim_start().to_lowercase();
    if OF_REQUEST.iter().any(|lead| lower.starts_with(lead)) {
        log::warn("the engine refused a request", &[("reason", text)]);
        let words = words(text).unwrap_or_else(|| REFUSED.to_owned());
        return if has_any(text, &MODERATED) { Failure::moderation(words) } else { Failure::request(words) };
    }
    if has_any(text, &TIMEOUT) {
        return Failure::upstream("Task timeout");
    }
    if is_about_accounts(text) {
        log::error("the provider cannot use an account", &[("reason", text)]);
        return POLICY.unavailable();
    }
    log::warn("the provider failed a task", &[("reason", text)]);
    // Only the engine writes English; a text of the server in its own language is for its operator.
    let Some(words) = words(text) else { return failed() };
    if has_any(text, &MODERATED) {
        Failure::moderation(words)
    } else if has_any(text, &INVALID) {
        Failure::request(words)
    } else {
        Failure::upstream(words)
    }
}

fn has_any(text: &str, fragments: &[&str]) -> bool {
    let text = text.to_lowercase();
    fragments.iter().any(|fragment| text.contains(fragment))
}

/// An English text without ids and addresses; `None` when it is none, or nothing is left.
pub(crate) fn words(text: &str) -> Option<String> {
    let is_english = text
        .chars()
        .all(|letter| letter.is_ascii() || "\u{2018}\u{2019}\u{201c}\u{201d}\u{2026}".contains(letter));
    shown(text, &[], &[]).filter(|_| is_english)
}

#[cfg(test)]
mod tests {
    use gatehouse_sdk::Blame;

    use super::*;

    #[test]
    fn every_reason_has_its_words() {
        let as_it_came = |text: &'static str, blame| (text, blame, text);
        let banned = "Banned prompt detected";
        let unavailable = "No available upstream";
        let failed = "the upstream failed to finish the task";
        let no_account = "\u{65e0}\u{53ef}\u{7528}\u{7684}\u{8d26}\u{53f7}\u{5b9e}\u{4f8b}";
        for (text, blame, message) in [
            ("\u{53ef}\u{80fd}\u{5305}\u{542b}\u{654f}\u{611f}\u{8bcd}", Blame::Moderation, banned),
            ("[Banned prompt detected] no such thing", Blame::Moderation, banned),
            ("BANNED PROMPT", Blame::Moderation, banned),
            ("\u{4efb}\u{52a1}\u{8d85}\u{65f6}", Blame::Upstream, "Task timeout"),
            ("\u{6267}\u{884c}\u{8d85}\u{65f6} 5 \u{5206}\u{949f}", Blame::Upstream, "Task timeout"),
            ("\u{4efb}\u{52a1}\u{63d0}\u{4ea4}\u{8d85}\u{65f6}", Blame::Upstream, "Task timeout"),
            as_it_came("[Invalid parameter] Unrecognized parameter(s): `--xyz`", Blame::Request),
            as_it_came("[Invalid link] Could not fetch it", Blame::Request),
            as_it_came("[Image denied] Please try another", Blame::Moderation),
            as_it_came("Request cancelled due to output filters", Blame::Moderation),
            // A prompt that is quoted.
            as_it_came("[Invalid parameter] Unrecognized parameter(s): `--timed out`", Blame::Request),
            ("[Invalid parameter] `--credit card`", Blame::Request, REFUSED),
            ("[Image denied] a bank account", Blame::Moderation, REFUSED),
            as_it_came("[Internal Server Error]", Blame::Upstream),
            as_it_came("Failed to process your command", Blame::Upstream),
            ("The account midj-7 is banned", Blame::Upstream, unavailable),
            (no_account, Blame::Upstream, unavailable),
            ("quota_not_enough", Blame::Upstream, unavailable),
            ("\u{63d0}\u{4ea4}\u{5931}\u{8d25}", Blame::Upstream, failed),
            ("", Blame::Upstream, failed),
            ("<html>", Blame::Upstream, failed),
            (
                "[Invalid link] https://cdn.x.example/1 of 1118138338562560102 failed",
                Blame::Request,
                "[Invalid link] of failed",
            ),
        ] {
            let failure = of_text(text);
            assert_eq!((failure.blame, failure.message.as_str()), (blame, message), "{text:?}");
        }
    }
}
