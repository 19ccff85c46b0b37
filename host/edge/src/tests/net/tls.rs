//! The TLS listener against handwritten ClientHello messages: versions, suites, compression, time limits.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::http2::secure_with;
use crate::tests::{TestEdge, secs};

const SSL3: u16 = 0x0300;
const TLS10: u16 = 0x0301;
const TLS11: u16 = 0x0302;
const TLS12: u16 = 0x0303;
/// ECDHE-ECDSA with AES-128-GCM: supported everywhere.
const GOOD: u16 = 0xc02b;

/// Record types and alerts, RFC 5246 and 8446.
const HANDSHAKE: u8 = 22;
const ALERT: u8 = 21;
const HANDSHAKE_FAILURE: u8 = 40;
const DECODE_ERROR: u8 = 50;
const PROTOCOL_VERSION: u8 = 70;

fn sized(wide: usize, bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u32).to_be_bytes();
    [&length[4 - wide..], bytes].concat()
}

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A ClientHello of an old kind: a version, suites, ways to compress, and the usual extensions.
fn hello(version: u16, suites: &[u16], compression: &[u8], name: &str) -> Vec<u8> {
    let extension = |kind: u16, bytes: &[u8]| [&kind.to_be_bytes()[..], &sized(2, bytes)].concat();
    let extensions = [
        extension(0, &sized(2, &[&[0][..], &sized(2, name.as_bytes())].concat())),
        // secp256r1, its points as they are, and ECDSA with SHA-256.
        extension(10, &sized(2, &words(&[23]))),
        extension(11, &sized(1, &[0])),
        extension(13, &sized(2, &words(&[0x0403]))),
    ]
    .concat();
    let body = [
        version.to_be_bytes().to_vec(),
        vec![7; 32],
        sized(1, &[]),
        sized(2, &words(suites)),
        sized(1, compression),
        sized(2, &extensions),
    ]
    .concat();
    let message = [&[1][..], &sized(3, &body)].concat();
    [&[HANDSHAKE][..], &version.min(TLS10).to_be_bytes(), &sized(2, &message)].concat()
}

/// The kind of the first record that answers, and its last byte: of an alert, which one.
async fn answer(edge: &TestEdge, hello: &[u8]) -> Option<(u8, u8)> {
    let mut stream = TcpStream::connect(edge.server.addresses()[0]).await.unwrap();
    stream.write_all(hello).await.unwrap();
    let mut head = [0; 5];
    stream.read_exact(&mut head).await.ok()?;
    let mut body = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    stream.read_exact(&mut body).await.ok()?;
    Some((head[0], *body.last()?))
}

#[tokio::test]
async fn old_versions_weak_suites_and_compression_are_refused() {
    let (edge, _) = secure_with("").await;
    let served = answer(&edge, &hello(TLS12, &[GOOD], &[0], "gate.test")).await;
    assert_eq!(served.map(|(kind, _)| kind), Some(HANDSHAKE), "the refusals below have no other cause");
    for version in [SSL3, TLS10, TLS11] {
        let refused = answer(&edge, &hello(version, &[GOOD], &[0], "gate.test")).await;
        assert_eq!(refused, Some((ALERT, PROTOCOL_VERSION)), "{version:#06x}");
    }
    for (name, suite) in [
        ("no encryption", 0x0001),
        ("export RC4", 0x0003),
        ("RC4", 0x0005),
        ("3DES", 0x000a),
        ("no forward secrecy, CBC", 0x002f),
        ("anonymous", 0x0034),
        ("no forward secrecy, GCM", 0x009c),
        ("finite-field DHE", 0x009e),
        ("ECDHE, CBC and SHA-1", 0xc009),
        ("ECDHE, CBC and SHA-256", 0xc023),
        ("the fallback signal alone", 0x5600),
    ] {
        let refused = answer(&edge, &hello(TLS12, &[suite], &[0], "gate.test")).await;
        assert_eq!(refused, Some((ALERT, HANDSHAKE_FAILURE)), "{name}");
    }
    // DEFLATE beside null compression is ignored; DEFLATE alone is an error.
    let both = answer(&edge, &hello(TLS12, &[GOOD], &[1, 0], "gate.test")).await;
    assert_eq!(both.map(|(kind, _)| kind), Some(HANDSHAKE));
    let refused = answer(&edge, &hello(TLS12, &[GOOD], &[1], "gate.test")).await;
    assert!(refused.is_some_and(|(kind, _)| kind == ALERT), "{refused:?}");
    // SSL 2, and no TLS at all.
    for bytes in [&b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10"[..], b"GET / HTTP/1.1\r\n\r\n"] {
        let refused = answer(&edge, bytes).await;
        assert!(matches!(refused, None | Some((ALERT, DECODE_ERROR | PROTOCOL_VERSION))), "{refused:?}");
    }
}

#[tokio::test]
async fn an_unknown_server_name_gets_the_only_certificate() {
    let (edge, _) = secure_with("").await;
    for name in ["gate.test", "other.test"] {
        let served = answer(&edge, &hello(TLS12, &[GOOD], &[0], name)).await;
        assert_eq!(served.map(|(kind, _)| kind), Some(HANDSHAKE), "{name}");
    }
}

#[tokio::test]
async fn a_slow_handshake_does_not_hold_its_permit_for_ever() {
    let (edge, _) = secure_with("limits = { handshakes = 1 }").await;
    let mut slow = TcpStream::connect(edge.server.addresses()[0]).await.unwrap();
    let bytes = hello(TLS12, &[GOOD], &[0], "gate.test");
    slow.write_all(&bytes[..5]).await.unwrap();
    edge.clock.armed(secs(5)).await;
    for byte in &bytes[5..8] {
        edge.clock.advance(secs(1));
        slow.write_all(&[*byte]).await.unwrap();
    }
    // The next one waits for the permit, and its own time is not over when it gets it.
    let next = answer(&edge, &bytes);
    let end = async {
        edge.clock.armed_times(secs(5), 2).await;
        edge.clock.advance(secs(2));
        let mut rest = Vec::new();
        slow.read_to_end(&mut rest).await.map(|_| rest).unwrap_or_default()
    };
    let (served, rest) = tokio::join!(next, end);
    assert_eq!((served.map(|(kind, _)| kind), rest.len()), (Some(HANDSHAKE), 0));
}

/// A handshake that never goes on holds its turn for five seconds: without shares two addresses hold all of them.
#[tokio::test]
async fn handshakes_of_two_networks_leave_a_turn_for_a_third() {
    let (edge, _) = secure_with("limits = { handshakes = 4 }").await;
    let bytes = hello(TLS12, &[GOOD], &[0], "gate.test");
    let mut half = Vec::new();
    for address in [[127, 0, 1, 1], [127, 0, 2, 1]].repeat(8) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((address, 0).into()).unwrap();
        let mut stream = socket.connect(edge.server.addresses()[0]).await.unwrap();
        stream.write_all(&bytes[..5]).await.unwrap();
        half.push(stream);
    }
    edge.clock.armed_times(secs(5), half.len()).await;
    for _ in 0..6 {
        let served = answer(&edge, &bytes).await;
        assert_eq!(served.map(|(kind, _)| kind), Some(HANDSHAKE), "at once, no time has passed");
    }
}
