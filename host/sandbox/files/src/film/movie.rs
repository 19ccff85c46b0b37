//! Joins tracks to an MP4 file: the tables first, then the samples, about a second of each track in turn.

use mp4_atom::{
    Atom, Codec, Dinf, Dref, DrefEntry, Encode, FourCC, Ftyp, Hdlr, Matrix, Mdat, Mdhd, Mdia, Minf, Moov,
    Mvhd, Smhd, Stbl, Stco, Stsc, StscEntry, Stsd, Stss, Stsz, StszSamples, Stts, SttsEntry, Tkhd, Trak, Url,
    Vmhd,
};

const UPRIGHT: Matrix =
    Matrix { a: 0x1_0000, b: 0, u: 0, c: 0, d: 0x1_0000, v: 0, x: 0, y: 0, w: 0x4000_0000 };

/// One sample.
pub(super) struct Sample {
    /// In ticks of its track.
    pub(super) duration: u32,
    /// Whether decoding can begin here.
    pub(super) is_sync: bool,
    pub(super) bytes: Vec<u8>,
}

/// One track.
pub(super) struct Track {
    pub(super) codec: Codec,
    /// Ticks a second; a multiple of 1000.
    pub(super) scale: u32,
    /// Sides of a picture in pixels; `None` for sound.
    pub(super) size: Option<(u16, u16)>,
    pub(super) samples: Vec<Sample>,
    /// Samples that stand together.
    pub(super) per_chunk: usize,
}

/// The file. All tracks last `milliseconds`.
pub(super) fn file(brand: &[u8; 4], milliseconds: u64, tracks: &[Track]) -> Vec<u8> {
    let compatible = [*brand, *b"isom", *b"iso2", *b"mp41"].map(FourCC::from).to_vec();
    let ftyp = Ftyp { major_brand: brand.into(), minor_version: 512, compatible_brands: compatible };
    let (data, offsets) = chunks(tracks);
    let head = |base: u32| {
        let moov = moov(milliseconds, tracks, &offsets, base);
        [encoded(&ftyp), encoded(&moov)].concat()
    };
    // The length of the tables does not depend on the offsets in them.
    let samples_begin = head(0).len() + 8;
    let head = head(u32::try_from(samples_begin).expect("tables of a short film are small"));
    [head, encoded(&Mdat { data })].concat()
}

fn encoded(atom: &impl Atom) -> Vec<u8> {
    let mut bytes = Vec::new();
    atom.encode(&mut bytes).expect("a Vec takes every byte, and no field is out of range");
    bytes
}

/// All chunks in the order of their times, and where those of each track begin.
fn chunks(tracks: &[Track]) -> (Vec<u8>, Vec<Vec<u32>>) {
    let mut chunks = Vec::new();
    for (number, track) in tracks.iter().enumerate() {
        let mut time = 0;
        for samples in track.samples.chunks(track.per_chunk) {
            chunks.push((time / u64::from(track.scale / 1000), number, samples));
            time += ticks(samples);
        }
    }
    chunks.sort_by_key(|(time, number, _)| (*time, *number));
    let (mut data, mut offsets) = (Vec::new(), vec![Vec::new(); tracks.len()]);
    for (_, number, samples) in chunks {
        offsets[number].push(u32::try_from(data.len()).expect("a film of one colour is small"));
        samples.iter().for_each(|sample| data.extend_from_slice(&sample.bytes));
    }
    (data, offsets)
}

fn ticks(samples: &[Sample]) -> u64 {
    samples.iter().map(|sample| u64::from(sample.duration)).sum()
}

fn moov(milliseconds: u64, tracks: &[Track], offsets: &[Vec<u32>], base: u32) -> Moov {
    let traks = (1..).zip(tracks.iter().zip(offsets));
    let trak = traks.map(|(number, (track, offsets))| track.trak(number, milliseconds, offsets, base));
    let trak: Vec<Trak> = trak.collect();
    let next_track_id = trak.last().map_or(1, |last| last.tkhd.track_id + 1);
    let mvhd = Mvhd {
        timescale: 1000,
        duration: milliseconds,
        rate: 1.into(),
        volume: 1.into(),
        matrix: UPRIGHT,
        next_track_id,
        ..Mvhd::default()
    };
    Moov { mvhd, meta: None, mvex: None, trak, udta: None, ainf: None }
}

impl Track {
    fn trak(&self, number: u32, milliseconds: u64, offsets: &[u32], base: u32) -> Trak {
        let (width, height) = self.size.unwrap_or_default();
        let (handler, name) = if self.size.is_some() { (b"vide", "video") } else { (b"soun", "sound") };
        let tkhd = Tkhd {
            track_id: number,
            duration: milliseconds,
            alternate_group: u16::from(self.size.is_none()),
            enabled: true,
            in_movie: true,
            volume: u8::from(self.size.is_none()).into(),
            matrix: UPRIGHT,
            width: width.into(),
            height: height.into(),
            ..Tkhd::default()
        };
        let mdhd = Mdhd {
            timescale: self.scale,
            duration: ticks(&self.samples),
            language: "und".to_owned(),
            ..Mdhd::default()
        };
        let minf = Minf {
            vmhd: self.size.map(|_| Vmhd::default()),
            smhd: self.size.is_none().then(Smhd::default),
            dinf: Dinf { dref: Dref { entries: vec![DrefEntry::Url(Url::default())] } },
            stbl: self.stbl(offsets, base),
            ..Minf::default()
        };
        let hdlr = Hdlr { handler: handler.into(), name: name.to_owned() };
        Trak { tkhd, mdia: Mdia { mdhd, hdlr, minf }, ..Trak::default() }
    }

    fn stbl(&self, offsets: &[u32], base: u32) -> Stbl {
        let samples = &self.samples;
        let sync = (1..).zip(samples).filter(|(_, sample)| sample.is_sync).map(|(number, _)| number);
        let durations = samples.iter().map(|sample| sample.duration);
        let held = samples.chunks(self.per_chunk).map(|chunk| number(chunk.len()));
        let chunks = runs(held).into_iter().scan(1, |chunk, (count, samples_per_chunk)| {
            let first_chunk = *chunk;
            *chunk += count;
            Some(StscEntry { first_chunk, samples_per_chunk, sample_description_index: 1 })
        });
        let sizes = samples.iter().map(|sample| number(sample.bytes.len())).collect();
        let run = |(sample_count, sample_delta)| SttsEntry { sample_count, sample_delta };
        Stbl {
            stsd: Stsd { codecs: vec![self.codec.clone()] },
            stts: Stts { entries: runs(durations).into_iter().map(run).collect() },
            stss: self.size.map(|_| Stss { entries: sync.collect() }),
            stsc: Stsc { entries: chunks.collect() },
            stsz: Stsz { samples: StszSamples::Different { sizes } },
            stco: Some(Stco { entries: offsets.iter().map(|offset| base + offset).collect() }),
            ..Stbl::default()
        }
    }
}

/// Equal neighbours: how many, and what.
fn runs(values: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((count, same)) if *same == value => *count += 1,
            _ => runs.push((1, value)),
        }
    }
    runs
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("a film of one colour is small")
}
