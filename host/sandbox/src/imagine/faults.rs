//! Faults on demand: markers in the prompt, each for one failure.
//!
//! `:K` limits a refusal to the first K calls with that very prompt; `filtered:K` takes K images out. Refusals come
//! after the checks of key, body and arguments.

use crate::common::markers::Argument::{self, Number, Times};
use crate::common::markers::{self, EVER, markers};

const NONE: Argument = Argument::None;

/// What a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A call, which it refuses.
    Call,
    /// The answer to a call that made images.
    Answer,
    /// The links to the files.
    Link,
    /// The files.
    File,
}

markers! {
    Target;
    WrongKey "400-key" Times(EVER), Call "the call answers 400: the key is incorrect (every time, or the first K)";
    LongPrompt "400-prompt" Times(EVER), Call "the call answers 400: the prompt is too long (every time, or the first K)";
    NoFetch "400-fetch" Times(EVER), Call "the call answers 400: the reference could not be fetched (every time, or the first K)";
    Nested "400-nested" Times(EVER), Call "the call answers 400 with an error object inside (every time, or the first K)";
    Moderated "moderated" Times(EVER), Call "the call answers 400: the image was rejected, and billed (every time, or the first K)";
    ModeratedOld "moderated-old" Times(EVER), Call "the same with the code of an invalid argument";
    Unauthenticated "401" Times(EVER), Call "the call answers 401 (every time, or the first K)";
    BlockedKey "403" Times(EVER), Call "the call answers 403: the key is blocked (every time, or the first K)";
    Credits "403-credits" Times(EVER), Call "the call answers 403: the credits are used up (every time, or the first K)";
    Guidelines "403-content" Times(EVER), Call "the call answers 403: the content violates the guidelines (every time, or the first K)";
    NoModel "404" Times(EVER), Call "the call answers 404: there is no such model (every time, or the first K)";
    Shape "422" Times(EVER), Call "the call answers 422 in plain text (every time, or the first K)";
    Rate "429" Times(EVER), Call "the call answers 429: too many requests (every time, or the first K)";
    CreditsRate "429-credits" Times(EVER), Call "the call answers 429: the credits are used up (every time, or the first K)";
    Broken "500" Times(EVER), Call "the call answers 500 (every time, or the first K)";
    BadGateway "502-html" Times(EVER), Call "the call answers 502 with an HTML page (every time, or the first K)";
    Unavailable "503" Times(EVER), Call "the call answers 503 (every time, or the first K)";
    Slow "slow" Number, Answer "the answer takes N milliseconds more";
    Hang "hang" NONE, Answer "the images are made, the answer never comes";
    Cut "cut" NONE, Answer "the images are made, the connection closes without an answer";
    Garbage "garbage" NONE, Answer "the images are made, the answer is not JSON";
    BlockedInput "blocked-input" NONE, Answer "the answer is 200 with a block_reason and no images";
    Empty "empty" NONE, Answer "the answer is 200 without images";
    Filtered "filtered" Number, Answer "moderation takes the first N images out of the answer";
    FilteredAll "filtered-all" NONE, Answer "moderation takes all images out of the answer";
    Base64 "b64" NONE, Answer "the images come as base64, whatever was asked for";
    Base64Head "b64-head" NONE, Answer "the same behind the head of a data URI";
    DeadLink "dead-link" NONE, Link "every link is dead on arrival";
    OneDeadLink "one-dead-link" NONE, Link "the first image's link is dead on arrival";
    ForeignLink "foreign-link" NONE, Link "the links are on a host that is not the provider's";
    PrivateLink "private-link" NONE, Link "the links point into a private network";
    WrongType "wrong-type" NONE, File "each file is an HTML page";
    Truncated "truncated-image" NONE, File "the connection closes in the middle of each file";
    FileUnavailable "file-503" Times(1), File "the first download (or the first K) of each file answers 503";
}

/// All faults a prompt asks for.
pub(super) type Faults = markers::Faults<Marker, Target>;

impl Faults {
    /// Reads the markers of a prompt.
    pub(super) fn of(prompt: &str) -> Self {
        Self::read(MARKERS, prompt, |marker| {
            tracing::warn!(marker, "not a marker of the image API, taken as plain prompt");
        })
    }

    /// Whether calls of this prompt have to be counted.
    pub(super) fn refuses(&self) -> bool {
        self.found.iter().any(|(row, _)| row.group == Target::Call)
    }

    /// The refusal of a call, after `earlier` others of this prompt.
    pub(super) fn refusal(&self, earlier: u32) -> Option<Marker> {
        self.after(earlier, |row| row.group == Target::Call)
    }

    /// The fault of the links, the last in the prompt.
    pub(super) fn link(&self) -> Option<Marker> {
        self.at(Target::Link).map(|(marker, _)| marker)
    }

    /// How many of `n` images moderation takes out: the first ones.
    pub(super) fn filtered(&self, n: u32) -> u32 {
        if self.has(Marker::FilteredAll) {
            return n;
        }
        self.number(Marker::Filtered).map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX)).min(n)
    }

    /// The fault of a file, after `earlier` downloads of it.
    pub(super) fn file(&self, earlier: u32) -> Option<Marker> {
        self.at_after(Target::File, earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_marker_is_read() {
        for row in MARKERS {
            let argument = if row.argument == Number { ":2" } else { "" };
            let faults = Faults::of(&format!("a kite [[{}{argument}]]", row.name));
            assert!(faults.has(row.marker), "{}", row.name);
            assert!(row.effect.len() > 10, "{}", row.name);
        }
    }

    #[test]
    fn plain_prompts() {
        for prompt in ["", "a kite", "[[", "[[kite]]", "[[filtered]]", "[[slow:x]]", "[[hang:2]]", "[429]"] {
            assert_eq!(Faults::of(prompt).found, [], "{prompt}");
        }
    }

    #[test]
    fn refusals_come_one_after_the_other() {
        for (prompt, earlier, expected) in [
            ("[[403]]", 1000, Some(Marker::BlockedKey)),
            ("[[429:3]]", 2, Some(Marker::Rate)),
            ("[[429:3]]", 3, None),
            ("[[500:1]][[429:1]]", 1, Some(Marker::Rate)),
            ("[[429:*]]", u32::MAX, Some(Marker::Rate)),
            ("[[empty]]", 0, None),
        ] {
            assert_eq!(Faults::of(prompt).refusal(earlier), expected, "{prompt} after {earlier}");
        }
    }

    #[test]
    fn images_are_filtered_up_to_all_of_them() {
        for (prompt, n, expected) in [
            ("a kite", 3, 0),
            ("[[filtered:0]]", 3, 0),
            ("[[filtered:2]]", 3, 2),
            ("[[filtered:9]]", 3, 3),
            ("[[filtered-all]]", 10, 10),
        ] {
            assert_eq!(Faults::of(prompt).filtered(n), expected, "{prompt}");
        }
    }

    #[test]
    fn a_file_is_unavailable_for_a_while() {
        for (prompt, earlier, expected) in [
            ("[[file-503]]", 0, Some(Marker::FileUnavailable)),
            ("[[file-503]]", 1, None),
            ("[[file-503:*]]", 9, Some(Marker::FileUnavailable)),
            ("[[wrong-type]]", 9, Some(Marker::WrongType)),
        ] {
            assert_eq!(Faults::of(prompt).file(earlier), expected, "{prompt} after {earlier}");
        }
    }
}
