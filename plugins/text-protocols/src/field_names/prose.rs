//! Quoted words of sentences that are no fields: values of the protocols, and names that the client gave its tools.

/// Words before such a word, in lower case.
const BEFORE: [&str; 10] =
    ["function", "functions", "tool", "tools", "named", "role", "found", "got", "property", "properties"];
/// Words after it.
const BEHIND: [&str; 12] = [
    "block",
    "blocks",
    "role",
    "roles",
    "message",
    "messages",
    "turn",
    "turns",
    "tool",
    "tools",
    "function",
    "functions",
];
/// Words that are never fields: a word listed beside one of them is no field, either.
const VALUES: [&str; 5] = ["assistant", "developer", "redacted_thinking", "tool_use", "tool_result"];

/// Words of an enumeration that are read on each side: a text is as long as its provider likes.
const MAX_LISTED: usize = 8;

/// Whether the word between two parts of a sentence is in quotes and names no field, as "thinking" in "`thinking` or
/// `redacted_thinking` blocks" and "stop" in "the function 'stop'".
pub(super) fn is_no_field(before: &str, after: &str) -> bool {
    let Some(quote) = before.chars().next_back().filter(|letter| "`'\"".contains(*letter)) else {
        return false;
    };
    let (mut head, Some(mut tail)) = (&before[..before.len() - 1], after.strip_prefix(quote)) else {
        return false;
    };
    for _ in 0..MAX_LISTED {
        let Some((rest, word)) = listed_before(head, quote) else { break };
        if VALUES.contains(&word) {
            return true;
        }
        head = rest;
    }
    for _ in 0..MAX_LISTED {
        let Some((word, rest)) = listed_behind(tail, quote) else { break };
        if VALUES.contains(&word) {
            return true;
        }
        tail = rest;
    }
    let behind = tail.trim_start().split(|letter: char| !letter.is_alphanumeric()).next();
    is_one_of(&BEHIND, behind.unwrap_or_default()) || is_one_of(&BEFORE, last_word(head))
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// The last word of a sentence; of "function name" and `function.name`, the one before.
fn last_word(text: &str) -> &str {
    let text = text.trim_end();
    if text.ends_with('.') {
        return "";
    }
    let mut words = text.rsplit(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.find(|word| !word.eq_ignore_ascii_case("name")).unwrap_or_default()
}

/// The quoted word that a text ends with in an enumeration, and what is before it.
fn listed_before(text: &str, quote: char) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let text = text.strip_suffix(" or").or_else(|| text.strip_suffix(" and")).unwrap_or(text);
    text.trim_end_matches([',', ' ']).strip_suffix(quote)?.rsplit_once(quote)
}

/// The quoted word that a text begins with in an enumeration, and what follows it.
fn listed_behind(text: &str, quote: char) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([',', ' ']);
    let text = text.strip_prefix("or ").or_else(|| text.strip_prefix("and ")).unwrap_or(text);
    text.strip_prefix(quote)?.split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a client reads of a field where its provider speaks of a kind of block, of a role, or of the client's tool.
    #[test]
    fn values_and_names_of_tools_are_no_fields() {
        for (before, after, expected) in [
            ("m: `", "` or `redacted_thinking` blocks cannot be modified.", true),
            ("Expected `", "` or `redacted_thinking`, but found `text`.", true),
            ("Expected `text`, but found `", "`.", true),
            ("alternate between `", "` and `assistant`", true),
            ("one of `assistant` or `", "`", true),
            ("must use the \"", "\" role", true),
            ("Invalid schema for function '", "': no", true),
            ("Invalid schema for function name '", "': no", true),
            ("Unknown tool: `", "`", true),
            ("When `", "` is enabled, a final `assistant` message must", false),
            ("Unsupported parameter: '", "' is not supported with this model.", false),
            ("Unknown '", "', they stop here", false),
            ("Either `temperature` or `", "`, not both", false),
            ("It is no function. '", "' is too long", false),
            ("", ": blank", false),
        ] {
            assert_eq!(is_no_field(before, after), expected, "{before}...{after}");
        }
    }
}
