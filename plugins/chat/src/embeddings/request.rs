//! A request for embeddings, checked. Fields beyond the known ones go along where the model's `pass` lists them.

use gatehouse_text_protocols::check::{
    Checked, asks_for_nothing, choice, integer, nonempty_string, required, string, unique, wrong,
};
use gatehouse_text_protocols::json::{JsonString, Object, Raw, Writer, is_null, items, quote, quoted};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::{Rules, VectorEncoding};

use crate::request::not_an_object;

/// Fields of the protocol.
const FIELDS: [&str; 5] = ["dimensions", "encoding_format", "input", "model", "user"];
/// What an input may be.
const INPUT: &str = "a text, an array of texts, an array of tokens, or an array of such arrays";
/// A token counts as so many bytes of text: the host estimates a token of four bytes.
const BYTES_PER_TOKEN: u64 = 4;

/// A checked request.
#[derive(Default)]
pub(super) struct Request<'a> {
    body: Object<'a>,
    /// Vectors that the answer has.
    pub(super) inputs: usize,
    pub(super) input_bytes: u64,
    /// As the client asks for it.
    pub(super) encoding: Option<VectorEncoding>,
}

impl<'a> Request<'a> {
    pub(super) fn read(json: &'a str, rules: &Rules) -> Checked<Self> {
        let body = Object::parse(json).ok_or_else(|| not_an_object(json))?;
        let root = Path::BRACKETED;
        unique(&root, &body)?;
        let mut request = Self::default();
        for (name, raw) in body.iter().filter(|(_, raw)| !is_null(raw)) {
            let path = root.key(name);
            match name {
                "model" | "user" => {
                    string(&path, raw)?;
                }
                "input" => {
                    let (inputs, bytes) = input(&path, raw)?;
                    request.inputs = inputs;
                    request.input_bytes += bytes;
                }
                "encoding_format" => request.encoding = Some(encoding(&path, raw)?),
                "dimensions" => {
                    integer(&path, raw, 1..=i64::from(u32::MAX))?;
                }
                _ if asks_for_nothing(name, raw) => {}
                _ if rules.embeddings_pass(name) => request.input_bytes += raw.get().len() as u64,
                _ => return Err(wrong(&path, "nothing, this model does not take the field", Some(raw))),
            }
        }
        required(&root, &body, "model", "a string")?;
        required(&root, &body, "input", INPUT)?;
        request.body = body;
        Ok(request)
    }

    /// The provider's body. `null` says nothing, and some servers refuse it.
    pub(super) fn write(&self, upstream: &str, rules: &Rules) -> String {
        let size: usize = self.body.iter().map(|(name, raw)| name.len() + raw.get().len() + 4).sum();
        let mut out = Writer::new(size + 64);
        for (name, raw) in self.body.iter().filter(|(_, raw)| !is_null(raw)) {
            match name {
                "model" => quote(upstream, out.name(name)),
                "encoding_format" => {}
                _ if !FIELDS.contains(&name) && !rules.embeddings_pass(name) => {}
                "dimensions" => out.integer(name, raw),
                _ => out.member(name, raw.get()),
            }
        }
        if let Some(encoding) = rules.encoding_format.or(self.encoding) {
            out.member("encoding_format", &quoted(encoding.name()));
        }
        out.done()
    }
}

fn encoding(path: &Path<'_>, raw: Raw<'_>) -> Checked<VectorEncoding> {
    let name = choice(path, raw, &[VectorEncoding::Float.name(), VectorEncoding::Base64.name()])?;
    let is_float = name == VectorEncoding::Float.name();
    Ok(if is_float { VectorEncoding::Float } else { VectorEncoding::Base64 })
}

/// How many inputs there are, and how many bytes the model reads.
fn input(path: &Path<'_>, raw: Raw<'_>) -> Checked<(usize, u64)> {
    if JsonString::of(raw).is_some() {
        return Ok((1, nonempty_string(path, raw)?.len()));
    }
    let all = items(raw).ok_or_else(|| wrong(path, INPUT, Some(raw)))?;
    let bytes = match all.first().map(|first| first.get().as_bytes()[0]) {
        None => return Err(wrong(path, "at least one text or token", Some(raw))),
        Some(b'"') => sum(path, &all, |path, raw| Ok(nonempty_string(path, raw)?.len()))?,
        Some(b'[') => sum(path, &all, tokens)?,
        Some(_) => return Ok((1, tokens(path, raw)?)),
    };
    Ok((all.len(), bytes))
}

fn sum(path: &Path<'_>, all: &[Raw<'_>], one: impl Fn(&Path<'_>, Raw<'_>) -> Checked<u64>) -> Checked<u64> {
    all.iter().enumerate().map(|(at, raw)| one(&path.index(at), raw)).sum()
}

/// The bytes that one list of tokens counts for.
fn tokens(path: &Path<'_>, raw: Raw<'_>) -> Checked<u64> {
    let count = match serde_json::from_str::<Vec<u32>>(raw.get()) {
        Ok(tokens) => tokens.len(),
        Err(_) => {
            let all = items(raw).ok_or_else(|| wrong(path, "an array of tokens", Some(raw)))?;
            for (at, raw) in all.iter().enumerate() {
                integer(&path.index(at), raw, 0..=i64::from(u32::MAX))?;
            }
            all.len()
        }
    };
    if count == 0 {
        return Err(wrong(path, "at least one token", Some(raw)));
    }
    Ok(count as u64 * BYTES_PER_TOKEN)
}
