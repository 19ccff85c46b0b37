//! The memory of a request, as its maker counts it. The maker knows what a body takes and how much there is; the driver alone knows
//! what a request brings along from the store. Holds no budget.

use std::fmt;

/// Where the bytes of a request count: those of its body already do. They count until the last handle is dropped.
pub trait RequestMemory: fmt::Debug + Send + Sync {
    /// Counts so many bytes more, as if they had come in the body.
    ///
    /// # Errors
    /// The memory is taken; then nothing more is counted.
    fn bring(&self, bytes: usize) -> Result<(), MemoryShortage>;
}

/// Why there is no memory for the bytes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryShortage {
    /// All clients together hold too much.
    #[error("the gateway holds too many bytes of requests, retry in a moment")]
    All,
    /// The keys of the customer together hold too much.
    #[error("the keys of this account have too many bytes of requests under way, retry in a moment")]
    Customer,
    /// The key holds too much.
    #[error("this API key has too many bytes of requests under way, retry in a moment")]
    Key,
    /// The request has more bytes than a key may hold while nobody else holds any.
    #[error(
        "the request is too large with what is kept of its conversation: expected at most {most} bytes of memory"
    )]
    TooLarge {
        /// Bytes that it may take.
        most: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_is_to_be_tried_again() {
        for shortage in [MemoryShortage::All, MemoryShortage::Customer, MemoryShortage::Key] {
            assert!(shortage.to_string().ends_with(", retry in a moment"), "{shortage}");
        }
        assert!(
            MemoryShortage::TooLarge { most: 7 }
                .to_string()
                .ends_with(": expected at most 7 bytes of memory")
        );
    }
}
