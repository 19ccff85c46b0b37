//! Nothing private is ever connected to: hostile URLs, redirects, answers of name servers and addresses as tables,
//! walked through the whole way from a text to a socket. Users' URLs, providers' results and plugins' calls alike.
//!
//! The verdicts of a table name every connection that is attempted, in order; any other attempt fails its row.

mod addresses;
mod exceptions;
mod scenario;

use self::scenario::{Stage, listed, rounds};
use super::*;
use crate::fetch::fetcher::{FetchError, Origins, Policy};

const PATIENCE: Duration = Duration::from_secs(20);
/// A name inside the provider's pattern that answers as each test wants.
const REBOUND: &str = "rebound.cdn.test";
/// Where the rows of the redirects begin.
const START: &str = "https://start.cdn.test/";

const USER: Origins<'static> = Origins::User;
const RESULT: Origins<'static> = Origins::Results("p");

/// A provider whose calls and results may lead to a pattern, and results to one origin besides.
fn patterned() -> String {
    let more = "origins = [\"https://*.cdn.test\"]\n\
                media_origins = [\"https://*.cdn.test\", \"http://exact.test\"]";
    provider("https://api.test", more)
}

/// A judge of its own for what was dialled, by what the standard library knows; nothing here may be connected to
/// unless an operator said so.
fn is_inside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || matches!(v4.octets(), [0, ..] | [100, 64..128, ..] | [192, 0, 0, _] | [240..=255, ..])
        }
        IpAddr::V6(v6) => {
            let carried = match v6.segments() {
                [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                    Some(u32::from(high) << 16 | u32::from(low))
                }
                [0x2002, high, low, ..] => Some(u32::from(high) << 16 | u32::from(low)),
                _ => None,
            };
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
                || carried.is_some_and(|bits| is_inside(std::net::Ipv4Addr::from_bits(bits).into()))
        }
    }
}

/// The addresses a verdict names.
fn named(verdict: &str) -> impl Iterator<Item = SocketAddr> {
    verdict.split(' ').filter_map(|word| word.parse().ok())
}

/// One row: its cells, the reason last.
type Row = Vec<String>;

/// The rows of a table with this many columns: `|` between them, `#` before remarks, `{hex}` for a character that would
/// not show.
fn read(text: &str, columns: usize) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let rows: Vec<Row> = lines
        .map(|line| {
            let row: Row = line.split('|').map(|cell| unescaped(cell.trim_matches(' '))).collect();
            assert_eq!(row.len(), columns, "{line}");
            assert!(!row[columns - 1].is_empty(), "no reason: {line}");
            row
        })
        .collect();
    let cases = rows.iter().map(|row| &row[..columns - 1]).collect::<std::collections::HashSet<_>>();
    assert_eq!(cases.len(), rows.len(), "a row stands twice");
    rows
}

fn unescaped(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, after)) = rest.split_once('{') {
        let (code, behind) = after.split_once('}').expect("a closing brace");
        text.push_str(before);
        text.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        rest = behind;
    }
    text + rest
}

/// Fails with every row that did not turn out as its table says.
fn assert_all(checked: usize, wrong: &[String]) {
    assert!(wrong.is_empty(), "{} of {checked} checks:\n  {}", wrong.len(), wrong.join("\n  "));
}

#[tokio::test]
async fn urls_lead_where_their_table_says() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    let rows = read(include_str!("urls.table"), 4);
    let mut wrong = vec![];
    for row in &rows {
        for (origins, expected) in [(USER, &row[1]), (RESULT, &row[2])] {
            let found = stage.visit(&upstream, origins, &row[0]).await;
            if found != *expected || named(&found).any(|dialled| is_inside(dialled.ip())) {
                wrong.push(format!("{:?} {origins:?}: expected {expected}, found {found}", row[0]));
            }
        }
    }
    assert_all(rows.len() * 2, &wrong);
    // What did leave carried nobody's name.
    for seen in stage.received() {
        assert_eq!((seen.header("authorization"), seen.header("cookie")), (None, None));
    }
}

#[tokio::test]
async fn webhooks_go_where_urls_of_users_lead() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    let rows = read(include_str!("urls.table"), 4);
    let mut wrong = vec![];
    for row in &rows {
        let found = stage.post(&upstream, &row[0]).await;
        if found != row[1] || named(&found).any(|dialled| is_inside(dialled.ip())) {
            wrong.push(format!("{:?}: expected {}, found {found}", row[0], row[1]));
        }
    }
    assert_all(rows.len(), &wrong);
}

/// Without it a provider is told to fetch what the gateway itself would not.
#[tokio::test]
async fn links_that_providers_fetch_are_judged_by_the_same_table() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    let rows = read(include_str!("urls.table"), 4);
    let mut wrong = vec![];
    for row in &rows {
        let host = url::Url::parse(&row[0]).ok();
        let is_name = host.is_some_and(|url| matches!(url.host(), Some(url::Host::Domain(_))));
        let expected = match row[1].split(' ').next() {
            Some("reaches") => Some(true),
            // What a name resolves to shows when it is fetched.
            Some("closed" | "unreachable") if is_name => None,
            _ => Some(false),
        };
        let found = upstream.fetcher().check_url(&row[0]);
        if expected.is_some_and(|expected| found.is_ok() != expected) {
            wrong.push(format!("{:?}: {found:?}", row[0]));
        }
    }
    assert_all(rows.len(), &wrong);
    let closed = ["files.internal", "printer.local", "nas.LAN.", "intranet", "a.home.arpa", "10.0.0.1"];
    for host in closed {
        let found = upstream.fetcher().check_url(&format!("https://{host}/"));
        assert!(matches!(found, Err(FetchError::NotPublic(_))), "{host}: {found:?}");
    }
    let upstream = stage.upstream("", "allow_private = [\"files.internal\", \"10.0.0.1:8080\"]");
    for (url, is_allowed) in [
        ("https://files.internal/a", true),
        ("http://10.0.0.1:8080/", true),
        ("http://10.0.0.1/", false),
        ("https://other.internal/", false),
        ("https://internal.example/", true),
    ] {
        assert_eq!(upstream.fetcher().check_url(url).is_ok(), is_allowed, "{url}");
    }
}

#[test]
fn the_host_that_is_judged_is_the_host_that_is_connected_to() {
    // The URL is judged by one parser and connected to by another's reading of the text the first one wrote.
    let mut both = 0;
    for row in read(include_str!("urls.table"), 4) {
        let Ok(url) = url::Url::parse(&row[0]) else { continue };
        if let (true, Ok(uri)) = (url.scheme().starts_with("http"), url.as_str().parse::<http::Uri>()) {
            assert_eq!((uri.host(), uri.scheme_str()), (url.host_str(), Some(url.scheme())), "{}", row[0]);
            assert_eq!(uri.port_u16(), url.port(), "{}", row[0]);
            both += 1;
        }
    }
    assert!(both > 100, "{both}");
}

#[tokio::test]
async fn redirects_lead_where_their_table_says() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    let rows = read(include_str!("redirects.table"), 5);
    let mut wrong = vec![];
    for row in &rows {
        let status: u16 = row[0].parse().unwrap();
        for (origins, expected) in [(USER, &row[2]), (RESULT, &row[3])] {
            stage.script(row[1].split(" -> ").map(|to| (status, to.to_owned())));
            let found = stage.visit(&upstream, origins, START).await;
            let expected = &behind_start(expected);
            if found != *expected || named(&found).any(|dialled| is_inside(dialled.ip())) {
                wrong.push(format!("{:?} {origins:?}: expected {expected}, found {found}", row[1]));
            }
        }
    }
    assert_all(rows.len() * 2, &wrong);
}

/// A verdict of the redirects with the start's own connection, which every row has first.
fn behind_start(verdict: &str) -> String {
    match verdict.split_once(' ') {
        Some((word @ ("reaches" | "after"), rest)) => format!("{word} 93.184.216.34:443 {rest}"),
        _ => format!("after 93.184.216.34:443 {verdict}"),
    }
}

#[tokio::test]
async fn names_that_change_their_answer_gain_nothing() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    let rows = read(include_str!("rebinds.table"), 3);
    let mut wrong = vec![];
    let mut checked = 0;
    for row in &rows {
        for origins in [USER, RESULT] {
            stage.names.set(REBOUND, rounds(row, 0));
            for expected in row[1].split(';').map(str::trim) {
                let found = stage.visit(&upstream, origins, &format!("https://{REBOUND}/")).await;
                if found != expected || named(&found).any(|dialled| is_inside(dialled.ip())) {
                    wrong.push(format!("{} {origins:?}: expected {expected}, found {found}", row[0]));
                }
                checked += 1;
            }
        }
    }
    assert_all(checked, &wrong);
}

#[tokio::test]
async fn a_redirect_to_the_same_name_is_resolved_anew() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    let [public, private] = ["93.184.216.34", "127.0.0.1"].map(|text| vec![text.parse().unwrap()]);
    for origins in [USER, RESULT] {
        stage.names.set(REBOUND, [public.clone(), private.clone()]);
        stage.script([(302, "/again".to_owned())]);
        let found = stage.visit(&upstream, origins, &format!("https://{REBOUND}/")).await;
        assert_eq!(found, "after 93.184.216.34:443 closed", "{origins:?}");
    }
}

#[tokio::test]
async fn an_address_that_fails_is_followed_by_the_next_of_the_same_answer() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    let [first, second] = ["93.184.216.34", "93.184.216.35"].map(|text| text.parse().unwrap());
    stage.dials.deaf.lock().unwrap().push(first);
    // The second answer is not asked for: what is tried is what was judged.
    let loopback = vec![IpAddr::from([127, 0, 0, 1])];
    for origins in [USER, RESULT] {
        stage.names.set(REBOUND, [vec![first, second], loopback.clone()]);
        let found = stage.visit(&upstream, origins, &format!("https://{REBOUND}/")).await;
        assert_eq!(found, "reaches 93.184.216.34:443 93.184.216.35:443", "{origins:?}");
    }
}

#[tokio::test]
async fn another_address_that_answers_is_told_nothing() {
    let stage = Stage::set().await;
    let upstream = stage.upstream(&patterned(), "");
    *stage.dials.impostor.lock().unwrap() = Some("127.0.0.1:443".parse().unwrap());
    for url in ["https://good.cdn.test/", "http://exact.test/"] {
        for origins in [USER, RESULT] {
            let found = stage.visit(&upstream, origins, url).await;
            assert!(found.ends_with(" unreachable"), "{url} {origins:?}: {found}");
        }
    }
    assert!(stage.received().is_empty());
}
