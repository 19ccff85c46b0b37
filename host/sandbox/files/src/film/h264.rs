//! H.264, constrained baseline: pictures of one flat colour.
//!
//! The first macroblock of a key picture carries its samples as they are; every other one says "as my neighbours", and later
//! pictures say "as before". So a decoder shows exactly the colour, and a picture takes one byte a macroblock at most.
//! The numbers of clauses are those of ITU-T H.264.

use bitstream_io::{BigEndian, BitWrite, BitWriter};

/// `profile_idc` of the baseline.
pub(super) const PROFILE: u8 = 66;
/// Both baseline and main decoders can read it: no arbitrary slice order, no redundant slices.
pub(super) const CONSTRAINTS: u8 = 0xc0;

/// Levels: `level_idc`, macroblocks a second, macroblocks a picture (table A-1).
const LEVELS: [(u8, u32, u32); 12] = [
    (10, 1485, 99),
    (11, 3000, 396),
    (12, 6000, 396),
    (13, 11_880, 396),
    (21, 19_800, 792),
    (22, 20_250, 1620),
    (30, 40_500, 1620),
    (31, 108_000, 3600),
    (40, 245_760, 8192),
    (50, 589_824, 22_080),
    (51, 983_040, 36_864),
    (60, 4_177_920, 139_264),
];

/// Frames are numbered modulo this; a group has fewer.
const FRAME_NUM_BITS: u32 = 8;

/// Pictures of one size and colour.
pub(super) struct Pictures {
    columns: u32,
    rows: u32,
    /// In pairs of pixels.
    crop: (u32, u32),
    colour: [u8; 3],
    /// `level_idc`.
    pub(super) level: u8,
}

impl Pictures {
    /// Sides in pixels, rounded up to even numbers; red, green and blue.
    pub(super) fn new(width: u32, height: u32, pictures_a_second: u32, colour: [u8; 3]) -> Self {
        let (columns, rows) = (width.div_ceil(16), height.div_ceil(16));
        let crop = ((columns * 16 - width) / 2, (rows * 16 - height) / 2);
        let fits = |&&(_, a_second, a_picture): &&(u8, u32, u32)| {
            columns * rows <= a_picture && columns * rows * pictures_a_second <= a_second
        };
        let level = LEVELS.iter().find(fits).map_or(62, |(level, ..)| *level);
        Self { columns, rows, crop, colour: luma_and_chroma(colour), level }
    }

    /// 7.3.2.1.1: size, cropping, colour space.
    pub(super) fn sequence_parameter_set(&self) -> Vec<u8> {
        let mut bits = Bits::new();
        bits.fixed(8, PROFILE.into());
        bits.fixed(8, CONSTRAINTS.into());
        bits.fixed(8, self.level.into());
        bits.unsigned(0); // seq_parameter_set_id
        bits.unsigned(FRAME_NUM_BITS - 4);
        bits.unsigned(2); // pic_order_cnt_type: shown as decoded
        bits.unsigned(1); // max_num_ref_frames
        bits.flag(false); // gaps_in_frame_num_value_allowed_flag
        bits.unsigned(self.columns - 1);
        bits.unsigned(self.rows - 1);
        bits.flag(true); // frame_mbs_only_flag
        bits.flag(true); // direct_8x8_inference_flag
        bits.flag(self.crop != (0, 0));
        if self.crop != (0, 0) {
            bits.all_unsigned(&[0, self.crop.0, 0, self.crop.1]);
        }
        bits.flag(true); // vui_parameters_present_flag
        bits.flag(false); // aspect_ratio_info_present_flag
        bits.flag(false); // overscan_info_present_flag
        bits.flag(true); // video_signal_type_present_flag
        bits.fixed(3, 5); // video_format: unspecified
        bits.flag(false); // video_full_range_flag
        bits.flag(true); // colour_description_present_flag
        bits.fixed(24, 0x01_01_01); // colour_primaries, transfer_characteristics, matrix_coefficients: BT.709
        bits.flag(false); // chroma_loc_info_present_flag
        bits.flag(false); // timing_info_present_flag
        bits.flag(false); // nal_hrd_parameters_present_flag
        bits.flag(false); // vcl_hrd_parameters_present_flag
        bits.flag(false); // pic_struct_present_flag
        bits.flag(true); // bitstream_restriction_flag
        bits.flag(true); // motion_vectors_over_pic_boundaries_flag
        bits.all_unsigned(&[0; 4]); // sizes of pictures and motion vectors: unlimited
        bits.unsigned(0); // max_num_reorder_frames
        bits.unsigned(1); // max_dec_frame_buffering
        bits.unit(0x67)
    }

    /// 7.3.2.2: CAVLC, one slice group, deblocking can be switched off.
    pub(super) fn picture_parameter_set(&self) -> Vec<u8> {
        let mut bits = Bits::new();
        bits.all_unsigned(&[0; 2]); // pic_parameter_set_id, seq_parameter_set_id
        bits.flag(false); // entropy_coding_mode_flag
        bits.flag(false); // bottom_field_pic_order_in_frame_present_flag
        bits.unsigned(0); // num_slice_groups_minus1
        bits.all_unsigned(&[0; 2]); // num_ref_idx_l0_default_active_minus1 and l1
        bits.flag(false); // weighted_pred_flag
        bits.fixed(2, 0); // weighted_bipred_idc
        bits.all_unsigned(&[0; 3]); // pic_init_qp_minus26, pic_init_qs_minus26, chroma_qp_index_offset
        bits.flag(true); // deblocking_filter_control_present_flag
        bits.flag(false); // constrained_intra_pred_flag
        bits.flag(false); // redundant_pic_cnt_present_flag
        bits.unit(0x68)
    }

    /// A picture that needs no other. Those that follow each other differ in `group`.
    pub(super) fn key(&self, group: u32) -> Vec<u8> {
        let mut bits = Bits::new();
        bits.unsigned(0); // first_mb_in_slice
        bits.unsigned(7); // slice_type: I
        bits.unsigned(0); // pic_parameter_set_id
        bits.fixed(FRAME_NUM_BITS, 0);
        bits.unsigned(group % 2); // idr_pic_id
        bits.flag(false); // no_output_of_prior_pics_flag
        bits.flag(false); // long_term_reference_flag
        self.end_slice_header(&mut bits);
        self.plain_macroblock(&mut bits);
        for at in 1..self.columns * self.rows {
            self.macroblock_as_neighbours(&mut bits, at);
        }
        bits.unit(0x65)
    }

    /// A picture that repeats the one before it; the first after a key picture has number 1.
    pub(super) fn repeated(&self, number: u32) -> Vec<u8> {
        let mut bits = Bits::new();
        bits.unsigned(0); // first_mb_in_slice
        bits.unsigned(5); // slice_type: P
        bits.unsigned(0); // pic_parameter_set_id
        bits.fixed(FRAME_NUM_BITS, number);
        bits.flag(false); // num_ref_idx_active_override_flag
        bits.flag(false); // ref_pic_list_modification_flag_l0
        bits.flag(false); // adaptive_ref_pic_marking_mode_flag
        self.end_slice_header(&mut bits);
        bits.unsigned(self.columns * self.rows); // mb_skip_run
        bits.unit(0x41)
    }

    fn end_slice_header(&self, bits: &mut Bits) {
        bits.unsigned(0); // slice_qp_delta
        bits.unsigned(1); // disable_deblocking_filter_idc
    }

    /// 7.3.5: `I_PCM`, all samples as they are.
    fn plain_macroblock(&self, bits: &mut Bits) {
        bits.unsigned(25); // mb_type
        bits.align();
        for (sample, count) in self.colour.into_iter().zip([256, 64, 64]) {
            (0..count).for_each(|_| bits.fixed(8, sample.into()));
        }
    }

    /// `I_16x16` with the mean of its neighbours and nothing added.
    fn macroblock_as_neighbours(&self, bits: &mut Bits, at: u32) {
        bits.unsigned(3); // mb_type: I_16x16_2_0_0
        bits.unsigned(0); // intra_chroma_pred_mode: DC
        bits.unsigned(0); // mb_qp_delta
        // coeff_token of no coefficient. The plain macroblock counts as one with 16 in each block (9.2.1).
        match at == 1 && self.columns > 1 || at == self.columns {
            true => bits.fixed(6, 3),
            false => bits.flag(true),
        }
    }
}

/// BT.709, limited range.
fn luma_and_chroma(colour: [u8; 3]) -> [u8; 3] {
    let [red, green, blue] = colour.map(|part| f64::from(part) / 255.0);
    let luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    let byte = |value: f64| value.round() as u8;
    [
        byte(16.0 + 219.0 * luma),
        byte(128.0 + 224.0 * (blue - luma) / 1.8556),
        byte(128.0 + 224.0 * (red - luma) / 1.5748),
    ]
}

/// Fixed-length and Exp-Golomb codes.
struct Bits(BitWriter<Vec<u8>, BigEndian>);

impl Bits {
    fn new() -> Self {
        Self(BitWriter::endian(Vec::new(), BigEndian))
    }

    fn fixed(&mut self, width: u32, value: u32) {
        self.0
            .write_var(width, value)
            .expect("a Vec takes every bit, and callers give the width of their value");
    }

    fn flag(&mut self, value: bool) {
        self.fixed(1, value.into());
    }

    /// 9.1: `ue(v)`, and `se(v)` for zero.
    fn unsigned(&mut self, value: u32) {
        let width = (value + 1).ilog2();
        self.fixed(width, 0);
        self.fixed(width + 1, value + 1);
    }

    fn all_unsigned(&mut self, values: &[u32]) {
        values.iter().for_each(|value| self.unsigned(*value));
    }

    /// To the next byte, with zeros.
    fn align(&mut self) {
        self.0.byte_align().expect("a Vec takes every bit");
    }

    /// 7.3.1: a NAL unit, so that no start code is in it.
    fn unit(mut self, header: u8) -> Vec<u8> {
        self.flag(true); // rbsp_stop_one_bit
        self.align();
        let (mut unit, mut zeros) = (vec![header], 0);
        for byte in self.0.into_writer() {
            if zeros == 2 && byte <= 3 {
                unit.push(3);
                zeros = 0;
            }
            zeros = if byte == 0 { zeros + 1 } else { 0 };
            unit.push(byte);
        }
        unit
    }
}
