//! Positions in a text: for people and models, lines and characters from 1; on the wire, lines from
//! 0 and units of an encoding. A server's position outside the text is clamped to it.

/// The unit in which a server counts within a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes of UTF-8.
    Utf8,
    /// UTF-16 code units, which every server supports.
    Utf16,
}

impl Encoding {
    /// Returns the encoding with this name.
    pub(crate) fn named(name: Option<&str>) -> Option<Self> {
        match name {
            Some("utf-8") => Some(Self::Utf8),
            Some("utf-16") | None => Some(Self::Utf16),
            Some(_) => None,
        }
    }

    fn units(self, char: char) -> usize {
        match self {
            Self::Utf8 => char.len_utf8(),
            Self::Utf16 => char.len_utf16(),
        }
    }

    /// Returns the number of units before the character `column`, counted from 1.
    pub(crate) fn units_before(self, line: &str, column: usize) -> usize {
        line.chars().take(column.saturating_sub(1)).map(|char| self.units(char)).sum()
    }

    /// Returns the column, counted from 1, of the character that contains or follows this unit
    /// offset.
    pub(crate) fn column_after(self, line: &str, units: usize) -> usize {
        let mut left = units;
        let passed = line.chars().take_while(|char| {
            let fits = self.units(*char) <= left;
            left = left.saturating_sub(self.units(*char));
            fits
        });
        passed.count() + 1
    }
}

/// Returns the line with this number, counted from 0, without its line end.
pub(crate) fn line_of(text: &str, number: usize) -> Option<&str> {
    // Unlike `str::lines`, a text that ends in a line feed has an empty last line, as in servers.
    let line = text.split('\n').nth(number)?;
    Some(line.strip_suffix('\r').unwrap_or(line))
}

/// Returns the column, counted from 1, at which a name occurs in a line as a separate word.
pub(crate) fn column_of_name(line: &str, name: &str) -> Option<usize> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let stands_alone = |start: usize| {
        let before = line.get(..start).and_then(|before| before.chars().next_back());
        let after = line.get(start + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    let start =
        line.match_indices(name).map(|(start, _)| start).find(|start| stands_alone(*start))?;
    Some(line.get(..start)?.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_characters_and_units_are_not() {
        let line = "aä😀b";
        let check = |encoding: Encoding, column: usize, units: usize| {
            assert_eq!(encoding.units_before(line, column), units, "{encoding:?} {column}");
            assert_eq!(encoding.column_after(line, units), column, "{encoding:?} {units}");
        };
        for (column, units) in [(1, 0), (2, 1), (3, 3), (4, 7), (5, 8)] {
            check(Encoding::Utf8, column, units);
        }
        for (column, units) in [(1, 0), (2, 1), (3, 2), (4, 4), (5, 5)] {
            check(Encoding::Utf16, column, units);
        }
        assert_eq!(Encoding::Utf16.column_after(line, 3), 3, "in the middle of a character");
        assert_eq!(Encoding::Utf8.column_after(line, 1_000), 5, "behind the end");
        assert_eq!(Encoding::Utf8.units_before(line, 1_000), 8);
    }

    #[test]
    fn lines_end_in_any_way() {
        assert_eq!(line_of("a\r\nb\n", 0), Some("a"));
        assert_eq!(line_of("a\r\nb\n", 1), Some("b"));
        assert_eq!(line_of("a\r\nb\n", 2), Some(""));
        assert_eq!(line_of("a\r\nb\n", 3), None);
    }

    #[test]
    fn a_name_is_found_as_a_word() {
        assert_eq!(column_of_name("adder(add, x)", "add"), Some(7));
        assert_eq!(column_of_name("ää.add()", "add"), Some(4));
        assert_eq!(column_of_name("adder", "add"), None);
        assert_eq!(column_of_name("a", ""), None);
    }

    proptest! {
        #[test]
        fn there_and_back(line in "[aä😀 ]{0,12}", column in 1_usize..14) {
            let column = column.min(line.chars().count() + 1);
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                let units = encoding.units_before(&line, column);
                prop_assert_eq!(encoding.column_after(&line, units), column);
            }
        }
    }
}
