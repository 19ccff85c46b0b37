//! Length, size, frame rate and tracks of MP4 and MOV files, read from their `moov` box. Pure.
//!
//! Box layouts are those of ISO/IEC 14496-12. Only what a family's rules ask for is read; a file this cannot
//! follow simply has fewer facts.
//!
//! The boxes that MP4 and MOV files consist of (ISO/IEC 14496-12, section 4): a length, a name, and content that is
//! often boxes again. Pure; never reads beyond what it is given.

use gatehouse_model::Facts;

use crate::probe::fragments;

/// Fills in what the file's own tables say.
pub(crate) fn describe(file: &[u8], facts: &mut Facts) {
    let Some(moov) = child(file, b"moov") else { return };
    let told = child(moov, b"mvhd").and_then(|mvhd| {
        let (ticks, scale) = times(mvhd)?;
        milliseconds(ticks, scale)
    });
    // A fragmented file says 0 there, and how long it is elsewhere.
    facts.milliseconds =
        told.filter(|told| *told > 0).or_else(|| fragments::milliseconds(file, moov)).or(told);
    let mut has_audio = false;
    for track in boxes(moov).filter(|(name, _)| name == b"trak").map(|(_, content)| content) {
        match handler(track) {
            Some(b"soun") => has_audio = true,
            Some(b"vide") if facts.width.is_none() => {
                (facts.width, facts.height) = size(track).unzip();
                facts.fps_milli = frame_rate(track);
            }
            _ => {}
        }
    }
    facts.has_audio = Some(has_audio);
}

/// The duration by `mvhd` or `mdhd`, in ticks, and how many of them a second has: behind version, flags and
/// two dates they say the timescale, then the duration.
fn times(header: &[u8]) -> Option<(u64, u32)> {
    let is_long = *header.first()? == 1;
    let ticks = if is_long { word64(header, 24)? } else { word32(header, 16)?.into() };
    Some((ticks, behind_dates(header)?))
}

pub(super) fn milliseconds(ticks: u64, scale: u32) -> Option<u64> {
    ticks.checked_mul(1000)?.checked_div(scale.into())
}

/// The number behind version, flags and two dates: the timescale of `mvhd` and `mdhd`, the track of `tkhd`.
pub(crate) fn behind_dates(header: &[u8]) -> Option<u32> {
    word32(header, if *header.first()? == 1 { 20 } else { 12 })
}

fn handler(track: &[u8]) -> Option<&[u8; 4]> {
    child(child(track, b"mdia")?, b"hdlr")?.get(8..12)?.try_into().ok()
}

/// `tkhd` ends with a matrix of nine numbers, and width and height as 16.16 fixed point. The size is that of the picture as
/// shown: a quarter turn swaps the sides.
fn size(track: &[u8]) -> Option<(u32, u32)> {
    let tkhd = child(track, b"tkhd")?;
    let at = tkhd.len().checked_sub(8)?;
    let (width, height) = (word32(tkhd, at)? >> 16, word32(tkhd, at + 4)? >> 16);
    let matrix = at.checked_sub(36)?;
    let is_turned = word32(tkhd, matrix)? == 0 && word32(tkhd, matrix + 4)? != 0;
    let (width, height) = if is_turned { (height, width) } else { (width, height) };
    (width > 0 && height > 0).then_some((width, height))
}

/// Samples of the track over its duration, in frames per 1000 seconds.
fn frame_rate(track: &[u8]) -> Option<u32> {
    let mdia = child(track, b"mdia")?;
    // The samples tell how long it is; a header that ends before its duration is broken all the same.
    let (_, scale) = times(child(mdia, b"mdhd")?)?;
    let stts = child(child(child(mdia, b"minf")?, b"stbl")?, b"stts")?;
    let (mut samples, mut ticks) = (0_u64, 0_u64);
    for entry in stts.get(8..)?.chunks_exact(8).take(word32(stts, 4)? as usize) {
        let count = u64::from(word32(entry, 0)?);
        samples = samples.checked_add(count)?;
        ticks = ticks.checked_add(count.checked_mul(word32(entry, 4)?.into())?)?;
    }
    let exact = u128::from(samples) * u128::from(scale) * 1000;
    let rounded = (exact + u128::from(ticks) / 2).checked_div(ticks.into())?;
    u32::try_from(rounded).ok().filter(|&rate| rate > 0)
}

/// The content of the first box of this name.
pub(crate) fn child<'a>(content: &'a [u8], wanted: &[u8; 4]) -> Option<&'a [u8]> {
    boxes(content).find(|(name, _)| name == wanted).map(|(_, content)| content)
}

/// The consecutive boxes of `content`, up to the first that does not fit.
pub(crate) fn boxes(content: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut rest = content;
    std::iter::from_fn(move || {
        let name = rest.get(4..8)?.try_into().ok()?;
        // 0 means "to the end", 1 that a 64-bit length follows.
        let (head, length) = match word32(rest, 0)? {
            0 => (8, rest.len()),
            1 => (16, usize::try_from(word64(rest, 8)?).ok()?),
            length => (8, length as usize),
        };
        let (this, next) = rest.split_at_checked(length)?;
        let content = this.get(head..)?;
        rest = next;
        Some((name, content))
    })
}

/// The 32-bit number at a position; `None` beyond the end.
pub(crate) fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The 64-bit number at a position; `None` beyond the end.
pub(crate) fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use crate::tests::clips::maker::boxed;

    fn times(scale: u32, duration: u32) -> Vec<u8> {
        [&[0; 12][..], &scale.to_be_bytes(), &duration.to_be_bytes(), &[0; 4]].concat()
    }

    fn track(handler: &[u8; 4], width: u32, height: u32, stts: &[(u32, u32)]) -> Vec<u8> {
        let tkhd = [&[0; 76][..], &(width << 16).to_be_bytes(), &(height << 16).to_be_bytes()].concat();
        let count = u32::try_from(stts.len()).unwrap();
        let entries: Vec<u8> =
            stts.iter().flat_map(|(n, d)| [n.to_be_bytes(), d.to_be_bytes()].concat()).collect();
        let stbl = boxed(b"stbl", &boxed(b"stts", &[&[0; 4][..], &count.to_be_bytes(), &entries].concat()));
        let mdia = [
            boxed(b"mdhd", &times(24_000, 120_000)),
            boxed(b"hdlr", &[&[0; 8][..], handler, &[0; 12]].concat()),
            boxed(b"minf", &stbl),
        ]
        .concat();
        boxed(b"trak", &[boxed(b"tkhd", &tkhd), boxed(b"mdia", &mdia)].concat())
    }

    fn file(tracks: &[Vec<u8>]) -> Vec<u8> {
        let moov = [boxed(b"mvhd", &times(1000, 5005)), tracks.concat()].concat();
        // A media box with a 64-bit length in front, as large files have it.
        let mdat = [&1_u32.to_be_bytes()[..], b"mdat", &20_u64.to_be_bytes(), b"data"].concat();
        [boxed(b"ftyp", b"isom\0\0\0\0"), mdat, boxed(b"moov", &moov)].concat()
    }

    #[test]
    fn a_film_tells_what_it_is() {
        let film =
            file(&[track(b"soun", 0, 0, &[(1, 1)]), track(b"vide", 1280, 720, &[(100, 1001), (20, 1001)])]);
        let facts = crate::facts(&film);
        assert_eq!(facts.mime, "video/mp4");
        assert_eq!((facts.width, facts.height), (Some(1280), Some(720)));
        assert_eq!((facts.milliseconds, facts.fps_milli), (Some(5005), Some(23_976)));
        assert_eq!(facts.has_audio, Some(true));
    }

    #[test]
    fn a_silent_film_says_so() {
        let facts = crate::facts(&file(&[track(b"vide", 640, 480, &[(60, 1000)])]));
        assert_eq!((facts.has_audio, facts.fps_milli), (Some(false), Some(24_000)));
    }

    /// Without it a broken header would be believed as far as it goes.
    #[test]
    fn a_header_that_ends_before_its_duration_gives_no_frame_rate() {
        let mut film = file(&[track(b"vide", 640, 480, &[(60, 1000)])]);
        let mdhd = memchr::memmem::find(&film, b"mdhd").unwrap() - 4;
        let cut = [boxed(b"mdhd", &film[mdhd + 8..mdhd + 24]), boxed(b"free", &[])].concat();
        film[mdhd..mdhd + 32].copy_from_slice(&cut);
        let facts = crate::facts(&film);
        assert_eq!((facts.width, facts.milliseconds, facts.fps_milli), (Some(640), Some(5005), None));
    }

    #[test]
    fn a_film_cut_short_has_fewer_facts() {
        let film = file(&[track(b"vide", 640, 480, &[(60, 1000)])]);
        for length in 12..film.len() {
            let facts = crate::facts(&film[..length]);
            assert_eq!(facts.mime, "video/mp4");
            assert_eq!(facts.width, None, "{length}");
        }
    }
}
