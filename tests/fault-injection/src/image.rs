//! What a power cut leaves on a disk: everything up to the last sync, and of what came after it any subset of
//! 512-byte sectors, the last of them perhaps torn. Lengths are kept in order, as a file system's journal does.

use fastrand::Rng;

use super::disk::{Op, index, redo};

const SECTOR: usize = 512;

/// A moment at which the power may go.
#[derive(Clone, Copy)]
pub struct Cut<'a> {
    /// Operations before it.
    pub at: usize,
    /// Batches acknowledged by then; none before the store was ready.
    pub acknowledged: Option<usize>,
    sure: &'a [u8],
    loose: &'a [Op],
}

/// Visits every moment of a log that begins on that disk: before its first operation, and after each.
///
/// # Errors
/// The first one of a visit; it ends the walk.
pub fn each_cut(
    mut sure: Vec<u8>,
    log: &[Op],
    mut visit: impl FnMut(Cut<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let (mut synced, mut acknowledged) = (0, None);
    visit(Cut { at: 0, acknowledged, sure: &sure, loose: &[] })?;
    for (before, op) in log.iter().enumerate() {
        match op {
            Op::Acknowledged(batches) => acknowledged = Some(*batches),
            Op::Sync => {
                log[synced..before].iter().for_each(|op| redo(&mut sure, op));
                synced = before;
            }
            Op::SetLen(_) | Op::Write(..) => {}
        }
        let at = before + 1;
        visit(Cut { at, acknowledged, sure: &sure, loose: &log[synced..at] })?;
    }
    Ok(())
}

impl<'a> Cut<'a> {
    /// The end of a log that began on the disk `sure`, which is brought to its last sync.
    #[must_use]
    pub fn at_end(sure: &'a mut Vec<u8>, log: &'a [Op]) -> Self {
        let synced = log.iter().rposition(|op| matches!(op, Op::Sync)).unwrap_or(0);
        log[..synced].iter().for_each(|op| redo(sure, op));
        Self { at: log.len(), acknowledged: None, sure, loose: &log[synced..] }
    }

    /// How many pieces may or may not have arrived.
    #[must_use]
    pub fn pieces(&self) -> usize {
        let sectors = |op: &Op| match op {
            Op::Write(offset, data) => sectors(*offset, data).count(),
            Op::SetLen(_) => 1,
            Op::Acknowledged(_) | Op::Sync => 0,
        };
        self.loose.iter().map(sectors).sum()
    }

    /// Whether the file's length is in doubt.
    #[must_use]
    pub fn doubts_length(&self) -> bool {
        self.loose.iter().any(|op| matches!(op, Op::SetLen(_)))
    }

    /// At most that many of the disks the cut may leave: all of them if there are no more, or some by chance.
    #[must_use]
    pub fn images(&self, most: usize, random: &mut Rng) -> Vec<Vec<u8>> {
        let pieces = self.pieces();
        if let Some(all) =
            1_usize.checked_shl(u32::try_from(pieces).unwrap_or(u32::MAX)).filter(|all| *all <= most)
        {
            let arrived = |mask: usize| (0..pieces).map(|piece| mask >> piece & 1 == 1).collect::<Vec<_>>();
            return (0..all).map(|mask| self.image(&arrived(mask), None)).collect();
        }
        (0..most)
            .map(|_| {
                let torn = (random.usize(..8) == 0).then(|| (random.usize(..pieces), random.usize(..SECTOR)));
                self.image(&arrivals(pieces, random), torn)
            })
            .collect()
    }

    /// The disk when those pieces arrived, and of the torn one its first bytes only.
    fn image(&self, arrived: &[bool], torn: Option<(usize, usize)>) -> Vec<u8> {
        let mut bytes = self.sure.to_vec();
        let (mut pieces, mut lengths_stand) = (arrived.iter().enumerate(), true);
        let mut next = || pieces.next().expect("as many as `pieces` counted");
        for op in self.loose {
            match op {
                Op::SetLen(len) => {
                    lengths_stand &= next().1;
                    if lengths_stand {
                        bytes.resize(index(*len), 0);
                    }
                }
                Op::Write(offset, data) => {
                    for (start, sector) in sectors(*offset, data) {
                        let (number, arrived) = next();
                        let whole = sector.len().min(bytes.len().saturating_sub(start));
                        let length = match torn {
                            Some((piece, length)) if piece == number => length.min(whole),
                            _ => whole,
                        };
                        if *arrived && length > 0 {
                            bytes[start..start + length].copy_from_slice(&sector[..length]);
                        }
                    }
                }
                Op::Acknowledged(_) | Op::Sync => {}
            }
        }
        bytes
    }
}

/// The parts of a write that lie in one sector each, with where they begin.
fn sectors(offset: u64, data: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let offset = index(offset);
    let (head, rest) = data.split_at((offset.next_multiple_of(SECTOR) - offset).min(data.len()));
    let aligned = offset + head.len();
    let head = (!head.is_empty()).then_some((offset, head));
    let rest = rest.chunks(SECTOR).enumerate().map(move |(n, sector)| (aligned + n * SECTOR, sector));
    head.into_iter().chain(rest)
}

/// Which pieces arrive: the edges of what is possible as often as the middle.
fn arrivals(pieces: usize, random: &mut Rng) -> Vec<bool> {
    let chosen = random.usize(..pieces);
    let eighths = match random.usize(..8) {
        0 => return vec![false; pieces],
        1 => return vec![true; pieces],
        2 => return (0..pieces).map(|piece| piece == chosen).collect(),
        3 => return (0..pieces).map(|piece| piece != chosen).collect(),
        4 => return (0..pieces).map(|piece| piece < chosen).collect(),
        5 => 1,
        6 => 4,
        _ => 7,
    };
    (0..pieces).map(|_| random.usize(..8) < eighths).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_falls_into_its_sectors() {
        let check = |offset: u64, length: usize, expected: &[(usize, usize)]| {
            let data = vec![1; length];
            let found: Vec<_> = sectors(offset, &data).map(|(start, sector)| (start, sector.len())).collect();
            assert_eq!(found, expected);
        };
        check(0, 320, &[(0, 320)]);
        check(4096, 1024, &[(4096, 512), (4608, 512)]);
        check(500, 600, &[(500, 12), (512, 512), (1024, 76)]);
        check(500, 5, &[(500, 5)]);
        check(512, 0, &[]);
    }

    #[test]
    fn only_what_was_synced_is_sure() {
        let log = [
            Op::Write(0, vec![1; 512]),
            Op::Sync,
            Op::Write(0, vec![2; 1024]),
            Op::SetLen(2048),
            Op::Write(1024, vec![3; 512]),
            Op::SetLen(512),
        ];
        let mut pieces = vec![];
        each_cut(vec![0; 1024], &log, |cut| {
            pieces.push(cut.pieces());
            if cut.at == log.len() {
                // In pieces: two sectors, the longer file, a sector behind its old end, the shorter file.
                let check = |arrived: [bool; 5], expected: &[u8]| {
                    let image = cut.image(&arrived, None);
                    let found: Vec<u8> = image.chunks(512).map(|sector| sector[0]).collect();
                    assert_eq!(found, expected, "{arrived:?}");
                };
                check([false; 5], &[1, 0]);
                check([true; 5], &[2]);
                check([false, true, true, false, false], &[1, 2, 0, 0]);
                check([true, false, true, true, false], &[2, 0, 3, 0]);
                check([true, false, false, true, true], &[2, 0]);
                let torn = cut.image(&[true, false, false, false, false], Some((0, 100)));
                assert_eq!((torn[99], torn[100]), (2, 1));
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(pieces, [0, 1, 0, 2, 3, 4, 5]);
    }
}
