//! The files of `gatehouse-sandbox-files`, read back: pictures by their decoders, tables of films by a reader of MP4, their
//! pictures by a reader of H.264. They stand here because that crate is optimized in a debug build, and so would they be.

use gatehouse_sandbox_files::{Film, Picture, Sheet, Sound, SoundFormat};
use h264_reader::Context;
use h264_reader::nal::pps::PicParameterSet;
use h264_reader::nal::slice::{SliceFamily, SliceHeader};
use h264_reader::nal::sps::SeqParameterSet;
use h264_reader::nal::{Nal, RefNal, UnitType};
use h264_reader::rbsp::BitRead;
use image::ImageFormat;
use mp4_atom::{Codec, Moov, ReadFrom, Stbl, StszSamples};

/// The tables and the whole file.
fn moov(file: &[u8]) -> Moov {
    let mut rest = file;
    loop {
        match mp4_atom::Any::read_from(&mut rest).expect("whole boxes") {
            mp4_atom::Any::Moov(moov) => return moov,
            mp4_atom::Any::Ftyp(_) => {}
            other => panic!("{other:?} before the tables"),
        }
    }
}

/// The bytes of each sample, in order.
fn samples<'a>(file: &'a [u8], stbl: &Stbl) -> Vec<&'a [u8]> {
    let StszSamples::Different { sizes } = &stbl.stsz.samples else { panic!("one size") };
    let offsets = &stbl.stco.as_ref().expect("offsets").entries;
    let mut sizes = sizes.iter();
    let mut samples = Vec::new();
    for (chunk, offset) in (1..).zip(offsets) {
        let run = stbl.stsc.entries.iter().rfind(|run| run.first_chunk <= chunk).expect("a run");
        let mut at = *offset as usize;
        for size in sizes.by_ref().take(run.samples_per_chunk as usize) {
            samples.push(&file[at..at + *size as usize]);
            at += *size as usize;
        }
    }
    assert!(sizes.next().is_none(), "samples in no chunk");
    samples
}

fn film(width: u32, height: u32, milliseconds: u64, sound: bool) -> Film {
    Film { width, height, milliseconds, sound, colour: [200, 40, 90] }
}

#[test]
fn every_table_says_the_size_and_the_length() {
    for (width, height, milliseconds) in [
        (16, 16, 1),
        (1280, 720, 5000),
        (1088, 832, 2023),
        (240, 4096, 999),
        (2, 2, 1040),
        (1921, 1081, 10_001),
    ] {
        for sound in [false, true] {
            let file = film(width, height, milliseconds, sound).mp4();
            let moov = moov(&file);
            assert_eq!((moov.mvhd.timescale, moov.mvhd.duration), (1000, milliseconds));
            assert_eq!(moov.trak.len(), 1 + usize::from(sound));
            for trak in &moov.trak {
                assert_eq!(trak.tkhd.duration, milliseconds);
                let mdhd = &trak.mdia.mdhd;
                assert_eq!(mdhd.duration * 1000, milliseconds * u64::from(mdhd.timescale));
                let times = &trak.mdia.minf.stbl.stts.entries;
                let ticks = times.iter().map(|run| u64::from(run.sample_count) * u64::from(run.sample_delta));
                assert_eq!(ticks.sum::<u64>(), mdhd.duration);
                let count: u32 = times.iter().map(|run| run.sample_count).sum();
                assert_eq!(samples(&file, &trak.mdia.minf.stbl).len(), count as usize);
            }
            let video = &moov.trak[0];
            assert_eq!(
                (video.tkhd.width.integer(), video.tkhd.height.integer()),
                (width as u16, height as u16)
            );
            assert_eq!(video.mdia.hdlr.handler, mp4_atom::FourCC::new(b"vide"));
            if sound {
                assert_eq!(moov.trak[1].mdia.hdlr.handler, mp4_atom::FourCC::new(b"soun"));
                assert!(matches!(moov.trak[1].mdia.minf.stbl.stsd.codecs[..], [Codec::Mp4a(_)]));
            }
        }
    }
}

#[test]
fn pictures_are_of_the_size_and_say_what_they_are() {
    for (width, height, coded) in [
        (1280, 720, (1280, 720)),
        (1920, 1080, (1920, 1080)),
        (18, 34, (18, 34)),
        (17, 33, (18, 34)),
        (16, 4096, (16, 4096)),
    ] {
        let file = film(width, height, 2120, false).mp4();
        let moov = moov(&file);
        let stbl = &moov.trak[0].mdia.minf.stbl;
        let [Codec::Avc1(avc1)] = &stbl.stsd.codecs[..] else { panic!("not H.264") };
        let mut context = Context::new();
        let sps = RefNal::new(&avc1.avcc.sequence_parameter_sets[0], &[], true);
        let sps = SeqParameterSet::from_bits(sps.rbsp_bits()).expect("a sequence parameter set");
        assert_eq!(sps.pixel_dimensions().expect("dimensions"), coded);
        assert_eq!(
            (u16::try_from(coded.0), u16::try_from(coded.1)),
            (Ok(avc1.visual.width), Ok(avc1.visual.height))
        );
        context.put_seq_param_set(sps);
        let pps = RefNal::new(&avc1.avcc.picture_parameter_sets[0], &[], true);
        let pps = PicParameterSet::from_bits(&context, pps.rbsp_bits()).expect("a picture parameter set");
        context.put_pic_param_set(pps);

        let samples = samples(&file, stbl);
        assert_eq!(samples.len(), 53);
        assert_eq!(stbl.stss.as_ref().expect("sync samples").entries, [1, 26, 51]);
        for (at, sample) in samples.into_iter().enumerate() {
            let (length, unit) = sample.split_at(4);
            assert_eq!(u32::from_be_bytes(length.try_into().expect("four bytes")) as usize, unit.len());
            let unit = RefNal::new(unit, &[], true);
            let head = unit.header().expect("a header");
            let key = at % 25 == 0;
            assert_eq!(
                head.nal_unit_type(),
                if key {
                    UnitType::SliceLayerWithoutPartitioningIdr
                } else {
                    UnitType::SliceLayerWithoutPartitioningNonIdr
                }
            );
            let mut bits = unit.rbsp_bits();
            let (slice, _, _) =
                SliceHeader::from_bits(&context, &mut bits, head, None).expect("a slice header");
            assert_eq!(usize::from(slice.frame_num), at % 25);
            assert_eq!(slice.slice_type.family, if key { SliceFamily::I } else { SliceFamily::P });
            let macroblocks = coded.0.div_ceil(16) * coded.1.div_ceil(16);
            if key {
                assert_eq!(bits.read_ue("mb_type").expect("bits"), 25, "plain samples");
                while !bits.byte_aligned() {
                    assert!(!bits.read_bit("alignment").expect("bits"));
                }
                // 200, 40, 90 in BT.709, by hand.
                for (count, expected) in [(256, 83), (64, 134), (64, 196)] {
                    for _ in 0..count {
                        assert_eq!(bits.read::<8, u8>("sample").expect("bits"), expected);
                    }
                }
            } else {
                assert_eq!(bits.read_ue("mb_skip_run").expect("bits"), macroblocks);
                assert!(!bits.has_more_rbsp_data("end").expect("bits"));
            }
        }
    }
}

#[test]
fn sounds_have_their_length() {
    let wav = Sound { format: SoundFormat::Wav, milliseconds: 2023 }.encode();
    let rate = u32::from_le_bytes(wav[28..32].try_into().expect("four bytes"));
    assert_eq!(u64::try_from(wav.len() - 44).expect("small") * 1000, 2023 * u64::from(rate));
    let mp3 = Sound { format: SoundFormat::Mp3, milliseconds: 2023 }.encode();
    assert_eq!(mp3.len(), 85 * 96, "2040 ms");
    let m4a = Sound { format: SoundFormat::M4a, milliseconds: 2023 }.encode();
    let moov = moov(&m4a);
    assert_eq!((moov.mvhd.duration, moov.trak[0].mdia.mdhd.duration), (2023, 2023 * 48));
}

fn picture(width: u32, height: u32, format: ImageFormat, tint: u8) -> Picture {
    Picture { width, height, format, digest: [tint; 32] }
}

#[test]
fn files_are_of_their_kind_and_size() {
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
        for (width, height) in [(1, 1), (3, 200), (200, 3), (7, 9), (320, 240)] {
            let file = picture(width, height, format, 90).encode().expect("encodes");
            assert_eq!(image::guess_format(&file).expect("known"), format);
            let decoded = image::load_from_memory_with_format(&file, format).expect("decodes");
            assert_eq!((decoded.width(), decoded.height()), (width, height), "{format:?}");
        }
    }
}

#[test]
fn the_digest_decides_the_bytes() {
    let one = picture(64, 48, ImageFormat::Png, 1).encode().expect("encodes");
    assert_eq!(one, picture(64, 48, ImageFormat::Png, 1).encode().expect("encodes"));
    assert_ne!(one, picture(64, 48, ImageFormat::Png, 2).encode().expect("encodes"));
}

#[test]
fn tiles_have_their_colours_to_the_edge() {
    let colours = [[200, 30, 30], [30, 200, 30], [30, 30, 200], [200, 200, 30]];
    let tiles = colours.iter().zip(1..).map(|(colour, number)| (*colour, number)).collect();
    let file = Sheet { size: (64, 96), columns: 2, tiles }.encode().expect("encodes");
    let grid = image::load_from_memory(&file).expect("decodes").to_rgb8();
    assert_eq!((grid.width(), grid.height()), (128, 192));
    for (at, colour) in colours.iter().enumerate() {
        let (left, top) = (at as u32 % 2 * 64, at as u32 / 2 * 96);
        for (x, y) in [(0, 0), (63, 0), (0, 95), (63, 95), (32, 48)] {
            assert_eq!(grid.get_pixel(left + x, top + y).0, *colour, "tile {at} at {x},{y}");
        }
        let white = (0..64).filter(|x| grid.get_pixel(left + x, top + 2).0 == [255; 3]).count();
        assert_eq!(white, (at + 1) * 2, "tile {at}");
    }
}
