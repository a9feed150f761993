//! Arithmetic runs code in its data: `x='a[$(rm y)]'; ((x))` removes a file. This records whether a
//! line evaluates arithmetic over variables, and whether text with code in a subscript could reach
//! it. The line's initial environment is trusted.

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

    pub(crate) fn may_run_code(&self) -> bool {
        self.evaluates && (self.has_unknown || (self.has_bracket && self.has_dollar))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_takes_a_bracket_and_a_dollar_or_unknown_data() {
        let check = |literals: &[&str], expect: bool| {
            let mut data = DataFlow { evaluates: true, ..DataFlow::default() };
            literals.iter().for_each(|literal| data.add_literal(literal));
            assert_eq!(data.may_run_code(), expect, "{literals:?}");
        };
        check(&[], false);
        check(&["[", "$x"], false);
        check(&["a[1]"], false);
        check(&["a[$(b)]"], true);
        check(&["a[", "`b`]"], true);
        let unknown = DataFlow { has_unknown: true, ..DataFlow::default() };
        assert!(!unknown.may_run_code());
        assert!(DataFlow { evaluates: true, ..unknown }.may_run_code());
    }
}
