//! A prefill: the text of a final assistant message, which the answer goes on from. Where a model continues none it is told
//! to begin with that text, and what the client has already is taken off the answer.

/// Tells a model to begin its reply with `text`.
#[must_use]
pub fn instruction(text: &str) -> String {
    format!(
        "<system-reminder>\nBegin your reply with exactly this text, with nothing before it, and go on right after it:\n\
         {text}\n</system-reminder>"
    )
}

/// Output tokens that the text may cost again, in a model that is told to repeat it.
#[must_use]
pub fn repeated_tokens(text: &str) -> u32 {
    u32::try_from(text.len() / 2 + 1).unwrap_or(u32::MAX)
}

/// Takes a text off the beginning of an answer that comes in pieces. An answer that does not begin with it keeps every letter.
#[derive(Debug)]
pub struct Lead {
    expected: String,
    /// What came so far, while it is not clear whether it is the text.
    held: String,
    is_over: bool,
}

impl Lead {
    /// Nothing is taken off where `expected` is empty.
    #[must_use]
    pub fn new(expected: &str) -> Self {
        Self { expected: expected.to_owned(), held: String::new(), is_over: expected.is_empty() }
    }

    /// Whether every further piece is the client's as it is.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether something is held back.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// What of the answer, with this piece, the client is to read now.
    pub fn take(&mut self, piece: &str) -> String {
        if self.is_over {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        match self.fit() {
            Fit::Open => String::new(),
            Fit::Ends(rest) => self.release(rest),
            Fit::Differs => self.release(0),
        }
    }

    /// What is left at the end of the answer; one that was cut in the middle of the text says nothing new.
    pub fn finish(&mut self, is_cut: bool) -> String {
        if self.is_over {
            return String::new();
        }
        let is_whole = self.text().starts_with(self.core());
        let from = if is_whole || is_cut { self.held.len() } else { 0 };
        self.release(from)
    }

    fn release(&mut self, from: usize) -> String {
        self.is_over = true;
        std::mem::take(&mut self.held).split_off(from)
    }

    /// The text that is looked for; white space behind it, which some models leave out, counts where it comes.
    fn core(&self) -> &str {
        self.expected.trim_end()
    }

    /// What came, without the white space that models put before a text.
    fn text(&self) -> &str {
        let is_own = self.expected.starts_with(char::is_whitespace);
        if is_own { &self.held } else { self.held.trim_start() }
    }

    fn fit(&self) -> Fit {
        let (text, core) = (self.text(), self.core());
        if text.len() < core.len() {
            return if core.starts_with(text) { Fit::Open } else { Fit::Differs };
        }
        let Some(mut rest) = text.strip_prefix(core) else { return Fit::Differs };
        for letter in self.expected[core.len()..].chars() {
            match rest.strip_prefix(letter) {
                Some(behind) => rest = behind,
                None if rest.is_empty() => return Fit::Open,
                None => break,
            }
        }
        Fit::Ends(self.held.len() - rest.len())
    }
}

/// How what came so far compares with the text.
enum Fit {
    /// It may become the text.
    Open,
    /// It has the text, which ends here.
    Ends(usize),
    Differs,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a prefilled text would come twice, or an answer would lose its beginning.
    #[test]
    fn a_lead_is_taken_off_however_it_is_split() {
        for (expected, answer, is_cut, left) in [
            ("{\"a\":", "{\"a\":1}", false, "1}"),
            ("{\"a\":", "\n {\"a\":1}", false, "1}"),
            ("{\"a\":", "1}", false, "1}"),
            ("{\"a\":", "{\"b\":1}", false, "{\"b\":1}"),
            ("Answer: ", "Answer: yes", false, "yes"),
            ("Answer: ", "Answer:yes", false, "yes"),
            ("Answer: ", "Answer:  yes", false, " yes"),
            ("Answer", "Answer", false, ""),
            ("Answer: ", "Answer:", false, ""),
            ("Answer", "Ans", true, ""),
            ("Answer", "Ans", false, "Ans"),
            (" ", " world", false, "world"),
            (" ", "world", false, "world"),
            ("\u{e9}t\u{e9}", "\u{e9}t\u{e9} \u{e0}", false, " \u{e0}"),
            ("\u{e9}", "\u{e8}", false, "\u{e8}"),
            ("", "all", false, "all"),
            ("Hi", "", false, ""),
        ] {
            for size in 1..=answer.len().max(1) {
                let mut lead = Lead::new(expected);
                let letters: Vec<char> = answer.chars().collect();
                let mut read = String::new();
                for piece in letters.chunks(size) {
                    read += &lead.take(&piece.iter().collect::<String>());
                }
                read += &lead.finish(is_cut);
                assert_eq!(read, left, "{expected:?} {answer:?} by {size}");
            }
        }
    }
}
