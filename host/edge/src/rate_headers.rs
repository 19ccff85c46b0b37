//! The headers that say what is left of a key's rates, in the words of each family of clients: `anthropic-ratelimit-*`
//! under the messages endpoint, `x-ratelimit-*` elsewhere. A key without rates gets none. Never decides anything.

use std::time::Duration;

use gatehouse_driver::{LimitStatus, RateStatus};
use gatehouse_model::UnixMs;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::errors::Form;

/// Adds them. `now` is the moment of the status.
pub(crate) fn add(headers: &mut HeaderMap, form: Form, status: &RateStatus, now: UnixMs) {
    let kinds = [("requests", &status.requests), ("tokens", &status.tokens)];
    for (kind, status) in kinds.into_iter().filter_map(|(kind, status)| Some((kind, status.as_ref()?))) {
        let LimitStatus { limit, remaining, reset } = *status;
        let named = |part: &str| match form {
            Form::Messages => format!("anthropic-ratelimit-{kind}-{part}"),
            _ => format!("x-ratelimit-{part}-{kind}"),
        };
        let reset = match form {
            Form::Messages => now.plus(reset).to_string(),
            _ => go_duration(reset),
        };
        let values = [("limit", limit.to_string()), ("remaining", remaining.to_string()), ("reset", reset)];
        for (part, value) in values {
            let name = HeaderName::try_from(named(part)).expect("lower case letters and hyphens");
            let value = HeaderValue::try_from(value).expect("ASCII digits, letters and points");
            headers.insert(name, value);
        }
    }
}

/// A duration as Go prints it, which is how OpenAI does: `12ms`, `1.5s`, `6m0s`.
fn go_duration(duration: Duration) -> String {
    let (seconds, millis) = (duration.as_secs(), duration.subsec_millis());
    if seconds == 0 && millis > 0 {
        return format!("{millis}ms");
    }
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = match millis {
        0 => String::new(),
        millis => format!(".{millis:03}").trim_end_matches('0').to_owned(),
    };
    match (hours, minutes) {
        (0, 0) => format!("{rest}{fraction}s"),
        (0, minutes) => format!("{minutes}m{rest}{fraction}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}{fraction}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        for (millis, expected) in [
            (0, "0s"),
            (12, "12ms"),
            (1_000, "1s"),
            (1_500, "1.5s"),
            (1_050, "1.05s"),
            (59_999, "59.999s"),
            (60_000, "1m0s"),
            (360_000, "6m0s"),
            (61_250, "1m1.25s"),
            (3_600_000, "1h0m0s"),
        ] {
            assert_eq!(go_duration(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn each_family_of_clients_reads_its_own_headers() {
        let of = |limit, remaining, reset| Some(LimitStatus { limit, remaining, reset });
        let status = RateStatus {
            requests: of(60, 59, Duration::from_secs(1)),
            tokens: of(1_000, 0, Duration::from_millis(90_500)),
        };
        let check = |form, status: &RateStatus, expected: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            add(&mut headers, form, status, UnixMs(1_800_000_000_000));
            let found: Vec<_> =
                headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
            assert_eq!(found, expected);
        };
        let openai = [
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-limit-tokens", "1000"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "1m30.5s"),
        ];
        for form in [Form::Generic, Form::Responses, Form::Journey] {
            check(form, &status, &openai);
        }
        let anthropic = [
            ("anthropic-ratelimit-requests-limit", "60"),
            ("anthropic-ratelimit-requests-remaining", "59"),
            ("anthropic-ratelimit-requests-reset", "2027-01-15T08:00:01.000Z"),
            ("anthropic-ratelimit-tokens-limit", "1000"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2027-01-15T08:01:30.500Z"),
        ];
        check(Form::Messages, &status, &anthropic);
        check(Form::Generic, &RateStatus { tokens: None, ..status }, &openai[..3]);
        check(Form::Messages, &RateStatus::default(), &[]);
    }
}
