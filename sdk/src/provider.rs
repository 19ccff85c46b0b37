//! What a provider says of its operator, and which of its words a client may read.
//!
//! Providers put account numbers, names of projects and addresses of their consoles into error messages. A client reads a
//! provider's words only where a code says that they are about the request, and only what [`shown`] leaves of them.

/// What a client reads of a refusal whose reason is not for clients.
pub const REFUSED: &str = "the upstream refused the request";

/// Characters of a provider's text that a client reads.
const MAX_SHOWN: usize = 400;
/// More digits in a row than this are an id of the provider, unless they are a limit.
const MAX_DIGITS: usize = 9;
/// The greatest values of integer types, which sentences about a number name: of `i32`, `u32`, exact doubles, `i64`, `u64`.
const LIMITS: [u128; 5] = [
    2_147_483_647,
    4_294_967_295,
    9_007_199_254_740_991,
    9_223_372_036_854_775_807,
    18_446_744_073_709_551_615,
];
/// Parts of codes about the operator's account or its money, in lower case without marks. None of them may be a part of a
/// word about requests: `balance` would be found in `LoadBalancerError`, `budget` in `ThinkingBudgetExceeded`.
const ACCOUNT_CODES: [&str; 38] = [
    "arrear",
    "accountoverdue",
    "billoverdue",
    "paymentoverdue",
    "serviceoverdue",
    "billing",
    "unpaid",
    "notpurchased",
    "unpurchased",
    "insufficientbalance",
    "insufficientaccountbalance",
    "insufficientuserbalance",
    "accountbalance",
    "creditbalance",
    "balanceinsufficient",
    "balancenotenough",
    "balanceexhausted",
    "insufficientfund",
    "insufficientcredit",
    "insufficientquota",
    "insufficientuserquota",
    "quotanotenough",
    "tokenquotafailed",
    "invalidsubscription",
    "subscriptionrequired",
    "subscriptionexpired",
    "invalidapikey",
    "apikeyinvalid",
    "freetier",
    "accountdisabled",
    "accountblocked",
    "accountsuspended",
    "exceededcurrentquota",
    "organizationrestricted",
    "blockedapiaccess",
    "wrongapikey",
    "resourcepackexhausted",
    "chargeresourceexhaust",
];
/// The same, for codes that begin so: `SetLimitExceeded` is about the account's own limit, `AssetLimitExceeded` is not.
const ACCOUNT_BEGINNINGS: [&str; 8] = [
    "setlimit",
    "spendlimit",
    "spendinglimit",
    "budgetlimit",
    "budgetexceeded",
    "overdue",
    "apikey",
    "subscription",
];
/// Words about money, for codes that stand for a spent account as well as for a busy one.
const SPENT: [&str; 21] = [
    "free trial",
    "free-trial",
    "free quota",
    "free tier only",
    "trial quota",
    "overdue",
    "arrear",
    "insufficient balance",
    "insufficient credit",
    "insufficient fund",
    "used all available credits",
    "credits are depleted",
    "spending limit",
    "spend limit",
    "spending cap",
    "out of credits",
    "usage limit reached",
    "package has expired",
    "plan has expired",
    "included credits",
    "monthly limit exhausted",
];
/// Beginnings of the names of a provider's own objects, which may name the operator.
const RESOURCES: [&str; 4] = ["projects/", "organizations/", "arn:", "accounts/"];
/// A text with one of them is about the operator's side.
const PRIVATE: [&str; 13] = [
    "account",
    "api key",
    "api-key",
    "apikey",
    "billing",
    "quota",
    "credit",
    "balance",
    "subscription",
    "overdue",
    "console",
    "organization",
    "workspace",
];

/// A code as it is compared: its letters and digits in lower case. The same code comes in several spellings.
#[must_use]
pub fn plain_code(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// The status that an answer means: its own, or where it is one of success the error code that stands in the body as a number
/// of HTTP.
///
/// ```
/// use gatehouse_sdk::provider::meant_status;
///
/// assert_eq!([meant_status(200, "429"), meant_status(200, "1302"), meant_status(503, "429")], [429, 200, 503]);
/// ```
#[must_use]
pub fn meant_status(status: u16, code: &str) -> u16 {
    let written = code.trim().parse().ok().filter(|code| (400..600).contains(code));
    written.filter(|_| (200..300).contains(&status)).unwrap_or(status)
}

/// Whether an error code is about the operator's account or its money, whatever its status is. The same code comes in several
/// spellings: dots, dashes, underscores and case do not count.
///
/// ```
/// use gatehouse_sdk::provider::is_account_code;
///
/// assert!(is_account_code("PostpaidBillOverdue"));
/// assert!(is_account_code("insufficient_balance"));
/// assert!(!is_account_code("RateLimitExceeded"));
/// assert!(!is_account_code("AssetLimitExceeded"));
/// ```
#[must_use]
pub fn is_account_code(code: &str) -> bool {
    let plain = plain_code(code);
    ACCOUNT_CODES.iter().any(|part| plain.contains(part))
        || ACCOUNT_BEGINNINGS.iter().any(|start| plain.starts_with(start))
}

/// Whether a message says that money or a trial is used up. Call it only where the message cannot quote the client, such as
/// a message about too many requests: a prompt may hold the same words.
#[must_use]
pub fn says_spent(message: &str) -> bool {
    let lower = message.to_lowercase();
    SPENT.iter().any(|words| lower.contains(words))
}

/// A provider's words about a request as a client may read them: `names` of the provider become those of the client,
/// addresses and long numbers are left out. `None` where nothing is left, where the text is a page, or where it is about the
/// operator's side, which `private` adds words to.
#[must_use]
pub fn shown(text: &str, names: &[(&str, &str)], private: &[&str]) -> Option<String> {
    let mut text = text.to_owned();
    for (theirs, ours) in names {
        text = text.replace(theirs, ours);
    }
    if text.contains('<') || is_private(&text, private) {
        return None;
    }
    let shown: String = without_ids(&text, &[])?.chars().take(MAX_SHOWN).collect();
    shown.contains(char::is_alphabetic).then_some(shown)
}

/// Whether a text is about the operator's side: its account, its money, its console. `private` adds words in lower case.
#[must_use]
pub fn is_private(text: &str, private: &[&str]) -> bool {
    let lower = text.to_lowercase();
    PRIVATE.iter().chain(private).any(|word| lower.contains(word))
}

/// A text without its addresses, long numbers, names of a provider's objects and control characters; `None` where nothing
/// is left to read. The greatest values of integer types stay, and so do the numbers of words that begin with one of `own`:
/// ids that the client wrote itself.
///
/// ```
/// use gatehouse_sdk::provider::without_ids;
///
/// let said = "`seed` of call_0123456789 exceeds 9223372036854775807, request 0123456789";
/// let left = "`seed` of call_0123456789 exceeds 9223372036854775807, request";
/// assert_eq!(without_ids(said, &["call_"]).as_deref(), Some(left));
/// ```
#[must_use]
pub fn without_ids(text: &str, own: &[&str]) -> Option<String> {
    let is_kept = |word: &&str| {
        let bare = word.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let is_own = own.iter().any(|start| bare.starts_with(start));
        let mut runs = word.split(|letter: char| !letter.is_ascii_digit());
        !word.contains("://")
            && !RESOURCES.iter().any(|name| word.contains(name))
            && !is_uuid(word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()))
            && (is_own || runs.all(|digits| digits.len() <= MAX_DIGITS || is_limit(digits)))
    };
    let kept: Vec<&str> = text.split_whitespace().filter(is_kept).collect();
    let left: String = kept.join(" ").chars().filter(|letter| !letter.is_control()).collect();
    left.contains(char::is_alphabetic).then_some(left)
}

/// Whether digits are the greatest value of an integer type, or one more or less: the least value, or the first outside.
fn is_limit(digits: &str) -> bool {
    digits.parse::<u128>().is_ok_and(|number| LIMITS.iter().any(|limit| limit.abs_diff(number) <= 1))
}

/// Whether a word is a number of 128 bits in its usual five groups.
fn is_uuid(word: &str) -> bool {
    let groups = word.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12]) && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// The sentence that a client reads when the provider refused its request, with the reason as far as [`shown`] lets it through.
///
/// ```
/// use gatehouse_sdk::provider::refused;
///
/// let names = [("input.img_url", "image_urls[0]")];
/// assert_eq!(
///     refused("input.img_url is too small", &names, &[]),
///     "the upstream refused the request: image_urls[0] is too small"
/// );
/// assert_eq!(refused("account 12 has no plan", &names, &[]), "the upstream refused the request");
/// ```
#[must_use]
pub fn refused(text: &str, names: &[(&str, &str)], private: &[&str]) -> String {
    shown(text, names, private).map_or_else(|| REFUSED.to_owned(), |reason| format!("{REFUSED}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of them held a task and its money until the deadline, or told a client about the operator's account.
    #[test]
    fn codes_of_accounts_are_known_in_every_spelling() {
        for code in [
            "Arrearage",
            "AccountOverdueError",
            "PostpaidBillOverdue",
            "PrepaidBillOverdue",
            "CommodityNotPurchased",
            "AccessDenied.Unpurchased",
            "BudgetLimitExceeded",
            "budget_limit_exceeded",
            "SetLimitExceeded",
            "InvalidSubscription",
            "SubscriptionRequired",
            "insufficient_balance",
            "insufficient_quota",
            "insufficient_user_quota",
            "quota_not_enough",
            "pre_consume_token_quota_failed",
            "billing_hard_limit_reached",
            "InvalidApiKey",
            "API_KEY_INVALID",
            "ApiKeyNotFound",
            "InsufficientBalance",
            "insufficient_user_balance",
            "InsufficientAccountBalance",
            "spending-limit-reached",
            "budget_exceeded",
            "OverdueBill",
            "AllocationQuota.FreeTierOnly",
            "FailedOperation.FreeResourcePackExhausted",
            "ResourceInsufficient.ChargeResourceExhaust",
        ] {
            assert!(is_account_code(code), "{code}");
        }
        for code in [
            "",
            "QuotaExceeded",
            "RateLimitExceeded",
            "ServerOverloaded",
            "InvalidParameter",
            "1113",
            // Words of accounts inside of other words.
            "AssetLimitExceeded",
            "AssetSetLimitExceeded",
            "LoadBalancerError",
            "InvalidParameter.WhiteBalance",
            "ThinkingBudgetExceeded",
            "InvalidParameter.BudgetTokens",
            "SuspendLimitExceeded",
            "TaskOverdue",
        ] {
            assert!(!is_account_code(code), "{code}");
        }
        assert!(says_spent("Your free trial quota for model x is exhausted"));
        assert!(!says_spent("You exceeded your current quota of requests per minute"));
    }

    /// Without it a client would read account numbers and consoles.
    #[test]
    fn a_client_reads_nothing_of_the_operators_side() {
        let names = [("parameters.", ""), ("big-1", "clip-2.0")];
        for (text, expected) in [
            ("the model big-1 has no 4k", Some("the model clip-2.0 has no 4k")),
            ("parameters.seed is\n too large", Some("seed is too large")),
            ("see https://console.example/x for 1118138338562560102 things", None),
            ("see https://docs.example/x for 1118138338562560102 things", Some("see for things")),
            ("Your account 2100000001 has no plan", None),
            ("Project 12 has none", None),
            ("no model arn:aws:bedrock:m for e62c1e1e-0b4b-4c1c-9f3a-3a1f0c7d2b11.", Some("no model for")),
            (
                "seed: from -9223372036854775808 to 9223372036854775807, not 9223372036854775809",
                Some("seed: from -9223372036854775808 to 9223372036854775807, not"),
            ),
            ("n is over 2147483647, 4294967296, 2147483650", Some("n is over 2147483647, 4294967296,")),
            ("<html>Bad Gateway", None),
            ("  ", None),
            ("...", None),
        ] {
            assert_eq!(shown(text, &names, &["project"]).as_deref(), expected, "{text}");
        }
        assert_eq!(shown(&"x".repeat(1000), &[], &[]).map(|text| text.len()), Some(MAX_SHOWN));
    }
}
