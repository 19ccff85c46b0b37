//! Films and sounds of known size and length: MP4 with H.264 and AAC, WAV and MP3. All are playable, none is large.
//!
//! [`mp4`] describes a film, makes its silence and joins its tracks to a file, [`h264`] makes pictures of one flat colour,
//! [`sound`] makes files of silence. Knows no provider.

mod h264;
mod movie;
mod mp4;
mod sound;

pub use mp4::Film;
pub use sound::{Sound, SoundFormat};
