//! Each address of the table by every way there is to it: spelt out, as a name's answer, alone and among good ones,
//! behind a redirect, after a rebind; for users, results and calls.

use super::*;
use crate::client::address::reserved;
use crate::pool::permits::CallPermit;

/// What good answers are; no row of the table holds it with this port.
const GOOD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 216, 99));

#[tokio::test]
async fn no_way_leads_to_an_address_that_is_not_public() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    // One permit for all: what is tried here would close the account to further ones.
    let permit = upstream.acquire_call("p", "main").unwrap();
    let rows = read(include_str!("addresses.table"), 3);
    let mut wrong = vec![];
    let mut checked = 0;
    for row in &rows {
        let address: IpAddr = row[0].parse().unwrap();
        let is_public = match row[1].as_str() {
            "public" => true,
            "closed" => false,
            other => panic!("{}: {other}", row[0]),
        };
        assert_eq!(reserved(address).is_none(), is_public, "{}: {}", row[0], row[2]);
        assert!(!is_public || !is_inside(address), "{}: two judges differ", row[0]);
        let ways = Ways { stage: &stage, upstream: &upstream, permit: &permit, address };
        let found = ways.all().await;
        checked += found.len();
        for (way, found, expected) in found {
            let expected = if is_public { expected } else { way.closed(&expected) };
            if found != expected {
                wrong.push(format!("{} by {way:?}: expected {expected}, found {found}", row[0]));
            }
        }
    }
    assert_all(checked, &wrong);
}

/// How an address is offered.
#[derive(Clone, Copy, Debug)]
enum Way {
    Literal,
    Name(Origins<'static>),
    BehindGood(Origins<'static>),
    BeforeGood(Origins<'static>),
    RedirectToLiteral,
    RedirectToName(Origins<'static>),
    Rebind(Origins<'static>),
    Call,
}

impl Way {
    /// What comes instead of `open` when the address is not public.
    fn closed(self, open: &str) -> String {
        match self {
            Self::RedirectToLiteral | Self::RedirectToName(_) => "after 93.184.216.34:443 closed".to_owned(),
            Self::Call => "unreachable".to_owned(),
            _ => {
                assert!(open.starts_with("reaches "));
                "closed".to_owned()
            }
        }
    }
}

struct Ways<'a> {
    stage: &'a Stage,
    upstream: &'a Upstream,
    permit: &'a CallPermit,
    address: IpAddr,
}

impl Ways<'_> {
    /// Every way, what came of it, and what should if the address is public.
    async fn all(&self) -> Vec<(Way, String, String)> {
        let mut ways = vec![Way::Literal, Way::RedirectToLiteral, Way::Call];
        for origins in [USER, RESULT] {
            ways.extend([Way::Name, Way::BehindGood, Way::BeforeGood].map(|way| way(origins)));
            ways.extend([Way::RedirectToName, Way::Rebind].map(|way| way(origins)));
        }
        let mut found = vec![];
        for way in ways {
            let (outcome, expected) = self.take(way).await;
            found.push((way, outcome, expected));
        }
        found
    }

    async fn take(&self, way: Way) -> (String, String) {
        let own = vec![self.address];
        let [plain, tls, good] =
            [(self.address, 80), (self.address, 443), (GOOD, 443)].map(|at| listed(&[SocketAddr::from(at)]));
        let by_name = format!("https://{REBOUND}/");
        let literal = match self.address {
            IpAddr::V4(v4) => format!("http://{v4}/"),
            IpAddr::V6(v6) => format!("http://[{v6}]/"),
        };
        let visit = async |origins, url: &str| self.stage.visit(self.upstream, origins, url).await;
        self.stage.script([]);
        self.stage.names.set(REBOUND, [own.clone()]);
        match way {
            Way::Literal => (visit(USER, &literal).await, format!("reaches {plain}")),
            Way::Name(origins) => (visit(origins, &by_name).await, format!("reaches {tls}")),
            Way::BehindGood(origins) => {
                self.stage.names.set(REBOUND, [vec![GOOD, self.address]]);
                (visit(origins, &by_name).await, format!("reaches {good}"))
            }
            Way::BeforeGood(origins) => {
                self.stage.names.set(REBOUND, [vec![self.address, GOOD]]);
                (visit(origins, &by_name).await, format!("reaches {tls}"))
            }
            Way::RedirectToLiteral => {
                self.stage.script([(302, literal)]);
                (visit(USER, START).await, format!("reaches 93.184.216.34:443 {plain}"))
            }
            Way::RedirectToName(origins) => {
                self.stage.script([(307, by_name)]);
                (visit(origins, START).await, format!("reaches 93.184.216.34:443 {tls}"))
            }
            Way::Rebind(origins) => {
                self.stage.names.set(REBOUND, [vec![GOOD], own]);
                assert_eq!(visit(origins, &by_name).await, format!("reaches {good}"));
                (visit(origins, &by_name).await, format!("reaches {tls}"))
            }
            Way::Call => (self.stage.call(self.permit, by_name).await, format!("reaches {tls}")),
        }
    }
}
