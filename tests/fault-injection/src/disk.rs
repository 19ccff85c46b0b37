//! A disk that remembers every write, can replay a power cut at any moment, and can be made to fail.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::{fmt, io};

use redb::StorageBackend;

/// What happened to the disk, in order.
#[derive(Clone, Debug)]
pub enum Op {
    /// These bytes, from there on.
    Write(u64, Vec<u8>),
    /// A new length.
    SetLen(u64),
    /// What was done before is sure.
    Sync,
    /// Written by a test: that many batches have been acknowledged by now.
    Acknowledged(usize),
}

/// Receives each change before it is made; returns whether the disk still works.
type Ask = Box<dyn FnMut(Access) -> bool + Send>;

/// What the next access does.
#[derive(Default)]
pub enum DiskFault {
    /// It works.
    #[default]
    None,
    /// Syncs report an error.
    FailSync,
    /// Syncs panic.
    PanicSync,
    /// A sync signals the first channel, then waits for the second.
    Gate(mpsc::Sender<()>, mpsc::Receiver<()>),
    /// The change that many ahead fails, half of a write having arrived; those after it work again.
    Change(usize),
    /// The read that many ahead fails; those after it work again.
    Read(usize),
    /// A change is made only if the callback returns true.
    Ask(Ask),
    /// The disk is full: what lies in a block that was written before is written, and nothing else.
    Full,
    /// The disk is full, which only a sync tells: it drops everything that was changed from the moment this was set.
    FullAtSync,
}

impl fmt::Debug for DiskFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::FailSync => f.write_str("FailSync"),
            Self::PanicSync => f.write_str("PanicSync"),
            Self::Gate(..) => f.write_str("Gate"),
            Self::Change(ahead) => write!(f, "Change({ahead})"),
            Self::Read(ahead) => write!(f, "Read({ahead})"),
            Self::Ask(_) => f.write_str("Ask"),
            Self::Full => f.write_str("Full"),
            Self::FullAtSync => f.write_str("FullAtSync"),
        }
    }
}

/// What a backend is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Bytes are read.
    Read,
    /// The length is changed.
    SetLen,
    /// What was done so far is made sure.
    Sync,
    /// Bytes are written.
    Write,
}

impl Access {
    /// For logs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "the disk is read",
            Self::SetLen => "the disk's length changes",
            Self::Sync => "the disk is synced",
            Self::Write => "the disk is written",
        }
    }

    fn error(self) -> io::Error {
        match self {
            Self::SetLen => io::Error::from(io::ErrorKind::FileTooLarge),
            Self::Read | Self::Sync | Self::Write => io::Error::other("the disk is on fire"),
        }
    }
}

/// Bytes of a block of the file system.
const BLOCK: u64 = 4096;
/// A block in which nothing stands.
const EMPTY: [u8; 4096] = [0; 4096];

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    log: Vec<Op>,
    tripped: Option<Access>,
    /// The blocks that have room on the disk: a longer file has holes at first.
    blocks: HashSet<u64>,
    /// What a sync that finds no room goes back to.
    before: Vec<u8>,
}

fn blocks(offset: u64, length: usize) -> std::ops::Range<u64> {
    offset / BLOCK..(offset + length as u64).div_ceil(BLOCK)
}

/// The disk. Clones are the same one.
#[derive(Clone, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
    fault: Arc<Mutex<DiskFault>>,
}

impl Disk {
    /// A disk that holds `bytes` for sure.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        let written = bytes.chunks(EMPTY.len()).enumerate();
        // Compared as a whole: tests are not optimized, and each start of a system comes here.
        let written = written.filter(|(_, block)| **block != EMPTY[..block.len()]);
        disk.state().blocks = written.map(|(number, _)| number as u64).collect();
        disk.state().bytes = bytes;
        disk
    }

    /// From now on it works like that.
    pub fn break_by(&self, fault: DiskFault) {
        let mut current = self.fault();
        if matches!(fault, DiskFault::FullAtSync) {
            let mut state = self.state();
            state.before = state.bytes.clone();
        }
        *current = fault;
    }

    /// Notes in the log that so many batches were acknowledged.
    pub fn acknowledge(&self, batches: usize) {
        self.state().log.push(Op::Acknowledged(batches));
    }

    /// Everything that happened to it.
    #[must_use]
    pub fn log(&self) -> Vec<Op> {
        self.state().log.clone()
    }

    /// The bytes now, as another process would find them after this one was killed.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    /// The access that [`DiskFault::Change`] or [`DiskFault::Read`] let fail.
    #[must_use]
    pub fn tripped(&self) -> Option<Access> {
        self.state().tripped
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self) -> MutexGuard<'_, DiskFault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trip(&self, access: Access) -> io::Result<()> {
        let mut fault = self.fault();
        let left = match (&mut *fault, access) {
            (DiskFault::Ask(ask), Access::SetLen | Access::Sync | Access::Write) => {
                return if ask(access) { Ok(()) } else { Err(io::Error::other("the power is off")) };
            }
            (DiskFault::Read(left), Access::Read) => left,
            (DiskFault::Change(left), Access::SetLen | Access::Sync | Access::Write) => left,
            _ => return Ok(()),
        };
        if *left > 0 {
            *left -= 1;
            return Ok(());
        }
        *fault = DiskFault::None;
        self.state().tripped = Some(access);
        Err(access.error())
    }
}

/// Does to `bytes` what the operation did.
pub(super) fn redo(bytes: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write(offset, data) => {
            let start = index(*offset);
            let end = start + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[start..end].copy_from_slice(data);
        }
        Op::SetLen(len) => bytes.resize(index(*len), 0),
        Op::Sync | Op::Acknowledged(_) => {}
    }
}

/// An offset into a disk in memory.
pub(super) fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disk")
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.trip(Access::Read)?;
        let start = index(offset);
        let state = self.state();
        let bytes = state.bytes.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.trip(Access::SetLen)?;
        let mut state = self.state();
        let op = Op::SetLen(len);
        redo(&mut state.bytes, &op);
        state.log.push(op);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.trip(Access::Sync)?;
        match &*self.fault() {
            DiskFault::None
            | DiskFault::Full
            | DiskFault::Ask(_)
            | DiskFault::Change(_)
            | DiskFault::Read(_) => {}
            DiskFault::FailSync => return Err(io::Error::other("the disk is on fire")),
            DiskFault::PanicSync => panic!("the disk fell over"),
            DiskFault::FullAtSync => {
                let mut state = self.state();
                state.bytes = state.before.clone();
                return Err(io::ErrorKind::StorageFull.into());
            }
            DiskFault::Gate(arrived, go_on) => {
                // The test that set the gate may be gone.
                let _ = arrived.send(());
                let _ = go_on.recv();
            }
        }
        self.state().log.push(Op::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let outcome = self.trip(Access::Write);
        let arrived = match (&outcome, &*self.fault()) {
            (Ok(()), _) => data.len(),
            (Err(_), DiskFault::Ask(_)) => return outcome,
            (Err(_), _) => data.len() / 2,
        };
        let is_full = matches!(*self.fault(), DiskFault::Full);
        let mut state = self.state();
        if is_full && blocks(offset, data.len()).any(|block| !state.blocks.contains(&block)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.blocks.extend(blocks(offset, arrived));
        let op = Op::Write(offset, data[..arrived].to_vec());
        redo(&mut state.bytes, &op);
        state.log.push(op);
        outcome
    }
}
