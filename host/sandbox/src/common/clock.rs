//! The sandbox's own time: it stands outside the gateway, so it has a clock of its own.
//!
//! The one place of this crate that reads the wall clock or waits. Tests bring another [`Now`].

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// Waits in real time, whatever [`Now`] says: used only to pace and hold up bytes, and after a
/// failed accept.
#[expect(clippy::disallowed_methods, reason = "a provider has its own clock, apart from the gateway's")]
pub(crate) async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}

/// `2026-01-01T00:10:00Z`. Fixed width up to the year 9999, so that text order is time order.
pub(crate) fn iso(ms: u64) -> String {
    let seconds = ms / 1000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days since 1970-01-01 to a date of the Gregorian calendar, counted in 400-year eras that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_600, "2026-01-01T00:00:00Z"),
            (1_772_323_199, "2026-02-28T23:59:59Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
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
