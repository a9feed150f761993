//! Shows one image: decodes it whole, so that no model gets a broken one, and scales it to what models take. PNG and JPEG that
//! are small enough pass as they are; other images become PNG or JPEG. Of an animation, the first frame is shown.

use std::io::Cursor;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use haft_contract::ContentPart;
use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{
    ColorType, DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits, Rgb,
    RgbImage,
};

use crate::limits::{DECODED_BYTES_MAX, EDGE_PIXELS_MAX, IMAGE_BYTES_MAX, IMAGE_PIXELS_MAX};

/// The quality of JPEGs that are made, from 1 to 100.
const JPEG_QUALITY: u8 = 85;

/// The format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureFormat {
    Png,
    Jpeg,
    Gif,
    WebP,
}

/// An image as a model sees it.
#[derive(Debug)]
pub(super) struct ShownPicture {
    /// Its format and its size, and how it is shown.
    pub(super) description: String,
    /// The image.
    pub(super) part: ContentPart,
}

impl PictureFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::WebP => "WebP",
        }
    }

    fn decoder_format(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::WebP => ImageFormat::WebP,
        }
    }
}

/// Returns the format of an image that can be shown.
pub(super) fn format_of(bytes: &[u8]) -> Option<PictureFormat> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(PictureFormat::Png)
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some(PictureFormat::Jpeg)
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some(PictureFormat::Gif)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some(PictureFormat::WebP)
    } else {
        None
    }
}

/// Returns an image as a model sees it, or what is wrong with it.
pub(super) fn show(bytes: &[u8], format: PictureFormat) -> Result<ShownPicture, String> {
    let broken = |err: ImageError| match err {
        ImageError::Limits(_) => too_large_text(),
        err => format!("is damaged ({err}): use another copy"),
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.decoder_format());
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > IMAGE_PIXELS_MAX
        || decoder.total_bytes() > DECODED_BYTES_MAX
    {
        return Err(format!("has {width} x {height} pixels and {}", too_large_text()));
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let color = decoder.color_type();
    let mut image = DynamicImage::from_decoder(decoder).map_err(broken)?;
    let is_upright = orientation == Orientation::NoTransforms;
    let is_plain = matches!(format, PictureFormat::Png | PictureFormat::Jpeg)
        && matches!(color, ColorType::L8 | ColorType::La8 | ColorType::Rgb8 | ColorType::Rgba8);
    let is_small = width.max(height) <= EDGE_PIXELS_MAX && bytes.len() <= IMAGE_BYTES_MAX;
    let mut description =
        format!("{} image, {width} x {height} pixels, {} bytes", format.name(), bytes.len());
    if is_plain && is_upright && is_small {
        let mime_type = match format {
            PictureFormat::Png => "image/png",
            _ => "image/jpeg",
        };
        return Ok(ShownPicture { description, part: image_part(mime_type, bytes) });
    }
    image.apply_orientation(orientation);
    if matches!(format, PictureFormat::Gif) {
        description.push_str(", first frame");
    }
    let (shown, part) = encode(image, format == PictureFormat::Jpeg)?;
    if shown != (width, height) {
        description.push_str(&format!(", shown at {} x {}", shown.0, shown.1));
    }
    Ok(ShownPicture { description, part })
}

/// Returns an image in the size and the form that models take, with its width and height.
pub(super) fn encode(
    mut image: DynamicImage,
    is_photo: bool,
) -> Result<((u32, u32), ContentPart), String> {
    if image.width().max(image.height()) > EDGE_PIXELS_MAX {
        image = image.thumbnail(EDGE_PIXELS_MAX, EDGE_PIXELS_MAX);
    }
    let size = (image.width(), image.height());
    let fault = |err: ImageError| format!("cannot be shown ({err}): use another copy");
    // A drawing is sharper and smaller as PNG, a photo is smaller as JPEG.
    if !is_photo {
        let plain = match image.color().has_alpha() {
            true => DynamicImage::ImageRgba8(image.to_rgba8()),
            false => DynamicImage::ImageRgb8(image.to_rgb8()),
        };
        let mut png = Cursor::new(Vec::new());
        plain.write_to(&mut png, ImageFormat::Png).map_err(fault)?;
        if png.get_ref().len() <= IMAGE_BYTES_MAX {
            return Ok((size, image_part("image/png", png.get_ref())));
        }
    }
    let mut jpeg = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY);
    on_white(&image).write_with_encoder(encoder).map_err(fault)?;
    Ok((size, image_part("image/jpeg", &jpeg)))
}

/// Returns an image without transparency. JPEG has none.
fn on_white(image: &DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let pixels = image.to_rgba8();
    RgbImage::from_fn(pixels.width(), pixels.height(), |x, y| {
        let [red, green, blue, alpha] = pixels.get_pixel(x, y).0;
        let over_white = |color: u8| {
            let mixed = u16::from(color) * u16::from(alpha) + 255 * (255 - u16::from(alpha));
            u8::try_from(mixed / 255).unwrap_or(u8::MAX)
        };
        Rgb([over_white(red), over_white(green), over_white(blue)])
    })
}

fn image_part(mime_type: &str, bytes: &[u8]) -> ContentPart {
    ContentPart::Image { mime_type: mime_type.to_owned(), data: BASE64_STANDARD.encode(bytes) }
}

fn too_large_text() -> String {
    format!(
        "is too large to be shown (at most {} megapixels): make a smaller copy with a command",
        IMAGE_PIXELS_MAX / 1_000_000
    )
}
