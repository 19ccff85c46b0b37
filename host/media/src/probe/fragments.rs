//! The length of fragmented MP4 files: from `mehd`, or the sum of what the fragments say (ISO/IEC 14496-12, 8.8). Pure.

use crate::probe::mp4::{self, behind_dates, boxes, child, word32, word64};

/// Flags of `tfhd`: which optional fields it has before the default duration, and whether it has that.
const TFHD_OFFSET: u32 = 0x1;
const TFHD_DESCRIPTION: u32 = 0x2;
const TFHD_DURATION: u32 = 0x8;
/// Flags of `trun`, likewise; the last four say what each sample has.
const TRUN_OFFSET: u32 = 0x1;
const TRUN_FIRST_FLAGS: u32 = 0x4;
const TRUN_DURATION: u32 = 0x100;
const TRUN_FIELDS: u32 = 0xf00;

/// Milliseconds of the longest track; `None` when the file has no fragments.
pub(super) fn milliseconds(file: &[u8], moov: &[u8]) -> Option<u64> {
    let mvex = child(moov, b"mvex")?;
    if let Some(mehd) = child(mvex, b"mehd") {
        let duration = if *mehd.first()? == 1 { word64(mehd, 4)? } else { word32(mehd, 4)?.into() };
        let scale = behind_dates(child(moov, b"mvhd")?)?;
        return mp4::milliseconds(duration, scale).filter(|length| *length > 0);
    }
    let tracks = boxes(moov).filter(|(name, _)| name == b"trak");
    tracks.filter_map(|(_, trak)| track(file, mvex, trak)).max().filter(|length| *length > 0)
}

fn track(file: &[u8], mvex: &[u8], trak: &[u8]) -> Option<u64> {
    let id = behind_dates(child(trak, b"tkhd")?)?;
    let scale = behind_dates(child(child(trak, b"mdia")?, b"mdhd")?)?;
    let trex = boxes(mvex).find(|(name, trex)| name == b"trex" && word32(trex, 4) == Some(id));
    let usual = trex.and_then(|(_, trex)| word32(trex, 12)).unwrap_or_default();
    let mut ticks = 0_u64;
    for (_, moof) in boxes(file).filter(|(name, _)| name == b"moof") {
        for (_, traf) in boxes(moof).filter(|(name, _)| name == b"traf") {
            let tfhd = child(traf, b"tfhd")?;
            if word32(tfhd, 4)? != id {
                continue;
            }
            let usual = default_duration(tfhd)?.unwrap_or(usual);
            for (_, trun) in boxes(traf).filter(|(name, _)| name == b"trun") {
                ticks = ticks.checked_add(run(trun, usual)?)?;
            }
        }
    }
    mp4::milliseconds(ticks, scale)
}

/// What `tfhd` says of the samples that say nothing themselves.
fn default_duration(tfhd: &[u8]) -> Option<Option<u32>> {
    let flags = word32(tfhd, 0)? & 0xff_ffff;
    if flags & TFHD_DURATION == 0 {
        return Some(None);
    }
    let before =
        if flags & TFHD_OFFSET == 0 { 0 } else { 8 } + if flags & TFHD_DESCRIPTION == 0 { 0 } else { 4 };
    word32(tfhd, 8 + before).map(Some)
}

/// Ticks of a run of samples.
fn run(trun: &[u8], usual: u32) -> Option<u64> {
    let flags = word32(trun, 0)? & 0xff_ffff;
    let count = word32(trun, 4)?;
    if flags & TRUN_DURATION == 0 {
        return u64::from(count).checked_mul(usual.into());
    }
    let at =
        8 + if flags & TRUN_OFFSET == 0 { 0 } else { 4 } + if flags & TRUN_FIRST_FLAGS == 0 { 0 } else { 4 };
    let each = (flags & TRUN_FIELDS).count_ones() as usize * 4;
    let samples = trun.get(at..)?.chunks_exact(each).take(count as usize);
    samples.map(|sample| word32(sample, 0).map(u64::from)).sum()
}

#[cfg(test)]
mod tests {
    use crate::tests::clips::maker::{boxed, words};

    /// A video of 90,000 ticks a second without samples of its own, and fragments.
    fn file(mehd: Option<u32>, trex: u32, trafs: &[Vec<u8>]) -> Vec<u8> {
        let tkhd = [words(&[0, 0, 0, 1, 0, 0]), vec![0; 52], words(&[640 << 16, 480 << 16])].concat();
        let mdhd = words(&[0, 0, 0, 90_000, 0, 0]);
        let hdlr = [&[0; 8][..], b"vide", &[0; 12]].concat();
        let mdia = [boxed(b"mdhd", &mdhd), boxed(b"hdlr", &hdlr)].concat();
        let trak = [boxed(b"tkhd", &tkhd), boxed(b"mdia", &mdia)].concat();
        let mehd = mehd.map(|ticks| boxed(b"mehd", &words(&[0, ticks]))).unwrap_or_default();
        let mvex = [mehd, boxed(b"trex", &words(&[0, 1, 1, trex, 0, 0]))].concat();
        let mvhd = words(&[0, 0, 0, 1000, 0, 0]);
        let moov = [boxed(b"mvhd", &mvhd), boxed(b"trak", &trak), boxed(b"mvex", &mvex)].concat();
        let mut file = [boxed(b"ftyp", b"isom\0\0\0\0"), boxed(b"moov", &moov)].concat();
        for traf in trafs {
            file.extend(boxed(b"moof", &[boxed(b"mfhd", &words(&[0, 1])), boxed(b"traf", traf)].concat()));
            file.extend(boxed(b"mdat", b"data"));
        }
        file
    }

    fn traf(tfhd: &[u32], trun: &[u32]) -> Vec<u8> {
        [boxed(b"tfhd", &words(tfhd)), boxed(b"trun", &words(trun))].concat()
    }

    #[test]
    fn fragments_add_up() {
        let milliseconds = |file: Vec<u8>| crate::facts(&file).milliseconds;
        assert_eq!(milliseconds(file(Some(5250), 0, &[])), Some(5250), "as told");
        let by_usual = traf(&[0, 1], &[0, 30]);
        assert_eq!(milliseconds(file(None, 3000, &[by_usual.clone(), by_usual.clone()])), Some(2000));
        let by_fragment = traf(&[0xb, 1, 0, 0, 1, 6000], &[1, 15, 0]);
        assert_eq!(milliseconds(file(None, 3000, &[by_usual, by_fragment])), Some(2000));
        // Each sample with duration and size, behind an offset.
        let by_sample = traf(&[0, 1], &[0x301, 2, 0, 45_000, 9, 90_000, 9]);
        assert_eq!(milliseconds(file(None, 3000, &[by_sample])), Some(1500));
        let of_another = traf(&[0, 2], &[0, 30]);
        assert_eq!(milliseconds(file(None, 3000, &[of_another])), Some(0));
    }
}
