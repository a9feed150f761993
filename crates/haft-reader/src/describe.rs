//! Describes a file that is not text: its format, and the width and height of an image. The rest of its content is not read.

/// File formats and the bytes that they begin with.
pub(crate) const FORMATS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "ZIP archive, or a document packed as one"),
    (b"\x1f\x8b\x08", "gzip file"),
    (b"\x28\xb5\x2f\xfd", "Zstandard file"),
    (b"\xfd7zXZ\0", "xz file"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"\0asm", "WebAssembly module"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"\x1a\x45\xdf\xa3", "Matroska or WebM video"),
    (b"wOFF", "web font"),
    (b"wOF2", "web font"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "document of an older Microsoft Office"),
];

/// Returns the description of a file, if its format is known.
pub(crate) fn describe(bytes: &[u8]) -> Option<String> {
    let (format, width, height) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        ("PNG", big(bytes.get(16..20)?), big(bytes.get(20..24)?))
    } else if bytes.starts_with(b"GIF8") {
        ("GIF", little(bytes.get(6..8)?), little(bytes.get(8..10)?))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        let mut rest = bytes.get(2..)?;
        loop {
            let [0xff, marker, after @ ..] = rest else { return None };
            // The segment of the frame holds its size. Tables share the range of its markers and have these three numbers.
            if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
                break ("JPEG", big(after.get(5..7)?), big(after.get(3..5)?));
            }
            let length = usize::try_from(big(after.get(..2)?)).ok()?;
            rest = after.get(length.max(2)..)?;
        }
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..16) == Some(b"WEBPVP8X") {
        ("WebP", little(bytes.get(24..27)?) + 1, little(bytes.get(27..30)?) + 1)
    } else if bytes.get(4..8) == Some(b"ftyp") {
        let is_image = matches!(bytes.get(8..12), Some(b"avif" | b"heic" | b"mif1"));
        return Some(if is_image { "AVIF or HEIF image" } else { "MP4 video or audio" }.to_owned());
    } else {
        let (_, format) = FORMATS.iter().find(|(magic, _)| bytes.starts_with(magic))?;
        return Some((*format).to_owned());
    };
    Some(format!("{format} image, {width} x {height}"))
}

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expect: Option<&str>) {
        assert_eq!(describe(bytes).as_deref(), expect);
    }

    #[test]
    fn images_have_a_size() {
        check(
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x02\x80\0\0\x01\xe0",
            Some("PNG image, 640 x 480"),
        );
        check(b"GIF89a\x80\x02\xe0\x01", Some("GIF image, 640 x 480"));
        check(
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x03a\xff\xc2\0\x0b\x08\x01\xe0\x02\x80\x03",
            Some("JPEG image, 640 x 480"),
        );
        check(
            b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0",
            Some("WebP image, 640 x 480"),
        );
        check(b"RIFF\0\0\0\0WEBPVP8 ", None);
    }

    #[test]
    fn what_is_cut_or_unknown_has_none() {
        for bytes in [
            &b"\x89PNG\r\n\x1a\n\0"[..],
            b"\xff\xd8\xff\xe0\0",
            b"\xff\xd8\xff\xe0\0\0\xff",
            b"",
            b"MZ",
        ] {
            check(bytes, None);
        }
        check(b"PK\x03\x04", Some("ZIP archive, or a document packed as one"));
    }
}
