//! The logs that a running gateway keeps in memory, for operators: the last requests, and what the process said last.
//! Owns what a filter means; asks the running gateway.

use std::ops::RangeInclusive;
use std::sync::Arc;

use gatehouse_model::{Credits, KeyId, ProcessLine, RecentPage, RequestFacts, RequestLine};

use super::gateway::Gateway;
use crate::api::error::OperationError;

/// Levels of the process log, the gravest first.
pub(crate) const LOG_LEVELS: [&str; 5] = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

/// Which lines to read. What is empty selects nothing.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Lines of the process in place of requests.
    pub is_process: bool,
    /// At least as grave as this one of [`LOG_LEVELS`].
    pub level: String,
    /// The beginning of the part of the program.
    pub target: String,
    /// A part of the sentence, or of a request's route, model or provider; or its id.
    pub text: String,
    /// The key of a request.
    pub key: Option<KeyId>,
    /// The statuses of requests.
    pub status: Option<RangeInclusive<u16>>,
    /// Requests that were charged as much at least, or hold it where nothing is charged yet.
    pub cost: Option<Credits>,
    /// The user of a request's client.
    pub user: Option<String>,
    /// A pair of a request's metadata: a name and a value.
    pub tag: Option<(String, String)>,
}

/// A line of either log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogLine {
    /// A request of a client.
    Request(Box<RequestLine>),
    /// What the process said.
    Process(ProcessLine),
}

impl LogFilter {
    fn fits_request(&self, line: &RequestLine) -> bool {
        let paid = line.facts.charged.or(line.facts.held);
        self.key.as_ref().is_none_or(|key| line.key.as_ref() == Some(key))
            && self.status.as_ref().is_none_or(|statuses| statuses.contains(&line.status))
            && self.cost.is_none_or(|least| paid.is_some_and(|paid| paid >= least))
            && (self.text.is_empty() || self.is_in(line))
            && self.is_tagged(line)
    }

    fn is_tagged(&self, line: &RequestLine) -> bool {
        let (user, pair) = (self.user.as_deref(), self.tag.as_ref());
        let has_any = user.is_some() || pair.is_some();
        !has_any || line.facts.tags.as_ref().is_some_and(|tags| tags.have(user, pair))
    }

    fn is_in(&self, line: &RequestLine) -> bool {
        let RequestFacts { model, provider, .. } = &line.facts;
        let named = [Some(line.route), model.as_deref(), provider.as_deref()];
        named.into_iter().flatten().any(|name| name.contains(&self.text)) || line.id.to_string() == self.text
    }

    fn fits_process(&self, line: &ProcessLine) -> bool {
        let rank = |level: &str| LOG_LEVELS.iter().position(|one| *one == level);
        rank(&self.level).is_none_or(|most| rank(line.level).is_some_and(|rank| rank <= most))
            && line.target.starts_with(&self.target)
            && (self.text.is_empty() || line.text.contains(&self.text))
    }
}

/// The statuses of `404` or `5xx`.
pub(crate) fn status_range(text: &str) -> Result<RangeInclusive<u16>, OperationError> {
    let range = match text.strip_suffix("xx") {
        Some(class) => {
            let class = class.parse().ok().filter(|class: &u16| (1..=5).contains(class));
            class.map(|class| class * 100..=class * 100 + 99)
        }
        None => text.parse().ok().filter(|status| (100..=599).contains(status)).map(|status| status..=status),
    };
    range.ok_or_else(|| {
        OperationError::Invalid(format!("status: expected a status such as 404, or 5xx, got {text:?}"))
    })
}

/// A pair of metadata as filters write it.
pub(crate) fn tag_of(text: &str) -> Result<(String, String), OperationError> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| {
        OperationError::Invalid(format!("tag: expected a name and a value such as team=red, got {text:?}"))
    })
}

/// Credits such as `0.5`.
pub(crate) fn least_cost(text: &str) -> Result<Credits, OperationError> {
    let least = text.parse().ok().filter(|amount: &Credits| amount.0 >= 0);
    least.ok_or_else(|| OperationError::Invalid(format!("cost: expected credits such as 0.5, got {text:?}")))
}

/// Reads the logs in memory.
pub struct LogReader {
    pub(super) gateway: Arc<Gateway>,
}

impl LogReader {
    /// The newest lines that fit, at most `limit`, those before the line `before`.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway.
    pub fn page(
        &self,
        filter: &LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<RecentPage<LogLine>, OperationError> {
        let logs = self.gateway.public_api()?.logs();
        Ok(if filter.is_process {
            let page = logs.process.newest(before, limit, |line| filter.fits_process(line));
            RecentPage { lines: named(page.lines, LogLine::Process), next: page.next }
        } else {
            let page = logs.requests.newest(before, limit, |line| filter.fits_request(line));
            RecentPage { lines: named(page.lines, of_request), next: page.next }
        })
    }

    /// The lines after the line `after` that fit, the oldest first, and the last number that was looked at. Without a
    /// number no line, and the last number there is.
    pub fn after(
        &self,
        filter: &LogFilter,
        after: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<(u64, LogLine)>, u64), OperationError> {
        let logs = self.gateway.public_api()?.logs();
        Ok(match (filter.is_process, after) {
            (true, None) => (Vec::new(), logs.process.last()),
            (false, None) => (Vec::new(), logs.requests.last()),
            (true, Some(after)) => {
                let (lines, seen) = logs.process.after(after, limit, |line| filter.fits_process(line));
                (named(lines, LogLine::Process), seen)
            }
            (false, Some(after)) => {
                let (lines, seen) = logs.requests.after(after, limit, |line| filter.fits_request(line));
                (named(lines, of_request), seen)
            }
        })
    }
}

fn of_request(line: RequestLine) -> LogLine {
    LogLine::Request(Box::new(line))
}

fn named<T>(lines: Vec<(u64, T)>, line: fn(T) -> LogLine) -> Vec<(u64, LogLine)> {
    lines.into_iter().map(|(number, one)| (number, line(one))).collect()
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{RequestId, Tags, UnixMs};

    use super::*;

    #[test]
    fn filters_select() {
        let request = RequestLine {
            id: RequestId::from_bits(7),
            method: "POST",
            route: "/v1/messages",
            status: 429,
            ms: 1,
            key: Some(KeyId::from("k")),
            customer: None,
            client: None,
            received: 0,
            sent: 0,
            facts: RequestFacts {
                model: Some("claude-sim".into()),
                held: Some(Credits(5_000_000)),
                charged: Some(Credits(1_500_000)),
                tags: Some(Tags::new(Some("ann".into()), [("team".into(), "red".into())]).into()),
                ..RequestFacts::default()
            },
        };
        let filter = |change: fn(&mut LogFilter)| {
            let mut filter = LogFilter::default();
            change(&mut filter);
            filter
        };
        for (wanted, fits) in [
            (LogFilter::default(), true),
            (filter(|wanted| wanted.status = status_range("4xx").ok()), true),
            (filter(|wanted| wanted.status = status_range("429").ok()), true),
            (filter(|wanted| wanted.status = status_range("5xx").ok()), false),
            (filter(|wanted| wanted.key = Some(KeyId::from("k"))), true),
            (filter(|wanted| wanted.key = Some(KeyId::from("o"))), false),
            (filter(|wanted| wanted.text = "/v1/mess".into()), true),
            (filter(|wanted| wanted.text = RequestId::from_bits(7).to_string()), true),
            (filter(|wanted| wanted.text = "claude".into()), true),
            (filter(|wanted| wanted.text = "/v1/tasks".into()), false),
            (filter(|wanted| wanted.user = Some("ann".into())), true),
            (filter(|wanted| wanted.user = Some("an".into())), false),
            (filter(|wanted| wanted.tag = tag_of("team=red").ok()), true),
            (filter(|wanted| wanted.tag = tag_of("team=blue").ok()), false),
            (filter(|wanted| wanted.cost = least_cost("1.5").ok()), true),
            (filter(|wanted| wanted.cost = least_cost("1.500001").ok()), false),
        ] {
            assert_eq!(wanted.fits_request(&request), fits, "{wanted:?}");
        }
        let (task, free) = (
            RequestLine { facts: RequestFacts { charged: None, ..request.facts.clone() }, ..request.clone() },
            RequestLine { facts: RequestFacts::default(), ..request },
        );
        let wanted = filter(|wanted| wanted.cost = least_cost("5").ok());
        assert!(wanted.fits_request(&task) && !wanted.fits_request(&free));
        let line =
            ProcessLine { at: UnixMs(0), level: "WARN", target: "gatehouse_edge::net", text: "a b".into() };
        for (level, target, text, fits) in [
            ("", "", "", true),
            ("WARN", "", "", true),
            ("INFO", "", "", true),
            ("ERROR", "", "", false),
            ("", "gatehouse_edge", "b", true),
            ("", "gatehouse_store", "", false),
            ("", "", "c", false),
        ] {
            let (level, target, text) = (level.to_owned(), target.to_owned(), text.to_owned());
            let wanted = LogFilter { level, target, text, ..LogFilter::default() };
            assert_eq!(wanted.fits_process(&line), fits, "{wanted:?}");
        }
        for (cost, fits) in [("0", true), ("0.5", true), ("-1", false), ("x", false)] {
            assert_eq!(least_cost(cost).is_ok(), fits, "{cost}");
        }
        for (tag, fits) in [("a=b", true), ("a=b=c", true), ("a", false), ("=b", false), ("a=", false)] {
            assert_eq!(tag_of(tag).is_ok(), fits, "{tag}");
        }
        for (status, fits) in [("6xx", false), ("x", false), ("5xx", true)] {
            assert_eq!(status_range(status).is_ok(), fits, "{status}");
        }
    }
}
