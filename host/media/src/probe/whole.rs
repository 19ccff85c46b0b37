//! Whether a file is whole: its bytes pass by as they are copied, and only its structure is looked at. A file that was cut,
//! or that holds a picture of a size for which it has no data, is no result, and nothing is charged for it. Pure.
//!
//! Judges PNG, JPEG, WebP, GIF and the files that are made of boxes (MP4 and its kin). Of others nothing is known.

use crate::probe::mp4::{word32, word64};

/// Bytes of the end that are looked at; some programs add a little behind it.
const TAIL: usize = 1024;
/// Deflate makes at most so many bytes of one.
const MOST_PER_BYTE: u64 = 1032;
/// Points of a JPEG for which one byte stands at most: each block of 64 has a code of a bit at least.
const JPEG_POINTS_PER_BYTE: u64 = 64 * 8;
/// Points of a GIF for which one byte stands at most: a code of 12 bits is a string of 4,096 points at most.
const GIF_POINTS_PER_BYTE: u64 = 4096;
/// Bytes of the beginning that are kept: where the size stands. In a JPEG other things may stand before it.
const HEAD: usize = 64;
const JPEG_HEAD: usize = 64 * 1024;
/// The end of a PNG.
const IEND: [u8; 8] = [b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82];
/// The end of a JPEG; within its data such a pair cannot be.
const EOI: [u8; 2] = [0xff, 0xd9];
/// The end of a GIF.
const GIF_END: u8 = 0x3b;
const CUT: &str = "the result is not whole: its file ends too early";
const NO_DATA: &str = "the result is not whole: its file has no data for a picture of its size";

/// What is known of the bytes so far.
#[derive(Debug)]
pub(crate) struct Whole {
    mime: String,
    head: Vec<u8>,
    tail: Vec<u8>,
    length: u64,
    boxes: Boxes,
}

/// Boxes at the top of a file.
#[derive(Debug, Default)]
struct Boxes {
    /// Where the next one begins; `None` once one says that it goes to the end.
    next: Option<u64>,
    header: Vec<u8>,
    has_data: bool,
    has_index: bool,
}

impl Whole {
    /// For a file of that type.
    pub(crate) fn new(mime: &str) -> Self {
        let boxes = Boxes { next: Some(0), ..Boxes::default() };
        Self { mime: mime.to_owned(), head: Vec::new(), tail: Vec::new(), length: 0, boxes }
    }

    /// The next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.is_of_boxes() {
            self.boxes.take(self.length, bytes);
        }
        let kept = if self.mime == "image/jpeg" { JPEG_HEAD } else { HEAD };
        let missing = kept.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..missing]);
        let kept = TAIL.saturating_sub(bytes.len()).min(self.tail.len());
        self.tail.drain(..self.tail.len() - kept);
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        self.length += bytes.len() as u64;
    }

    fn is_of_boxes(&self) -> bool {
        matches!(
            self.mime.as_str(),
            "video/mp4" | "video/quicktime" | "audio/mp4" | "image/avif" | "image/heic"
        )
    }

    /// What is wrong with the file that has passed.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let ends_with = |end: &[u8]| memchr::memmem::rfind(&self.tail, end).is_some();
        let is_whole = match self.mime.as_str() {
            "image/png" => {
                self.check_png_size()?;
                ends_with(&IEND)
            }
            "image/jpeg" => {
                self.check_points(JPEG_POINTS_PER_BYTE)?;
                ends_with(&EOI)
            }
            "image/gif" => {
                self.check_points(GIF_POINTS_PER_BYTE)?;
                self.tail.iter().rfind(|byte| **byte != 0) == Some(&GIF_END)
            }
            "image/webp" => self.riff_length().is_none_or(|length| length <= self.length),
            _ if self.is_of_boxes() => self.boxes.are_whole(self.length, self.mime.starts_with("image/")),
            _ => true,
        };
        if is_whole { Ok(()) } else { Err(CUT) }
    }

    /// A picture has bytes for its points, where its beginning says how many there are.
    fn check_points(&self, per_byte: u64) -> Result<(), &'static str> {
        let Ok(size) = imagesize::blob_size(&self.head) else { return Ok(()) };
        let points = (size.width as u64).saturating_mul(size.height as u64);
        if points > 0 && points / per_byte <= self.length { Ok(()) } else { Err(NO_DATA) }
    }

    /// A picture has at least a byte of filter for each row, and its points, before they are deflated.
    fn check_png_size(&self) -> Result<(), &'static str> {
        let number = |at: usize| word32(&self.head, at).map(u64::from);
        let (Some(width), Some(height)) = (number(16), number(20)) else { return Err(CUT) };
        let (Some(&depth), Some(&color)) = (self.head.get(24), self.head.get(25)) else { return Err(CUT) };
        let channels = match color {
            2 => 3,
            4 => 2,
            6 => 4,
            _ => 1,
        };
        let row =
            width.saturating_mul(u64::from(depth).saturating_mul(channels)).div_ceil(8).saturating_add(1);
        let raw = row.saturating_mul(height);
        let is_possible = width > 0 && height > 0 && raw / MOST_PER_BYTE <= self.length;
        if is_possible { Ok(()) } else { Err(NO_DATA) }
    }

    /// The length that a RIFF file says it has.
    fn riff_length(&self) -> Option<u64> {
        let bytes = self.head.get(4..8)?;
        Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?)) + 8)
    }
}

impl Boxes {
    /// Bytes that stand at `at` in the file.
    fn take(&mut self, at: u64, bytes: &[u8]) {
        let mut offset = 0;
        while let Some(next) = self.next {
            let begin = next + self.header.len() as u64;
            let Some(skip) = begin.checked_sub(at).and_then(|skip| usize::try_from(skip).ok()) else {
                return;
            };
            offset = offset.max(skip);
            if offset >= bytes.len() {
                return;
            }
            let wanted = if self.header.len() >= 8 { 16 } else { 8 } - self.header.len();
            let end = bytes.len().min(offset + wanted);
            self.header.extend_from_slice(&bytes[offset..end]);
            offset = end;
            self.read_header();
        }
    }

    fn read_header(&mut self) {
        let Some((small, kind)) = word32(&self.header, 0).zip(self.header.get(4..8)) else { return };
        let size = match (small, word64(&self.header, 8)) {
            (1, None) => return,
            (1, Some(large)) => large,
            (small, _) => small.into(),
        };
        self.has_data |= matches!(kind, b"mdat" | b"moof" | b"idat");
        self.has_index |= matches!(kind, b"moov" | b"meta");
        // To the end of the file; or no size that a box can have, so that nothing more is known.
        self.next = if size < 8 { None } else { self.next.and_then(|next| next.checked_add(size)) };
        self.header.clear();
    }

    fn are_whole(&self, length: u64, is_picture: bool) -> bool {
        self.next.is_none_or(|next| next <= length) && self.has_index && (self.has_data || is_picture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::clips::maker;
    use crate::tests::file_of;

    fn check(mime: &str, file: &[u8], pieces: usize) -> Result<(), &'static str> {
        let mut whole = Whole::new(mime);
        file.chunks(pieces).for_each(|piece| whole.take(piece));
        whole.check()
    }

    fn png(width: u32, height: u32, data: usize) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        file.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
        file.extend(b"\x08\x02\0\0\0\0\0\0\0");
        file.extend(vec![7; data]);
        file.extend(b"\0\0\0\0");
        file.extend(IEND);
        file
    }

    fn gif(side: u16, data: usize) -> Vec<u8> {
        [&b"GIF89a"[..], &side.to_le_bytes(), &side.to_le_bytes(), &vec![7; data], b"\x3b"].concat()
    }

    fn boxed(kind: &[u8; 4], content: usize) -> Vec<u8> {
        maker::boxed(kind, &vec![7; content])
    }

    /// A client would pay for a file that no program opens.
    #[test]
    fn cut_files_and_pictures_without_data_are_no_results() {
        let webp = [b"RIFF\x10\0\0\0WEBPVP8 ".as_slice(), &[7; 8]].concat();
        let film = [boxed(b"ftyp", 16), boxed(b"moov", 90), boxed(b"mdat", 3000)].concat();
        let large =
            [boxed(b"ftyp", 16), b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x18".to_vec(), vec![7; 8], boxed(b"moov", 9)]
                .concat();
        for (mime, file) in [
            ("image/png", png(64, 64, 300)),
            ("image/jpeg", b"\xff\xd8\xff\xe0 data \xff\xd9\n".to_vec()),
            ("image/gif", gif(8, 8)),
            ("image/webp", webp),
            ("video/mp4", film),
            ("video/quicktime", large),
        ] {
            for pieces in [1, 7, 4096] {
                assert_eq!(check(mime, &file, pieces), Ok(()), "{mime} in {pieces}");
                let cut = &file[..file.len() - 4];
                assert_eq!(check(mime, cut, pieces), Err(CUT), "{mime} cut, in {pieces}");
            }
        }
        let endless = [boxed(b"ftyp", 16), boxed(b"moov", 9), b"\0\0\0\0mdat".to_vec(), vec![7; 50]].concat();
        assert_eq!(check("video/mp4", &endless, 5), Ok(()), "a box to the end of the file");
        assert_eq!(check("video/mp4", &boxed(b"ftyp", 16), 5), Err(CUT), "a film without an index");
        assert_eq!(check("image/png", &png(1 << 31, 1 << 31, 40), 9), Err(NO_DATA));
        assert_eq!(check("image/png", &png(1024, 1024, 40), 9), Err(NO_DATA));
        assert_eq!(check("image/png", &png(0, 9, 40), 9), Err(NO_DATA));
        // A picture of one colour has a size that its data may fill.
        let jpeg = file_of(&image::DynamicImage::new_rgb8(900, 700), image::ImageFormat::Jpeg);
        let frame = memchr::memmem::find(&jpeg, b"\xff\xc0").unwrap() + 5;
        for (mime, file, at) in [("image/jpeg", jpeg, frame), ("image/gif", gif(900, 300), 6)] {
            assert_eq!(check(mime, &file, 777), Ok(()), "{mime}");
            for size in [[0xff; 4], [0; 4]] {
                let mut lying = file.clone();
                lying[at..at + 4].copy_from_slice(&size);
                assert_eq!(check(mime, &lying, 777), Err(NO_DATA), "{mime} {size:?}");
            }
        }
        assert_eq!(check("audio/mpeg", b"anything", 3), Ok(()), "of others nothing is known");
    }
}
