//! Amounts, counts, moments, digests and values of JSON as people read them. Amounts from integers only, never through a float.

use std::fmt::Display;
use std::time::Duration;

use gatehouse_model::{Credits, Digest, UnixMs};
use maud::{Markup, html};
use serde_json::Value;

/// Between groups of three digits.
const THIN: char = '\u{2009}';

/// Credits with at least two decimals, and more where they matter: never 0.00 for an amount that is not zero.
pub(crate) fn credits_text(amount: Credits) -> String {
    let (sign, micro) = (if amount.0 < 0 { "-" } else { "" }, amount.0.unsigned_abs());
    let unit = Credits::UNIT.unsigned_abs();
    let decimals = format!("{:06}", micro % unit);
    let shown = decimals.trim_end_matches('0').len().max(2);
    format!("{sign}{}.{}", count(micro / unit), &decimals[..shown])
}

/// The same with the exact amount as its title.
pub(crate) fn credits(amount: Credits) -> Markup {
    html! { span.num title={ (amount.0) " millionths of a credit" } { (credits_text(amount)) } }
}

/// A whole number in groups of three digits.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len());
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
}

/// A moment: relative within a day, else the date; the exact one as its title.
pub(crate) fn moment(at: UnixMs, now: UnixMs) -> Markup {
    let exact = at.to_string();
    let text = match (now.since(at), at.since(now)) {
        (past, _) if at <= now && past < DAY => format!("{} ago", rough(past)),
        (_, ahead) if at > now && ahead < DAY => format!("in {}", rough(ahead)),
        _ => seconds(at),
    };
    html! { time datetime=(exact) title={ (seconds(at)) " UTC" } { (text) } }
}

const DAY: Duration = Duration::from_secs(86_400);

/// `2026-11-21 21:54:22`, UTC.
pub(crate) fn seconds(at: UnixMs) -> String {
    at.to_string().get(..19).map_or_else(|| at.to_string(), |text| text.replace('T', " "))
}

/// A span to its largest unit.
fn rough(span: Duration) -> String {
    match span.as_secs() {
        0 => "a moment".to_owned(),
        seconds @ 1..=59 => format!("{seconds} s"),
        seconds @ 60..=3599 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// A duration as people say it: `840 ms`, `3.2 s`, `4 min 10 s`, `2 d 3 h`.
pub(crate) fn span(span: Duration) -> String {
    let (ms, seconds) = (span.as_millis(), span.as_secs());
    match seconds {
        0 => format!("{ms} ms"),
        1..=59 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..=86_399 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// The kind and the end of an id, the whole as its title: what is between is the same for all of a day.
pub(crate) fn short_id(id: impl Display) -> Markup {
    let id = id.to_string();
    html! { code title=(id) { (shortened(&id)) } }
}

fn shortened(id: &str) -> String {
    match (id.split_once('_'), id.get(id.len().saturating_sub(8)..)) {
        (Some((kind, number)), Some(end)) if number.len() > 8 => format!("{kind}…{end}"),
        _ => id.to_owned(),
    }
}

/// A digest's beginning, the whole as its title.
pub(crate) fn digest(digest: &Digest) -> Markup {
    html! { code title=(digest) { (digest.short()) } }
}

/// A value as text: a string without its quotes.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_told_by_its_kind_and_end() {
        for (id, expected) in [
            ("task_01JZ3K8M4N5P6Q7R8S9T0V1W2X", "task…9T0V1W2X"),
            ("task_12345678", "task_12345678"),
            ("", ""),
            ("_\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}a", "_\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}a"),
        ] {
            assert_eq!(shortened(id), expected);
        }
    }

    #[test]
    fn amounts_keep_what_matters() {
        for (micro, text) in [
            (0, "0.00"),
            (4_500_000, "4.50"),
            (125, "0.000125"),
            (1, "0.000001"),
            (-4_500_000, "-4.50"),
            (12_345_678_900_000, "12\u{2009}345\u{2009}678.90"),
            (1_234_567, "1.234567"),
            (i64::MIN, "-9\u{2009}223\u{2009}372\u{2009}036\u{2009}854.775808"),
        ] {
            assert_eq!(credits_text(Credits(micro)), text);
        }
    }

    #[test]
    fn spans_and_moments_are_short() {
        for (ms, text) in [
            (840, "840 ms"),
            (3_250, "3.2 s"),
            (250_000, "4 min 10 s"),
            (3_720_000, "1 h 2 min"),
            (183_600_000, "2 d 3 h"),
        ] {
            assert_eq!(span(Duration::from_millis(ms)), text);
        }
        let now = UnixMs(1_763_762_062_000);
        for (at, text) in [
            (now, "a moment ago"),
            (UnixMs(now.0 - 180_000), "3 min ago"),
            (UnixMs(now.0 + 7_200_000), "in 2 h"),
            (UnixMs(now.0 - 86_400_000), "2025-11-20 21:54:22"),
        ] {
            let shown = moment(at, now).into_string();
            assert!(shown.contains(&format!(">{text}<")), "{shown}");
        }
    }
}
