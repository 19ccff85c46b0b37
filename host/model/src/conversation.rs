//! Which of several equal accounts or targets a conversation goes to. Providers keep their prompt caches by account, so the
//! requests of one conversation go to the same one as long as it is there; when it is not, only its own conversations move
//! (weighted rendezvous hashing).

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::digest::Digest;

/// What the requests of one conversation have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversation(u64);

impl Conversation {
    /// The conversation that these fields make out.
    #[must_use]
    pub fn of(fields: &[&[u8]]) -> Self {
        let Digest(bytes) = Digest::of_fields(fields);
        let mut first = [0; 8];
        first.copy_from_slice(&bytes[..8]);
        Self(u64::from_le_bytes(first))
    }

    /// A request that belongs to no other.
    #[must_use]
    pub fn alone(random: u64) -> Self {
        Self(random)
    }

    /// How much the conversation is drawn to the candidate of that name: the strongest pull wins, and of all conversations
    /// each candidate wins a share by its weight.
    #[must_use]
    pub fn pull(self, name: &str, weight: u32) -> f64 {
        let mut hasher = DefaultHasher::new();
        (self.0, name).hash(&mut hasher);
        let high = u32::try_from(hasher.finish() >> 32).unwrap_or(u32::MAX);
        // Between 0 and 1, without both ends.
        let share = (f64::from(high) + 0.5) / (f64::from(u32::MAX) + 1.0);
        f64::from(weight) / -share.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn winner(conversation: Conversation, candidates: &[(&'static str, u32)]) -> &'static str {
        let pull = |&(name, weight): &(&'static str, u32)| conversation.pull(name, weight);
        candidates.iter().max_by(|a, b| pull(a).total_cmp(&pull(b))).expect("candidates").0
    }

    /// Without it an account that is full or gone moves every conversation, and each loses its cache.
    #[test]
    fn only_the_conversations_of_a_candidate_that_is_gone_move() {
        let all = [("a", 1), ("b", 1), ("c", 2)];
        let mut shares = [0_u32; 3];
        for number in 0_u32..4000 {
            let conversation = Conversation::of(&[&number.to_le_bytes()]);
            let first = winner(conversation, &all);
            assert_eq!(winner(conversation, &all), first);
            shares[all.iter().position(|(name, _)| *name == first).expect("one of them")] += 1;
            let without_c = winner(conversation, &all[..2]);
            assert!(first == "c" || without_c == first);
        }
        for (share, expected) in shares.into_iter().zip([1000, 1000, 2000]) {
            assert!(share.abs_diff(expected) < 200, "{shares:?}");
        }
    }
}
