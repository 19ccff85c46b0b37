//! `GET /v1/balance` and `GET /v1/usage`: what a customer has, and what its keys used, by day and model. Amounts are credits,
//! with the exact integer of micro-credits beside each; days are UTC.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_driver::{Funds, UsageFilter, UsagePosition, UsageRow, UsageSums};
use gatehouse_model::{Credits, Key, KeyId, QuotaUse, UnixMs, view};
use serde::{Serialize, Serializer};

use crate::backend::store_refusal;
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::query::Query;
use crate::response;

/// Days of a request that names none, the present one included.
const USUAL_DAYS: u32 = 30;
/// Days of one request.
const MAX_DAYS: u32 = 366;
const USUAL_PAGE: usize = 100;
const MAX_PAGE: usize = 1000;
/// Rows that one page or one sum may read: a year of more than fifty models.
const MAX_ROWS: usize = 20_000;

view! {
    #[derive(Serialize)]
    struct BalanceView of (funds: Funds) {
        available: Amount = Amount(funds.available),
        available_micro: Credits = funds.available,
        held: Amount = Amount(funds.reserved),
        held_micro: Credits = funds.reserved,
        spent: Amount = Amount(funds.spent),
        spent_micro: Credits = funds.spent,
        key: KeyBalance = (&funds).into(),
        /// Of all the customer's keys together; null without one.
        quota: Option<QuotaView> = funds.quota.map(QuotaView::from),
    }
}

view! {
    #[derive(Serialize)]
    struct QuotaView of (quota: QuotaUse) where {
        let remaining = quota.remaining();
    } {
        limit: Amount = Amount(quota.limit),
        limit_micro: Credits = quota.limit,
        used: Amount = Amount(quota.used),
        used_micro: Credits = quota.used,
        remaining: Amount = Amount(remaining),
        remaining_micro: Credits = remaining,
        resets_at: Option<String> = quota.resets.map(|at| at.to_string()),
    }
}

view! {
    /// `quota` and `remaining` are null where the key is unlimited: then only the balance counts. `used` is that of the present
    /// period where the quota resets.
    #[derive(Serialize)]
    struct KeyBalance of (funds: &Funds) where {
        let quota = funds.key_quota;
        let used = quota.map_or(funds.key.used, |quota| quota.used);
        let remaining = quota.map(|quota| quota.remaining());
    } {
        id: KeyId = funds.key.id.clone(),
        name: String = funds.key.name.clone(),
        quota: Option<Amount> = quota.map(|quota| Amount(quota.limit)),
        quota_micro: Option<Credits> = quota.map(|quota| quota.limit),
        used: Amount = Amount(used),
        used_micro: Credits = used,
        remaining: Option<Amount> = remaining.map(Amount),
        remaining_micro: Option<Credits> = remaining,
        resets_at: Option<String> = quota.and_then(|quota| quota.resets).map(|at| at.to_string()),
    }
}

#[derive(Serialize)]
struct UsageView {
    code: u16,
    data: Vec<DayView>,
    total: SumsView,
    has_more: bool,
    next: Option<String>,
}

view! {
    #[derive(Serialize)]
    struct DayView of (row: UsageRow) {
        day: String = UnixMs::of_day(row.period).date(),
        key: KeyId = row.key,
        model: String = row.model,
        #[serde(flatten)]
        sums: SumsView = row.sums.into(),
    }
}

view! {
    #[derive(Serialize)]
    struct SumsView of (sums: UsageSums) {
        requests: u64 = sums.requests,
        failures: u64 = sums.failures,
        input_tokens: u64 = sums.input,
        output_tokens: u64 = sums.output,
        cached_tokens: u64 = sums.cached,
        cache_write_tokens: u64 = sums.cache_write,
        cost: Amount = Amount(sums.settled),
        cost_micro: Credits = sums.settled,
        refunded: Amount = Amount(sums.refunded),
        refunded_micro: Credits = sums.refunded,
    }
}

/// The balance of the key's customer, and what the key may still spend of it.
pub(super) async fn balance(context: &EdgeContext, key: &Key) -> Outcome {
    let funds = context.backend.funds(key).await.map_err(store_refusal)?;
    let funds = funds.ok_or_else(|| Refusal::new(Kind::Unauthenticated, "unknown API key"))?;
    Ok(response::wrapped(BalanceView::from(funds)))
}

/// A page of the customer's usage by key, day and model, and the sum of all that the filter finds.
pub(super) async fn usage(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let context = request.context;
    let asked = Asked::read(&Query::parse(request.parts.uri.query()), context.clock.now())?;
    let filter = UsageFilter {
        days: asked.days.clone(),
        key: asked.key.clone(),
        after: asked.after.clone().map(|after| UsagePosition { customer: key.customer.clone(), ..after }),
        // To look up a key counts as a row; those of other models are passed over.
        max_rows: if asked.model.is_some() { MAX_ROWS } else { 2 * (asked.limit + 1) },
    };
    let all = UsageFilter { after: None, max_rows: MAX_ROWS, ..filter.clone() };
    let all = context.backend.usage_in_all(key, all).await.map_err(store_refusal)?;
    if all.next.is_some() {
        let message = "from: expected a shorter time; there is too much usage to sum up";
        return Err(Refusal::field("from", message));
    }
    let mut total = UsageSums::default();
    all.rows.iter().filter(|row| asked.shows(row)).for_each(|row| total.add(&row.sums));
    let found = context.backend.usage(key, filter).await.map_err(store_refusal)?;
    let mut rows: Vec<UsageRow> = found.rows.into_iter().filter(|row| asked.shows(row)).collect();
    let cut = rows.len() > asked.limit;
    rows.truncate(asked.limit);
    let next = if cut { rows.last().map(UsagePosition::from) } else { found.next };
    let next = next.as_ref().map(cursor);
    let data = rows.into_iter().map(DayView::from).collect();
    let view = UsageView { code: 200, data, total: total.into(), has_more: next.is_some(), next };
    Ok(response::json(&view))
}

/// What a request asks for.
struct Asked {
    days: Range<u32>,
    key: Option<KeyId>,
    model: Option<String>,
    after: Option<UsagePosition>,
    limit: usize,
}

impl Asked {
    fn read(query: &Query, now: UnixMs) -> Result<Self, Refusal> {
        const DATE: &str = "a date (UTC), such as 2026-11-22";
        let end = query.read("to", DATE, UnixMs::parse_date)?.unwrap_or_else(|| now.day().saturating_add(1));
        let start = query.read("from", DATE, UnixMs::parse_date)?;
        let start = start.unwrap_or_else(|| end.saturating_sub(USUAL_DAYS));
        if start >= end {
            return Err(Refusal::field("to", "to: expected a day after `from`; it is not part of the time"));
        }
        if end - start > MAX_DAYS {
            let text = format!("from: expected at most {MAX_DAYS} days before `to`, not {}", end - start);
            return Err(Refusal::field("from", text));
        }
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let limit = query.read("limit", "a number from 1 to 1000", |text| {
            text.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit))
        })?;
        Ok(Self {
            days: start..end,
            key: query.read("key", "the id of a key", text)?.map(KeyId),
            model: query.read("model", "a model id", text)?,
            after: query.read("after", "`next` of the page before", position)?,
            limit: limit.unwrap_or(USUAL_PAGE),
        })
    }

    fn shows(&self, row: &UsageRow) -> bool {
        self.model.as_ref().is_none_or(|model| row.model == *model)
    }
}

/// Where the next page begins. Its customer is always the caller's.
fn cursor(position: &UsagePosition) -> String {
    let UsagePosition { key, period, model, .. } = position;
    let text = format!("{key}\n{period}");
    URL_SAFE_NO_PAD.encode(model.iter().fold(text, |text, model| format!("{text}\n{model}")))
}

fn position(cursor: &str) -> Option<UsagePosition> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let mut parts = text.splitn(3, '\n');
    let (key, period) = (KeyId::from(parts.next()?), parts.next()?.parse().ok()?);
    Some(UsagePosition { customer: "".into(), key, period, model: parts.next().map(str::to_owned) })
}

/// Credits as a JSON number: 4 rather than 4.0, 0.25 where there is a fraction.
pub(super) struct Amount(pub(super) Credits);

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(amount) = self;
        if amount.0 % Credits::UNIT == 0 {
            serializer.serialize_i64(amount.0 / Credits::UNIT)
        } else {
            serializer.serialize_f64(amount.as_f64())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-22.
    const NOW: UnixMs = UnixMs(20_779 * 86_400_000 + 5);

    fn asked(query: &str) -> Result<Asked, Refusal> {
        Asked::read(&Query::parse(Some(query)), NOW)
    }

    #[test]
    fn costs_are_json_numbers() {
        for (micro, text) in [(4_000_000, "4"), (250_000, "0.25"), (0, "0"), (1, "1e-6")] {
            assert_eq!(serde_json::to_string(&Amount(Credits(micro))).unwrap(), text);
        }
    }

    #[test]
    fn days_are_utc_and_half_open() {
        let days = |query: &str| asked(query).unwrap().days;
        assert_eq!(days(""), 20_750..20_780);
        assert_eq!(days("from=2026-11-22"), 20_779..20_780);
        assert_eq!(days("from=2026-11-01&to=2026-12-01"), 20_758..20_788);
        assert_eq!(days("to=2024-03-01"), 19_753..19_783, "a leap year");
        assert_eq!(days("from=2025-11-22&to=2026-11-22"), 20_414..20_779);
    }

    #[test]
    fn a_wrong_parameter_is_named() {
        for (query, named) in [
            ("from=yesterday", "from"),
            ("from=2026-13-01", "from"),
            ("from=2026-02-30", "from"),
            ("to=2026-11-22T00:00:00Z", "to"),
            ("from=2026-11-23&to=2026-11-23", "to"),
            ("from=2026-11-24", "to"),
            ("from=2025-11-20&to=2026-11-22", "from"),
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("key=", "key"),
            ("model=", "model"),
            ("after=%21", "after"),
            ("after=YQ", "after"),
            ("after=awp4", "after"),
            ("key=a&key=b", "key"),
        ] {
            let Err(refusal) = asked(query) else { panic!("{query} is taken") };
            assert_eq!(refusal.parts().2, Some(named), "{query}");
        }
    }

    #[test]
    fn a_cursor_reads_back() {
        for model in [None, Some(String::new()), Some("lm:large/\n x".to_owned())] {
            let at = UsagePosition { customer: "".into(), key: "k1".into(), period: 20_779, model };
            assert_eq!(position(&cursor(&at)), Some(at));
        }
    }
}
