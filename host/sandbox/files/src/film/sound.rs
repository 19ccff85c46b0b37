//! Files of silence: WAV, MP3 and M4A.

use crate::film::movie::file;
use crate::film::mp4::silence;

/// Samples a second of a WAV file; eight a millisecond, two bytes each.
const WAV_RATE: u32 = 8000;
/// Bytes of an MP3 frame of 32 kbit/s and 48 kHz, which lasts 24 ms.
const MP3_FRAME: usize = 96;
const MP3_FRAME_MILLISECONDS: u64 = 24;
/// MPEG-1 layer III, no checksum, 32 kbit/s, 48 kHz, no padding, one channel. All other bits of a silent frame are zero.
const MP3_HEADER: [u8; 4] = [0xff, 0xfb, 0x14, 0xc0];

/// How a sound is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoundFormat {
    /// RIFF WAVE, 16 bits, one channel.
    Wav,
    /// MPEG-1 layer III.
    Mp3,
    /// AAC in an MP4 file.
    M4a,
}

/// Silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sound {
    /// How it is written.
    pub format: SoundFormat,
    /// At most an hour. MP3 rounds it up to frames of 24 ms.
    pub milliseconds: u64,
}

impl Sound {
    /// The file.
    pub fn encode(&self) -> Vec<u8> {
        match self.format {
            SoundFormat::Wav => wav(self.milliseconds),
            SoundFormat::Mp3 => mp3(self.milliseconds),
            SoundFormat::M4a => file(b"M4A ", self.milliseconds, &[silence(self.milliseconds)]),
        }
    }
}

fn wav(milliseconds: u64) -> Vec<u8> {
    let data = u32::try_from(milliseconds * u64::from(WAV_RATE / 1000) * 2).expect("at most an hour");
    let mut file = b"RIFF".to_vec();
    file.extend((36 + data).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend(WAV_RATE.to_le_bytes());
    file.extend((WAV_RATE * 2).to_le_bytes());
    file.extend(b"\x02\0\x10\0data");
    file.extend(data.to_le_bytes());
    file.resize(file.len() + data as usize, 0);
    file
}

fn mp3(milliseconds: u64) -> Vec<u8> {
    let frames = usize::try_from(milliseconds.div_ceil(MP3_FRAME_MILLISECONDS)).expect("at most an hour");
    let mut frame = MP3_HEADER.to_vec();
    frame.resize(MP3_FRAME, 0);
    frame.repeat(frames)
}
