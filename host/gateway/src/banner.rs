//! What a person reads when the gateway stands.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// What there is to say.
pub(crate) struct Banner<'a> {
    /// Where clients connect.
    pub(crate) listen: &'a [SocketAddr],
    /// Whether they speak TLS there.
    pub(crate) tls: bool,
    /// Where operators connect.
    pub(crate) admin: SocketAddr,
    /// Where everything is kept.
    pub(crate) data: &'a Path,
    /// From the first line of the program until now.
    pub(crate) ready: Duration,
    /// A fresh key to try with; only with simulated providers.
    pub(crate) key: Option<&'a str>,
    /// Whether the certificate was made up at start.
    pub(crate) self_signed: bool,
}

impl Banner<'_> {
    /// The text, ready to print.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let scheme = if self.tls { "https" } else { "http" };
        for address in self.listen {
            line(&mut text, format_args!("gatehouse listens on {scheme}://{address}"));
        }
        line(&mut text, format_args!("admin, metrics and health on http://{}", self.admin));
        line(&mut text, format_args!("data in {}", self.data.display()));
        if let (Some(key), Some(address)) = (self.key, self.listen.first()) {
            text.push_str(&self.invitation(key, &format!("{scheme}://{}", reachable(*address))));
        }
        line(&mut text, format_args!("ready in {} ms", self.ready.as_millis()));
        text
    }

    /// Lines that work when pasted into a shell with curl and sed.
    fn invitation(&self, key: &str, base: &str) -> String {
        let curl = if self.self_signed { "curl -sk" } else { "curl -s" };
        format!(
            r#"
Simulated providers are running, so no credentials are needed and nothing leaves this machine.
Paste these lines into another terminal:

  KEY={key}
  TASK=$({curl} {base}/v1/images/generations -H "Authorization: Bearer $KEY" \
    -H 'Content-Type: application/json' \
    -d '{{"model":"ctx-pro","prompt":"a lighthouse at dawn","size":"16:9"}}' \
    | tee /dev/stderr | sed -n 's/.*"task_id":"\([^"]*\)".*/\1/p')
  URL=$({curl} {base}/v1/tasks/$TASK -H "Authorization: Bearer $KEY" -H 'Prefer: wait=30' \
    | tee /dev/stderr | sed -n 's/.*"url":\["\([^"]*\)".*/\1/p')
  {curl} -o lighthouse.png "$URL" && ls -l lighthouse.png

Text, whole and streamed, in either protocol:

  {curl} {base}/v1/chat/completions -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -d '{{"model":"sim-chat","messages":[{{"role":"user","content":"Say hello"}}]}}'
  {curl} -N {base}/v1/messages -H "x-api-key: $KEY" -H 'Content-Type: application/json' \
    -d '{{"model":"lm-sonnet-4-6","max_tokens":200,"stream":true,"messages":[{{"role":"user","content":"Say hello"}}]}}'

"#
        )
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a String takes every write");
}

/// An address a client on this machine can connect to.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        other => other.ip(),
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner(key: Option<&str>, tls: bool) -> String {
        let banner = Banner {
            listen: &["0.0.0.0:8080".parse().unwrap()],
            tls,
            admin: "127.0.0.1:9".parse().unwrap(),
            data: Path::new("d"),
            ready: Duration::from_millis(12),
            key,
            self_signed: tls,
        };
        banner.text()
    }

    #[test]
    fn without_a_key_it_is_four_lines() {
        let expected = "gatehouse listens on http://0.0.0.0:8080\nadmin, metrics and health on http://127.0.0.1:9\n\
                        data in d\nready in 12 ms\n";
        assert_eq!(banner(None, false), expected);
    }

    #[test]
    fn the_lines_to_paste_name_what_works() {
        let text = banner(Some("sk-x"), true);
        for part in
            ["KEY=sk-x\n", "curl -sk https://127.0.0.1:8080/v1/images/generations", r#"-d '{"model":"#]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
