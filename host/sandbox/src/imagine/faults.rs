//! Faults on demand: markers in the prompt, each for one failure.
//!
//! `:K` limits a refusal to the first K calls with that very prompt; `filtered:K` takes K images out. Refusals come
//! after the checks of key, body and arguments.

use crate::common::faults::{EVER, NONE, Number, Target, Times, faults};

faults! {
    WrongKey "400-key" Times(EVER), Submit "the call answers 400: the key is incorrect (every time, or the first K)";
    LongPrompt "400-prompt" Times(EVER), Submit "the call answers 400: the prompt is too long (every time, or the first K)";
    NoFetch "400-fetch" Times(EVER), Submit "the call answers 400: the reference could not be fetched (every time, or the first K)";
    Nested "400-nested" Times(EVER), Submit "the call answers 400 with an error object inside (every time, or the first K)";
    Moderated "moderated" Times(EVER), Submit "the call answers 400: the image was rejected, and billed (every time, or the first K)";
    ModeratedOld "moderated-old" Times(EVER), Submit "the same with the code of an invalid argument";
    Unauthenticated "401" Times(EVER), Submit "the call answers 401 (every time, or the first K)";
    BlockedKey "403" Times(EVER), Submit "the call answers 403: the key is blocked (every time, or the first K)";
    Credits "403-credits" Times(EVER), Submit "the call answers 403: the credits are used up (every time, or the first K)";
    Guidelines "403-content" Times(EVER), Submit "the call answers 403: the content violates the guidelines (every time, or the first K)";
    NoModel "404" Times(EVER), Submit "the call answers 404: there is no such model (every time, or the first K)";
    Shape "422" Times(EVER), Submit "the call answers 422 in plain text (every time, or the first K)";
    Rate "429" Times(EVER), Submit "the call answers 429: too many requests (every time, or the first K)";
    CreditsRate "429-credits" Times(EVER), Submit "the call answers 429: the credits are used up (every time, or the first K)";
    Broken "500" Times(EVER), Submit "the call answers 500 (every time, or the first K)";
    BadGateway "502-html" Times(EVER), Submit "the call answers 502 with an HTML page (every time, or the first K)";
    Unavailable "503" Times(EVER), Submit "the call answers 503 (every time, or the first K)";
    Slow "slow" Number, Receipt "the answer takes N milliseconds more";
    Hang "hang" NONE, Receipt "the images are made, the answer never comes";
    Cut "cut" NONE, Receipt "the images are made, the connection closes without an answer";
    Garbage "garbage" NONE, Receipt "the images are made, the answer is not JSON";
    BlockedInput "blocked-input" NONE, Receipt "the answer is 200 with a block_reason and no images";
    Empty "empty" NONE, Receipt "the answer is 200 without images";
    Filtered "filtered" Number, Receipt "moderation takes the first N images out of the answer";
    FilteredAll "filtered-all" NONE, Receipt "moderation takes all images out of the answer";
    Base64 "b64" NONE, Receipt "the images come as base64, whatever was asked for";
    Base64Head "b64-head" NONE, Receipt "the same behind the head of a data URI";
    DeadLink "dead-link" NONE, Link "every link is dead on arrival";
    OneDeadLink "one-dead-link" NONE, Link "the first image's link is dead on arrival";
    ForeignLink "foreign-link" NONE, Link "the links are on a host that is not the provider's";
    PrivateLink "private-link" NONE, Link "the links point into a private network";
    WrongType "wrong-type" NONE, File "each file is an HTML page";
    Truncated "truncated-image" NONE, File "the connection closes in the middle of each file";
    FileUnavailable "file-503" Times(1), File "the first download (or the first K) of each file answers 503";
}

impl Faults {
    /// How many of `n` images moderation takes out: the first ones.
    pub(super) fn filtered(&self, n: u32) -> u32 {
        if self.has(Marker::FilteredAll) {
            return n;
        }
        self.number(Marker::Filtered).map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX)).min(n)
    }
}
