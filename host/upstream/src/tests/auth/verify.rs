//! What a strict provider checks, written from the published rules and not from the code under test: other crates for the
//! digests, a decoder and an encoder of its own, and RSA by schoolbook arithmetic.

use std::collections::BTreeMap;

use ::hmac::{Hmac, Mac as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::*;

/// The constants of a provider that verifies request signatures.
pub(super) struct Rules {
    pub(super) algorithm: &'static str,
    pub(super) prefix: &'static str,
    pub(super) terminator: &'static str,
    pub(super) date: &'static str,
    pub(super) digest: &'static str,
    /// AWS encodes the path a second time.
    pub(super) encodes_again: bool,
}

pub(super) const VOLCENGINE: Rules = Rules {
    algorithm: "HMAC-SHA256",
    prefix: "",
    terminator: "request",
    date: "x-date",
    digest: "x-content-sha256",
    encodes_again: false,
};
pub(super) const AWS: Rules = Rules {
    algorithm: "AWS4-HMAC-SHA256",
    prefix: "AWS4",
    terminator: "aws4_request",
    date: "x-amz-date",
    digest: "x-amz-content-sha256",
    encodes_again: true,
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn decode(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut out = vec![];
    while let Some(byte) = bytes.next() {
        out.push(if byte == b'%' {
            let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
            u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
        } else {
            byte
        });
    }
    String::from_utf8(out).unwrap()
}

/// What the provider finds wrong with a request that should be signed with this secret.
pub(super) fn check(seen: &Received, rules: &Rules, secret: &str, time: &str) -> Result<(), String> {
    let header = |name: &str| seen.header(name).ok_or_else(|| format!("no {name}"));
    if header(rules.date)? != time {
        return Err(format!("signed at {}, not at {time}", header(rules.date)?));
    }
    let body = hex(&Sha256::digest(&seen.body));
    if header(rules.digest)? != body {
        return Err(format!("{} bytes of body have another digest", seen.body.len()));
    }
    let authorization = header("authorization")?;
    let rest = authorization.strip_prefix(&format!("{} ", rules.algorithm)).ok_or("algorithm")?;
    let parts: BTreeMap<&str, &str> = rest.split(", ").filter_map(|part| part.split_once('=')).collect();
    let (key_id, scope) = parts["Credential"].split_once('/').ok_or("scope")?;
    let [date, region, service, terminator] = scope.split('/').collect::<Vec<_>>()[..] else {
        return Err(format!("scope {scope}"));
    };
    if (key_id, terminator, Some(date)) != (KEY_ID, rules.terminator, time.get(..8)) {
        return Err(format!("credential {key_id} {scope}"));
    }
    for needed in ["host", rules.date, rules.digest] {
        if !parts["SignedHeaders"].split(';').any(|name| name == needed) {
            return Err(format!("{needed} is not signed"));
        }
    }
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let path: Vec<String> = path
        .split('/')
        .map(|segment| if rules.encodes_again { encode(segment) } else { encode(&decode(segment)) })
        .collect();
    let mut pairs: Vec<String> = url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| format!("{}={}", encode(&name), encode(&value)))
        .collect();
    pairs.sort();
    let mut canonical = format!("{}\n{}\n{}\n", seen.method, path.join("/"), pairs.join("&"));
    for name in parts["SignedHeaders"].split(';') {
        let values: Vec<&str> =
            seen.headers.get_all(name).iter().map(|value| value.to_str().unwrap().trim()).collect();
        canonical += &format!("{name}:{}\n", values.join(","));
    }
    canonical += &format!("\n{}\n{body}", parts["SignedHeaders"]);
    let hash = hex(&Sha256::digest(canonical.as_bytes()));
    let text = format!("{}\n{time}\n{scope}\n{hash}", rules.algorithm);
    let key = mac(format!("{}{secret}", rules.prefix).as_bytes(), date);
    let key = mac(&mac(&mac(&key, region), service), rules.terminator);
    let expected = hex(&mac(&key, &text));
    if parts["Signature"] == expected { Ok(()) } else { Err(format!("signature of\n{canonical}")) }
}

/// The signature in an `Authorization` header.
pub(super) fn signature(seen: &Received) -> String {
    seen.header("authorization").unwrap().split_once("Signature=").unwrap().1.to_owned()
}

/// Header and claims of a JWT, what was signed, and the signature.
pub(super) fn parts(token: &str) -> (Value, Value, String, Vec<u8>) {
    let [header, claims, signature] = token.split('.').collect::<Vec<_>>()[..] else { panic!("{token}") };
    let read = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    let json = |part: &str| serde_json::from_slice(&read(part)).unwrap();
    (json(header), json(claims), format!("{header}.{claims}"), read(signature))
}

/// Whether `signature` is the RS256 signature of `text` by the test's key: `s^65537 mod n` is the digest in the padding of
/// RFC 8017, section 9.2.
pub(super) fn is_by_the_key(text: &str, signature: &[u8]) -> bool {
    let modulus = number(&bytes_of(include_str!("keys/modulus.hex")));
    let base = number(signature);
    let mut power = base.clone();
    for _ in 0..16 {
        power = multiply(&power, &power, &modulus);
    }
    let power = multiply(&power, &base, &modulus);
    let prefix = bytes_of("3031300d060960864801650304020105000420");
    let digest = [prefix, Sha256::digest(text.as_bytes()).to_vec()].concat();
    let padded = [vec![0, 1], vec![0xff; 256 - 3 - digest.len()], vec![0], digest].concat();
    power == number(&padded)
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// 2048 bits, the lowest digit first, and room for one bit more.
fn number(bytes: &[u8]) -> Vec<u64> {
    let mut digits: Vec<u64> = bytes
        .rchunks(4)
        .map(|chunk| chunk.iter().fold(0, |digit, byte| digit << 8 | u64::from(*byte)))
        .collect();
    digits.resize(65, 0);
    digits
}

/// `a * b mod n`, bit by bit.
fn multiply(a: &[u64], b: &[u64], n: &[u64]) -> Vec<u64> {
    let mut sum = vec![0; 65];
    for bit in (0..2048).rev() {
        sum = reduced(added(&sum, &sum), n);
        if b[bit / 32] >> (bit % 32) & 1 == 1 {
            sum = reduced(added(&sum, a), n);
        }
    }
    sum
}

fn added(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut carry = 0;
    let digit = |(a, b): (&u64, &u64)| {
        let sum = a + b + carry;
        carry = sum >> 32;
        sum & 0xffff_ffff
    };
    a.iter().zip(b).map(digit).collect()
}

/// `a mod n`, where `a` is below `2 n`.
fn reduced(a: Vec<u64>, n: &[u64]) -> Vec<u64> {
    if a.iter().rev().lt(n.iter().rev()) {
        return a;
    }
    let mut borrow = 0;
    let digit = |(a, n): (&u64, &u64)| {
        let difference = a + (1 << 32) - n - borrow;
        borrow = 1 - (difference >> 32);
        difference & 0xffff_ffff
    };
    a.iter().zip(n).map(digit).collect()
}
