//! When each live task is due: one heap of moments, and the tasks parked until a place at a provider frees up.
//!
//! Soft state, rebuilt from the store at every start; pure, so it runs under any clock. Holds ids only:
//! a task's row is read when its turn comes. Never decides what a step does.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use gatehouse_model::{TaskId, UnixMs};

/// Due times of live tasks. Arming a task again replaces its earlier due time.
#[derive(Default)]
pub(crate) struct Schedule {
    heap: BinaryHeap<Reverse<(UnixMs, u64, TaskId)>>,
    /// Each task's current generation; a heap entry of another generation is dead.
    live: HashMap<TaskId, Slot>,
    parked: HashMap<String, VecDeque<TaskId>>,
    /// Generations given out; never reused, so that a forgotten task's heap entries stay dead.
    generations: u64,
}

struct Slot {
    generation: u64,
    armed: bool,
    /// A wake-up came while the task's step was running; it is due again as soon as that ends.
    woken: bool,
    /// It stands in a queue for a place.
    parked: bool,
}

impl Schedule {
    /// Makes a task due at `due`, whatever was said before.
    pub(crate) fn arm(&mut self, task: TaskId, due: UnixMs) {
        let slot = self.live.entry(task).or_insert(Slot {
            generation: 0,
            armed: false,
            woken: false,
            parked: false,
        });
        self.generations += 1;
        slot.generation = self.generations;
        slot.armed = true;
        slot.woken = false;
        self.heap.push(Reverse((due, slot.generation, task)));
        self.prune();
    }

    /// The same at the end of a step, unless the task was woken meanwhile: then it is due at `now`.
    pub(crate) fn rearm(&mut self, task: TaskId, due: UnixMs, now: UnixMs) {
        let woken = self.live.get(&task).is_some_and(|slot| slot.woken);
        self.arm(task, if woken { now } else { due });
    }

    /// Makes a known task due at `now`; if its step is running, it is due again right after it.
    pub(crate) fn wake(&mut self, task: TaskId, now: UnixMs) {
        match self.live.get_mut(&task) {
            Some(slot) if slot.armed => self.arm(task, now),
            Some(slot) => slot.woken = true,
            None => {}
        }
    }

    /// Forgets a task that has ended.
    pub(crate) fn forget(&mut self, task: TaskId) {
        self.live.remove(&task);
    }

    /// The next task due at `now`, and when it was due. It is not armed until [`Schedule::rearm`].
    pub(crate) fn take_due(&mut self, now: UnixMs) -> Option<(TaskId, UnixMs)> {
        while let Some(&Reverse((due, generation, task))) = self.heap.peek() {
            let current = self.live.get_mut(&task).filter(|slot| slot.armed && slot.generation == generation);
            let Some(slot) = current else {
                self.heap.pop();
                continue;
            };
            if due > now {
                return None;
            }
            slot.armed = false;
            self.heap.pop();
            return Some((task, due));
        }
        None
    }

    /// When the next task is due.
    pub(crate) fn next_due(&mut self) -> Option<UnixMs> {
        while let Some(&Reverse((due, generation, task))) = self.heap.peek() {
            if self.live.get(&task).is_some_and(|slot| slot.armed && slot.generation == generation) {
                return Some(due);
            }
            self.heap.pop();
        }
        None
    }

    /// Queues a task for a free place at `provider`; its due time stays as a fallback.
    pub(crate) fn park(&mut self, provider: &str, task: TaskId) {
        // Looking again by itself does not cost a task its place in the queue, nor give it a second one.
        match self.live.get_mut(&task) {
            Some(slot) if !slot.parked => slot.parked = true,
            _ => return,
        }
        match self.parked.get_mut(provider) {
            Some(queue) => queue.push_back(task),
            None => {
                self.parked.insert(provider.to_owned(), VecDeque::from([task]));
            }
        }
    }

    /// The task has found a place by itself; the next one freed is for somebody else.
    pub(crate) fn leave_queue(&mut self, task: TaskId) {
        if let Some(slot) = self.live.get_mut(&task) {
            slot.parked = false;
        }
    }

    /// A place at `provider` is free: the task waiting longest is due now.
    pub(crate) fn unpark(&mut self, provider: &str, now: UnixMs) {
        let Some(queue) = self.parked.get_mut(provider) else { return };
        while let Some(task) = queue.pop_front() {
            if let Some(slot) = self.live.get_mut(&task).filter(|slot| slot.parked) {
                slot.parked = false;
                self.wake(task, now);
                return;
            }
        }
    }

    /// Re-arming leaves dead entries behind; rebuild once they are the majority.
    fn prune(&mut self) {
        if self.heap.len() > 64 && self.heap.len() > 3 * self.live.len() {
            let live = &self.live;
            self.heap.retain(|Reverse((_, generation, task))| {
                live.get(task).is_some_and(|slot| slot.armed && slot.generation == *generation)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> TaskId {
        TaskId::from_bits(n)
    }

    #[test]
    fn tasks_come_in_order_of_due_time() {
        let mut schedule = Schedule::default();
        for (task, due) in [(1, 30), (2, 10), (3, 20)] {
            schedule.arm(id(task), UnixMs(due));
        }
        assert_eq!(schedule.next_due(), Some(UnixMs(10)));
        assert_eq!(schedule.take_due(UnixMs(9)), None);
        assert_eq!(schedule.take_due(UnixMs(25)), Some((id(2), UnixMs(10))));
        assert_eq!(schedule.take_due(UnixMs(25)), Some((id(3), UnixMs(20))));
        assert_eq!(schedule.take_due(UnixMs(25)), None);
    }

    #[test]
    fn arming_again_replaces_the_due_time() {
        let mut schedule = Schedule::default();
        schedule.arm(id(1), UnixMs(10));
        schedule.arm(id(1), UnixMs(50));
        assert_eq!(schedule.take_due(UnixMs(20)), None);
        assert_eq!(schedule.take_due(UnixMs(50)), Some((id(1), UnixMs(50))));
        assert_eq!(schedule.take_due(UnixMs(99)), None, "a taken task is not taken twice");
    }

    #[test]
    fn a_wake_during_a_step_is_not_lost() {
        let mut schedule = Schedule::default();
        schedule.arm(id(1), UnixMs(10));
        assert!(schedule.take_due(UnixMs(10)).is_some());
        schedule.wake(id(1), UnixMs(11));
        schedule.rearm(id(1), UnixMs(500), UnixMs(12));
        assert_eq!(schedule.take_due(UnixMs(12)), Some((id(1), UnixMs(12))));
    }

    #[test]
    fn a_free_slot_wakes_whoever_waited_longest_and_still_lives() {
        let mut schedule = Schedule::default();
        for task in [1, 2, 3] {
            schedule.arm(id(task), UnixMs(1_000));
            schedule.park("bfl", id(task));
            schedule.park("bfl", id(task));
        }
        schedule.forget(id(1));
        schedule.unpark("bfl", UnixMs(5));
        schedule.unpark("other", UnixMs(5));
        assert_eq!(schedule.take_due(UnixMs(5)), Some((id(2), UnixMs(5))));
        assert_eq!(schedule.take_due(UnixMs(5)), None);
        schedule.unpark("bfl", UnixMs(6));
        assert_eq!(
            schedule.take_due(UnixMs(6)),
            Some((id(3), UnixMs(6))),
            "parked once, however often it asked"
        );
        schedule.unpark("bfl", UnixMs(7));
        assert_eq!(schedule.take_due(UnixMs(7)), None);
    }

    #[test]
    fn who_found_a_place_by_itself_takes_nobodys_turn() {
        let mut schedule = Schedule::default();
        for task in [1, 2] {
            schedule.arm(id(task), UnixMs(1_000));
            schedule.park("bfl", id(task));
        }
        schedule.leave_queue(id(1));
        schedule.unpark("bfl", UnixMs(5));
        assert_eq!(schedule.take_due(UnixMs(5)), Some((id(2), UnixMs(5))));
    }

    proptest::proptest! {
        #[test]
        fn every_armed_task_comes_once_and_never_early(
            moves in proptest::collection::vec((0_u128..20, 0_u64..100, proptest::bool::ANY), 1..400),
        ) {
            let mut schedule = Schedule::default();
            let mut truth: std::collections::BTreeMap<TaskId, u64> = std::collections::BTreeMap::new();
            for (at, (task, due, forget)) in moves.into_iter().enumerate() {
                if forget {
                    schedule.forget(id(task));
                    truth.remove(&id(task));
                } else {
                    schedule.arm(id(task), UnixMs(due));
                    truth.insert(id(task), due);
                }
                if at % 7 == 0 {
                    while let Some((task, due)) = schedule.take_due(UnixMs(50)) {
                        proptest::prop_assert_eq!(truth.remove(&task), Some(due.0));
                        proptest::prop_assert!(due.0 <= 50);
                    }
                    proptest::prop_assert!(truth.values().all(|&due| due > 50));
                }
            }
            proptest::prop_assert_eq!(schedule.next_due().map(|due| due.0), truth.values().min().copied());
        }
    }
}
