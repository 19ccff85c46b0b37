//! The clock of the sandbox, apart from the gateway's: a provider has its own.
//!
//! Only this file reads the wall clock or sleeps. Tests pass another [`Now`].

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 9999-12-31T23:59:59Z, the last second that has this format.
const MAX_MS: u64 = 253_402_300_799_000;

/// Milliseconds since the Unix epoch, whenever it is called.
pub type Now = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The machine's clock.
#[expect(clippy::disallowed_methods, reason = "a provider has its own clock, apart from the gateway's")]
pub(crate) fn wall() -> Now {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Waits in real time, independent of [`Now`]. Used only to pace and hold bytes, and after a failed accept.
#[expect(clippy::disallowed_methods, reason = "a provider has its own clock, apart from the gateway's")]
pub(crate) async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}

/// `2026-01-01T00:10:00Z`. Fixed width, so that text order is time order.
pub(crate) fn iso(ms: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(ms.min(MAX_MS));
    humantime::format_rfc3339_seconds(time).to_string()
}

/// `20260101001000`, as some ids begin with.
pub(crate) fn digits_of_time(now: u64) -> String {
    iso(now).chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates() {
        #[rustfmt::skip]
        let table = [
            (0, "1970-01-01T00:00:00Z"), (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"), (1_767_225_600, "2026-01-01T00:00:00Z"),
            (1_772_323_199, "2026-02-28T23:59:59Z"), (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, expected) in table {
            assert_eq!(iso(seconds * 1000), expected, "{seconds}");
        }
    }

    proptest! {
        /// Links are judged by comparing these texts.
        #[test]
        fn text_order_is_time_order(a in 0..250_000_000_000_u64, b in 0..250_000_000_000_u64) {
            prop_assert_eq!((a * 1000).cmp(&(b * 1000)), iso(a * 1000).cmp(&iso(b * 1000)));
        }
    }
}
