//! Arithmetic runs code in its data: `x='a[$(rm y)]'; ((x))` removes a file. This records whether a
//! line evaluates arithmetic over variables, and whether text with code in a subscript could reach
//! it. The line's initial environment is trusted.

use crate::analysis::UnknownReason;

/// The arithmetic of a line, and the data that may reach it.
#[derive(Default)]
pub(crate) struct DataFlow {
    /// Arithmetic over variables is evaluated.
    pub(crate) evaluates: bool,
    /// Data comes from a command, a file, or a pattern.
    has_unknown: bool,
    has_bracket: bool,
    has_dollar: bool,
}

impl DataFlow {
    /// Records data that the line does not contain literally.
    pub(crate) fn add_unknown(&mut self) {
        self.has_unknown = true;
    }

    /// Records a literal word of the line. Code may be assembled from parts of several words.
    pub(crate) fn add_literal(&mut self, text: &str) {
        self.has_bracket |= text.contains('[') && !matches!(text, "[" | "[[");
        self.has_dollar |= text.contains(['$', '`']);
    }

    /// Returns how arithmetic may run code: from text of the line, or from data that the line does not contain.
    pub(crate) fn code_source(&self) -> Option<UnknownReason> {
        match self {
            Self { evaluates: false, .. } => None,
            Self { has_bracket: true, has_dollar: true, .. } => Some(UnknownReason::Arithmetic),
            Self { has_unknown: true, .. } => Some(UnknownReason::ArithmeticData),
            Self { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_takes_a_bracket_and_a_dollar_or_unknown_data() {
        let check = |literals: &[&str], expect: Option<UnknownReason>| {
            let mut data = DataFlow { evaluates: true, ..DataFlow::default() };
            literals.iter().for_each(|literal| data.add_literal(literal));
            assert_eq!(data.code_source(), expect, "{literals:?}");
        };
        check(&[], None);
        check(&["[", "$x"], None);
        check(&["a[1]"], None);
        check(&["a[$(b)]"], Some(UnknownReason::Arithmetic));
        check(&["a[", "`b`]"], Some(UnknownReason::Arithmetic));
        let unknown = DataFlow { has_unknown: true, ..DataFlow::default() };
        assert_eq!(unknown.code_source(), None);
        let evaluated = DataFlow { evaluates: true, ..unknown };
        assert_eq!(evaluated.code_source(), Some(UnknownReason::ArithmeticData));
    }
}
