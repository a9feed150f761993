//! Folds names as file systems may compare them: without regard to letter case, Unicode form and
//! invisible code points. The folding deliberately goes beyond any single file system, so that a
//! name that only looks like a protected one is protected too.

use unicode_normalization::UnicodeNormalization;

/// Replaces the contents of `folded` with the folded form of `name`.
///
/// Two names that any file system treats as equal have the same folded form. Bytes that are not
/// UTF-8 are folded in ASCII only.
pub(super) fn fold_into(name: &[u8], folded: &mut Vec<u8>) {
    folded.clear();
    match std::str::from_utf8(name) {
        Ok(text) if !text.is_ascii() => {
            // Upper case before lower case unifies letters that share an upper case, such as the
            // two sigmas and the long s. Both steps can produce text that is not normalised, and
            // normalising can produce upper case again: hence twice.
            let once = |text: &str| -> String {
                let seen = text.chars().filter(|character| !is_ignorable(*character));
                let cased = seen.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
                cased.nfkc().filter(|character| !is_ignorable(*character)).collect()
            };
            folded.extend_from_slice(once(&once(text)).as_bytes());
        }
        Ok(_) | Err(_) => folded.extend(name.iter().map(u8::to_ascii_lowercase)),
    }
}

/// Returns the folded form of `name`.
pub(super) fn fold(name: &[u8]) -> Vec<u8> {
    let mut folded = Vec::with_capacity(name.len());
    fold_into(name, &mut folded);
    folded
}

/// Returns whether file systems that fold names ignore this code point: the property
/// `Default_Ignorable_Code_Point`.
fn is_ignorable(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
