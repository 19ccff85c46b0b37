//! Hostile films: tables that lie, numbers that overflow, files cut anywhere. Always a clip or a reason, in bounded
//! memory.

use super::*;

/// Replaces a table's content in the first track that has it.
fn with_table(file: &[u8], name: &[u8; 4], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut file = file.to_vec();
    let moov = find(&file, b"moov", 0);
    let at = find(&file, name, moov) + 4;
    let size = u32::from_be_bytes(file[at - 8..at - 4].try_into().unwrap()) as usize;
    change(&mut file[at..at - 8 + size]);
    file
}

fn find(file: &[u8], name: &[u8; 4], from: usize) -> usize {
    from + memchr::memmem::find(&file[from..], name).unwrap_or_else(|| panic!("{name:?}"))
}

fn word(at: usize, value: u32) -> impl FnOnce(&mut [u8]) {
    move |content| content[at..at + 4].copy_from_slice(&value.to_be_bytes())
}

/// The one size of all samples, and how many there are.
fn two(size: u32, count: u32) -> impl FnOnce(&mut [u8]) {
    move |content| {
        word(4, size)(content);
        word(8, count)(content);
    }
}

fn renamed(file: &[u8], name: &[u8; 4], other: &[u8; 4]) -> Vec<u8> {
    let mut file = file.to_vec();
    let at = find(&file, name, find(&file, b"moov", 0));
    file[at..at + 4].copy_from_slice(other);
    file
}

#[test]
fn tables_that_lie_are_refused_with_their_names() {
    let mut spec = film();
    spec.tracks[0].edits = vec![(500, -1), (9500, 1000)];
    let file = spec.file();
    let length = file.len();
    let beyond = format!("track 1: its samples lie beyond the file's {length} bytes");
    for (broken, reason) in [
        (with_table(&file, b"stsz", word(8, u32::MAX)), "track 1: its stsz table is broken: out of bounds"),
        // One size for all of four thousand million samples.
        (with_table(&file, b"stsz", two(1, u32::MAX)), "track 1: the film has more than 1000000 samples"),
        (with_table(&file, b"stsz", two(u32::MAX, 240)), beyond.as_str()),
        (with_table(&file, b"stsz", word(12 + 4 * 100, u32::MAX)), &beyond),
        (with_table(&file, b"stts", word(4, u32::MAX)), "track 1: its stts table is broken: out of bounds"),
        (with_table(&file, b"stts", word(8, 239)), "track 1: its stts table describes 239 of 240 samples"),
        (with_table(&file, b"ctts", word(4, 239)), "track 1: its ctts table describes 239 of 240 samples"),
        (
            with_table(&file, b"ctts", word(0, 0x200_0000)),
            "track 1: its ctts table is broken: unknown version: 2",
        ),
        (with_table(&file, b"stss", word(8, 900)), "track 1: its stss table is out of order"),
        (with_table(&file, b"stss", word(8, 0)), "track 1: its stss table is out of order"),
        (with_table(&file, b"stss", word(4, 0)), "it has no sync sample to begin with"),
        (with_table(&file, b"stsc", word(8, 2)), "track 1: its stsc table is out of order"),
        (with_table(&file, b"stsc", word(20, 1)), "track 1: its stsc table is out of order"),
        (with_table(&file, b"stsc", word(12, 0)), "track 1: its chunks hold 236 of 240 samples"),
        (with_table(&file, b"stco", word(8, u32::MAX)), &beyond),
        (with_table(&file, b"stco", word(4, 1)), "track 1: its chunks hold 4 of 240 samples"),
        (with_table(&file, b"mdhd", word(12, 0)), "track 1: it has no timescale"),
        (with_table(&file, b"mvhd", word(12, 0)), "it has no timescale"),
        (with_table(&file, b"elst", word(4, 3)), "track 1: its elst table is broken: out of bounds"),
        (
            with_table(&file, b"elst", word(12, 0)),
            "track 1: its edit list has 2 parts, at most one can be cut",
        ),
        (with_table(&file, b"elst", word(28, 0x2_0000)), "track 1: its edit list changes the speed"),
        (with_table(&file, b"elst", word(8, u32::MAX)), "track 1: its edit list is longer than a day"),
        (renamed(&file, b"stsz", b"stz2"), "track 1: it has no stsz table"),
        (renamed(&file, b"stts", b"free"), "track 1: it has no stts table"),
        (renamed(&file, b"stsc", b"free"), "track 1: it has no stsc table"),
        (renamed(&file, b"stco", b"free"), "track 1: it has no co64 table"),
        (renamed(&file, b"stsd", b"free"), "track 1: it has no stsd table"),
        (renamed(&file, b"avc1", b"encv"), "track 1: it is encrypted"),
        (renamed(&file, b"mdia", b"free"), "track 1: it has no mdia box"),
        (renamed(&file, b"minf", b"free"), "track 1: it has no minf box"),
        (renamed(&file, b"mvhd", b"free"), "it has no timescale"),
        (renamed(&file, b"udta", b"mvex"), "it is a fragmented file, only a progressive one can be cut"),
        (renamed(&renamed(&file, b"trak", b"free"), b"trak", b"free"), "it has neither video nor audio"),
    ] {
        assert_eq!(cut(&broken, &clip(0, None)).err().as_deref(), Some(reason));
    }
    oracle::check(&file, &clip(700, None), &cut(&file, &clip(700, None)).unwrap());
}

/// Samples may share bytes; the clip has them once.
#[test]
fn samples_that_share_bytes_do_not_make_a_file_larger() {
    let mut spec = film();
    spec.tracks.truncate(1);
    spec.tracks[0].per_chunk = 1;
    let file = spec.file();
    let shared = with_table(&file, b"stco", |content| {
        let first: [u8; 4] = content[8..12].try_into().unwrap();
        content[8..].chunks_exact_mut(4).for_each(|offset| offset.copy_from_slice(&first));
    });
    let out = cut(&shared, &clip(0, None)).unwrap();
    let walked = walker::walk(&out);
    assert_eq!(walked.tracks[0].samples.len(), 240);
    let longest = spec.tracks[0].samples.iter().map(|sample| sample.bytes.len()).max().unwrap();
    assert_eq!(walked.data, longest);
}

/// Numbers that break careless arithmetic.
fn evil() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        prop::sample::select(vec![0, 1, 2, 7, 8, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, u32::MAX]),
        0_u32..300,
    ]
}

/// A clip or a reason. Its head is no longer than the film's but for its edit lists, and it has no byte of the film twice.
fn survives(file: &[u8], clip: &Clip) {
    if let Ok(plan) = planned(file, clip) {
        assert!(plan.head.len() <= file.len() + 200, "{} bytes of {}", plan.head.len(), file.len());
        assert!(plan.parts.last().is_none_or(|part| part.end <= file.len() as u64), "{:?}", plan.parts);
        assert!(plan.parts.is_sorted_by(|before, after| before.end < after.start), "{:?}", plan.parts);
        let _ = crate::facts(&cut(file, clip).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_change_of_the_head_makes_it_panic(
        spec in any_film(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), evil()), 1..8),
        from in prop_oneof![0_u64..3000, any::<u64>()],
        to in prop::option::of(any::<u64>()),
    ) {
        let mut file = spec.file();
        let moov = find(&file, b"moov", 0) - 4;
        let length = u32::from_be_bytes(file[moov..moov + 4].try_into().unwrap()) as usize;
        for (at, value) in changes {
            // Numbers stand on multiples of four bytes from the box's beginning.
            let at = moov + at.index(length / 4 - 2) * 4 + 8;
            file[at..at + 4].copy_from_slice(&value.to_be_bytes());
        }
        survives(&file, &clip(from, to));
    }

    #[test]
    fn no_byte_and_no_length_makes_it_panic(
        spec in any_film(),
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        length in any::<prop::sample::Index>(),
        from in 0_u64..3000,
    ) {
        let mut file = spec.file();
        for (at, byte) in bytes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let shorter = length.index(file.len() * 2).min(file.len());
        survives(&file[..shorter], &clip(from, None));
    }
}

#[tokio::test]
async fn no_file_breaks_the_store() {
    let test = TestMedia::with(&[], Config::default());
    let file = film().file();
    for step in 0..60 {
        let mut broken = file[..file.len() - step * file.len() / 80].to_vec();
        // The boxes of the file itself, one byte after another.
        for at in [0, 32, 40].into_iter().map(|at| at + step % 8).take(step % 4) {
            broken[at] ^= 0x81;
        }
        let source = format!("data:video/mp4;base64,{}", STANDARD.encode(&broken));
        if let Err(reason) = save(&test, &source, clip(1000, Some(2000))).await {
            assert!(reason.starts_with("the result cannot be cut: "), "{reason}");
        }
    }
    assert!(test.files().iter().all(|file| file.starts_with("media/")), "{:?}", test.files());
}
