use super::*;

#[test]
fn every_word_is_read_as_it_is_written() {
    fn check<T: PartialEq + std::fmt::Debug + serde::Serialize>(
        all: &[T],
        text: impl Fn(&T) -> &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) {
        for word in all {
            assert_eq!(parse(text(word)).as_ref(), Some(word));
            let json = serde_json::to_string(word).expect("a word is a string");
            assert_eq!(json, format!("\"{}\"", text(word)));
        }
        assert_eq!(parse("else"), None);
    }
    check(SessionStatus::ALL, |word| word.as_str(), SessionStatus::parse);
    check(SessionMode::ALL, |word| word.as_str(), SessionMode::parse);
    check(MessageRole::ALL, |word| word.as_str(), MessageRole::parse);
    check(MessageKind::ALL, |word| word.as_str(), MessageKind::parse);
    check(MessageFinish::ALL, |word| word.as_str(), MessageFinish::parse);
    check(PartKind::ALL, |word| word.as_str(), PartKind::parse);
    check(PartState::ALL, |word| word.as_str(), PartState::parse);
}
