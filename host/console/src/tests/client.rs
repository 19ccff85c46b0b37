//! A browser as far as these tests need one: it keeps cookies and says where its requests come from. And what a
//! page has between two marks, or behind a link.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use gatehouse_harness::{Connection, Response, send};

/// Cookies and an address.
pub(super) struct Browser {
    pub(super) address: SocketAddr,
    pub(super) cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, cookies: BTreeMap::new() }
    }

    /// The address of its pages.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Opens a page.
    pub(super) async fn get(&mut self, path: &str) -> Response {
        self.send("GET", path, &[("accept", "text/html"), ("sec-fetch-site", "none")], "").await
    }

    /// Submits a form of its own page.
    pub(super) async fn post(&mut self, path: &str, form: &str) -> Response {
        let origin = self.origin();
        let headers = [
            ("accept", "text/html"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", origin.as_str()),
            ("sec-fetch-site", "same-origin"),
        ];
        self.send("POST", path, &headers, form).await
    }

    /// Sends its cookies and these headers.
    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let cookies = self.cookie_header();
        let mut all = headers.to_vec();
        if !cookies.is_empty() {
            all.push(("cookie", &cookies));
        }
        let answer = send(self.address, method, path, &all, body.to_owned()).await;
        self.keep(&answer);
        answer
    }

    /// Follows an address that sends events: the connection after the head of the answer, and its status.
    pub(super) async fn follow(&self, path: &str) -> (Connection, u16) {
        let mut connection = Connection::open(self.address).await;
        let cookies = self.cookie_header();
        let headers = [("cookie", cookies.as_str()), ("accept", "text/event-stream")];
        connection.request("GET", path, &headers, b"").await;
        let head = connection.read_head().await.expect("a head");
        (connection, head.status)
    }

    /// What it sends of its cookies.
    pub(super) fn cookie_header(&self) -> String {
        self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn keep(&mut self, answer: &Response) {
        for line in answer.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            match line.contains("Max-Age=0") {
                true => drop(self.cookies.remove(name)),
                false => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
    }
}

/// The text between two marks of a page.
pub(super) fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    text.split_once(from).unwrap_or_else(|| panic!("{from} in {text}")).1.split_once(to).unwrap().0
}

/// The address of a page's first link with that text.
pub(super) fn link(page: &str, name: &str) -> Option<String> {
    let before = page.split_once(&format!("\">{name}</a>"))?.0;
    Some(before.rsplit_once("href=\"")?.1.replace("&amp;", "&"))
}
