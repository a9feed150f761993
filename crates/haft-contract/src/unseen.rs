//! Characters of outside text that nobody sees. They can tell a model what a person who looks at the same text does not read,
//! and turn it around on a terminal. What is done about them is whoever shows the text's business.

/// Returns whether a character is invisible: a control character other than a tab and the ends of lines, one that turns the
/// direction of text, or a letter that is not drawn. Those that join or part letters of some scripts are not meant.
///
/// ```
/// let text: String = "a\u{202e}b\u{e0041}\u{1b}[2J\n".chars().filter(|it| !haft_contract::is_unseen(*it)).collect();
/// assert_eq!(text, "ab[2J\n");
/// ```
pub fn is_unseen(character: char) -> bool {
    let is_control = character.is_control() && !matches!(character, '\n' | '\t' | '\r');
    is_control
        || matches!(character,
            '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
