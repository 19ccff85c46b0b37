//! The text printed when the gateway is ready.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use gatehouse_admin::Revealed;
use gatehouse_edge::reachable;

use crate::sandbox_mode::SandboxKeys;

/// The facts in the text.
pub(crate) struct Banner<'a> {
    /// The public listeners.
    pub(crate) listen: &'a [SocketAddr],
    /// Whether those speak TLS.
    pub(crate) tls: bool,
    /// The admin listener.
    pub(crate) admin: SocketAddr,
    /// Whether it speaks TLS.
    pub(crate) admin_tls: bool,
    /// The addresses of a link that logs one person in to the console, the best first; none where standard output is a
    /// journal, which more people read than may log in.
    pub(crate) console: &'a [Revealed],
    /// The data folder.
    pub(crate) data: &'a Path,
    /// Time from the start of the process until now.
    pub(crate) ready: Duration,
    /// Keys to try the gateway with; only in sandbox mode.
    pub(crate) keys: Option<&'a SandboxKeys>,
    /// Origin of the sample files; only in sandbox mode.
    pub(crate) samples: Option<&'a str>,
    /// Whether the certificate was generated at start.
    pub(crate) self_signed: bool,
}

impl Banner<'_> {
    /// The whole text.
    pub(crate) fn text(&self) -> String {
        // A String takes every write.
        let mut text = String::new();
        let scheme = if self.tls { "https" } else { "http" };
        for address in self.listen {
            let _ = writeln!(text, "gatehouse listens on {scheme}://{address}");
        }
        let admin_scheme = if self.admin_tls { "https" } else { "http" };
        let _ = writeln!(text, "admin, metrics and health on {admin_scheme}://{}", self.admin);
        for (at, url) in self.console.iter().enumerate() {
            let label = if at == 0 { "console, for ten minutes and one login:" } else { "  or" };
            let _ = writeln!(text, "{label} {}", url.0);
        }
        if self.console.is_empty() {
            text += "console: `gatehouse console link` prints a link that logs one person in\n";
        }
        let _ = writeln!(text, "data in {}", self.data.display());
        if let (Some(keys), Some(address)) = (self.keys, self.listen.first()) {
            text.push_str(&self.examples(keys, &format!("{scheme}://{}", reachable(*address))));
        }
        let _ = writeln!(text, "ready in {} ms", self.ready.as_millis());
        text
    }

    /// Lines that work when pasted into a shell with curl and sed.
    fn examples(&self, keys: &SandboxKeys, base: &str) -> String {
        let (wrapped, bare) = (&keys.wrapped.0, &keys.bare.0);
        let stored = match keys.replaced {
            true => {
                "New keys: a stored one was revoked or unknown. From now on they are the same at every start"
            }
            false => "The keys are the same at every start",
        };
        let file = keys.file.display();
        let samples = self.samples.unwrap_or_default();
        let curl = if self.self_signed { "curl -sk" } else { "curl -s" };
        format!(
            r#"
Simulated providers are running, so no credentials are needed and nothing leaves this machine.
{stored}; they are kept in {file}.
Paste these lines into another terminal:

  KEY={wrapped}
  TASK=$({curl} {base}/v1/images/generations -H "Authorization: Bearer $KEY" \
    -H 'Content-Type: application/json' \
    -d '{{"model":"ctx-pro","prompt":"a lighthouse at dawn","size":"16:9"}}' \
    | tee /dev/stderr | sed -n 's/.*"task_id":"\([^"]*\)".*/\1/p')
  URL=$({curl} {base}/v1/tasks/$TASK -H "Authorization: Bearer $KEY" -H 'Prefer: wait=30' \
    | tee /dev/stderr | sed -n 's/.*"url":\["\([^"]*\)".*/\1/p')
  {curl} -o lighthouse.png "$URL" && ls -l lighthouse.png

Three images at once, by the default image model:

  {curl} {base}/v1/images/generations -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -d '{{"prompt":"a lighthouse at dawn","n":3}}'

Text, whole and streamed, in either protocol:

  {curl} {base}/v1/chat/completions -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -d '{{"model":"sim-chat","messages":[{{"role":"user","content":"Say hello"}}]}}'
  {curl} -N {base}/v1/messages -H "x-api-key: $KEY" -H 'Content-Type: application/json' \
    -d '{{"model":"lm-sonnet-4-6","max_tokens":200,"stream":true,"messages":[{{"role":"user","content":"Say hello"}}]}}'

Pictures, videos and sounds for requests; the name is the size and the length ($SAMPLES/640x480-3s.mp4, $SAMPLES/7s.wav):

  SAMPLES={samples}/samples

For SDKs and tools, the base URLs (Anthropic without /v1, OpenAI with it) and keys:

  export ANTHROPIC_BASE_URL={base} ANTHROPIC_API_KEY={wrapped}
  export OPENAI_BASE_URL={base}/v1 OPENAI_API_KEY={bare}

"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner(keys: Option<&SandboxKeys>, tls: bool) -> String {
        let console = ["http://gatehouse.localhost:9/login#t", "http://127.0.0.1:9/login#t"];
        banner_with(&console.map(|url| Revealed(url.to_owned())), keys, tls)
    }

    fn banner_with(console: &[Revealed], keys: Option<&SandboxKeys>, tls: bool) -> String {
        let banner = Banner {
            listen: &["0.0.0.0:8080".parse().unwrap()],
            tls,
            admin: "127.0.0.1:9".parse().unwrap(),
            admin_tls: tls,
            console,
            data: Path::new("d"),
            ready: Duration::from_millis(12),
            keys,
            samples: keys.map(|_| "http://127.0.0.1:7"),
            self_signed: tls,
        };
        banner.text()
    }

    #[test]
    fn without_a_key_it_is_six_lines() {
        let expected = "gatehouse listens on http://0.0.0.0:8080\nadmin, metrics and health on http://127.0.0.1:9\n\
                        console, for ten minutes and one login: http://gatehouse.localhost:9/login#t\n  \
                        or http://127.0.0.1:9/login#t\ndata in d\nready in 12 ms\n";
        assert_eq!(banner(None, false), expected);
    }

    /// A journal is read by more people than may log in.
    #[test]
    fn without_a_link_it_says_how_to_have_one() {
        let text = banner_with(&[], None, false);
        assert!(text.contains("`gatehouse console link`") && !text.contains("/login"), "{text}");
    }

    #[test]
    fn the_examples_hold_keys_and_base_urls() {
        let mut keys = SandboxKeys {
            wrapped: Revealed("sk-x".to_owned()),
            bare: Revealed("sk-y".to_owned()),
            file: "d/sandbox-keys.json".into(),
            replaced: false,
        };
        let text = banner(Some(&keys), true);
        for part in [
            "admin, metrics and health on https://127.0.0.1:9\n",
            "The keys are the same at every start; they are kept in d/sandbox-keys.json.\n",
            "KEY=sk-x\n",
            "curl -sk https://127.0.0.1:8080/v1/images/generations",
            r#"-d '{"model":"#,
            "SAMPLES=http://127.0.0.1:7/samples\n",
            r#"-d '{"prompt":"a lighthouse at dawn","n":3}'"#,
            "export ANTHROPIC_BASE_URL=https://127.0.0.1:8080 ANTHROPIC_API_KEY=sk-x\n",
            "export OPENAI_BASE_URL=https://127.0.0.1:8080/v1 OPENAI_API_KEY=sk-y\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        keys.replaced = true;
        assert!(banner(Some(&keys), true).contains("\nNew keys: "));
    }
}
