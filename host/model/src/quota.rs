//! Quotas: limits of spending of a key or a customer, for good or for each day, week or month.
//!
//! Owns the calendar of periods and the row of what counts in the present one. What counts in which period is decided in
//! `tasks`. A period begins at midnight of its offset from UTC: of every day, of Monday, or of the first of a month. The
//! offset is fixed, so no clock change makes a period shorter or longer. Nothing runs when a period ends: whatever reads
//! or writes a row afterwards finds it over by its own time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::credits::Credits;
use crate::time::UnixMs;
use crate::words;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 86_400_000;
/// Of all time zones, in minutes.
const MAX_OFFSET: i16 = 14 * 60;

/// How often a quota resets, and where midnight is: `month`, or `month+02:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuotaPeriod {
    unit: PeriodUnit,
    offset_minutes: i16,
}

words! {
    /// The length of a period.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PeriodUnit {
        /// From midnight to midnight.
        Day = "day",
        /// From Monday to Monday.
        Week = "week",
        /// From the first to the first.
        Month = "month",
    }
}

/// What a row keeps of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodUse {
    /// Counts up with every period in which there was a use. A hold remembers the number it counts in.
    pub number: u64,
    /// When the period is over.
    pub ends: UnixMs,
    /// Held plus settled.
    pub used: Credits,
}

/// A quota and what is used of it at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    /// The most that may be used.
    pub limit: Credits,
    /// Held plus settled, in the present period where there are periods. May be more than the limit after an edit.
    pub used: Credits,
    /// When nothing is used again; `None` for a quota that never resets.
    pub resets: Option<UnixMs>,
}

impl QuotaPeriod {
    /// A period of that unit in UTC.
    #[must_use]
    pub const fn utc(unit: PeriodUnit) -> Self {
        Self { unit, offset_minutes: 0 }
    }

    /// When the period of that moment is over.
    #[must_use]
    pub fn end(self, at: UnixMs) -> UnixMs {
        let offset = i64::from(self.offset_minutes) * MINUTE_MS;
        let local = i64::try_from(at.0).unwrap_or(i64::MAX).saturating_add(offset);
        let day = local.div_euclid(DAY_MS);
        let next = match self.unit {
            PeriodUnit::Day => day + 1,
            // The first day of 1970 was a Thursday.
            PeriodUnit::Week => day + 7 - (day + 3).rem_euclid(7),
            PeriodUnit::Month => next_month(day),
        };
        let end = next.saturating_mul(DAY_MS).saturating_sub(offset);
        UnixMs(u64::try_from(end).unwrap_or(0))
    }
}

/// The first day of the month after that day's, both counted from the epoch.
fn next_month(day: i64) -> i64 {
    let first = u32::try_from(day).ok().and_then(|day| {
        let date = UnixMs::of_day(day).date();
        let (year, month): (u32, u32) = (date.get(..4)?.parse().ok()?, date.get(5..7)?.parse().ok()?);
        let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        UnixMs::parse_date(&format!("{year:04}-{month:02}-01"))
    });
    match first {
        Some(first) => first.into(),
        // Hours of 1969, west of UTC.
        None if day < 0 => 0,
        // Dates end with the year 9999.
        None => day.saturating_add(31),
    }
}

impl fmt::Display for QuotaPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.unit.as_str())?;
        match self.offset_minutes {
            0 => Ok(()),
            minutes => {
                let (sign, size) = (if minutes < 0 { '-' } else { '+' }, minutes.unsigned_abs());
                write!(f, "{sign}{:02}:{:02}", size / 60, size % 60)
            }
        }
    }
}

impl FromStr for QuotaPeriod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (unit, offset) = text.split_at(at);
        let offset_minutes = match offset {
            "" => Some(0),
            offset => offset_of(offset),
        };
        let wrong = || {
            format!(
                "expected day, week or month, with an offset of at most 14 hours from UTC where midnight is another, \
                 such as month+02:00, got {text:?}"
            )
        };
        let unit = unit.parse().map_err(|_| wrong())?;
        Ok(Self { unit, offset_minutes: offset_minutes.ok_or_else(wrong)? })
    }
}

/// Minutes of an offset such as +02:00.
fn offset_of(text: &str) -> Option<i16> {
    let (sign, size) = match text.split_at_checked(1)? {
        ("+", size) => (1, size),
        ("-", size) => (-1, size),
        _ => return None,
    };
    let (hours, minutes) = size.split_once(':')?;
    let number = |text: &str| -> Option<i16> {
        (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let size = hours * 60 + minutes;
    (minutes < 60 && size <= MAX_OFFSET).then_some(sign * size)
}

impl TryFrom<String> for QuotaPeriod {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<QuotaPeriod> for String {
    fn from(period: QuotaPeriod) -> Self {
        period.to_string()
    }
}

impl PeriodUse {
    /// A period without any use, with that number.
    #[must_use]
    pub fn unused(number: u64, period: QuotaPeriod, at: UnixMs) -> Self {
        Self { number, ends: period.end(at), used: Credits::ZERO }
    }

    /// The row at that moment: as it is, or the next period's.
    ///
    /// A clock that is set back, across a restart, never gives a period's quota a second time: the row stays as it is until
    /// the clock is past its end again. Only a row that is further ahead than the next period was written by a clock that
    /// was wrong; it would block for as long as that clock was ahead. Its use is carried into the period of the moment.
    #[must_use]
    pub fn at(self, period: QuotaPeriod, at: UnixMs) -> Self {
        if at >= self.ends {
            return Self::unused(self.number.saturating_add(1), period, at);
        }
        let ends = period.end(at);
        if period.end(ends) < self.ends { Self { ends, ..self } } else { self }
    }
}

impl QuotaUse {
    /// What is used of a quota at that moment, if there is one; `used` is what was used in all.
    #[must_use]
    pub fn new(
        limit: Option<Credits>,
        period: Option<QuotaPeriod>,
        row: Option<PeriodUse>,
        used: Credits,
        at: UnixMs,
    ) -> Option<Self> {
        let limit = limit?;
        Some(match period {
            None => Self { limit, used, resets: None },
            Some(period) => {
                let row = row.map_or_else(|| PeriodUse::unused(0, period, at), |row| row.at(period, at));
                Self { limit, used: row.used, resets: Some(row.ends) }
            }
        })
    }

    /// What is left.
    #[must_use]
    pub fn remaining(&self) -> Credits {
        self.limit.checked_sub(self.used).unwrap_or(Credits::ZERO).max(Credits::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moment(text: &str) -> UnixMs {
        UnixMs::parse(text).unwrap()
    }

    fn period(text: &str) -> QuotaPeriod {
        text.parse().unwrap()
    }

    /// Without it a customer's month would end on the 31st, or at somebody else's midnight.
    #[test]
    fn periods_end_by_the_calendar_of_their_offset() {
        for (text, at, end) in [
            ("day", "2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z"),
            ("day", "2026-11-26T23:59:59.999Z", "2026-11-27T00:00:00Z"),
            ("day+02:00", "2026-11-26T21:59:59.999Z", "2026-11-26T22:00:00Z"),
            ("day+02:00", "2026-11-26T22:00:00Z", "2026-11-27T22:00:00Z"),
            ("day-05:30", "2026-11-26T05:29:59Z", "2026-11-26T05:30:00Z"),
            ("day-05:30", "2026-11-26T05:30:00Z", "2026-11-27T05:30:00Z"),
            // A Thursday, the Sunday after it, and the Monday.
            ("week", "2026-11-26T09:00:00Z", "2026-11-30T00:00:00Z"),
            ("week", "2026-11-29T23:59:59Z", "2026-11-30T00:00:00Z"),
            ("week", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"),
            ("week+14:00", "2026-11-29T10:00:00Z", "2026-12-06T10:00:00Z"),
            ("month", "2026-11-26T09:00:00Z", "2026-12-01T00:00:00Z"),
            ("month", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"),
            ("month", "2027-01-31T00:00:00Z", "2027-02-01T00:00:00Z"),
            ("month", "2028-02-28T00:00:00Z", "2028-03-01T00:00:00Z"),
            ("month", "2028-02-29T12:00:00Z", "2028-03-01T00:00:00Z"),
            ("month+02:00", "2026-11-30T22:00:00Z", "2026-12-31T22:00:00Z"),
            ("month-08:00", "2026-12-01T07:59:59Z", "2026-12-01T08:00:00Z"),
            ("week", "1970-01-01T00:00:00Z", "1970-01-05T00:00:00Z"),
            ("month-14:00", "1970-01-01T00:00:00Z", "1970-01-01T14:00:00Z"),
        ] {
            assert_eq!(period(text).end(moment(at)).to_string(), moment(end).to_string(), "{text} at {at}");
        }
    }

    /// What is written into rows, shown and typed is one text.
    #[test]
    fn a_period_is_a_text() {
        for text in ["day", "week", "month", "day+02:00", "week-05:30", "month+14:00"] {
            assert_eq!(period(text).to_string(), text);
            assert_eq!(serde_json::to_string(&period(text)).unwrap(), format!("{text:?}"));
        }
        assert_eq!(period("day+00:00"), QuotaPeriod::utc(PeriodUnit::Day));
        for text in [
            "",
            "year",
            "Day",
            "day ",
            "day+",
            "day+2",
            "day+2:00",
            "day+02:60",
            "day+14:01",
            "day-15:00",
            "dayZ",
            "day02:00",
            "+02:00",
            "day+02:00:00",
            "day+-2:00",
            "day\u{2212}02:00",
        ] {
            let problem = text.parse::<QuotaPeriod>().unwrap_err();
            assert!(problem.contains("month+02:00") && problem.ends_with(&format!("{text:?}")), "{problem}");
        }
    }

    /// A quota given twice would be money; one that blocks for a year is no quota.
    #[test]
    fn a_clock_that_is_set_back_gives_nothing_twice_and_blocks_for_two_periods_at_most() {
        let day = period("day");
        let row = PeriodUse { used: Credits(5), ..PeriodUse::unused(7, day, moment("2026-11-26T00:00:01Z")) };
        let ends = |text: &str| row.at(day, moment(text));
        assert_eq!(ends("2026-11-26T23:59:59Z"), row);
        assert_eq!(ends("2026-11-27T00:00:00Z"), PeriodUse::unused(8, day, moment("2026-11-27T00:00:00Z")));
        // A second back over midnight, and most of a day.
        assert_eq!(ends("2026-11-25T23:59:59Z"), row);
        assert_eq!(ends("2026-11-25T00:00:00Z"), row);
        let carried = PeriodUse { ends: moment("2026-11-25T00:00:00Z"), ..row };
        assert_eq!(ends("2026-11-24T23:59:59Z"), carried);
        let wrong = PeriodUse { ends: moment("2036-01-01T00:00:00Z"), ..row };
        assert_eq!(wrong.at(day, moment("2026-11-26T00:00:00Z")), row);
    }

    proptest! {
        /// Every moment is in one period: the end is later, at most a month later, and every moment before it has the
        /// same end.
        #[test]
        fn every_moment_has_one_period(
            at in 0..4_102_444_800_000_u64,
            share in 0.0..1.0_f64,
            unit in prop_oneof![Just("day"), Just("week"), Just("month")],
            offset in -840..=840_i16,
        ) {
            let (at, period) = (UnixMs(at), QuotaPeriod { offset_minutes: offset, ..period(unit) });
            let end = period.end(at);
            prop_assert!(end > at && end.since(at).as_secs() <= 31 * 86_400);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "any moment between")]
            let between = at.plus(std::time::Duration::from_millis((end.since(at).as_millis() as f64 * share) as u64));
            prop_assert_eq!(period.end(between.min(UnixMs(end.0 - 1))), end);
            prop_assert_eq!(period.to_string().parse::<QuotaPeriod>(), Ok(period));
        }
    }
}
