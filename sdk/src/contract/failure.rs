//! Refusals of requests, failures of tasks, and charges.

pub use crate::bindings::gatehouse::family::types::{Blame, Failure, Line, Problem};

use crate::bindings::gatehouse::family::types;

/// Why a request is refused at once. The host owns status codes and envelopes.
///
/// ```
/// use gatehouse_sdk::Refusal;
///
/// let refusal = Refusal::invalid("model", "expected `ctx-pro` or `ctx-max`, got nothing");
/// assert_eq!(
///     refusal,
///     Refusal::Invalid {
///         field: Some("model".into()),
///         message: "`model`: expected `ctx-pro` or `ctx-max`, got nothing".into(),
///     }
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A bad field, or a bad request as a whole.
    Invalid {
        /// JSON path of the field, `None` for the whole request.
        field: Option<String>,
        /// The whole sentence for the client: the field, what was expected, what came.
        message: String,
    },
    /// Several bad fields, at most 16. Clients read all messages, and the field of the first.
    Several(Vec<Problem>),
    /// Something the request names does not exist.
    NotFound(String),
    /// Something the request names may not be used.
    Forbidden(String),
}

impl Refusal {
    /// A bad `field`; `problem` says what was expected and what came.
    #[must_use]
    pub fn invalid(field: impl Into<String>, problem: impl AsRef<str>) -> Self {
        let field = field.into();
        let message = format!("`{field}`: {}", problem.as_ref());
        Self::Invalid { field: Some(field), message }
    }
}

impl From<Refusal> for types::Refusal {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid { field, message } => Self::Invalid(vec![Problem { field, message }]),
            Refusal::Several(problems) => Self::Invalid(problems),
            Refusal::NotFound(message) => Self::NotFound(message),
            Refusal::Forbidden(message) => Self::Forbidden(message),
        }
    }
}

/// Builders. A failed task is always refunded in full.
///
/// ```
/// use gatehouse_sdk::{Blame, Failure};
///
/// let failure = Failure::moderation("the prompt was stopped by the provider's filter");
/// assert_eq!(failure.blame, Blame::Moderation);
/// ```
impl Failure {
    /// The request cannot be fulfilled.
    #[must_use]
    pub fn request(message: impl Into<String>) -> Self {
        Self { blame: Blame::Request, message: message.into() }
    }

    /// A file that the request names in `field` cannot be had: every family says it in these words (spec, "a
    /// dependency-unavailable message").
    ///
    /// ```
    /// use gatehouse_sdk::Failure;
    ///
    /// let failure = Failure::unavailable("image_urls[0]", "could not be fetched: the server answered 404");
    /// assert_eq!(
    ///     failure.message,
    ///     "dependency unavailable: `image_urls[0]`: could not be fetched: the server answered 404"
    /// );
    /// ```
    #[must_use]
    pub fn unavailable(field: &str, reason: &str) -> Self {
        Self::request(format!("dependency unavailable: `{field}`: {reason}"))
    }

    /// A moderation filter stopped it.
    #[must_use]
    pub fn moderation(message: impl Into<String>) -> Self {
        Self { blame: Blame::Moderation, message: message.into() }
    }

    /// Somebody stopped the work at the provider.
    #[must_use]
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self { blame: Blame::Cancelled, message: message.into() }
    }

    /// The customer has reached a limit of the provider.
    #[must_use]
    pub fn limit(message: impl Into<String>) -> Self {
        Self { blame: Blame::Limit, message: message.into() }
    }

    /// The work took too long.
    #[must_use]
    pub fn timeout(message: impl Into<String>) -> Self {
        Self { blame: Blame::Timeout, message: message.into() }
    }

    /// The provider failed.
    #[must_use]
    pub fn upstream(message: impl Into<String>) -> Self {
        Self { blame: Blame::Upstream, message: message.into() }
    }

    /// The provider refused the operator's account. The client reads only `message`. If the refused call was a submission, the
    /// host makes it at the next account first.
    #[must_use]
    pub fn account(message: impl Into<String>) -> Self {
        Self { blame: Blame::Account, message: message.into() }
    }
}

/// What to bill: lines, each with price keys, most specific first, and how many units of the first one that has a price. The last key
/// is in the manifest; each earlier one begins with it, followed by `-` or `@`.
///
/// ```
/// use gatehouse_sdk::Charge;
///
/// let film = Charge::keys(["motion-2.6@1080p", "motion-2.6"]).times(5).of("second");
/// let charge = film.and(Charge::keys(["motion-audio"]).times(300).of("character"));
/// assert_eq!((charge.lines[0].quantity, charge.lines[1].unit.as_str()), (5, "character"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// 1 to 16, no two with the same keys.
    pub lines: Vec<Line>,
}

impl Charge {
    /// One unit of the first of `keys` that has a price.
    #[must_use]
    pub fn keys<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        let keys = keys.into_iter().map(Into::into).collect();
        Self { lines: vec![Line { keys, quantity: 1, unit: String::new() }] }
    }

    /// So many units of its last line.
    #[must_use]
    pub fn times(mut self, quantity: u64) -> Self {
        self.lines.last_mut().into_iter().for_each(|line| line.quantity = quantity);
        self
    }

    /// Says what one unit of its last line is: "picture", "second", "character".
    #[must_use]
    pub fn of(mut self, unit: impl Into<String>) -> Self {
        let unit = unit.into();
        self.lines.last_mut().into_iter().for_each(|line| line.unit.clone_from(&unit));
        self
    }

    /// The lines of both.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.lines.extend(more.lines);
        self
    }
}

impl From<Charge> for types::Charge {
    fn from(charge: Charge) -> Self {
        charge.lines
    }
}
