//! One-time login links: what is kept of them, and what becomes of one that is presented. Pure: time is an argument.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::{Digest, Secret, Seed, UnixMs};

use crate::access::Role;

/// A link works for this long, once.
pub(super) const LIFE: Duration = Duration::from_secs(600);
/// Links remembered, also used and expired ones, so that a person is told why a link does not work.
const MOST: usize = 64;

/// Why nobody was logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LoginRefusal {
    /// No such link.
    #[error("this link is not of this gateway, or the gateway was restarted since")]
    Unknown,
    /// It was used before.
    #[error("this link was used already; a link works once")]
    Used,
    /// It is too old.
    #[error("this link has expired; a link works for ten minutes")]
    Expired,
    /// Too many failures from one address.
    #[error("too many failed logins from this address; try again in {0} s")]
    TooMany(u64),
}

/// The links of one gateway, oldest first.
#[derive(Debug, Default)]
pub(super) struct LoginLinks(VecDeque<Link>);

#[derive(Debug)]
struct Link {
    digest: Digest,
    role: Role,
    expires: UnixMs,
    used: bool,
}

impl LoginLinks {
    /// Adds a link; the moment it expires.
    pub(super) fn add(&mut self, digest: Digest, role: Role, now: UnixMs) -> UnixMs {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        let expires = now.plus(LIFE);
        self.0.push_back(Link { digest, role, expires, used: false });
        expires
    }

    /// Uses a link up; what its holder may do.
    pub(super) fn redeem(&mut self, digest: &Digest, now: UnixMs) -> Result<Role, LoginRefusal> {
        let link = self.0.iter_mut().find(|link| link.digest == *digest).ok_or(LoginRefusal::Unknown)?;
        if link.used {
            return Err(LoginRefusal::Used);
        }
        if now >= link.expires {
            return Err(LoginRefusal::Expired);
        }
        link.used = true;
        Ok(link.role)
    }
}

/// 256 random bits as 43 characters that need no quoting anywhere.
pub(super) fn random_text(seed: &dyn Seed) -> Secret<String> {
    let mut bytes = [0; 32];
    seed.fill(&mut bytes);
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// What is kept of such a text. Looked up by digest, it cannot be guessed letter by letter.
pub(super) fn digest_of(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_works_once_and_for_ten_minutes() {
        let (one, two, three) = (Digest::of(b"1"), Digest::of(b"2"), Digest::of(b"3"));
        let mut links = LoginLinks::default();
        assert_eq!(links.add(one, Role::Operator, UnixMs(5)), UnixMs(600_005));
        links.add(two, Role::Viewer, UnixMs(5));
        assert_eq!(links.redeem(&three, UnixMs(6)), Err(LoginRefusal::Unknown));
        assert_eq!(links.redeem(&one, UnixMs(600_004)), Ok(Role::Operator));
        assert_eq!(links.redeem(&one, UnixMs(600_004)), Err(LoginRefusal::Used));
        assert_eq!(links.redeem(&two, UnixMs(600_005)), Err(LoginRefusal::Expired));
    }

    #[test]
    fn the_oldest_link_is_forgotten() {
        let mut links = LoginLinks::default();
        for number in 0..=MOST {
            links.add(Digest::of(&number.to_be_bytes()), Role::Operator, UnixMs(0));
        }
        let redeem = |links: &mut LoginLinks, number: usize| {
            links.redeem(&Digest::of(&number.to_be_bytes()), UnixMs(1))
        };
        assert_eq!(redeem(&mut links, 0), Err(LoginRefusal::Unknown));
        assert_eq!(redeem(&mut links, 1), Ok(Role::Operator));
    }
}
