//! Splits arriving bytes into lines and counted bytes. This buffer, not the waiting future, holds the bytes that have
//! arrived. A wait can therefore be dropped at any time.

use haft_contract::ChannelRead;

/// Memory that is kept for the next line after a long one, in bytes.
pub(crate) const LINES_KEPT_BYTES_MAX: usize = 256 * 1024;

/// Largest amount that haft reads while it sends a message, before the other side has to wait, in bytes. The longest
/// message of any program fits in.
pub(crate) const LINES_AHEAD_BYTES_MAX: usize = 32 * 1024 * 1024;

/// One read of a channel, in bytes.
const CHANNEL_READ_BYTES: usize = 16 * 1024;

/// The bytes that have arrived and were not taken yet.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    /// The bytes since the last line was taken, and before them the bytes that were taken already.
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// How much of it was looked through for its end.
    searched: usize,
}

impl LineBuffer {
    /// Moves the next line to the end of `into`, without its line feed; nothing as long as it is neither whole nor too long.
    pub(super) fn take_line(
        &mut self,
        into: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Option<ChannelRead> {
        let unread = self.bytes.get(self.start..).unwrap_or_default();
        let unsearched = unread.get(self.searched..).unwrap_or_default();
        let found = unsearched.iter().position(|byte| *byte == b'\n');
        self.searched += found.unwrap_or(unsearched.len());
        if self.searched > bytes_max {
            return Some(ChannelRead::TooLong);
        }
        found?;
        into.extend_from_slice(unread.get(..self.searched).unwrap_or_default());
        self.start += self.searched + 1;
        self.searched = 0;
        Some(ChannelRead::Line)
    }

    /// Moves the next `bytes` to the end of `into`, and says whether it did: not as long as there are fewer.
    pub(super) fn take_exact(&mut self, into: &mut Vec<u8>, bytes: usize) -> bool {
        let unread = self.bytes.get(self.start..).unwrap_or_default();
        let Some(taken) = unread.get(..bytes) else { return false };
        into.extend_from_slice(taken);
        self.start += bytes;
        // The bytes that were taken may include bytes that were already searched.
        self.searched = 0;
        true
    }

    /// Returns whether the buffer accepts more bytes before earlier ones are taken.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < LINES_AHEAD_BYTES_MAX
    }

    /// Returns where the next bytes are to be added, with room for some.
    pub(super) fn spare_buffer(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.start.min(self.bytes.len()));
        self.start = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > LINES_KEPT_BYTES_MAX {
            self.bytes = Vec::new();
        }
        self.bytes.reserve(CHANNEL_READ_BYTES);
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes what is taken after each piece: lines in quotes, `+` for one that is too long, `-` for none.
    fn taken(pieces: &[&str], bytes_max: usize) -> String {
        let mut lines = LineBuffer::default();
        let mut shown = String::new();
        for piece in pieces {
            lines.spare_buffer().extend_from_slice(piece.as_bytes());
            loop {
                let mut line = Vec::new();
                match lines.take_line(&mut line, bytes_max) {
                    Some(ChannelRead::Line) => {
                        shown.push_str(&format!("{:?} ", String::from_utf8(line).unwrap()));
                    }
                    Some(ChannelRead::TooLong) => {
                        shown.push_str("+ ");
                        break;
                    }
                    Some(ChannelRead::Closed) | None => {
                        shown.push_str("- ");
                        break;
                    }
                }
            }
        }
        shown
    }

    #[test]
    fn lines_come_in_pieces() {
        let check = |pieces: &[&str], bytes_max: usize, expect: &str| {
            assert_eq!(taken(pieces, bytes_max).trim_end(), expect, "{pieces:?} at {bytes_max}");
        };
        check(&[""], 9, "-");
        check(&["a\n"], 9, "\"a\" -");
        check(&["a", "b\nc\n\nd", "e", "\n"], 9, "- \"ab\" \"c\" \"\" - - \"de\" -");
        check(&["abc\n"], 3, "\"abc\" -");
        check(&["abc", "\n"], 3, "- \"abc\" -");
        check(&["abcd\n"], 3, "+");
        check(&["abcd"], 3, "+");
        check(&["a\nabcd", "\nb\n"], 3, "\"a\" + +");
        check(&["\n"], 0, "\"\" -");
    }

    #[test]
    fn counted_bytes_are_taken_whole_between_lines() {
        let mut lines = LineBuffer::default();
        let mut taken = Vec::new();
        assert!(lines.take_exact(&mut taken, 0));
        lines.spare_buffer().extend_from_slice(b"a");
        assert_eq!(lines.take_line(&mut taken, 9), None);
        assert!(!lines.take_exact(&mut taken, 3));
        assert!(taken.is_empty(), "nothing is taken before all of it is there");
        lines.spare_buffer().extend_from_slice(b"\nbcd\ne");
        assert!(lines.take_exact(&mut taken, 3));
        assert_eq!(taken, b"a\nb");
        assert_eq!(lines.take_line(&mut taken, 9), Some(ChannelRead::Line));
        assert_eq!(taken, b"a\nbcd");
        assert!(lines.take_exact(&mut taken, 1));
        assert!(!lines.take_exact(&mut taken, 1));
        assert_eq!(taken, b"a\nbcde");
    }

    #[test]
    fn a_line_that_is_too_long_can_be_taken_with_a_higher_bound() {
        let mut lines = LineBuffer::default();
        let mut line = b"> ".to_vec();
        lines.spare_buffer().extend_from_slice(b"abcd\ne\n");
        assert_eq!(lines.take_line(&mut line, 3), Some(ChannelRead::TooLong));
        assert_eq!(line, b"> ");
        assert_eq!(lines.take_line(&mut line, 4), Some(ChannelRead::Line));
        assert_eq!(line, b"> abcd");
    }

    #[test]
    fn a_long_line_does_not_keep_its_memory() {
        let mut lines = LineBuffer::default();
        let long = vec![b'x'; 4 * LINES_KEPT_BYTES_MAX];
        lines.spare_buffer().extend_from_slice(&long);
        lines.spare_buffer().push(b'\n');
        assert_eq!(lines.take_line(&mut Vec::new(), long.len()), Some(ChannelRead::Line));
        assert!(lines.spare_buffer().capacity() <= LINES_KEPT_BYTES_MAX);
    }

    #[test]
    fn what_is_taken_in_ahead_is_bounded() {
        let mut lines = LineBuffer::default();
        lines.spare_buffer().resize(LINES_AHEAD_BYTES_MAX - 1, b'x');
        assert!(lines.has_room());
        lines.spare_buffer().push(b'x');
        assert!(!lines.has_room());
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_the_pieces(
            text in "[a-c\n]{0,60}",
            cuts in proptest::collection::vec(0_usize..60, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&str> =
                cuts.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect();
            let shown = taken(&pieces, 100).replace("- ", "");
            let mut whole: Vec<String> =
                text.split('\n').map(|line| format!("{line:?} ")).collect();
            whole.pop();
            prop_assert_eq!(shown, whole.concat());
        }
    }
}
