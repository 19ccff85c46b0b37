//! How many links of clients are fetched at once: in all, of one customer, and from one host.
//!
//! A link costs its customer nothing and leads wherever it likes, so without bounds one customer could open every socket of the
//! gateway, or aim all of them at one host. More wait, and customers share what becomes free.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_fair::{FairPermit, FairPermits};
use gatehouse_model::CustomerId;

use crate::config::check::FetchLimits;

type Permits = FairPermits<CustomerId>;

/// The permits of all fetches; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct FetchPermits {
    all: Permits,
    hosts: Arc<Hosts>,
}

/// The permits of each host that is fetched from, with the number of fetches that hold or want one.
#[derive(Debug)]
struct Hosts {
    most_of_host: usize,
    known: Mutex<HashMap<Arc<str>, (Permits, usize)>>,
}

/// One fetch, from its first connection to its end.
#[derive(Debug)]
pub(crate) struct FetchPermit {
    /// Given back before the one of all: the next that gets that one may want this one.
    host: Option<HostPermit>,
    customer: CustomerId,
    hosts: Arc<Hosts>,
    _of_all: FairPermit<CustomerId>,
}

/// The part of it at one host.
#[derive(Debug)]
struct HostPermit {
    host: KnownHost,
    _permit: FairPermit<CustomerId>,
}

/// Keeps a host known until nobody fetches from it.
#[derive(Debug)]
struct KnownHost {
    name: Arc<str>,
    hosts: Arc<Hosts>,
}

impl FetchPermits {
    pub(crate) fn new(limits: FetchLimits) -> Self {
        let hosts = Arc::new(Hosts { most_of_host: limits.of_host, known: Mutex::default() });
        Self { all: FairPermits::new(limits.in_all).for_each(limits.of_customer), hosts }
    }

    /// Waits for a permit of that customer.
    pub(crate) async fn acquire(&self, customer: &CustomerId) -> FetchPermit {
        let of_all = self.all.take(customer.clone()).await;
        let hosts = Arc::clone(&self.hosts);
        FetchPermit { host: None, customer: customer.clone(), hosts, _of_all: of_all }
    }
}

impl FetchPermit {
    /// Leaves the host it is at, and waits for a permit of this one.
    pub(crate) async fn go_to(&mut self, host: &str) {
        if self.host.as_ref().is_some_and(|at| *at.host.name == *host) {
            return;
        }
        self.host = None;
        let (host, permits) = self.hosts.of(host);
        let permit = permits.take(self.customer.clone()).await;
        self.host = Some(HostPermit { host, _permit: permit });
    }
}

impl Hosts {
    fn of(self: &Arc<Self>, host: &str) -> (KnownHost, Permits) {
        let mut known = self.lock();
        let name: Arc<str> = host.into();
        let (permits, users) =
            known.entry(Arc::clone(&name)).or_insert_with(|| (FairPermits::new(self.most_of_host), 0));
        *users += 1;
        (KnownHost { name, hosts: Arc::clone(self) }, permits.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, (Permits, usize)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KnownHost {
    fn drop(&mut self) {
        let mut known = self.hosts.lock();
        if let Some((_, users)) = known.get_mut(&self.name) {
            *users -= 1;
            if *users == 0 {
                known.remove(&self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Fetches of that customer from these hosts, as many as are let through at once.
    fn begin(permits: &FetchPermits, customer: &str, hosts: &[String]) -> Vec<FetchPermit> {
        let fetch = |host: &String| {
            let mut permit = permits.acquire(&CustomerId::from(customer)).now_or_never()?;
            permit.go_to(host).now_or_never()?;
            Some(permit)
        };
        hosts.iter().filter_map(fetch).collect()
    }

    fn many(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("h{number}.test")).collect()
    }

    #[test]
    fn a_customer_a_host_and_all_have_their_bounds() {
        let permits = FetchPermits::new(FetchLimits { in_all: 10, of_customer: 4, of_host: 3 });
        let same = vec!["one.test".to_owned(); 100];
        let of_host = begin(&permits, "a", &same);
        assert_eq!(of_host.len(), 3);
        let elsewhere = begin(&permits, "a", &many(100));
        assert_eq!(elsewhere.len(), 1, "four in all");
        assert_eq!(begin(&permits, "b", &same).len(), 0, "the host is as busy as it may be");
        let others: Vec<_> =
            ["b", "c", "d"].iter().flat_map(|name| begin(&permits, name, &many(100))).collect();
        assert_eq!(others.len(), 6, "ten in all");
        drop((of_host, elsewhere, others));
        assert!(permits.hosts.lock().is_empty(), "no host is remembered");
        assert_eq!(begin(&permits, "a", &many(100)).len(), 4);
    }

    #[test]
    fn what_becomes_free_goes_to_the_customer_with_fewest_and_a_redirect_leaves_its_host() {
        let permits = FetchPermits::new(FetchLimits { in_all: 2, of_customer: 2, of_host: 1 });
        let mut held = begin(&permits, "a", &many(2));
        let (first, other) = (CustomerId::from("a"), CustomerId::from("b"));
        let (mut again, mut late) = (Box::pin(permits.acquire(&first)), Box::pin(permits.acquire(&other)));
        assert!(again.as_mut().now_or_never().is_none() && late.as_mut().now_or_never().is_none());
        drop(held.pop());
        assert!(again.as_mut().now_or_never().is_none(), "a has one already");
        let mut late = late.now_or_never().expect("b has none");
        assert!(late.go_to("h0.test").now_or_never().is_none(), "a is there");
        held[0].go_to("elsewhere.test").now_or_never().expect("nobody is there");
        late.go_to("h0.test").now_or_never().expect("a has left it");
    }
}
