//! The rows: what must hold for clients, by number, and the SDK each row is about.

/// The SDK a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Openai,
    Anthropic,
    Both,
    /// Responses through the same packages: scripts of their own.
    Responses,
    /// The Vercel AI SDK, with either protocol.
    Vercel,
    /// A framework over the official SDKs or a client of its own. Each has models of either protocol.
    Framework,
    /// Not visible through an SDK: `wire.rs` checks it.
    Wire,
}

/// The rows, by number.
pub(crate) const ROWS: &[(u8, Side, &str)] = &[
    (1, Side::Openai, "bare completions: create, stream, stream helper, tools, usage"),
    (2, Side::Openai, "a body both wrapped and bare is not offered, and refused by name"),
    (3, Side::Openai, "wrapped completions are the default, and a key may change that"),
    (4, Side::Anthropic, "messages: create, stream, helper, tools, thinking over several turns"),
    (5, Side::Anthropic, "either header carries the key; of two, x-api-key counts"),
    (6, Side::Both, "the class of an error follows its status, and the request id is in it"),
    (7, Side::Both, "429 is tried three times, 402 and 400 once"),
    (8, Side::Both, "an overloaded provider is hidden, and paid once"),
    (9, Side::Both, "a stream that is cut raises, and costs what it delivered"),
    (
        10,
        Side::Both,
        "a client that leaves a provider that is drained pays for what it counts, and nothing stays held",
    ),
    (11, Side::Both, "a slow provider: keep-alives, and no parse error"),
    (12, Side::Both, "a mistaken base URL is told the right one"),
    (13, Side::Anthropic, "counting tokens is not offered"),
    (14, Side::Anthropic, "what a model does not take is refused in the messages shape"),
    (15, Side::Anthropic, "the newer version header changes nothing"),
    (16, Side::Wire, "the order of a stream's events on the wire"),
    (17, Side::Both, "clients of one protocol with models of the other"),
    (18, Side::Both, "two hundred calls on one client"),
    (19, Side::Anthropic, "a refused key is told so in the messages shape"),
    (20, Side::Vercel, "Vercel AI SDK: text whole and streamed"),
    (21, Side::Vercel, "Vercel AI SDK: a tool loop, whole and streamed, ends"),
    (22, Side::Vercel, "Vercel AI SDK: structured output keeps to its schema"),
    (
        23,
        Side::Responses,
        "responses: create, stream and stream again, tools, structured output, thinking, conversations, log probabilities",
    ),
    (24, Side::Openai, "embeddings: texts, tokens, both encodings, their price, errors"),
    (25, Side::Framework, "frameworks: an answer and its usage"),
    (26, Side::Framework, "frameworks: a stream"),
    (27, Side::Framework, "frameworks: a tool loop ends, and the next turn sends all of it back"),
    (28, Side::Framework, "frameworks: parallel tools"),
    (29, Side::Framework, "frameworks: structured output, in each of its ways"),
    (30, Side::Framework, "frameworks: an image"),
    (31, Side::Framework, "frameworks: asynchronously, or where it always is, not"),
    (32, Side::Framework, "frameworks: embeddings"),
    (33, Side::Vercel, "Vercel AI SDK: parallel tools, an image, embeddings"),
];
