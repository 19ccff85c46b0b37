//! Streams as providers of both protocols write them: text, end, and token counts.

use crate::record::text_outcomes::Protocol;
use bytes::Bytes;

/// Line ends a provider may use; the last one is all of them in turn.
pub(crate) const ENDS: [&str; 4] = ["\n", "\r\n", "\r", "\r\n|\n|\r"];

/// One stream of a provider.
pub(crate) struct Transcript {
    pub(crate) name: &'static str,
    pub(crate) protocol: Protocol,
    /// With line feeds.
    text: String,
    /// What the client must receive.
    contains: &'static [&'static str],
    ends: Ends,
}

/// The result of a stream that is not cut.
enum Ends {
    /// It is whole; the ledger's memo ends with these counts.
    Counted(&'static str),
    /// It is whole, without counts.
    Estimated,
    /// It fails with this message, after something was delivered.
    Fails(&'static str),
}

impl Transcript {
    /// Its bytes, with those line ends.
    pub(crate) fn bytes(&self, end: &str) -> Vec<u8> {
        let mut ends = end.split('|').cycle();
        let lines = self.text.split_inclusive('\n');
        lines
            .flat_map(|line| match line.strip_suffix('\n') {
                Some(line) => [line, ends.next().unwrap_or("\n")].concat().into_bytes(),
                None => line.as_bytes().to_vec(),
            })
            .collect()
    }

    /// The length up to the end of each event.
    pub(crate) fn boundaries(&self, end: &str) -> Vec<usize> {
        let longer = end.len() - 1;
        let mut found = Vec::new();
        let mut length = 0;
        for line in self.text.split_inclusive('\n') {
            length += line.len() + longer;
            if line == "\n" {
                found.push(length);
            }
        }
        found.retain(|length| *length < self.bytes(end).len());
        found
    }

    /// Checks what the client received, the error at its end, and the memo of the settlement.
    ///
    /// # Errors
    /// The difference.
    pub(crate) fn check(&self, received: &str, error: Option<&str>, memo: &str) -> Result<(), String> {
        if let Some(missing) = self.contains.iter().find(|text| !received.contains(**text)) {
            return Err(format!("the client did not receive {missing:?}"));
        }
        let right = match self.ends {
            Ends::Counted(counts) => error.is_none() && memo.ends_with(counts),
            Ends::Estimated => error.is_none() && memo.ends_with(", estimated"),
            Ends::Fails(message) => {
                error.is_some_and(|error| error.contains(message)) && memo.ends_with(", estimated")
            }
        };
        if right { Ok(()) } else { Err(format!("wrong end: error {error:?}, memo {memo:?}")) }
    }
}

/// A text of that protocol, event by event.
pub(crate) fn events(protocol: Protocol) -> Vec<Bytes> {
    let transcript = all().into_iter().find(|transcript| transcript.protocol == protocol);
    let transcript = transcript.expect("there is one of each");
    let (bytes, mut ends) = (Bytes::from(transcript.bytes("\n")), transcript.boundaries("\n"));
    ends.push(bytes.len());
    let mut from = 0;
    ends.into_iter().map(|end| bytes.slice(std::mem::replace(&mut from, end)..end)).collect()
}

/// All of them.
pub(crate) fn all() -> Vec<Transcript> {
    vec![
        Transcript {
            name: "a text of Messages",
            protocol: Protocol::Messages,
            text: named(&[START, PING, TEXT_BEGINS, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"h\u00e9llo, wörld "}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"漢字 😀"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" 👩‍👩‍👧‍👦 e̋"}   }"#,
                r#"{"type":"content_block_stop","index":0     }"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":37}  }"#, STOP]),
            contains: &["wörld", "漢字 😀", "👩‍👩‍👧‍👦 e̋"],
            ends: Ends::Counted(": 25 in, 37 out, 3 cached, 4 cache written"),
        },
        Transcript {
            name: "thinking and tools of Messages",
            protocol: Protocol::Messages,
            text: thinking_and_tools(),
            contains: &["Hmm … naïve", "c2lnbmF0dXJl+/==", "toolu_1", r#"{\"city\":\""#, "Zürich", "toolu_2"],
            ends: Ends::Counted(": 30 in, 91 out, 0 cached, 4 cache written"),
        },
        Transcript {
            name: "a Messages provider that fails in the middle",
            protocol: Protocol::Messages,
            text: named(&[START, TEXT_BEGINS, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"so far, só göod"}}"#,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#]),
            contains: &["só göod"],
            ends: Ends::Fails(""),
        },
        Transcript {
            name: "a Messages provider that sends garbage in the middle",
            protocol: Protocol::Messages,
            text: named(&[START, TEXT_BEGINS, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"so far, só göod"}}"#])
                + "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\n\n",
            contains: &["só göod"],
            ends: Ends::Fails(""),
        },
        Transcript {
            name: "a text of Chat",
            protocol: Protocol::Chat,
            text: [": PROCESSING\n\n".to_owned(), bare(&[BEGINS, &chunk(r#"{"content":"h\u00e9llo, wörld "}"#), &chunk(r#"{"content":"漢字 😀"}"#),
                &chunk(r#"{"content":" 👩‍👩‍👧‍👦 e̋"}"#), FINISHED,
                r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":32,"completion_tokens":37,"total_tokens":69,"prompt_tokens_details":{"cached_tokens":3}}}"#]),
                ": PROCESSING\n\ndata:[DONE]\n\n".to_owned()].concat(),
            contains: &["wörld", "漢字 😀", "👩‍👩‍👧‍👦 e̋"],
            ends: Ends::Counted(": 29 in, 37 out, 3 cached, 0 cache written"),
        },
        Transcript {
            name: "reasoning and tools of Chat, counted along",
            protocol: Protocol::Chat,
            text: reasoning_and_tools(),
            contains: &["call_a", r#"{\"city\":\""#, "Zürich", "call_b"],
            ends: Ends::Counted(": 20 in, 44 out, 12 cached, 0 cache written"),
        },
        Transcript {
            name: "a Chat provider that sends neither counts nor the end",
            protocol: Protocol::Chat,
            text: bare(&[BEGINS, &chunk(r#"{"content":"tout à fait"}"#), FINISHED]),
            contains: &["tout à fait"],
            ends: Ends::Estimated,
        },
        Transcript {
            name: "a Chat provider that fails in the middle",
            protocol: Protocol::Chat,
            text: bare(&[BEGINS, &chunk(r#"{"content":"so far, só göod"}"#),
                r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#]),
            contains: &["só göod"],
            ends: Ends::Fails(""),
        },
    ]
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1,"cache_creation_input_tokens":4,"cache_read_input_tokens":3}}   }"#;
const PING: &str = r#"{"type": "ping"}"#;
const TEXT_BEGINS: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}    }"#;
const STOP: &str = r#"{"type":"message_stop"          }"#;
const BEGINS: &str = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null,"obfuscation":"aZ3"}"#;
const FINISHED: &str = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#;

/// Events under the names of their types.
fn named(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| {
            let kind = line.split('"').nth(3).expect("the type comes first");
            format!("event: {kind}\ndata: {line}\n\n")
        })
        .collect()
}

fn bare(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("data: {line}\n\n")).collect()
}

/// A chunk of a Chat provider with that delta.
fn chunk(delta: &str) -> String {
    format!(
        r#"{{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#
    )
}

/// Everything the format allows: a byte order mark, comments, unused fields, data before its name and in
/// several lines, no space after a colon; and counts that come in several pieces, the last of which wins.
fn thinking_and_tools() -> String {
    [
        "\u{feff}: hello\n\n".to_owned(),
        named(&[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            PING,
        ]),
        "retry: 3000\nid: 7\n\n".to_owned(),
        "data:{\"type\":\"content_block_delta\",\"index\":0,\ndata: \"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hmm … naïve\"}}\nevent:content_block_delta\n\n".to_owned(),
        named(&[
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2lnbmF0dXJl+/=="}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"outages","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"Zürich\"}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
        ]),
        ": still here\n: and here\n\n".to_owned(),
        named(&[
            r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":60}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":30,"cache_read_input_tokens":0,"output_tokens":91}}"#,
            STOP,
        ]),
    ]
    .concat()
}

/// Counts in every chunk, each over the whole so far.
fn reasoning_and_tools() -> String {
    let counted = |delta: &str, finish: &str, output: u32| {
        format!(
            r#"{{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}],"usage":{{"prompt_tokens":32,"completion_tokens":{output},"prompt_cache_hit_tokens":12}}}}"#
        )
    };
    let deltas = [
        r#"{"role":"assistant","content":null}"#,
        r#"{"reasoning_content":"Hmm … "}"#,
        r#"{"reasoning_content":"naïve"}"#,
        r#"{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"outages","arguments":""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"Zürich\"}"}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"now","arguments":"{}"}}]}"#,
    ];
    let mut lines: Vec<String> =
        deltas.iter().zip(1..).map(|(delta, at)| counted(delta, "null", at * 5)).collect();
    lines.push(counted("{}", "\"tool_calls\"", 44));
    lines.push("[DONE]".to_owned());
    lines.iter().map(|line| format!("data: {line}\n\n")).collect()
}
