//! Films behind URLs: what is fetched to know them, and what a server may do.

use gatehouse_harness::{Provider, Received, reply};
use gatehouse_model::{Facts, MediaKind, Probe};

use super::clips::maker::{FilmSpec, Order, audio, boxed, video, words};
use super::*;

const MIB: usize = 1024 * 1024;

/// A film of two seconds, 64x48, that is as long as this.
fn film(length: usize, moov_first: bool) -> Vec<u8> {
    let tracks = vec![video(50, 25, 25_000, 1000, Order::AsDecoded), audio(94, 48_000)];
    let plain = FilmSpec { moov_first, ..FilmSpec::new(tracks.clone()) }.file();
    // Between every two chunks.
    let gaps = 50_usize.div_ceil(4) + 94_usize.div_ceil(3);
    let gap = length.saturating_sub(plain.len()) / gaps;
    FilmSpec { moov_first, gap, ..FilmSpec::new(tracks) }.file()
}

/// A sound that says nothing of itself, of that length.
fn sound(length: usize) -> Vec<u8> {
    [b"fLaC".to_vec(), vec![0; length - 4]].concat()
}

/// What a request's `Range` asks for of a file.
fn part(request: &Received, file: &[u8]) -> Option<(usize, usize)> {
    let (first, last) = request.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
    let last: usize = last.parse().ok()?;
    Some((first.parse().ok()?, (last + 1).min(file.len())))
}

/// A server of one file that answers ranges.
async fn serve_parts(file: Vec<u8>) -> Provider {
    Provider::start(move |request| match part(request, &file) {
        Some((from, to)) => {
            let range = format!("bytes {from}-{}/{}", to - 1, file.len());
            reply(206, &[("content-range", &range)], file[from..to].to_vec())
        }
        None => reply(200, &[], file.clone()),
    })
    .await
}

async fn facts(server: &Provider) -> Result<Facts, String> {
    // Files of up to 1 MiB.
    let test = TestMedia::new(&[server.address]);
    let probe = Probe { source: server.url() + "/film.mp4", keep: false };
    test.media.probe(&probe, &test.media.blobs_of([])).await.unwrap().found
}

/// Bytes a server has sent.
fn sent(server: &Provider, file: &[u8]) -> usize {
    let of = |request: &Received| part(request, file).map_or(file.len(), |(from, to)| to - from);
    server.received().iter().map(of).sum()
}

#[tokio::test]
async fn a_long_film_is_known_by_its_tables() {
    for moov_first in [true, false] {
        let file = film(9 * MIB, moov_first);
        let server = serve_parts(file.clone()).await;
        let found = facts(&server).await.unwrap();
        assert_eq!((found.mime.as_str(), found.bytes), ("video/mp4", file.len() as u64));
        assert_eq!((found.width, found.height, found.milliseconds), (Some(64), Some(48), Some(2005)));
        assert_eq!((found.has_audio, found.fps_milli), (Some(true), Some(25_000)));
        let requests = server.received().len();
        assert_eq!(requests, if moov_first { 1 } else { 2 }, "moov first: {moov_first}");
        assert!(sent(&server, &file) <= 512 * 1024, "{} of {} bytes", sent(&server, &file), file.len());
    }
}

/// Without it a film that no program opens to its end is handed to the provider.
#[tokio::test]
async fn a_film_that_says_it_is_longer_is_no_medium() {
    for (length, moov_first) in [(9 * MIB, true), (9 * MIB, false), (MIB / 8, true), (MIB / 8, false)] {
        let file = film(length, moov_first);
        let server = serve_parts(file[..file.len() - 500].to_vec()).await;
        let found = facts(&server).await.unwrap();
        let known = (found.kind, found.mime.as_str(), found.bytes);
        assert_eq!(known, (MediaKind::Other, "application/x-truncated-mp4", file.len() as u64 - 500));
    }
}

#[tokio::test]
async fn every_fragment_of_a_long_film_counts() {
    let mdia = boxed(b"mdhd", &words(&[0, 0, 0, 1000, 0, 0]));
    let trak = [boxed(b"tkhd", &words(&[0, 0, 0, 1, 0, 0])), boxed(b"mdia", &mdia)].concat();
    let mvex = boxed(b"trex", &words(&[0, 1, 1, 0, 0, 0]));
    let moov = [boxed(b"mvhd", &words(&[0, 0, 0, 1000, 0, 0])), boxed(b"trak", &trak), boxed(b"mvex", &mvex)];
    let head = [boxed(b"ftyp", b"isom\0\0\0\0"), boxed(b"moov", &moov.concat())].concat();
    let fragment = |ticks: u32| {
        let traf = [boxed(b"tfhd", &words(&[0, 1])), boxed(b"trun", &words(&[0x100, 1, ticks]))].concat();
        [boxed(b"moof", &boxed(b"traf", &traf)), boxed(b"mdat", &vec![0; MIB])].concat()
    };
    let file = [head, fragment(1500), fragment(2500), fragment(1001)].concat();
    let server = serve_parts(file.clone()).await;
    let found = facts(&server).await.unwrap();
    assert_eq!((found.milliseconds, found.bytes), (Some(5001), file.len() as u64));
    assert!(sent(&server, &file) < 2 * MIB);
}

#[tokio::test]
async fn a_server_without_ranges_is_read_up_to_the_limit() {
    let serve_whole = |file: Vec<u8>| Provider::start(move |_| reply(200, &[], file.clone()));
    // Known from the beginning, however long.
    let server = serve_whole(film(4 * MIB, true)).await;
    assert_eq!(facts(&server).await.unwrap().milliseconds, Some(2005));
    // The end would have to be fetched, and the whole is too long.
    let server = serve_whole(film(4 * MIB, false)).await;
    assert_eq!(facts(&server).await, Err("could not be fetched: it is larger than 1 MiB".to_owned()));
    // Any other file is fetched whole.
    let server = serve_whole(sound(MIB)).await;
    assert_eq!(facts(&server).await.unwrap().bytes, MIB as u64);
    assert_eq!(server.received().len(), 1);
    let server = serve_whole(sound(MIB + 1)).await;
    assert_eq!(facts(&server).await, Err("could not be fetched: it is larger than 1 MiB".to_owned()));
}

#[tokio::test]
async fn a_picture_is_known_by_its_beginning() {
    for length in [1000, 256 * 1024, 256 * 1024 + 1, MIB, 3 * MIB] {
        let server = serve_parts(picture(length)).await;
        let found = facts(&server).await.unwrap();
        assert_eq!((found.mime.as_str(), found.bytes), ("image/png", length as u64));
        assert!(found.width.is_some(), "{length}");
        assert_eq!(server.received().len(), 1, "{length}");
    }
}

#[tokio::test]
async fn other_files_that_are_no_films_are_fetched_whole() {
    for (length, requests) in [(1000, 1), (256 * 1024, 1), (256 * 1024 + 1, 2), (MIB, 2)] {
        let server = serve_parts(sound(length)).await;
        let found = facts(&server).await.unwrap();
        assert_eq!((found.mime.as_str(), found.bytes), ("audio/flac", length as u64));
        assert_eq!(server.received().len(), requests, "{length}");
    }
    let server = serve_parts(sound(MIB + 1)).await;
    assert_eq!(facts(&server).await, Err("could not be fetched: it is larger than 1 MiB".to_owned()));
}

#[tokio::test]
async fn servers_that_lie_about_parts_are_found_out() {
    let file = film(4 * MIB, false);
    let lie = |range: &'static str| {
        let file = file.clone();
        Provider::start(move |_| reply(206, &[("content-range", range)], file[..1000].to_vec()))
    };
    for range in ["bytes 5-1004/4194304", "bytes */4194304", "lines 0-999/4194304", "bytes 0-999/0"] {
        let server = lie(range).await;
        let found = facts(&server).await;
        assert!(
            found.is_err() || found.as_ref().is_ok_and(|found| found.milliseconds.is_none()),
            "{range}: {found:?}"
        );
    }
    // A total that grows must not make it ask for ever.
    let endless = Provider::start(move |request| {
        let (from, to) = part(request, &[0; 64]).map_or((0, 64), |(from, _)| (from, from + 64));
        let mut box_of_16 = b"\0\0\0\x10ftypisom\0\0\0\0".repeat(4);
        box_of_16.truncate(to - from);
        let range = format!("bytes {from}-{}/99999999999", to - 1);
        reply(206, &[("content-range", &range)], box_of_16)
    })
    .await;
    assert!(facts(&endless).await.is_err() || endless.received().len() <= 64);
}
