//! Words as a shell takes them back, so that hints can be pasted.

/// Returns a word that a POSIX shell reads as this text.
pub fn shell(text: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "_-./:=@%+,".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_need_it_are_quoted() {
        let check = |text: &str, expect: &str| assert_eq!(shell(text), expect);
        check("read", "read");
        check("/a/b.toml", "/a/b.toml");
        check("", "''");
        check("a b", "'a b'");
        check(r#"{"cmd":"it's"}"#, r#"'{"cmd":"it'\''s"}'"#);
    }
}
