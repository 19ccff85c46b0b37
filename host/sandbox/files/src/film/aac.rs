//! AAC-LC, two channels of silence.

use bitstream_io::{BigEndian, BitWrite, BitWriter};

/// Samples a second.
pub(super) const RATE: u32 = 48_000;
/// Samples of one frame.
pub(super) const FRAME: u32 = 1024;
/// ISO/IEC 14496-3, table 1.17: AAC-LC.
pub(super) const OBJECT_TYPE: u8 = 2;
/// The same, table 1.18: 48 kHz.
pub(super) const RATE_INDEX: u8 = 3;
pub(super) const CHANNELS: u8 = 2;

/// One frame of silence: a pair of channels with no band at all. ISO/IEC 14496-3, 4.4.2.1.
pub(super) fn silence() -> Vec<u8> {
    let mut bits = BitWriter::endian(Vec::new(), BigEndian);
    let mut put = |width: u32, value: u32| bits.write_var(width, value).expect("a Vec takes every bit");
    put(3, 1); // id_syn_ele: channel_pair_element
    put(4, 0); // element_instance_tag
    put(1, 0); // common_window
    for _ in 0..CHANNELS {
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
