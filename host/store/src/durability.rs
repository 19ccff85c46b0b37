//! When a command is acknowledged: a choice of the caller, per command.

/// What a command waits for before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The commit that contains it: an acknowledged command survives a crash.
    Immediate,
    /// Nothing. The command is committed within [`crate::Writer`]'s linger time or together with the next
    /// [`Durability::Immediate`] command, and readers see it from then on. A crash loses it only together with
    /// every command after it.
    Deferred,
}
