//! A disk that remembers every write, can play a power cut at any moment, and can be told to break.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use redb::StorageBackend;

/// What happened to the disk, in order.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Write(u64, Vec<u8>),
    SetLen(u64),
    Sync,
    /// Written by a test: that many batches have been acknowledged by now.
    Acknowledged(usize),
}

/// What the next access does.
#[derive(Debug, Default)]
pub(super) enum Fault {
    #[default]
    None,
    /// Syncs report an error.
    FailSync,
    /// Syncs panic.
    PanicSync,
    /// Syncs tell the one, then wait for the other.
    Gate(mpsc::Sender<()>, mpsc::Receiver<()>),
    /// The change that many ahead fails, half of a write having arrived; those after it work again.
    Change(usize),
    /// The read that many ahead fails; those after it work again.
    Read(usize),
}

/// What a backend is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    Read,
    SetLen,
    Sync,
    Write,
}

impl Access {
    fn error(self) -> io::Error {
        match self {
            Self::SetLen => io::Error::from(io::ErrorKind::StorageFull),
            Self::Read | Self::Sync | Self::Write => io::Error::other("the disk is on fire"),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    log: Vec<Op>,
    tripped: Option<Access>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    state: Arc<Mutex<State>>,
    fault: Arc<Mutex<Fault>>,
}

impl Disk {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.state().bytes = bytes;
        disk
    }

    pub(super) fn break_by(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    pub(super) fn acknowledge(&self, batches: usize) {
        self.state().log.push(Op::Acknowledged(batches));
    }

    pub(super) fn log(&self) -> Vec<Op> {
        self.state().log.clone()
    }

    /// The bytes now, as another process would find them after this one was killed.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    /// The access that [`Fault::Change`] or [`Fault::Read`] let fail.
    pub(super) fn tripped(&self) -> Option<Access> {
        self.state().tripped
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn trip(&self, access: Access) -> io::Result<()> {
        let mut fault = self.fault.lock().unwrap();
        let left = match (&mut *fault, access) {
            (Fault::Read(left), Access::Read) => left,
            (Fault::Change(left), Access::SetLen | Access::Sync | Access::Write) => left,
            _ => return Ok(()),
        };
        if *left > 0 {
            *left -= 1;
            return Ok(());
        }
        *fault = Fault::None;
        self.state().tripped = Some(access);
        Err(access.error())
    }
}

/// Does to `bytes` what the operation did.
pub(super) fn redo(bytes: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write(offset, data) => {
            let start = usize::try_from(*offset).unwrap();
            let end = start + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[start..end].copy_from_slice(data);
        }
        Op::SetLen(len) => bytes.resize(usize::try_from(*len).unwrap(), 0),
        Op::Sync | Op::Acknowledged(_) => {}
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.trip(Access::Read)?;
        let start = usize::try_from(offset).unwrap();
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
        match &*self.fault.lock().unwrap() {
            Fault::None | Fault::Change(_) | Fault::Read(_) => {}
            Fault::FailSync => return Err(io::Error::other("the disk is on fire")),
            Fault::PanicSync => panic!("the disk fell over"),
            Fault::Gate(arrived, go_on) => {
                arrived.send(()).unwrap();
                go_on.recv().unwrap();
            }
        }
        self.state().log.push(Op::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let outcome = self.trip(Access::Write);
        let arrived = if outcome.is_ok() { data.len() } else { data.len() / 2 };
        let mut state = self.state();
        let op = Op::Write(offset, data[..arrived].to_vec());
        redo(&mut state.bytes, &op);
        state.log.push(op);
        outcome
    }
}
