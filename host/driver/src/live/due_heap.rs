//! When each live task is due: one heap of due times.
//!
//! Soft state, rebuilt from the store at every start; pure, so it runs under any clock. It holds ids only: a
//! task's row is read when the task is due. It never decides what a step does.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use gatehouse_model::{TaskId, UnixMs};

/// Due times of live tasks. Arming a task again replaces its earlier due time.
#[derive(Default)]
pub(crate) struct DueHeap {
    heap: BinaryHeap<HeapEntry>,
    /// Each task's current generation; a heap entry of another generation is dead.
    timers: HashMap<TaskId, TimerEntry>,
    /// Generations given out; never reused, so that a forgotten task's heap entries stay dead.
    generations: u64,
}

/// When a task is due, and the generation of its timer.
type HeapEntry = Reverse<(UnixMs, u64, TaskId)>;

struct TimerEntry {
    generation: u64,
    armed: bool,
    /// A wake-up came while the task's step was running; it is due again as soon as that ends.
    woken: bool,
}

impl DueHeap {
    /// Makes a task due at `due`; an earlier due time does not count any more.
    pub(crate) fn arm(&mut self, task: TaskId, due: UnixMs) {
        self.generations += 1;
        let generation = self.generations;
        self.timers.insert(task, TimerEntry { generation, armed: true, woken: false });
        self.heap.push(Reverse((due, generation, task)));
        self.prune();
    }

    /// Knows a task whose step is running. It is not armed until [`DueHeap::rearm`].
    pub(crate) fn begin(&mut self, task: TaskId) {
        self.timers.insert(task, TimerEntry { generation: 0, armed: false, woken: false });
    }

    /// The same at the end of a step, unless the task was woken meanwhile: then it is due at `now`. Whether it is due before
    /// all others.
    #[must_use]
    pub(crate) fn rearm(&mut self, task: TaskId, due: UnixMs, now: UnixMs) -> bool {
        let woken = self.timers.get(&task).is_some_and(|timer| timer.woken);
        self.arm(task, if woken { now } else { due });
        self.heap.peek().is_some_and(|Reverse((_, _, first))| *first == task)
    }

    /// Makes a known task due at `now`; if its step is running, it is due again right after it.
    pub(crate) fn wake(&mut self, task: TaskId, now: UnixMs) {
        match self.timers.get_mut(&task) {
            Some(timer) if timer.armed => self.arm(task, now),
            Some(timer) => timer.woken = true,
            None => {}
        }
    }

    /// Forgets a task that has ended.
    pub(crate) fn forget(&mut self, task: TaskId) {
        self.timers.remove(&task);
    }

    /// The next task due at `now`, and when it was due. It is not armed until [`DueHeap::rearm`].
    pub(crate) fn take_due(&mut self, now: UnixMs) -> Option<(TaskId, UnixMs)> {
        self.next_due().filter(|due| *due <= now)?;
        let Reverse((due, _, task)) = self.heap.pop()?;
        self.timers.get_mut(&task)?.armed = false;
        Some((task, due))
    }

    /// When the next task is due.
    pub(crate) fn next_due(&mut self) -> Option<UnixMs> {
        while let Some(entry) = self.heap.peek() {
            if is_current(&self.timers, entry) {
                return Some(entry.0.0);
            }
            self.heap.pop();
        }
        None
    }

    /// Re-arming leaves dead entries behind; rebuild once they are the majority.
    fn prune(&mut self) {
        if self.heap.len() > 64 && self.heap.len() > 3 * self.timers.len() {
            self.heap.retain(|entry| is_current(&self.timers, entry));
        }
    }
}

fn is_current(timers: &HashMap<TaskId, TimerEntry>, entry: &HeapEntry) -> bool {
    let Reverse((_, generation, task)) = entry;
    timers.get(task).is_some_and(|timer| timer.armed && timer.generation == *generation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> TaskId {
        TaskId::from_bits(n)
    }

    #[test]
    fn tasks_come_in_order_of_due_time() {
        let mut heap = DueHeap::default();
        for (task, due) in [(1, 30), (2, 10), (3, 20)] {
            heap.arm(id(task), UnixMs(due));
        }
        assert_eq!(heap.next_due(), Some(UnixMs(10)));
        assert_eq!(heap.take_due(UnixMs(9)), None);
        assert_eq!(heap.take_due(UnixMs(25)), Some((id(2), UnixMs(10))));
        assert_eq!(heap.take_due(UnixMs(25)), Some((id(3), UnixMs(20))));
        assert_eq!(heap.take_due(UnixMs(25)), None);
    }

    #[test]
    fn arming_again_replaces_the_due_time() {
        let mut heap = DueHeap::default();
        heap.arm(id(1), UnixMs(10));
        heap.arm(id(1), UnixMs(50));
        assert_eq!(heap.take_due(UnixMs(20)), None);
        assert_eq!(heap.take_due(UnixMs(50)), Some((id(1), UnixMs(50))));
        assert_eq!(heap.take_due(UnixMs(99)), None, "a taken task is not taken twice");
    }

    #[test]
    fn a_wake_during_a_step_is_not_lost() {
        let mut heap = DueHeap::default();
        heap.arm(id(1), UnixMs(10));
        assert!(heap.take_due(UnixMs(10)).is_some());
        heap.wake(id(1), UnixMs(11));
        assert!(heap.rearm(id(1), UnixMs(500), UnixMs(12)));
        assert_eq!(heap.take_due(UnixMs(12)), Some((id(1), UnixMs(12))));
    }

    #[test]
    fn a_task_armed_again_says_whether_it_is_the_next() {
        let mut heap = DueHeap::default();
        heap.arm(id(1), UnixMs(10));
        heap.arm(id(2), UnixMs(20));
        assert!(heap.take_due(UnixMs(10)).is_some());
        assert!(!heap.rearm(id(1), UnixMs(30), UnixMs(10)));
        assert!(!heap.rearm(id(1), UnixMs(20), UnixMs(10)), "the loop already waits for that moment");
        assert!(heap.rearm(id(1), UnixMs(19), UnixMs(10)));
    }

    #[test]
    fn a_task_that_begins_with_a_running_step_is_due_after_it() {
        let mut heap = DueHeap::default();
        heap.begin(id(1));
        assert_eq!((heap.next_due(), heap.take_due(UnixMs(99))), (None, None));
        heap.wake(id(1), UnixMs(1));
        assert!(heap.rearm(id(1), UnixMs(500), UnixMs(2)));
        assert_eq!(heap.take_due(UnixMs(2)), Some((id(1), UnixMs(2))), "it was woken meanwhile");
        assert!(heap.rearm(id(1), UnixMs(30), UnixMs(3)));
        assert_eq!(heap.take_due(UnixMs(30)), Some((id(1), UnixMs(30))));
    }

    proptest::proptest! {
        #[test]
        fn every_armed_task_comes_once_and_never_early(
            moves in proptest::collection::vec((0_u128..20, 0_u64..100, proptest::bool::ANY), 1..400),
        ) {
            let mut heap = DueHeap::default();
            let mut expected_due: std::collections::BTreeMap<TaskId, u64> = std::collections::BTreeMap::new();
            for (at, (task, due, forget)) in moves.into_iter().enumerate() {
                if forget {
                    heap.forget(id(task));
                    expected_due.remove(&id(task));
                } else {
                    heap.arm(id(task), UnixMs(due));
                    expected_due.insert(id(task), due);
                }
                if at % 7 == 0 {
                    while let Some((task, due)) = heap.take_due(UnixMs(50)) {
                        proptest::prop_assert_eq!(expected_due.remove(&task), Some(due.0));
                        proptest::prop_assert!(due.0 <= 50);
                    }
                    proptest::prop_assert!(expected_due.values().all(|&due| due > 50));
                }
            }
            proptest::prop_assert_eq!(heap.next_due().map(|due| due.0), expected_due.values().min().copied());
        }
    }
}
