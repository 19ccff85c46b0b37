//! Points in time as text: RFC 3339 in UTC.

use std::time::{Duration, UNIX_EPOCH};

use gatehouse_model::UnixMs;

/// The moment to the second, such as `2026-01-31T12:00:00Z`.
pub(crate) fn rfc3339(at: UnixMs) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at.0)).to_string()
}

/// The moment to the millisecond.
pub(crate) fn rfc3339_millis(at: UnixMs) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at.0)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_utc() {
        assert_eq!(rfc3339(UnixMs(86_400_000)), "1970-01-02T00:00:00Z");
        assert_eq!(rfc3339_millis(UnixMs(7)), "1970-01-01T00:00:00.007Z");
    }
}
