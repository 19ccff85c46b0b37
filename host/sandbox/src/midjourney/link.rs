//! Signed links to files, in the shape of the chat's attachments: they live for a day and cannot be renewed.

use crate::common::server::parameter;
use crate::common::shared::SigningKey;

/// A link's life.
const LIFE_S: u64 = 86_400;
/// The channel in every path.
const CHANNEL: &str = "/attachments/1118138338562560102";

/// The path of a task's file.
pub(crate) fn path(task: &str, name: &str) -> String {
    format!("{CHANNEL}/{task}/{name}")
}

/// Task and name of a path.
pub(crate) fn parts(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix(CHANNEL)?.strip_prefix('/')?.split_once('/')
}

/// The query of a link made now, or of one that is over already.
pub(crate) fn query(key: &SigningKey, path: &str, now: u64, is_dead: bool) -> String {
    let (from, life) = if is_dead { (now / 1000 - 2 * LIFE_S, LIFE_S) } else { (now / 1000, LIFE_S) };
    let end = format!("{:x}", from + life);
    format!("ex={end}&is={from:x}&hm={}", key.code(&format!("{path} {end}")))
}

/// Whether a query opens that path at this moment.
pub(crate) fn opens(key: &SigningKey, path: &str, query: &str, now: u64) -> bool {
    let (Some(end), Some(code)) = (parameter(query, "ex"), parameter(query, "hm")) else { return false };
    let is_alive = u64::from_str_radix(&end, 16).is_ok_and(|end| now / 1000 < end);
    is_alive && key.code(&format!("{path} {end}")) == *code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_live_for_a_day_and_open_one_path() {
        let key = SigningKey::new().expect("random");
        let (path, now) = (path("17", "picture.png"), 1_767_225_600_000);
        assert_eq!(parts(&path), Some(("17", "picture.png")));
        let first = query(&key, &path, now, false);
        for (at, expected) in [(now, true), (now + 86_399_000, true), (now + 86_400_000, false)] {
            assert_eq!(opens(&key, &path, &first, at), expected, "{at}");
        }
        assert!(!opens(&key, &path, &query(&key, &path, now, true), now));
        assert!(!opens(&key, "/attachments/other", &first, now));
        assert!(!opens(&key, &path, &first.replace("hm=", "hm=0"), now) && !opens(&key, &path, "", now));
    }
}
