//! A provider that keeps every request byte for byte. The path decides its answer.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use gatehouse_harness::serve_connections;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::secret_forms;

/// One pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A running provider.
pub(crate) struct Recorder {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    seen: Mutex<Vec<Vec<u8>>>,
    secrets: Vec<String>,
    open: watch::Sender<bool>,
}

impl Recorder {
    /// A provider that knows these secrets and echoes those it receives.
    pub(crate) async fn start(secrets: &[String]) -> Self {
        let shared = Arc::new(Shared {
            seen: Mutex::default(),
            secrets: secrets.to_vec(),
            open: watch::Sender::new(false),
        });
        let serving = Arc::clone(&shared);
        let address = serve_connections(move |stream| {
            let shared = Arc::clone(&serving);
            async move { shared.serve(stream).await.unwrap_or_default() }
        })
        .await;
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, as it came.
    pub(crate) fn seen(&self) -> Vec<Vec<u8>> {
        self.shared.seen.lock().expect("unpoisoned").clone()
    }

    /// The requests whose first line holds `text`, as text.
    pub(crate) fn seen_at(&self, text: &str) -> Vec<String> {
        let all = self.seen().into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        all.filter(|request| request.lines().next().is_some_and(|line| line.contains(text))).collect()
    }

    /// Answers the requests that wait at `/gate`.
    pub(crate) fn open_gate(&self) {
        self.shared.open.send_replace(true);
    }
}

impl Shared {
    async fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let request = read(&mut stream).await?;
        self.seen.lock().expect("unpoisoned").push(request.clone());
        let head = String::from_utf8_lossy(&request).into_owned();
        let target = head.split(' ').nth(1)?.to_owned();
        if target.contains("/gate") {
            self.open.subscribe().wait_for(|open| *open).await.ok()?;
        }
        let answer = self.answer(&target, &request);
        stream.write_all(&answer).await.ok()?;
        stream.shutdown().await.ok()
    }

    fn answer(&self, target: &str, request: &[u8]) -> Vec<u8> {
        if target.contains("/echo") {
            return reply("200 OK", &self.tell_echoes(request), &self.echo(request));
        }
        if target.contains("/refused-echo") {
            return reply("403 Forbidden", &self.tell_echoes(request), &self.echo(request));
        }
        if target.contains("/redirect") {
            return reply("302 Found", &self.tell_echoes(request), b"elsewhere");
        }
        if target.contains("/picture-echo") {
            // A picture by its first bytes, and the request by the rest.
            let body =
                [b"\xff\xd8\xff\xe0\x00\x10JFIF".as_slice(), &[0; 64], &self.echo(request), b"\xff\xd9"]
                    .concat();
            return reply("200 OK", "content-type: image/jpeg\r\n", &body);
        }
        let json = |body: String| reply("200 OK", "content-type: application/json\r\n", body.as_bytes());
        let file = || format!("{{\"b64_json\":\"{}\",\"words\":\"kept\"}}", large_picture());
        if target.contains("/base64") {
            return json(file());
        }
        if target.contains("/many-files") {
            return json(format!("[{}]", vec![file(); 65].join(",")));
        }
        if target.contains("/words") {
            return json(format!("{{\"words\":\"{}\"}}", "to be read ".repeat(100_000)));
        }
        if target.contains("/picture") {
            let picture = STANDARD.decode(PICTURE).expect("a picture");
            return reply("200 OK", "content-type: image/png\r\n", &picture);
        }
        reply("200 OK", "content-type: application/json\r\n", b"{\"ok\":true}")
    }

    /// The secrets this request came with.
    fn sent_with(&self, request: &[u8]) -> Vec<&String> {
        let head = request.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let with = |secret: &&String| {
            let forms = secret_forms::forms(secret.as_bytes());
            head.iter().any(|line| {
                forms.iter().any(|(_, form)| line.windows(form.len()).any(|window| window == &form[..]))
            })
        };
        self.secrets.iter().filter(with).collect()
    }

    /// Headers that contain the secret, a redirect among them.
    fn tell_echoes(&self, request: &[u8]) -> String {
        let mut headers = String::new();
        for secret in self.sent_with(request) {
            for (at, (_, form)) in secret_forms::forms(secret.as_bytes()).iter().enumerate() {
                headers += &format!("x-leak-{at}: it is {}\r\n", String::from_utf8_lossy(form));
            }
            let (_, percent) = &secret_forms::forms(secret.as_bytes())[4];
            let percent = String::from_utf8_lossy(percent);
            headers += &format!("location: /landing?key={percent}\r\nset-cookie: session={percent}\r\n");
        }
        headers + "x-harmless: yes\r\n"
    }

    /// The request, in every form a debugging endpoint might choose.
    fn echo(&self, request: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(request).into_owned();
        let hex = |show: fn(u8) -> String| request.iter().map(|byte| show(*byte)).collect::<String>();
        let mut lines = vec![
            text.clone(),
            text.chars().rev().collect(),
            STANDARD.encode(request),
            STANDARD.encode(&request[1..]),
            URL_SAFE.encode(&request[2..]),
            hex(|byte| format!("{byte:02x}")),
            hex(|byte| format!("{byte:02X}")),
            hex(|byte| format!("%{byte:02X}")),
            hex(|byte| format!("\\u{byte:04x}")),
            serde_json::to_string(&text).expect("a string").replace('/', "\\/"),
        ];
        for secret in self.sent_with(request) {
            let forms = secret_forms::forms(secret.as_bytes());
            lines.extend(
                forms.iter().map(|(name, form)| format!("{name}: <{}>", String::from_utf8_lossy(form))),
            );
        }
        lines.join("\n").into_bytes()
    }
}

/// A picture by its first bytes, long enough to be cut out of JSON, in base64.
pub(crate) fn large_picture() -> String {
    let noise = (0..6_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8);
    STANDARD.encode(
        [
            STANDARD.decode(PICTURE).expect("a picture"),
            noise.collect(),
            b"IEND\xae\x42\x60\x82\xff\xd9".to_vec(),
        ]
        .concat(),
    )
}

fn reply(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A request with a body of its announced length.
async fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = head {
            let text = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                return Some(bytes);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
