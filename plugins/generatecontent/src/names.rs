//! Names of functions as Google takes them: at most 64 letters, of which the first is no digit. The client reads its own again.

use std::borrow::Cow;

use gatehouse_text_protocols::json::Object;
use gatehouse_text_protocols::tool_names;

const MAX: usize = 64;

/// The name as Google takes it.
pub(crate) fn fitted(name: &str) -> Cow<'_, str> {
    if name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return tool_names::fitted(name, MAX);
    }
    // With a letter that it may not have it gets a mark, so that no other function has its name.
    Cow::Owned(tool_names::fitted(&format!("_{name}."), MAX).into_owned())
}

/// The fitted names that differ from those of the client's tools, with those.
pub(crate) fn renamed(body: &Object<'_>) -> Vec<(String, String)> {
    let names = body.objects("tools").filter_map(|tool| tool.text("name"));
    let pairs = names.map(|name| (fitted(&name).into_owned(), name.into_owned()));
    pairs.filter(|(fitted, own)| fitted != own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it Google refuses the request for one tool, or two tools become one.
    #[test]
    fn every_name_is_one_that_google_takes_and_stays_distinct() {
        let long = format!("mcp__{}", "server_".repeat(12));
        let other = format!("{}x", &long[..long.len() - 1]);
        let names = ["plain", "_2fa", "2fa", "-2fa", "2-fa", &long, &other];
        let mut all: Vec<_> = names.iter().map(|name| fitted(name)).collect();
        assert!(all.iter().all(|it| it.len() <= MAX && !it.starts_with(|first: char| "-2".contains(first))));
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), fitted("plain").as_ref(), fitted("_2fa").as_ref()), (7, "plain", "_2fa"));
    }
}
