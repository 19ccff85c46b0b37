//! Thinking that a server leaves in the text of an answer: `<think>...</think>` at its beginning. Clients read it as thinking.

const OPENS: &str = "<think>";
const CLOSES: &str = "</think>";

/// The text of one answer so far.
#[derive(Debug, Default)]
pub(super) struct Thinker {
    state: State,
    /// What cannot be told yet.
    held: String,
    /// All of the thinking, in case that nothing follows it.
    thought: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Begins,
    Thinks,
    /// Blanks between the thinking and the text are of neither.
    Thought,
    Speaks,
}

/// What a piece of text adds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) thought: String,
    pub(super) text: String,
}

/// Where a piece ends the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    No,
    /// By its cap.
    Cut,
    Complete,
}

impl Thinker {
    /// Whether the rest of the text is the answer.
    pub(super) fn is_over(&self) -> bool {
        self.state == State::Speaks
    }

    /// The server tells thinking apart itself, or the text began before.
    pub(super) fn finish(&mut self) {
        if self.state == State::Begins && self.held.is_empty() {
            self.state = State::Speaks;
        }
    }

    /// Whether something is held back, or may have to follow at the end.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty() || self.state == State::Thinks
    }

    pub(super) fn take(&mut self, piece: &str, end: End) -> Split {
        let mut split = Split::default();
        self.held.push_str(piece);
        if self.state == State::Begins {
            self.begin(end, &mut split);
        }
        if self.state == State::Thinks {
            self.think(end, &mut split);
        }
        if self.state == State::Thought && !self.held.trim_start().is_empty() {
            self.state = State::Speaks;
            self.held = self.held.trim_start().to_owned();
        }
        if self.state == State::Speaks {
            split.text.push_str(&std::mem::take(&mut self.held));
        }
        split
    }

    fn begin(&mut self, end: End, split: &mut Split) {
        let text = self.held.trim_start();
        if let Some(rest) = text.strip_prefix(OPENS) {
            // A whole text without an end of its thinking is left as it is.
            if end == End::Complete && !rest.contains(CLOSES) {
                self.state = State::Speaks;
                return;
            }
            self.held = rest.to_owned();
            self.state = State::Thinks;
        } else if !OPENS.starts_with(text) || end != End::No {
            self.state = State::Speaks;
            split.text.push_str(&std::mem::take(&mut self.held));
        }
    }

    fn think(&mut self, end: End, split: &mut Split) {
        if let Some((thought, rest)) = self.held.split_once(CLOSES) {
            split.thought.push_str(thought);
            self.held = rest.to_owned();
            self.state = State::Thought;
            return;
        }
        let begins = (1..CLOSES.len()).rev().find(|length| self.held.ends_with(&CLOSES[..*length]));
        let kept = begins.filter(|_| end == End::No).unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - kept);
        let thought = std::mem::replace(&mut self.held, rest);
        self.thought.push_str(&thought);
        split.thought.push_str(&thought);
        if end == End::Complete {
            // Nothing else came: what there is must not be lost for clients that read no thinking.
            self.state = State::Speaks;
            split.text.push_str(&std::mem::take(&mut self.thought));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str], end: End) -> (String, String) {
        let mut thinker = Thinker::default();
        let (mut thought, mut text) = (String::new(), String::new());
        for (at, piece) in pieces.iter().enumerate() {
            let split = thinker.take(piece, if at + 1 == pieces.len() { end } else { End::No });
            thought += &split.thought;
            text += &split.text;
        }
        (thought, text)
    }

    /// Without it clients show the thinking of many models as their answer.
    #[test]
    fn thinking_is_told_from_text_however_it_is_cut() {
        for (whole, thought, text) in [
            ("<think>\nhm\n</think>\n\nHello", "\nhm\n", "Hello"),
            (" \n<think></think>Hello <think>", "", "Hello <think>"),
            ("<think>a</thin</think>b", "a</thin", "b"),
            ("Hello <think>no</think>", "", "Hello <think>no</think>"),
            ("<thinker>", "", "<thinker>"),
            ("<th", "", "<th"),
            ("", "", ""),
        ] {
            assert_eq!(split(&[whole], End::Complete), (thought.to_owned(), text.to_owned()), "{whole}");
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            let pieces: Vec<&str> = letters.iter().map(String::as_str).chain([""]).collect();
            assert_eq!(
                split(&pieces, End::Complete),
                (thought.to_owned(), text.to_owned()),
                "{whole} by letters"
            );
        }
        assert_eq!(split(&["<think>a", "b"], End::Cut), ("ab".to_owned(), String::new()));
        assert_eq!(
            split(&["<think>a", "b"], End::Complete),
            ("ab".to_owned(), "ab".to_owned()),
            "nothing is lost"
        );
        assert_eq!(split(&["<think>ab"], End::Complete), (String::new(), "<think>ab".to_owned()));
    }
}
