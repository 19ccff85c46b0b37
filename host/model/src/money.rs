//! The words by which money is counted, see [`crate::metric::MONEY`]: what it is held for and spent on, and why it is given back.

use crate::words;

words! {
    /// What money is held for, and spent on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Purpose {
        /// A text, or vectors.
        Text = "text",
        /// An answer at once.
        Answer = "answer",
        /// A task, with the requests that join it: they end with it.
        Task = "task",
    }
}

/// Why money was given back: its work ended and cost less, failed, was cancelled, or was not done in time.
const RELEASES: [&str; 4] = ["unused", "failed", "cancelled", "timeout"];

impl Purpose {
    /// Every movement and cause that money for it has. What it is held for it is settled for.
    pub fn counted(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let spent = ["held", "settled"].map(|movement| (movement, self.as_str()));
        spent.into_iter().chain(RELEASES.map(|cause| ("released", cause)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it what is held and what is settled by cause drift apart, or a cause says two things.
    #[test]
    fn what_is_held_is_settled_by_the_same_cause() {
        for purpose in [Purpose::Text, Purpose::Answer, Purpose::Task] {
            let causes = |wanted| {
                let of_movement = purpose.counted().filter(move |(movement, _)| *movement == wanted);
                of_movement.map(|(_, cause)| cause).collect::<Vec<_>>()
            };
            assert_eq!(causes("held"), [purpose.as_str()]);
            assert_eq!(causes("settled"), causes("held"));
            assert_eq!(causes("released"), RELEASES);
            assert!(!RELEASES.contains(&purpose.as_str()));
        }
    }
}
