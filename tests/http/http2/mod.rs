//! HTTP/2 on a cleartext listener, frame by frame.

mod floods;
pub(crate) mod frames;
mod one_frame;
mod sections;
