//! Makes progressive MP4 files from a description, sample by sample. Written from the standard, not from the code under
//! test.

/// One sample. Its bytes should be its own, so that they tell where they came from.
#[derive(Clone)]
pub(crate) struct SampleSpec {
    pub(crate) duration: u32,
    pub(crate) offset: i32,
    pub(crate) is_sync: bool,
    pub(crate) bytes: Vec<u8>,
}

/// Short enough to read a film of a failed test.
impl std::fmt::Debug for SampleSpec {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { duration, offset, is_sync, bytes } = self;
        write!(out, "{duration}+{offset}{} {} bytes", if *is_sync { "*" } else { "" }, bytes.len())
    }
}

/// One track.
#[derive(Clone, Debug)]
pub(crate) struct TrackSpec {
    pub(crate) handler: &'static [u8; 4],
    pub(crate) entry: &'static [u8; 4],
    pub(crate) scale: u32,
    pub(crate) samples: Vec<SampleSpec>,
    pub(crate) per_chunk: usize,
    /// Movie ticks and media time; -1 shows nothing.
    pub(crate) edits: Vec<(u32, i32)>,
    pub(crate) has_stss: bool,
}

/// A film.
#[derive(Clone, Debug)]
pub(crate) struct FilmSpec {
    pub(crate) tracks: Vec<TrackSpec>,
    pub(crate) movie_scale: u32,
    pub(crate) moov_first: bool,
    pub(crate) long_offsets: bool,
    /// Bytes of no track between two chunks.
    pub(crate) gap: usize,
}

/// Frames in groups of `group` with one sync sample each. With `reordered`, every second frame of a group is shown
/// before the one that precedes it in the file; with `leading`, the first frames after a sync sample are shown before it.
pub(crate) fn video(frames: u32, group: u32, scale: u32, duration: u32, order: Order) -> TrackSpec {
    let sample = |index: u32| {
        let (group_start, at) = (index - index % group, index % group);
        let length = group.min(frames - group_start);
        let shown = match order {
            Order::AsDecoded => at,
            Order::Reordered if at == 0 => 0,
            Order::Reordered if at % 2 == 1 => (at + 1).min(length - 1),
            Order::Reordered => at - 1,
            // Decoded I b p p p: shown b I p p p.
            Order::Leading if length > 1 && at < 2 => 1 - at,
            Order::Leading => at,
        };
        let late = i64::from(group_start + shown) - i64::from(index) + i64::from(order != Order::AsDecoded);
        SampleSpec {
            duration,
            offset: i32::try_from(late * i64::from(duration)).unwrap(),
            is_sync: at == 0,
            bytes: payload(b'v', index, 20 + (index * 7 % 31) as usize),
        }
    };
    TrackSpec {
        handler: b"vide",
        entry: b"avc1",
        scale,
        samples: (0..frames).map(sample).collect(),
        per_chunk: 4,
        edits: vec![],
        has_stss: true,
    }
}

/// How the frames of a group are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    AsDecoded,
    Reordered,
    Leading,
}

/// Frames of 1024 samples.
pub(crate) fn audio(frames: u32, scale: u32) -> TrackSpec {
    let sample = |index| SampleSpec {
        duration: 1024,
        offset: 0,
        is_sync: true,
        bytes: payload(b'a', index, 5 + (index * 3 % 11) as usize),
    };
    TrackSpec {
        handler: b"soun",
        entry: b"mp4a",
        scale,
        samples: (0..frames).map(sample).collect(),
        per_chunk: 3,
        edits: vec![],
        has_stss: false,
    }
}

/// Bytes that say which sample they are of.
fn payload(kind: u8, index: u32, length: usize) -> Vec<u8> {
    let mut bytes = [&[kind][..], &index.to_be_bytes()].concat();
    bytes.resize(length.max(5), kind);
    bytes
}

impl FilmSpec {
    pub(crate) fn new(tracks: Vec<TrackSpec>) -> Self {
        Self { tracks, movie_scale: 1000, moov_first: false, long_offsets: false, gap: 0 }
    }

    /// The file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let ftyp = boxed(b"ftyp", b"isom\0\0\x02\0isomiso2avc1mp41");
        let (data, offsets) = self.data();
        let moov = |base: usize| self.moov(&offsets, base);
        let free = boxed(b"free", b"");
        let mdat = boxed(b"mdat", &data);
        if self.moov_first {
            let base = ftyp.len() + moov(0).len() + 8;
            return [ftyp, moov(base), mdat, free].concat();
        }
        let base = ftyp.len() + free.len() + 8;
        [ftyp, free, mdat, moov(base)].concat()
    }

    /// All chunks in the order of their times, and where each track's chunks begin.
    fn data(&self) -> (Vec<u8>, Vec<Vec<usize>>) {
        let mut chunks = vec![];
        for (number, track) in self.tracks.iter().enumerate() {
            let mut ticks = 0_u64;
            for samples in track.samples.chunks(track.per_chunk) {
                chunks.push((ticks * 1_000_000 / u64::from(track.scale), number, samples));
                ticks += samples.iter().map(|sample| u64::from(sample.duration)).sum::<u64>();
            }
        }
        chunks.sort_by_key(|(time, number, _)| (*time, *number));
        let mut offsets = vec![vec![]; self.tracks.len()];
        let mut data = vec![];
        for (_, number, samples) in chunks {
            offsets[number].push(data.len());
            data.extend(samples.iter().flat_map(|sample| &sample.bytes));
            data.extend(vec![b'-'; self.gap]);
        }
        (data, offsets)
    }

    fn moov(&self, offsets: &[Vec<usize>], base: usize) -> Vec<u8> {
        let duration = self.tracks.iter().map(|track| track.movie_ticks(self.movie_scale)).max().unwrap_or(0);
        let mvhd = words(&[0, 0, 0, self.movie_scale, duration, 0x1_0000, 0x100_0000, 0, 0]);
        let next_track = u32::try_from(self.tracks.len()).unwrap() + 1;
        let mvhd = [mvhd, matrix(), words(&[0; 6]), words(&[next_track])].concat();
        let mut moov = boxed(b"mvhd", &mvhd);
        for (number, (track, offsets)) in (1..).zip(self.tracks.iter().zip(offsets)) {
            moov.extend(track.trak(number, self.movie_scale, offsets, base, self.long_offsets));
        }
        moov.extend(boxed(b"udta", &boxed(b"name", b"a film")));
        boxed(b"moov", &moov)
    }
}

impl TrackSpec {
    fn media_ticks(&self) -> u32 {
        self.samples.iter().map(|sample| sample.duration).sum()
    }

    fn movie_ticks(&self, movie_scale: u32) -> u32 {
        if !self.edits.is_empty() {
            return self.edits.iter().map(|(length, _)| length).sum();
        }
        u32::try_from(u64::from(self.media_ticks()) * u64::from(movie_scale) / u64::from(self.scale)).unwrap()
    }

    fn trak(&self, number: u32, movie_scale: u32, offsets: &[usize], base: usize, long: bool) -> Vec<u8> {
        let duration = self.movie_ticks(movie_scale);
        let tkhd =
            [words(&[7, 0, 0, number, 0, duration, 0, 0, 0, 0]), matrix(), words(&[64 << 16, 48 << 16])];
        let mdhd = words(&[0, 0, 0, self.scale, self.media_ticks(), 0x55c4_0000]);
        let hdlr = [&[0; 8][..], self.handler, &[0; 12], b"h\0"].concat();
        let media_header = if self.handler == b"vide" { b"vmhd" } else { b"smhd" };
        let minf = [boxed(media_header, &[0; 12]), boxed(b"stbl", &self.stbl(offsets, base, long))].concat();
        let mdia = [boxed(b"mdhd", &mdhd), boxed(b"hdlr", &hdlr), boxed(b"minf", &minf)].concat();
        let mut trak = boxed(b"tkhd", &tkhd.concat());
        if !self.edits.is_empty() {
            let edits = self.edits.iter().flat_map(|&(length, time)| words(&[length, time as u32, 0x1_0000]));
            trak.extend(boxed(b"edts", &table(b"elst", 0, self.edits.len(), edits)));
        }
        trak.extend(boxed(b"mdia", &mdia));
        boxed(b"trak", &trak)
    }

    fn stbl(&self, offsets: &[usize], base: usize, long: bool) -> Vec<u8> {
        let description = boxed(self.entry, &[b"\0\0\0\0\0\0\0\x01", &self.handler[..], b"codec"].concat());
        let mut stbl = table(b"stsd", 0, 1, description);
        let count = self.samples.len();
        let runs = runs(self.samples.iter().map(|sample| sample.duration));
        stbl.extend(table(b"stts", 0, runs.len(), runs.iter().flat_map(|run| words(&[run.0, run.1]))));
        if self.samples.iter().any(|sample| sample.offset != 0) {
            let version = u8::from(self.samples.iter().any(|sample| sample.offset < 0));
            let offsets = self.samples.iter().flat_map(|sample| words(&[1, sample.offset as u32]));
            stbl.extend(table(b"ctts", version, count, offsets));
        }
        if self.has_stss {
            let sync =
                (1..).zip(&self.samples).filter(|(_, sample)| sample.is_sync).map(|(number, _)| number);
            let sync: Vec<u32> = sync.collect();
            stbl.extend(table(b"stss", 0, sync.len(), words(&sync)));
        }
        stbl.extend(boxed(b"sdtp", &[vec![0; 4], (0..count).map(|index| index as u8).collect()].concat()));
        let groups = (1..).zip(&self.samples).flat_map(|(number, _)| words(&[1, number]));
        let groups = [words(&[0]), b"roll".to_vec(), words(&[count as u32]), groups.collect()].concat();
        stbl.extend(boxed(b"sgpd", b"\x01\0\0\0roll\0\0\0\x02\0\0\0\x01\xff\xff"));
        stbl.extend(boxed(b"sbgp", &groups));
        let chunks = self.samples.chunks(self.per_chunk).map(|chunk| chunk.len() as u32);
        let runs = (1..).zip(chunks).flat_map(|(number, held)| words(&[number, held, 1]));
        stbl.extend(table(b"stsc", 0, offsets.len(), runs));
        let sizes = self.samples.iter().flat_map(|sample| words(&[sample.bytes.len() as u32]));
        stbl.extend(boxed(b"stsz", &[words(&[0, 0, count as u32]), sizes.collect()].concat()));
        let offsets = offsets.iter().map(|offset| offset + base);
        let many = self.samples.len().div_ceil(self.per_chunk);
        if long {
            stbl.extend(table(b"co64", 0, many, offsets.flat_map(|offset| (offset as u64).to_be_bytes())));
        } else {
            stbl.extend(table(b"stco", 0, many, offsets.flat_map(|offset| words(&[offset as u32]))));
        }
        stbl
    }
}

fn runs(values: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = vec![];
    for value in values {
        match runs.last_mut() {
            Some((count, same)) if *same == value => *count += 1,
            _ => runs.push((1, value)),
        }
    }
    runs
}

pub(crate) fn boxed(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&u32::try_from(content.len() + 8).unwrap().to_be_bytes()[..], name, content].concat()
}

fn table(name: &[u8; 4], version: u8, count: usize, entries: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let head = [&[version, 0, 0, 0][..], &u32::try_from(count).unwrap().to_be_bytes()].concat();
    boxed(name, &[head, entries.into_iter().collect()].concat())
}

pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn matrix() -> Vec<u8> {
    words(&[0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000])
}
