//! From a parser's message to the operator's remedy.

use gatehouse_admin::nearest;

/// The document that explains every key.
pub(super) const GUIDE: &str = "every key is explained in gatehouse.example.toml";

/// Whether a path or a line mentions a value that must not be shown.
pub(super) fn touches_secret(text: &str) -> bool {
    // An address, not a token.
    let text = text.to_lowercase().replace("token_url", "");
    let words = ["secret", "token", "password", "api_key", "apikey", "key_id", "eab_hmac", ".accounts."];
    words.iter().any(|word| text.contains(word)) || has_password(&text)
}

/// Whether it mentions an address with a user and a password, whatever letters these have.
fn has_password(text: &str) -> bool {
    let rests = text.split("://").skip(1).filter_map(|rest| rest.split('"').next());
    rests.filter_map(|rest| rest.rsplit_once('@')).any(|(user, _)| user.contains(':'))
}

/// The problem with the value at `path`, and its remedy, from a parser's message.
pub(super) fn advise(path: &str, message: &str) -> (String, String) {
    if path.rsplit('.').next().is_some_and(touches_secret) {
        let problem = "a secret is never written into the configuration itself".to_owned();
        let remedy = "write a reference: { env = \"VARIABLE\" } or { file = \"/path/to/file\" }".to_owned();
        return (problem, remedy);
    }
    if let Some(known) =
        quoted_after(message, "unknown field `").or_else(|| quoted_after(message, "unknown variant `"))
    {
        return unknown(message, &known);
    }
    if let Some(missing) = quoted_after(message, "missing field `") {
        return (format!("`{missing}` is missing"), format!("add `{missing} = ...`; {GUIDE}"));
    }
    if let Some(rest) = message.strip_prefix("invalid type: ") {
        return (format!("wrong type: {rest}"), retype(rest));
    }
    if message.contains("duplicate key") {
        return (message.to_owned(), "keep one of the two".to_owned());
    }
    if path.is_empty() {
        let remedy = "check the quotes, brackets and `=` of this line; strings need double quotes";
        return (message.to_owned(), remedy.to_owned());
    }
    (message.to_owned(), format!("correct the value; {GUIDE}"))
}

fn unknown(message: &str, word: &str) -> (String, String) {
    let kind = if message.starts_with("unknown field") { "key" } else { "value" };
    let problem = format!("unknown {kind} `{word}`");
    let known: Vec<&str> = message.split_once(", expected").map_or(vec![], |(_, rest)| backticked(rest));
    let remedy = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if !known.is_empty() => format!("known here: {}", known.join(", ")),
        None => "remove it".to_owned(),
    };
    (problem, remedy)
}

fn retype(rest: &str) -> String {
    let (got, expected) = rest.split_once(", expected ").unwrap_or((rest, ""));
    let number = expected.starts_with(['u', 'i', 'f']) || expected.contains("integer");
    if got.starts_with("string") && (number || expected.contains("bool")) {
        return "write it without quotes".to_owned();
    }
    if !got.starts_with("string") && (expected.contains("string") || expected.contains("as text")) {
        return "write it in double quotes".to_owned();
    }
    if expected.contains("sequence") {
        return "write a list: [ ... ]".to_owned();
    }
    if expected.starts_with("struct") || expected.contains("map") {
        return "write a table: { key = value }".to_owned();
    }
    format!("correct the value; {GUIDE}")
}

fn quoted_after(message: &str, lead: &str) -> Option<String> {
    let rest = message.strip_prefix(lead)?;
    rest.split_once('`').map(|(word, _)| word.to_owned())
}

fn backticked(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_message() {
        let cases = [
            ("server", "unknown field `lisen`, expected one of `listen`, `limits`", "did you mean `listen`?"),
            ("log", "unknown field `colour`, expected `level` or `format`", "known here: level, format"),
            ("log.format", "unknown variant `jsn`, expected `text` or `json`", "did you mean `json`?"),
            ("a", "unknown field `b`, there are no fields", "remove it"),
            ("tasks.n", "invalid type: string \"8\", expected u32", "write it without quotes"),
            (
                "prices.x",
                "invalid type: integer `4`, expected credits as text, such as \"4\"",
                "write it in double quotes",
            ),
            ("server.p", "invalid type: string \"10.0.0.0/8\", expected a sequence", "write a list: [ ... ]"),
        ];
        for (path, message, remedy) in cases {
            assert_eq!(advise(path, message).1, remedy, "{message}");
        }
    }

    #[test]
    fn a_secret_in_the_file_is_not_repeated() {
        for (path, message) in [
            ("providers.bfl.accounts.main.secret", "invalid type: string \"hunter2\", expected a map"),
            ("server.acme.eab_hmac", "unknown variant `hunter2`, expected `env` or `file`"),
        ] {
            let (problem, remedy) = advise(path, message);
            assert!(!problem.contains("hunter2") && remedy.contains("env"), "{problem} {remedy}");
        }
        for line in
            ["url = \"postgres://gate:hun/ter2@host/db\"", "url = \"postgres://gate:hun ter2@host/db\""]
        {
            assert!(touches_secret(line), "{line}");
        }
    }
}
