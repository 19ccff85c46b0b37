//! Google's signatures in those of thinking blocks.
//!
//! Google signs a part of its answer and wants the signature back at the same part; a Messages client brings back the
//! signatures of thinking blocks alone, and a chat client all of those before the rest of its message. So a signature says
//! which part it is of: `google:c0:...` of the first call of the message, `google:t:...` of its text, `google:h:...` of the
//! thought that stands with it. Those of other models are not Google's, and stay away.

/// The beginning of each.
const PREFIX: &str = "google:";

/// What histories without signatures have in their place, by Google's documentation. A model that checks none takes no harm.
pub(crate) const UNSIGNED: &str = "skip_thought_signature_validator";

/// The part that a signature is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Signed {
    /// The call of that number within its message.
    Call(usize),
    Text,
    Thought,
}

/// A signature as a thinking block carries it.
pub(crate) fn write(signed: Signed, signature: &str) -> String {
    match signed {
        Signed::Call(number) => format!("{PREFIX}c{number}:{signature}"),
        Signed::Text => format!("{PREFIX}t:{signature}"),
        Signed::Thought => format!("{PREFIX}h:{signature}"),
    }
}

/// A signature of Google's, and its part; `None` for any other.
pub(crate) fn read(written: &str) -> Option<(Signed, &str)> {
    let (part, signature) = written.strip_prefix(PREFIX)?.split_once(':')?;
    let signed = match part {
        "t" => Signed::Text,
        "h" => Signed::Thought,
        part => Signed::Call(part.strip_prefix('c')?.parse().ok()?),
    };
    (!signature.is_empty()).then_some((signed, signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it the next request lacks what Google demands of a call, or has another model's signature.
    #[test]
    fn a_signature_comes_back_to_its_part() {
        for signed in [Signed::Call(0), Signed::Call(12), Signed::Text, Signed::Thought] {
            let written = write(signed, "Ab+/=:c");
            assert_eq!(read(&written), Some((signed, "Ab+/=:c")), "{written}");
        }
        for foreign in ["", "EqQBCg==", "google:", "google:c:x", "google:x:y", "google:c0:", "google:c-1:x"] {
            assert_eq!(read(foreign), None, "{foreign}");
        }
    }
}
