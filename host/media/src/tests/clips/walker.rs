//! Reads a progressive MP4 file strictly, table by table, and panics where two of them disagree. Written from the
//! standard, not from the code under test.

use std::collections::BTreeMap;

/// A film as a player sees it.
#[derive(Debug)]
pub(crate) struct Film {
    /// Names of the boxes of the file, in order.
    pub(crate) boxes: Vec<String>,
    pub(crate) scale: u32,
    pub(crate) duration: u64,
    pub(crate) tracks: Vec<Track>,
    /// Bytes of all `mdat` boxes.
    pub(crate) data: usize,
}

#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) handler: [u8; 4],
    pub(crate) descriptions: Vec<u8>,
    pub(crate) scale: u32,
    /// By `tkhd`, in ticks of the movie.
    pub(crate) duration: u64,
    /// By `mdhd`, in ticks of the track.
    pub(crate) media_duration: u64,
    pub(crate) edits: Vec<(u64, i64)>,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) decoded: i64,
    pub(crate) shown: i64,
    pub(crate) duration: u32,
    pub(crate) is_sync: bool,
    pub(crate) bytes: Vec<u8>,
    /// Its byte of `sdtp`.
    pub(crate) flags: Option<u8>,
    /// Its group by `sbgp`.
    pub(crate) group: Option<u32>,
}

/// Reads a whole file.
pub(crate) fn walk(file: &[u8]) -> Film {
    let boxes = children(file);
    let names = boxes.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
    let inside = |range: &std::ops::Range<usize>| {
        boxes.iter().any(|(name, at)| name == b"mdat" && at.start <= range.start && range.end <= at.end)
    };
    let moov = &file[only(&boxes, b"moov")];
    let parts = children(moov);
    let mvhd = &moov[only(&parts, b"mvhd")];
    let (scale, duration) = times(mvhd);
    let traks = parts.iter().filter(|(name, _)| name == b"trak").map(|(_, at)| &moov[at.clone()]);
    let tracks = traks.map(|trak| track(trak, file, &inside)).collect();
    let data = boxes.iter().filter(|(name, _)| name == b"mdat").map(|(_, at)| at.len()).sum();
    Film { boxes: names, scale, duration, tracks, data }
}

fn track(trak: &[u8], file: &[u8], inside: &dyn Fn(&std::ops::Range<usize>) -> bool) -> Track {
    let parts = children(trak);
    let tkhd = &trak[only(&parts, b"tkhd")];
    let duration = if tkhd[0] == 1 { long(tkhd, 28) } else { word(tkhd, 20).into() };
    let edits = match parts.iter().find(|(name, _)| name == b"edts") {
        Some((_, at)) => edits(&trak[at.clone()]),
        None => vec![],
    };
    let mdia = &trak[only(&parts, b"mdia")];
    let parts = children(mdia);
    let (scale, media_duration) = times(&mdia[only(&parts, b"mdhd")]);
    let handler = mdia[only(&parts, b"hdlr")][8..12].try_into().unwrap();
    let minf = &mdia[only(&parts, b"minf")];
    let stbl = &minf[only(&children(minf), b"stbl")];
    let tables: BTreeMap<[u8; 4], &[u8]> =
        children(stbl).into_iter().map(|(name, at)| (name, &stbl[at])).collect();
    let samples = samples(&tables, file, inside);
    let descriptions = tables[b"stsd"].to_vec();
    Track { handler, descriptions, scale, duration, media_duration, edits, samples }
}

fn samples(
    tables: &BTreeMap<[u8; 4], &[u8]>,
    file: &[u8],
    inside: &dyn Fn(&std::ops::Range<usize>) -> bool,
) -> Vec<Sample> {
    let stsz = tables[b"stsz"];
    let (same, count) = (word(stsz, 4), word(stsz, 8) as usize);
    let sizes: Vec<usize> = if same == 0 {
        assert_eq!(stsz.len(), 12 + 4 * count, "stsz");
        (0..count).map(|index| word(stsz, 12 + 4 * index) as usize).collect()
    } else {
        vec![same as usize; count]
    };
    let durations = expanded(tables[b"stts"], 8);
    assert_eq!(durations.len(), count, "stts");
    let offsets = tables.get(b"ctts").map_or_else(|| vec![0; count], |table| expanded(table, 8));
    assert_eq!(offsets.len(), count, "ctts");
    let is_signed = tables.get(b"ctts").is_some_and(|table| table[0] == 1);
    let sync =
        tables.get(b"stss").map(|table| entries(table, 4).map(|at| word(table, at)).collect::<Vec<_>>());
    let flags = tables.get(b"sdtp").map(|table| &table[4..]);
    assert!(flags.is_none_or(|flags| flags.len() == count), "sdtp");
    let groups = tables.get(b"sbgp").map(|table| expanded(&table[4..], 8));
    assert!(groups.as_ref().is_none_or(|groups| groups.len() == count), "sbgp");
    let places = places(tables, &sizes);
    let mut decoded = 0;
    let sample = |index: usize| {
        let range = places[index]..places[index] + sizes[index];
        assert!(inside(&range), "sample {index} at {range:?}");
        let offset = offsets[index];
        let offset = if is_signed { i64::from(offset as i32) } else { i64::from(offset) };
        let number = u32::try_from(index + 1).unwrap();
        let sample = Sample {
            decoded,
            shown: decoded + offset,
            duration: durations[index],
            is_sync: sync.as_ref().is_none_or(|sync| sync.contains(&number)),
            bytes: file[range].to_vec(),
            flags: flags.map(|flags| flags[index]),
            group: groups.as_ref().map(|groups| groups[index]),
        };
        decoded += i64::from(durations[index]);
        sample
    };
    (0..count).map(sample).collect()
}

/// Where each sample begins.
fn places(tables: &BTreeMap<[u8; 4], &[u8]>, sizes: &[usize]) -> Vec<usize> {
    let chunks: Vec<usize> = match tables.get(b"stco") {
        Some(table) => entries(table, 4).map(|at| word(table, at) as usize).collect(),
        None => {
            let table = tables[b"co64"];
            entries(table, 8).map(|at| usize::try_from(long(table, at)).unwrap()).collect()
        }
    };
    let stsc = tables[b"stsc"];
    let runs: Vec<(u32, u32)> = entries(stsc, 12).map(|at| (word(stsc, at), word(stsc, at + 4))).collect();
    let mut sizes = sizes.iter();
    let mut places = vec![];
    for (number, &chunk) in (1_u32..).zip(&chunks) {
        let (_, held) = runs.iter().rev().find(|(first, _)| *first <= number).unwrap();
        let mut at = chunk;
        for _ in 0..*held {
            places.push(at);
            at += sizes.next().expect("a size for every sample of a chunk");
        }
    }
    assert_eq!(sizes.len(), 0, "samples without a chunk");
    places
}

fn edits(edts: &[u8]) -> Vec<(u64, i64)> {
    let elst = &edts[only(&children(edts), b"elst")];
    let is_long = elst[0] == 1;
    let edit = |at: usize| {
        assert_eq!(word(elst, at + if is_long { 16 } else { 8 }), 0x1_0000, "speed");
        if is_long {
            (long(elst, at), long(elst, at + 8) as i64)
        } else {
            (word(elst, at).into(), i64::from(word(elst, at + 4) as i32))
        }
    };
    entries(elst, if is_long { 20 } else { 12 }).map(edit).collect()
}

/// Positions of the entries of a table that are this long each.
fn entries(table: &[u8], length: usize) -> impl Iterator<Item = usize> {
    let count = word(table, 4) as usize;
    assert_eq!(table.len(), 8 + count * length, "a table's length");
    (0..count).map(move |index| 8 + index * length)
}

/// The second number of each entry as often as its first says.
fn expanded(table: &[u8], length: usize) -> Vec<u32> {
    entries(table, length).flat_map(|at| vec![word(table, at + 4); word(table, at) as usize]).collect()
}

/// Timescale and duration of `mvhd` and `mdhd`.
fn times(header: &[u8]) -> (u32, u64) {
    if header[0] == 1 {
        (word(header, 20), long(header, 24))
    } else {
        (word(header, 12), word(header, 16).into())
    }
}

/// The content of every box of `bytes`; they must fill it.
fn children(bytes: &[u8]) -> Vec<([u8; 4], std::ops::Range<usize>)> {
    let mut found = vec![];
    let mut at = 0;
    while at < bytes.len() {
        let name = bytes[at + 4..at + 8].try_into().unwrap();
        let (head, size) = match word(bytes, at) {
            1 => (16, usize::try_from(long(bytes, at + 8)).unwrap()),
            size => (8, size as usize),
        };
        assert!(size >= head && at + size <= bytes.len(), "a box of {size} bytes at {at}");
        found.push((name, at + head..at + size));
        at += size;
    }
    found
}

fn only(boxes: &[([u8; 4], std::ops::Range<usize>)], wanted: &[u8; 4]) -> std::ops::Range<usize> {
    let mut found = boxes.iter().filter(|(name, _)| name == wanted);
    let at = found.next().unwrap_or_else(|| panic!("no {}", String::from_utf8_lossy(wanted))).1.clone();
    assert!(found.next().is_none(), "two {}", String::from_utf8_lossy(wanted));
    at
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}
