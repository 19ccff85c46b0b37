//! Draws pictures: tiles of one flat colour each, with small white squares that count the tile.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, ImageError};

/// Tiles of equal size.
pub struct Sheet {
    /// Of one tile.
    pub size: (u32, u32),
    /// Tiles side by side.
    pub columns: u32,
    /// Colour and number of each tile, row by row.
    pub tiles: Vec<([u8; 3], u32)>,
}

impl Sheet {
    /// The PNG file.
    pub fn encode(&self) -> Result<Vec<u8>, ImageError> {
        let (width, height) = self.size;
        let rows = u32::try_from(self.tiles.len()).unwrap_or(u32::MAX).div_ceil(self.columns);
        let mut pixels = Vec::with_capacity((width * self.columns * height * rows * 3) as usize);
        for row in self.tiles.chunks(self.columns as usize) {
            for y in 0..height {
                for (colour, number) in row {
                    self.draw_line(&mut pixels, *colour, *number, y);
                }
            }
        }
        let mut file = Vec::new();
        PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::NoFilter).write_image(
            &pixels,
            width * self.columns,
            height * rows,
            ExtendedColorType::Rgb8,
        )?;
        Ok(file)
    }

    /// One line of one tile. The first square stands one side off the corner, so that every corner is plain. Copied and not
    /// drawn pixel by pixel: a release does not optimize this crate.
    fn draw_line(&self, pixels: &mut Vec<u8>, colour: [u8; 3], number: u32, y: u32) {
        let (width, side) = (self.size.0, (self.size.0.min(self.size.1) / 32).max(1));
        let start = pixels.len();
        pixels.extend_from_slice(&colour.repeat(width as usize));
        if (side..2 * side).contains(&y) {
            let line = &mut pixels[start..];
            for from in (0..number).map(|square| (2 * square + 1) * side) {
                let (from, to) = (from.min(width) as usize * 3, (from + side).min(width) as usize * 3);
                line[from..to].fill(255);
            }
        }
    }
}
