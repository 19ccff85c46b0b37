//! Clips: the right samples, unchanged, in step, in a file that an independent reader takes.

mod hostile;
pub(crate) mod maker;
mod oracle;
mod walker;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{Clip, Edit, Media, MediaKind, Product};
use maker::{FilmSpec, Order, TrackSpec, audio, video};
use proptest::prelude::*;

use super::*;
use crate::edit::apply::Stored;
use crate::edit::clip::plan::{Edited, Film, plan};
use crate::media_store::blob_path;
use crate::probe::mp4::child;
use crate::storage::writer::Writer;

fn clip(from_ms: u64, to_ms: Option<u64>) -> Clip {
    Clip { from_ms, to_ms }
}

fn planned(file: &[u8], clip: &Clip) -> Result<Edited, String> {
    let part = |name| Bytes::copy_from_slice(child(file, name).unwrap_or_default());
    plan(&Film { ftyp: part(b"ftyp"), moov: part(b"moov"), length: file.len() as u64 }, clip)
}

/// The clip of a film in memory, put together as the store would.
fn cut(file: &[u8], clip: &Clip) -> Result<Vec<u8>, String> {
    let mut plan = planned(file, clip)?;
    for part in plan.parts {
        plan.head.extend_from_slice(&file[part.start as usize..part.end as usize]);
    }
    Ok(plan.head)
}

/// Ten seconds, a sync sample every second, frames out of order, as encoders write them.
fn film() -> FilmSpec {
    let mut video = video(240, 24, 24_000, 1000, Order::Reordered);
    video.edits = vec![(10_000, 1000)];
    FilmSpec::new(vec![video, audio(469, 48_000)])
}

#[test]
fn a_clip_begins_at_the_sync_sample_at_or_before() {
    let file = film().file();
    for (from, to, first, last, length) in [
        (3500, Some(6200), 72, 148, 3200),
        (3000, Some(6000), 72, 143, 3000),
        (3999, Some(4000), 72, 95, 1000),
        (4000, Some(4001), 96, 96, 1),
        (9999, None, 216, 239, 1005),
        (0, None, 0, 239, 10_005),
        (0, Some(u64::MAX), 0, 239, 10_005),
        (0, Some(1), 0, 0, 1),
    ] {
        let clip = clip(from, to);
        let out = cut(&file, &clip).unwrap();
        oracle::check(&file, &clip, &out);
        let walked = walker::walk(&out);
        let (video, sound) = (&walked.tracks[0], &walked.tracks[1]);
        let number = |index: u32| [&b"v"[..], &index.to_be_bytes()].concat();
        assert!(video.samples[0].is_sync && video.samples[0].bytes.starts_with(&number(first)), "{clip:?}");
        assert!(video.samples.last().unwrap().bytes.starts_with(&number(last)), "{clip:?}");
        // Sound begins within the frame that is heard at the first picture.
        let (_, heard_at) = *sound.edits.last().unwrap();
        assert!((0..1024).contains(&heard_at) && sound.edits.len() == 1, "{:?}", sound.edits);
        let facts = crate::facts(&out);
        assert_eq!((facts.kind, facts.mime.as_str()), (MediaKind::Video, "video/mp4"));
        assert_eq!((facts.width, facts.height, facts.has_audio), (Some(64), Some(48), Some(true)));
        assert_eq!((facts.milliseconds, facts.fps_milli), (Some(length), Some(24_000)), "{clip:?}");
    }
}

#[test]
fn however_a_film_is_laid_out_its_clip_is_the_same() {
    let mut seen: Option<Vec<u8>> = None;
    for (moov_first, long_offsets, gap) in
        [(false, false, 0), (true, false, 0), (false, true, 0), (true, true, 3), (false, false, 100)]
    {
        let file = FilmSpec { moov_first, long_offsets, gap, ..film() }.file();
        let clip = clip(2500, Some(7100));
        let out = cut(&file, &clip).unwrap();
        oracle::check(&file, &clip, &out);
        assert!(seen.get_or_insert_with(|| out.clone()) == &out, "{moov_first} {long_offsets} {gap}");
    }
}

#[test]
fn what_films_may_have_or_lack() {
    let silent = FilmSpec::new(vec![video(100, 10, 12_800, 512, Order::AsDecoded)]);
    let sound_only = FilmSpec::new(vec![audio(500, 44_100)]);
    let leading = FilmSpec::new(vec![video(100, 10, 600, 25, Order::Leading), audio(200, 48_000)]);
    let mut intra = video(100, 1, 90_000, 3600, Order::AsDecoded);
    intra.has_stss = false;
    let intra = FilmSpec::new(vec![intra, audio(200, 48_000)]);
    let mut late = audio(100, 48_000);
    late.edits = vec![(1500, -1), (2133, 0)];
    let late = FilmSpec::new(vec![video(100, 25, 25, 1, Order::AsDecoded), late]);
    // Encoders for streaming: the sync sample has no delay, frames before it in time have negative ones.
    let mut negative = video(100, 10, 25, 1, Order::Reordered);
    negative.samples.iter_mut().for_each(|sample| sample.offset -= 1);
    let negative = FilmSpec::new(vec![negative, audio(200, 48_000)]);
    // Another program has cut it before, and hid the beginning.
    let mut hidden = video(100, 50, 25, 1, Order::AsDecoded);
    hidden.edits = vec![(2000, 20)];
    let mut hidden_sound = audio(200, 48_000);
    hidden_sound.edits = vec![(2000, 38_400)];
    let hidden = FilmSpec::new(vec![hidden, hidden_sound]);
    // At 216 ms it waits for less than a tick of the movie. A frame at exactly 884 ms is not that of 883 ms, though its
    // parts round to less.
    let mut barely = video(60, 1, 24_000, 1001, Order::AsDecoded);
    barely.edits = vec![(130, -1), (1200, 1001)];
    let barely = FilmSpec { movie_scale: 600, ..FilmSpec::new(vec![barely]) };
    let two = vec![audio(150, 48_000), video(75, 25, 25, 1, Order::AsDecoded), audio(90, 24_000)];
    for (name, spec) in [
        ("silent", silent),
        ("sound only", sound_only),
        ("leading", leading),
        ("intra", intra),
        ("late", late),
        ("negative", negative),
        ("hidden", hidden),
        ("barely late", barely),
        ("two sounds", FilmSpec::new(two)),
    ] {
        let file = spec.file();
        for (from, to) in [
            (0, None),
            (1, Some(900)),
            (216, None),
            (883, Some(1100)),
            (400, Some(1000)),
            (1200, None),
            (1999, Some(2001)),
            (1300, Some(1400)),
        ] {
            let clip = clip(from, to);
            let out = cut(&file, &clip).unwrap_or_else(|reason| panic!("{name} {clip:?}: {reason}"));
            oracle::check(&file, &clip, &out);
        }
    }
}

#[test]
fn tracks_that_are_neither_video_nor_audio_are_left_out() {
    let mut spec = film();
    let text = TrackSpec { handler: b"text", entry: b"tx3g", ..audio(469, 48_000) };
    spec.tracks.insert(1, text);
    let wanted = clip(2000, Some(4000));
    let out = walker::walk(&cut(&spec.file(), &wanted).unwrap());
    let handlers: Vec<_> = out.tracks.iter().map(|track| &track.handler).collect();
    assert_eq!(handlers, [b"vide", b"soun"]);
    let (with, without) = (out, walker::walk(&cut(&film().file(), &wanted).unwrap()));
    assert_eq!(with.tracks[1].samples, without.tracks[1].samples);
    assert_eq!(with.data, without.data);
}

/// Four seconds each, a sync sample every second, sound beside the pictures; one has its tables in front.
const REAL: [(&str, &[u8]); 3] = [
    ("H.264", include_bytes!("real/h264.mp4")),
    ("H.265, open groups", include_bytes!("real/h265.mp4")),
    ("AV1", include_bytes!("real/av1.mp4")),
];

#[test]
fn films_of_real_encoders_are_cut() {
    for (name, file) in REAL {
        for (from, to, length) in
            [(0, None, 4000), (1500, Some(2700), 1700), (2000, None, 2000), (3999, None, 1000)]
        {
            let clip = clip(from, to);
            let out = cut(file, &clip).unwrap_or_else(|reason| panic!("{name} {clip:?}: {reason}"));
            oracle::check(file, &clip, &out);
            let facts = crate::facts(&out);
            assert_eq!((facts.milliseconds, facts.has_audio), (Some(length), Some(true)), "{name} {clip:?}");
            assert_eq!((facts.width, facts.height), (Some(64), Some(48)), "{name} {clip:?}");
        }
    }
}

/// Any film of these shapes, any span of it.
fn any_film() -> impl Strategy<Value = FilmSpec> {
    let orders = prop::sample::select(vec![Order::AsDecoded, Order::Reordered, Order::Leading]);
    let times = prop::sample::select(vec![(24_000_u32, 1001_u32), (12_800, 512), (600, 25), (90_000, 3003)]);
    let frames = (1_u32..70, 1_u32..14, times, orders, 1_usize..9, 0_u8..4, any::<bool>());
    let pictures = frames.prop_map(|(frames, group, (scale, duration), order, per_chunk, edit, has_stss)| {
        let track = video(frames, group, scale, duration, order);
        let edits = match edit {
            0 => vec![],
            1 => vec![(0, duration as i32)],
            2 => vec![(130, -1), (1000, duration as i32)],
            _ => vec![(900, 2 * duration as i32)],
        };
        TrackSpec { per_chunk, edits, has_stss: has_stss || group > 1, ..track }
    });
    let rates = prop::sample::select(vec![48_000_u32, 44_100, 24_000]);
    let sound = (1_u32..120, rates, 1_usize..9, 0_u8..3).prop_map(|(frames, scale, per_chunk, edit)| {
        let edits = match edit {
            0 => vec![],
            1 => vec![(1500, 1024)],
            _ => vec![(77, -1), (2000, 0)],
        };
        TrackSpec { per_chunk, edits, ..audio(frames, scale) }
    });
    let layout =
        (prop::sample::select(vec![600_u32, 1000, 90_000]), any::<bool>(), any::<bool>(), 0_usize..4);
    (pictures, prop::option::of(sound), layout).prop_map(|(pictures, sound, layout)| {
        let (movie_scale, moov_first, long_offsets, gap) = layout;
        let tracks = [pictures].into_iter().chain(sound).collect();
        FilmSpec { tracks, movie_scale, moov_first, long_offsets, gap }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    /// A film is cut exactly, or there is a reason that holds.
    #[test]
    fn any_span_of_any_film(spec in any_film(), from in 0_u64..3500, length in prop::option::of(1_u64..3000)) {
        let file = spec.file();
        let clip = clip(from, length.map(|length| from + length));
        match cut(&file, &clip) {
            Ok(out) => oracle::check(&file, &clip, &out),
            Err(reason) => oracle::check_reason(&file, &clip, &reason),
        }
    }
}

async fn save(test: &TestMedia, source: &str, clip: Clip) -> Result<Media, String> {
    let (source, mime) = (source.to_owned(), Some("video/mp4".to_owned()));
    super::save(test, &Product { source, mime, edit: Some(Edit::Clip(clip)) }).await
}

#[tokio::test]
async fn a_clip_is_copied_from_wherever_the_film_is() {
    // Larger than one part of an upload, read in many pieces, with long gaps between what is kept.
    let mut spec = film();
    spec.gap = 40_000;
    let file = spec.file();
    let served = file.clone();
    let server = serve(move |_| (200, "video/mp4", served.clone())).await;
    let test = TestMedia::with(&[server.address], Config::default());
    let blob = blob(&test, &file);
    test.media.keep(std::slice::from_ref(&blob)).await.unwrap();
    let wanted = clip(2500, Some(7100));
    let expected = cut(&file, &wanted).unwrap();
    oracle::check(&file, &wanted, &expected);
    for source in [
        format!("{}/film", server.url()),
        format!("data:video/mp4;base64,{}", STANDARD.encode(&file)),
        format!("blob:{}", blob.id),
    ] {
        let media = save(&test, &source, wanted).await.unwrap();
        assert_eq!((media.mime.as_str(), media.bytes), ("video/mp4", expected.len() as u64));
        assert!(content(&test, &media).await == expected);
    }
    // Of the films only the one that was there before is left.
    let blobs: Vec<_> = test.files().into_iter().filter(|file| file.starts_with("blobs/")).collect();
    assert_eq!((blobs.len(), test.files().len()), (1, 4), "{blobs:?}");
}

#[tokio::test]
async fn parts_are_copied_exactly_however_far_apart() {
    let test = TestMedia::with(&[], Config::default());
    let bytes = picture(3_000_000);
    let blob = blob(&test, &bytes);
    test.media.keep(std::slice::from_ref(&blob)).await.unwrap();
    let source = Stored { path: blob_path(blob.id), length: bytes.len() as u64 };
    for parts in [
        &[][..],
        &[(0, 3_000_000)],
        // Beside, across and apart from the pieces in which a file is read.
        &[(0, 1), (5, 262_144), (262_145, 262_146), (300_000, 1_000_000), (1_300_000, 1_300_001)],
        &[(262_143, 262_145), (524_288, 524_289), (786_500, 786_501), (2_000_000, 2_262_144)],
        &[(1, 2), (2_999_999, 3_000_000)],
    ] {
        let parts: Vec<_> = parts.iter().map(|&(start, end)| start..end).collect();
        let objects = &test.media.0.objects;
        let path = object_store::path::Path::from("media/copy");
        let mut writer = Writer::new(objects, path.clone());
        test.media.0.editor.copy_parts(&source, &parts, &mut writer).await.unwrap();
        writer.finish().await.unwrap();
        let expected: Vec<u8> =
            parts.iter().flat_map(|part| &bytes[part.start as usize..part.end as usize]).copied().collect();
        assert!(collect(objects.read(&path).await.unwrap().unwrap().body).await == expected, "{parts:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_cut_is_lost_with_a_reason() {
    let test = TestMedia::with(&[], Config { max_result_mib: 1, ..Config::default() });
    let picture = png(3, 2);
    let whole = film().file();
    let cut_short = whole[..whole.len() - 5].to_vec();
    let moof = [&whole[..32], &maker::boxed(b"moof", b"")].concat();
    let no_moov = whole[..1000].to_vec();
    let huge = [&whole[..32], &[0x7f, 0xff, 0xff, 0xff], b"moov"].concat();
    let boxes = [&whole[..32], maker::boxed(b"free", b"").repeat(200).as_slice()].concat();
    let large = [&whole[..32], &maker::boxed(b"mdat", &vec![0; 1024 * 1024])].concat();
    let long = whole.len();
    for (file, from, to, reason) in [
        (&whole, 5, Some(5), "a clip must end after it begins, got 5 ms to 5 ms".to_owned()),
        (&whole, 10_000, None, "it is 10000 ms long, the clip begins at 10000 ms".to_owned()),
        (&whole, u64::MAX, None, format!("it is 10000 ms long, the clip begins at {} ms", u64::MAX)),
        (&picture, 0, None, "only an MP4 file has clips, got image/png".to_owned()),
        (&b"<html>".to_vec(), 0, None, "only an MP4 file has clips, got bytes of no known kind".to_owned()),
        (&cut_short, 0, None, {
            let moov = child(&whole, b"moov").unwrap().len();
            format!(
                "its moov box of {moov} bytes is too large, at most 16777216 bytes of a file of {}",
                long - 5
            )
        }),
        (&moof, 0, None, "it is a fragmented file, only a progressive one can be cut".to_owned()),
        (&no_moov, 0, None, "it has no moov box".to_owned()),
        (
            &huge,
            0,
            None,
            "its moov box of 2147483639 bytes is too large, at most 16777216 bytes of a file of 40"
                .to_owned(),
        ),
        (&boxes, 0, None, "it has no moov box".to_owned()),
    ] {
        let source = format!("data:video/mp4;base64,{}", STANDARD.encode(file));
        let saved = save(&test, &source, clip(from, to)).await;
        assert_eq!(saved.err(), Some(format!("the result cannot be cut: {reason}")));
    }
    let source = format!("data:video/mp4;base64,{}", STANDARD.encode(large));
    let saved = save(&test, &source, clip(0, None)).await;
    assert_eq!(saved.err().unwrap(), "the result could not be fetched: it is larger than 1 MiB");
    assert_eq!(save(&test, "data:;base64,", clip(0, None)).await.err().unwrap(), "the result is empty");
    assert_eq!(test.files(), Vec::<String>::new());
}
