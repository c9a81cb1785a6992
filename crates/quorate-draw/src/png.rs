//! PNG export for programs that cannot show SVG. It renders the SVG with the fonts of the machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};

/// PNG pixels per SVG pixel, so that the picture is sharp when projected.
const SCALE: f32 = 2.0;
/// Maximum side length in pixels.
const SIDE_MOST: f32 = 16_000.0;

/// Fonts installed on most machines, the most common first.
const COMMON_FONTS: [&str; 7] =
    ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica", "Verdana", "Segoe UI"];

/// Reasons why a PNG cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// No font is installed. Text would silently be missing.
    #[error("this machine has no font to draw text with; write .svg instead")]
    NoFont,
    /// The picture exceeds the size limit. The values are its width and height in SVG pixels.
    #[error("{0} x {1} pixels are too many for a PNG; write .svg instead, or a smaller picture")]
    TooLarge(u32, u32),
    /// The input is not valid SVG, or encoding failed.
    #[error("the picture cannot be drawn: {0}")]
    NotSvg(String),
}

/// Renders an SVG as a PNG file. Its theme must not be [`crate::Theme::Auto`]: a PNG cannot follow the reader's choice.
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    // The renderer has no default `sans-serif` family and silently omits text in unknown fonts.
    let known = |name: &&str| {
        fonts.query(&Query { families: &[Family::Name(name)], ..Query::default() }).is_some()
    };
    let common = COMMON_FONTS.into_iter().find(known).map(str::to_owned);
    let any = || fonts.faces().find_map(|face| face.families.first()).map(|(name, _)| name.clone());
    let family = common.or_else(any).ok_or(PngError::NoFont)?;
    fonts.set_sans_serif_family(&family);
    let options = Options { font_family: family, fontdb: Arc::new(fonts), ..Options::default() };
    let tree =
        Tree::from_str(svg, &options).map_err(|error| PngError::NotSvg(error.to_string()))?;
    let size = tree.size();
    let most = size.width().max(size.height());
    let scale = SCALE.min(SIDE_MOST / most);
    let (wide, high) =
        ((size.width() * scale).ceil() as u32, (size.height() * scale).ceil() as u32);
    let too_large = || PngError::TooLarge(size.width() as u32, size.height() as u32);
    if scale < 0.5 {
        return Err(too_large());
    }
    let mut pixels = Pixmap::new(wide, high).ok_or_else(too_large)?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::NotSvg(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(body: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"80\" height=\"20\"><rect width=\"80\" height=\"20\" \
             fill=\"#fff\"/>{body}</svg>"
        )
    }

    fn dark_pixels(image: &[u8]) -> usize {
        let pixels = Pixmap::decode_png(image).expect("a PNG");
        pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    }

    /// The renderer silently omits text in an unknown font, so labels would be missing.
    #[test]
    fn text_is_drawn_wherever_there_is_a_font() {
        let text =
            "<text x=\"4\" y=\"15\" font-family=\"sans-serif\" font-size=\"14\">REQUEST</text>";
        match (png(&svg("")), png(&svg(text))) {
            (Ok(without), Ok(with)) => {
                assert_eq!(dark_pixels(&without), 0);
                assert!(dark_pixels(&with) > 200, "{} dark pixels", dark_pixels(&with));
            }
            (without, with) => {
                assert!(matches!(without, Err(PngError::NoFont)));
                assert!(matches!(with, Err(PngError::NoFont)));
            }
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let large = svg("").replace("width=\"80\"", "width=\"50000\"");
        let refused = png(&large).map(|image| image.len());
        assert!(
            matches!(refused, Err(PngError::TooLarge(50_000, 20) | PngError::NoFont)),
            "{refused:?}"
        );
    }
}
