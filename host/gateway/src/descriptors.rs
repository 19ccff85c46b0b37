//! File descriptors: every connection of a client may need one, and one to a provider. The soft limit of the process is
//! raised as far as it may be, and no more connections are accepted than have their descriptors: a gateway without one
//! answers nobody, reaches no provider and no command reaches it.

use std::num::NonZeroU32;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most that is asked for where the hard limit names no number.
const ENOUGH: u64 = 1 << 20;
/// For the store, plugins, media, logs, commands and the moment between two connections.
const RESERVE: u64 = 128;
/// Of a client and, for its request, of a provider.
const PER_CONNECTION: u64 = 2;

/// Raises the soft limit to the hard one; the descriptors this process may have.
pub(crate) fn raise_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let most = maximum.unwrap_or(ENOUGH).min(ENOUGH);
    let Some(now) = current.filter(|now| *now < most) else { return current.unwrap_or(ENOUGH) };
    match setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum }) {
        Ok(()) => most,
        Err(_) => now,
    }
}

/// How many of `wanted` connections of clients have their descriptors, where that is fewer, and what an operator is told of it; `admin`
/// are those of operators.
pub(crate) fn fewer_connections(limit: u64, wanted: NonZeroU32, admin: u64) -> Option<(NonZeroU32, String)> {
    let left = limit.saturating_sub(RESERVE.saturating_add(admin)) / PER_CONNECTION;
    if left >= u64::from(wanted.get()) {
        return None;
    }
    // One is served in any case; more would be promised in vain.
    let fewer = u32::try_from(left).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    let needed = u64::from(wanted.get()) * PER_CONNECTION + RESERVE + admin;
    let warning = format!(
        "{wanted} connections need {needed} file descriptors and this process may have {limit}, so {fewer} are accepted; raise \
         the hard limit (LimitNOFILE={needed} in its unit, ulimit -Hn), or lower server.limits.connections"
    );
    Some((fewer, warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a limit of 1,024 descriptors 4,096 connections would leave none for providers, the store and commands.
    #[test]
    fn connections_leave_descriptors_for_everything_else() {
        let count = |n| NonZeroU32::new(n).unwrap();
        for (limit, wanted, expected) in [
            (65_536, 4096, None),
            (8384, 4096, None),
            (8383, 4096, Some(4095)),
            (1024, 4096, Some(416)),
            (1024, 416, None),
            (256, 4096, Some(32)),
            (64, 4096, Some(1)),
            (0, 1, Some(1)),
        ] {
            let fewer = fewer_connections(limit, count(wanted), 64).map(|(fewer, _)| fewer);
            assert_eq!(fewer, expected.map(count), "{limit} {wanted}");
        }
        let (_, text) = fewer_connections(1024, count(4096), 64).unwrap();
        assert!(text.contains("LimitNOFILE=8384") && text.contains("416 are accepted"), "{text}");
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        let limit = raise_limit();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current.unwrap_or(ENOUGH), limit);
        assert!(limit >= maximum.unwrap_or(ENOUGH).min(ENOUGH) || limit == current.unwrap());
    }
}
