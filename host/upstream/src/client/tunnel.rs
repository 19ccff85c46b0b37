//! A tunnel through a proxy: it is asked for with CONNECT (RFC 9110, section 9.3.6), and TLS is spoken with the target through it,
//! so the proxy sees names and no secret. Checks no address of a target: `connect` does.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::dial::Stream;
use crate::client::exchange::AGENT;

/// Bytes of a proxy's answer to CONNECT.
const MAX_HEAD: usize = 8 * 1024;

/// Has the proxy at the other end of `stream` connect to `target`, as `host:port`.
///
/// # Errors
/// What it answered, or that it broke off.
pub(crate) async fn tunnel(
    mut stream: Box<dyn Stream>,
    login: Option<&str>,
    target: &str,
) -> Result<Box<dyn Stream>, String> {
    let broke_off = |error: io::Error| format!("broke off: {error}");
    let mut head = format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\nuser-agent: {AGENT}\r\n");
    if let Some(login) = login {
        head += &format!("proxy-authorization: {login}\r\n");
    }
    head += "\r\n";
    stream.write_all(head.as_bytes()).await.map_err(broke_off)?;
    stream.flush().await.map_err(broke_off)?;
    // Byte by byte: what follows the head is the target's.
    let mut answer = Vec::with_capacity(256);
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= MAX_HEAD {
            return Err(format!("answered with a head of more than {MAX_HEAD} bytes"));
        }
        answer.push(stream.read_u8().await.map_err(broke_off)?);
    }
    match status(&answer) {
        Some(200..=299) => Ok(stream),
        Some(407) if login.is_none() => {
            Err("wants a login (407): outgoing.proxy_login is for outgoing.proxy".to_owned())
        }
        Some(407) => Err("refuses the login of outgoing.proxy_login (407)".to_owned()),
        Some(status) => Err(format!("answered {status} to CONNECT {target}")),
        None => Err("does not speak HTTP/1.1".to_owned()),
    }
}

/// The status of an answer's head.
fn status(head: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(head).ok()?.lines().next()?;
    let status = line.strip_prefix("HTTP/1.")?.split(' ').nth(1)?;
    status.parse().ok().filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    /// Without it an operator cannot tell a wrong login from a provider that is down.
    #[tokio::test]
    async fn what_the_proxy_answers_is_told() {
        for (answer, login, expected) in [
            ("HTTP/1.1 200 Connection established\r\n\r\nhello", Some("Basic dTpw"), Ok("hello")),
            ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", None, Err("wants a login")),
            (
                "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
                Some("Basic dTpw"),
                Err("refuses the login"),
            ),
            ("HTTP/1.1 403 Forbidden\r\n\r\n", None, Err("answered 403 to CONNECT api.example:443")),
            ("SSH-2.0-x\r\n\r\n", None, Err("does not speak HTTP/1.1")),
            ("HTTP/1.1 200", None, Err("broke off")),
        ] {
            let (near, mut far) = duplex(16 * 1024);
            far.write_all(answer.as_bytes()).await.unwrap();
            far.shutdown().await.unwrap();
            let made = tunnel(Box::new(near), login, "api.example:443").await;
            match (made, expected) {
                (Ok(mut stream), Ok(rest)) => {
                    let mut text = String::new();
                    stream.read_to_string(&mut text).await.unwrap();
                    assert_eq!(text, rest);
                }
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (made, expected) => panic!("{:?} {expected:?}", made.err()),
            }
            let mut asked = vec![0; 1024];
            let count = far.read(&mut asked).await.unwrap();
            let asked = String::from_utf8_lossy(&asked[..count]).into_owned();
            assert!(asked.starts_with("CONNECT api.example:443 HTTP/1.1\r\n"), "{asked}");
            assert_eq!(asked.contains("proxy-authorization: Basic dTpw\r\n"), login.is_some(), "{asked}");
        }
    }
}
