//! The gateway's own metrics, read as its operator's Prometheus would.

use std::collections::BTreeMap;

use gatehouse_harness::Gateway;

/// One page of metrics.
pub(crate) struct Metrics(String);

impl Metrics {
    /// Asks the operators' listener.
    pub(crate) async fn read(gateway: &Gateway) -> Self {
        Self(gateway.metrics().await)
    }

    /// A value, all its labels together; 0 when it has never been counted.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.lines(name).map(|(_, value)| value).sum()
    }

    /// The bound that `share` of a histogram's new entries stayed below, as text: a bucket's edge.
    pub(crate) fn bound_since(&self, before: &Self, name: &str, share: f64) -> String {
        let (now, before) = (self.buckets(name), before.buckets(name));
        // Each bucket holds the ones before it, so the smallest that holds enough is it.
        let new = |(edge, count): (&String, &f64)| {
            (edge.clone(), count - before.get(edge).copied().unwrap_or_default())
        };
        let new: Vec<(String, f64)> = now.iter().map(new).collect();
        let all = new.iter().map(|(_, count)| *count).fold(0.0, f64::max);
        let enough = new.into_iter().filter(|(_, count)| *count >= share * all);
        let least = enough.min_by(|(a, _), (b, _)| seconds(a).total_cmp(&seconds(b)));
        least.map_or_else(|| "nothing".to_owned(), |(edge, _)| format!("<= {edge} s"))
    }

    fn buckets(&self, name: &str) -> BTreeMap<String, f64> {
        let mut buckets = BTreeMap::new();
        for (labels, value) in self.lines(&format!("{name}_bucket")) {
            let edge = labels.split("le=\"").nth(1).and_then(|rest| rest.split('"').next());
            *buckets.entry(edge.unwrap_or("+Inf").to_owned()).or_default() += value;
        }
        buckets
    }

    /// Labels and value of every line of that name.
    fn lines(&self, name: &str) -> impl Iterator<Item = (&str, f64)> {
        self.0.lines().filter_map(move |line| {
            let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']))?;
            let (labels, value) = rest.rsplit_once(' ')?;
            Some((labels, value.parse().ok()?))
        })
    }
}

fn seconds(edge: &str) -> f64 {
    edge.parse().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(low: u32, high: u32) -> Metrics {
        Metrics(format!(
            "# TYPE late histogram\nlate_bucket{{le=\"0.5\"}} {low}\nlate_bucket{{le=\"10\"}} {high}\n\
             late_bucket{{le=\"+Inf\"}} {high}\nlate_count {high}\ncalls{{a=\"x y\"}} 3\ncalls{{a=\"z\"}} 4\n"
        ))
    }

    #[test]
    fn sums_go_over_labels_and_not_over_other_names() {
        assert_eq!(
            (page(1, 2).sum("calls"), page(1, 2).sum("late"), page(1, 2).sum("call")),
            (7.0, 0.0, 0.0)
        );
    }

    #[test]
    fn a_bound_is_of_what_is_new() {
        let (before, now) = (page(100, 100), page(150, 200));
        assert_eq!(now.bound_since(&before, "late", 0.5), "<= 0.5 s");
        assert_eq!(now.bound_since(&before, "late", 0.99), "<= 10 s");
        assert_eq!(now.bound_since(&before, "other", 0.5), "nothing");
    }
}
