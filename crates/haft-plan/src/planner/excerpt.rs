//! Long text without its middle, which says how long it was.

/// Returns `text`, or its two ends with a note between them when it is longer than `bytes_max`. The note comes on top.
pub(super) fn excerpt(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes_max / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 2);
    let (start, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    let (left_out, all) = (tail - head, text.len());
    format!("{start}\n[... {left_out} of {all} bytes left out ...]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_goes_and_the_size_is_said() {
        assert_eq!(excerpt("0123456789", 10), "0123456789");
        let expected = "0123\n[... 2 of 10 bytes left out ...]\n6789";
        assert_eq!(excerpt("0123456789", 8), expected);
        let expected = "é\n[... 4 of 8 bytes left out ...]\né";
        assert_eq!(excerpt("éééé", 6), expected);
    }
}
