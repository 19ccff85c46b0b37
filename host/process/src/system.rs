//! The real clock and the real source of randomness: no other code asks the operating system for either.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gatehouse_model::{Clock, ForwardSteps, Pause, Seed, UnixMs};

/// The machine's clock and timers. Its time begins with the wall clock and never goes back: a wall clock that is set
/// back changes nothing before the next start. One that is set forward is followed, and the step is remembered: signatures need
/// the right time, and time limits the time that has gone by.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// When the process first read the clock. Every clock of it counts from there, so all of them agree.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
static TIME: ForwardTime = ForwardTime::new();

/// A wall clock that keeps the pace of a steady one where it would go back: otherwise a task that is due in a second
/// would wait for as long as the clock was set back.
#[derive(Debug)]
struct ForwardTime {
    /// The most that the wall clock was ever ahead of the steady one, in milliseconds; 0 before the first reading.
    ahead: AtomicU64,
    steps: Mutex<ForwardSteps>,
}

/// A clock that gains more than this between two readings was set. One that is adjusted gains a few milliseconds.
const STEP_MS: u64 = 1_000;

impl ForwardTime {
    const fn new() -> Self {
        Self { ahead: AtomicU64::new(0), steps: Mutex::new(ForwardSteps::new()) }
    }

    /// The time when the wall clock shows `wall`, `steady` after the process began.
    fn at(&self, wall: Duration, steady: Duration) -> UnixMs {
        let [wall, steady] = [wall, steady].map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
        let ahead = wall.saturating_sub(steady);
        let most = self.ahead.load(Ordering::Acquire);
        let most = if ahead > most.saturating_add(STEP_MS) {
            self.step(ahead, steady)
        } else {
            self.ahead.fetch_max(ahead, Ordering::AcqRel).max(ahead)
        };
        UnixMs(steady.saturating_add(most))
    }

    /// Remembers a step before anybody gets the time behind it: else a time limit would have passed for a moment.
    fn step(&self, ahead: u64, steady: u64) -> u64 {
        let mut steps = self.steps();
        let most = self.ahead.load(Ordering::Acquire);
        // The first reading is no step, and another thread may have remembered this one.
        if most > 0 && ahead > most {
            steps.record(UnixMs(steady.saturating_add(ahead)), Duration::from_millis(ahead - most));
        }
        self.ahead.fetch_max(ahead, Ordering::AcqRel).max(ahead)
    }

    fn steps(&self) -> MutexGuard<'_, ForwardSteps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first moment of 2020: a machine whose clock shows an earlier one has none that was ever set.
const FIRST: Duration = Duration::from_secs(1_577_836_800);

/// Whether the clock of this machine can be right: links, tokens and time limits would all be wrong otherwise.
///
/// # Errors
/// A sentence for the operator.
#[expect(clippy::disallowed_methods, reason = "the one real clock")]
pub fn check_clock() -> Result<(), String> {
    check_time(SystemTime::now())
}

fn check_time(now: SystemTime) -> Result<(), String> {
    let shown =
        now.duration_since(UNIX_EPOCH).map(|since| humantime::format_rfc3339_seconds(UNIX_EPOCH + since));
    match shown {
        Ok(_) if now >= UNIX_EPOCH + FIRST => Ok(()),
        Ok(shown) => Err(format!("the clock of this machine shows {shown}; set it (timedatectl, chronyd) and start again")),
        Err(_) => Err("the clock of this machine shows a time before 1970; set it (timedatectl, chronyd) and start again".to_owned()),
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one real clock")]
    fn now(&self) -> UnixMs {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Read second: a pause between the two then makes no time ahead of both.
        TIME.at(wall, BEGAN.elapsed())
    }

    fn skipped(&self, since: UnixMs) -> Duration {
        TIME.steps().since(since)
    }

    #[expect(clippy::disallowed_methods, reason = "the one real timer")]
    fn pause(&self, span: Duration) -> Pause {
        Box::pin(tokio::time::sleep(span))
    }
}

/// The operating system's random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemSeed;

/// Numbers and ids take at most this; what is longer is a secret, and is read for itself.
const SHORT: usize = 16;

/// Random bytes read ahead for one thread, so that an id does not cost a system call. Each is given out once and erased.
struct ReadAhead {
    bytes: [u8; 512],
    used: usize,
}

thread_local! {
    static READ_AHEAD: RefCell<ReadAhead> = const { RefCell::new(ReadAhead { bytes: [0; 512], used: 512 }) };
}

impl ReadAhead {
    fn fill(&mut self, into: &mut [u8]) {
        if self.bytes.len() - self.used < into.len() {
            read_random(&mut self.bytes);
            self.used = 0;
        }
        let given = &mut self.bytes[self.used..self.used + into.len()];
        into.copy_from_slice(given);
        given.fill(0);
        self.used += into.len();
    }
}

impl Seed for SystemSeed {
    fn fill(&self, into: &mut [u8]) {
        if into.len() > SHORT {
            return read_random(into);
        }
        READ_AHEAD.with_borrow_mut(|ahead| ahead.fill(into));
    }
}

fn read_random(into: &mut [u8]) {
    getrandom::fill(into).expect("an operating system without randomness cannot make keys");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Moments before 1970 have no number here, and the first ones would make every link and token invalid.
    #[test]
    fn a_clock_that_was_never_set_is_named() {
        for (time, fits) in [
            (UNIX_EPOCH - Duration::from_secs(86_400), false),
            (UNIX_EPOCH, false),
            (UNIX_EPOCH + FIRST, true),
            (UNIX_EPOCH + FIRST * 2, true),
        ] {
            let checked = check_time(time);
            assert_eq!(checked.is_ok(), fits, "{checked:?}");
            assert!(checked.err().is_none_or(|error| error.contains("set it")));
        }
    }

    #[test]
    fn no_random_bytes_are_given_out_twice() {
        let mut seen = HashSet::new();
        for _ in 0..200 {
            for length in [8, 10, 16, 32] {
                let mut bytes = vec![0; length];
                SystemSeed.fill(&mut bytes);
                assert!(seen.insert(bytes[..8].to_vec()), "{bytes:?} of {length} came before");
            }
        }
        let all = READ_AHEAD.with_borrow(|ahead| ahead.bytes[..ahead.used].to_vec());
        assert!(all.iter().all(|byte| *byte == 0), "what was given out is erased");
    }

    #[test]
    fn time_follows_the_wall_clock_forward_and_never_back() {
        let time = ForwardTime::new();
        for (wall_ms, steady_ms, expected_ms) in [
            (1_000_000, 0, 1_000_000),
            (1_000_500, 500, 1_000_500),
            // Set back by ten minutes: a second is still a second.
            (400_500, 500, 1_000_500),
            (401_500, 1_500, 1_001_500),
            // Set forward, past everything before.
            (2_000_000, 2_000, 2_000_000),
            (2_000_001, 2_001, 2_000_001),
            (0, 3_000, 2_001_000),
        ] {
            let [wall, steady] = [wall_ms, steady_ms].map(Duration::from_millis);
            assert_eq!(time.at(wall, steady), UnixMs(expected_ms), "{wall_ms} {steady_ms}");
        }
    }

    /// What runs for two seconds when the clock is set forward by three hours has run for two seconds.
    #[test]
    fn a_step_forward_is_no_time_that_has_gone_by() {
        const HOURS: u64 = 3 * 3_600_000;
        let time = ForwardTime::new();
        let at = |wall_ms, steady_ms| {
            let [wall, steady] = [wall_ms, steady_ms].map(Duration::from_millis);
            time.at(wall, steady)
        };
        let began = at(1_000_000, 0);
        // A clock that is adjusted makes no step.
        for ms in 1..=2_000 {
            at(1_000_000 + ms + ms / 10, ms);
        }
        assert_eq!(time.steps().since(began), Duration::ZERO);
        let later = at(1_002_200 + HOURS, 2_000);
        assert_eq!(later, UnixMs(1_002_200 + HOURS));
        assert_eq!(time.steps().since(began), Duration::from_millis(HOURS));
        assert_eq!(time.steps().since(later), Duration::ZERO, "it began after the step");
        // Set right again, and once more: the time goes on, and there is no further step.
        for wall_ms in [1_002_300, 1_002_400 + HOURS] {
            at(wall_ms, 2_200);
        }
        assert_eq!(time.steps().since(began), Duration::from_millis(HOURS));
    }
}
