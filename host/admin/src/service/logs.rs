//! The logs that a running gateway keeps in memory, for operators: the last requests, and what the process said last.
//! Owns what a filter means; asks the running gateway.

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
    /// A status such as `404`, or a class such as `5xx`.
    pub status: String,
    /// Credits, such as `0.5`: requests that were charged as much at least, or hold it where nothing is charged yet.
    pub cost: String,
    /// The user of a request's client.
    pub user: String,
    /// A pair of a request's metadata, `name=value`.
    pub tag: String,
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
    /// Checks what was typed.
    ///
    /// # Errors
    /// The field and what was expected.
    pub fn check(&self) -> Result<(), OperationError> {
        let wrong = |field: &str, message: String| {
            Err(OperationError::InvalidField { field: field.to_owned(), message })
        };
        if !self.level.is_empty() && !LOG_LEVELS.contains(&self.level.as_str()) {
            let message = format!("level: expected one of {}, got {:?}", LOG_LEVELS.join(", "), self.level);
            return wrong("level", message);
        }
        if !self.status.is_empty() && status_range(&self.status).is_none() {
            let message = format!("status: expected a status such as 404, or 5xx, got {:?}", self.status);
            return wrong("status", message);
        }
        if !self.cost.is_empty() && least_cost(&self.cost).is_none() {
            let message = format!("cost: expected credits such as 0.5, got {:?}", self.cost);
            return wrong("cost", message);
        }
        if !self.tag.is_empty() {
            tag_of(&self.tag)?;
        }
        Ok(())
    }

    fn fits_request(&self, line: &RequestLine) -> bool {
        self.key.as_ref().is_none_or(|key| line.key.as_ref() == Some(key))
            && status_range(&self.status).is_none_or(|(low, high)| (low..=high).contains(&line.status))
            && least_cost(&self.cost)
                .is_none_or(|least| line.facts.charged.or(line.facts.held).is_some_and(|paid| paid >= least))
            && (self.text.is_empty() || self.is_in(line))
            && self.is_tagged(line)
    }

    fn is_tagged(&self, line: &RequestLine) -> bool {
        let (user, pair) = (Some(self.user.as_str()).filter(|user| !user.is_empty()), tag_of(&self.tag).ok());
        let has_any = user.is_some() || pair.is_some();
        !has_any || line.facts.tags.as_ref().is_some_and(|tags| tags.have(user, pair.as_ref()))
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
fn status_range(text: &str) -> Option<(u16, u16)> {
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    text.parse().ok().filter(|status| (100..=599).contains(status)).map(|status| (status, status))
}

/// A pair of metadata as filters write it.
pub(crate) fn tag_of(text: &str) -> Result<(String, String), OperationError> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| OperationError::InvalidField {
        field: "tag".to_owned(),
        message: format!("tag: expected a name and a value such as team=red, got {text:?}"),
    })
}

fn least_cost(text: &str) -> Option<Credits> {
    text.parse().ok().filter(|amount: &Credits| amount.0 >= 0)
}

/// Reads the logs in memory.
pub struct LogReader {
    pub(super) gateway: Arc<Gateway>,
}

impl LogReader {
    /// The newest lines that fit, at most `limit`, those before the line `before`.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway; a wrong filter.
    pub fn page(
        &self,
        filter: &LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<RecentPage<LogLine>, OperationError> {
        filter.check()?;
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
        filter.check()?;
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
            (filter(|wanted| wanted.status = "4xx".into()), true),
            (filter(|wanted| wanted.status = "429".into()), true),
            (filter(|wanted| wanted.status = "5xx".into()), false),
            (filter(|wanted| wanted.key = Some(KeyId::from("k"))), true),
            (filter(|wanted| wanted.key = Some(KeyId::from("o"))), false),
            (filter(|wanted| wanted.text = "/v1/mess".into()), true),
            (filter(|wanted| wanted.text = RequestId::from_bits(7).to_string()), true),
            (filter(|wanted| wanted.text = "claude".into()), true),
            (filter(|wanted| wanted.text = "/v1/tasks".into()), false),
            (filter(|wanted| wanted.user = "ann".into()), true),
            (filter(|wanted| wanted.user = "an".into()), false),
            (filter(|wanted| wanted.tag = "team=red".into()), true),
            (filter(|wanted| wanted.tag = "team=blue".into()), false),
            (filter(|wanted| wanted.cost = "1.5".into()), true),
            (filter(|wanted| wanted.cost = "1.500001".into()), false),
        ] {
            assert_eq!(wanted.fits_request(&request), fits, "{wanted:?}");
        }
        let (task, free) = (
            RequestLine { facts: RequestFacts { charged: None, ..request.facts.clone() }, ..request.clone() },
            RequestLine { facts: RequestFacts::default(), ..request },
        );
        let wanted = filter(|wanted| wanted.cost = "5".into());
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
            let wanted = LogFilter { cost: cost.into(), ..LogFilter::default() };
            assert_eq!(wanted.check().is_ok(), fits, "{cost}");
        }
        for (tag, fits) in [("a=b", true), ("a=b=c", true), ("a", false), ("=b", false), ("a=", false)] {
            let wanted = LogFilter { tag: tag.into(), ..LogFilter::default() };
            assert_eq!(wanted.check().is_ok(), fits, "{tag}");
        }
        for (status, level, fits) in
            [("6xx", "", false), ("x", "", false), ("", "LOUD", false), ("5xx", "WARN", true)]
        {
            let wanted = LogFilter { status: status.into(), level: level.into(), ..LogFilter::default() };
            assert_eq!(wanted.check().is_ok(), fits, "{status} {level}");
        }
    }
}
