//! A film of one flat colour, with or without sound: AAC-LC, two channels of silence.
//!
//! 25 pictures a second, a sync sample each second, tables before samples. Its length is exact to the millisecond in every
//! table that says one: the last picture and the last frame of sound are as short as that needs.

use bitstream_io::{BigEndian, BitWrite, BitWriter};
use mp4_atom::esds::{DecoderConfig, DecoderSpecific, EsDescriptor, SLConfig};
use mp4_atom::{Audio, Avc1, Avcc, Codec, Colr, Esds, Mp4a, Visual};

use crate::film::h264::{CONSTRAINTS, PROFILE, Pictures};
use crate::film::movie::{Sample, Track, file};

const PICTURES_A_SECOND: u32 = 25;
const PICTURE_MILLISECONDS: u32 = 1000 / PICTURES_A_SECOND;

/// Samples of sound a second.
const AAC_RATE: u32 = 48_000;
/// Samples of one frame.
const AAC_FRAME: u32 = 1024;
/// ISO/IEC 14496-3, table 1.17: AAC-LC.
const AAC_OBJECT_TYPE: u8 = 2;
/// The same, table 1.18: 48 kHz.
const AAC_RATE_INDEX: u8 = 3;
const AAC_CHANNELS: u8 = 2;

/// A film. Sides are 1 to 8192 pixels, at most 35 million together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Film {
    /// In pixels. H.264 codes pairs of them: an odd side is coded one pixel larger, and the track's header has the odd one.
    pub width: u32,
    /// As `width`.
    pub height: u32,
    /// At least 1, at most an hour.
    pub milliseconds: u64,
    /// Whether there is a track of silence.
    pub sound: bool,
    /// Red, green, blue.
    pub colour: [u8; 3],
}

impl Film {
    /// The file.
    pub fn mp4(&self) -> Vec<u8> {
        file(b"isom", self.milliseconds, &self.tracks())
    }

    /// The file, as one of QuickTime.
    pub fn mov(&self) -> Vec<u8> {
        file(b"qt  ", self.milliseconds, &self.tracks())
    }

    fn tracks(&self) -> Vec<Track> {
        let mut tracks = vec![self.pictures()];
        tracks.extend(self.sound.then(|| silence(self.milliseconds)));
        tracks
    }

    fn pictures(&self) -> Track {
        let (width, height) = (self.width.next_multiple_of(2), self.height.next_multiple_of(2));
        let pictures = Pictures::new(width, height, PICTURES_A_SECOND, self.colour);
        let bytes = |at: u32| match at % PICTURES_A_SECOND {
            0 => pictures.key(at / PICTURES_A_SECOND),
            number => pictures.repeated(number),
        };
        let sample = |(at, duration): (u32, u32)| Sample {
            duration,
            is_sync: at % PICTURES_A_SECOND == 0,
            bytes: with_length(&bytes(at)),
        };
        let avcc = Avcc {
            configuration_version: 1,
            avc_profile_indication: PROFILE,
            profile_compatibility: CONSTRAINTS,
            avc_level_indication: pictures.level,
            length_size: 4,
            sequence_parameter_sets: vec![pictures.sequence_parameter_set()],
            picture_parameter_sets: vec![pictures.picture_parameter_set()],
            ext: None,
        };
        let visual =
            Visual { data_reference_index: 1, width: side(width), height: side(height), ..Visual::default() };
        let colr = Colr::Nclx {
            colour_primaries: 1,
            transfer_characteristics: 1,
            matrix_coefficients: 1,
            full_range_flag: false,
        };
        Track {
            codec: Codec::Avc1(Avc1 { visual, avcc, colr: Some(colr), ..Avc1::default() }),
            scale: 1000,
            size: Some((side(self.width), side(self.height))),
            samples: (0..).zip(durations(self.milliseconds, PICTURE_MILLISECONDS)).map(sample).collect(),
            per_chunk: PICTURES_A_SECOND as usize,
        }
    }
}

/// A track of silence.
pub(super) fn silence(milliseconds: u64) -> Track {
    let ticks = milliseconds * u64::from(AAC_RATE / 1000);
    let frame = silent_frame();
    let bits_a_second =
        u32::try_from(frame.len()).expect("a frame of silence is small") * 8 * AAC_RATE / AAC_FRAME;
    let sample = |duration| Sample { duration, is_sync: true, bytes: frame.clone() };
    let dec_config = DecoderConfig {
        object_type_indication: 0x40, // ISO/IEC 14496-3
        stream_type: 5,               // audio
        max_bitrate: bits_a_second,
        avg_bitrate: bits_a_second,
        dec_specific: Some(DecoderSpecific {
            profile: AAC_OBJECT_TYPE,
            freq_index: AAC_RATE_INDEX,
            chan_conf: AAC_CHANNELS,
            raw: Vec::new(),
        }),
        ..DecoderConfig::default()
    };
    let es_desc = EsDescriptor { es_id: 1, dec_config, sl_config: SLConfig {}, ..EsDescriptor::default() };
    let rate = u16::try_from(AAC_RATE).expect("48 kHz");
    let audio = Audio {
        data_reference_index: 1,
        channel_count: AAC_CHANNELS.into(),
        sample_size: 16,
        sample_rate: rate.into(),
    };
    Track {
        codec: Codec::Mp4a(Mp4a { audio, esds: Esds { es_desc }, btrt: None, taic: None }),
        scale: AAC_RATE,
        size: None,
        samples: durations(ticks, AAC_FRAME).map(sample).collect(),
        per_chunk: (AAC_RATE / AAC_FRAME) as usize,
    }
}

/// One frame of silence: a pair of channels with no band at all. ISO/IEC 14496-3, 4.4.2.1.
fn silent_frame() -> Vec<u8> {
    let mut bits = BitWriter::endian(Vec::new(), BigEndian);
    let mut put = |width: u32, value: u32| bits.write_var(width, value).expect("a Vec takes every bit");
    put(3, 1); // id_syn_ele: channel_pair_element
    put(4, 0); // element_instance_tag
    put(1, 0); // common_window
    for _ in 0..AAC_CHANNELS {
        put(8, 0); // global_gain
        put(1, 0); // ics_reserved_bit
        put(2, 0); // window_sequence: ONLY_LONG_SEQUENCE
        put(1, 0); // window_shape
        put(6, 0); // max_sfb
        put(1, 0); // predictor_data_present
        put(1, 0); // pulse_data_present
        put(1, 0); // tns_data_present
        put(1, 0); // gain_control_data_present
    }
    put(3, 7); // id_syn_ele: end
    bits.byte_align().expect("a Vec takes every bit");
    bits.into_writer()
}

/// Pieces of `length`, and what is left as the last.
fn durations(total: u64, length: u32) -> impl Iterator<Item = u32> {
    let rest = u32::try_from(total % u64::from(length)).expect("less than `length`");
    let whole = usize::try_from(total / u64::from(length)).expect("a short film");
    std::iter::repeat_n(length, whole).chain((rest > 0).then_some(rest))
}

/// As `length_size` of the track says: four bytes of length.
fn with_length(unit: &[u8]) -> Vec<u8> {
    let length = u32::try_from(unit.len()).expect("a picture of one colour is small");
    [&length.to_be_bytes(), unit].concat()
}

fn side(pixels: u32) -> u16 {
    u16::try_from(pixels).expect("at most 8192 pixels")
}
