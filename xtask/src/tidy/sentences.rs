//! Documents are written in short sentences: each file in `docs/` keeps a low average.
//!
//! Only running text counts. Code blocks, tables, headings and generated files are left out.

use super::TidyViolation;
use super::documents::is_generated;
use super::markdown::paragraphs;
use crate::repository::RepositoryFile;

/// The highest average length of a file's sentences, in words.
const SENTENCE_WORDS_MAX: usize = 20;

/// Fails documents with long sentences.
pub(super) fn check(sources: &[RepositoryFile]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with("docs/")) {
        if source.extension() != "md" || is_generated(&source.path) {
            continue;
        }
        let (sentences, words) = count(&source.text);
        if words > sentences * SENTENCE_WORDS_MAX {
            let message = format!(
                "{words} words in {sentences} sentences, at most {SENTENCE_WORDS_MAX} on average; \
                 write one fact a sentence"
            );
            violations.push(TidyViolation::new(&source.path, 1, message));
        }
    }
    violations
}

/// Returns the number of sentences and of words in the running text of a document.
fn count(markdown: &str) -> (usize, usize) {
    let (mut sentences, mut words) = (0, 0);
    for paragraph in paragraphs(markdown) {
        let mut is_open = false;
        for word in paragraph.text.split_whitespace() {
            if word.chars().any(char::is_alphanumeric) {
                words += 1;
                is_open = true;
            }
            let end = word.trim_end_matches([')', '"', '*', '_']);
            if is_open && end.ends_with(['.', '!', '?']) {
                sentences += 1;
                is_open = false;
            }
        }
        sentences += usize::from(is_open);
    }
    (sentences, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_counted_in_running_text() {
        for (text, expected) in [
            ("One two. Three four five!", (2, 5)),
            ("one\ntwo.\n\n- three\n- four\n  five", (3, 5)),
            ("# a heading\n\n| a | table |\n\n```sh\ncode code\n```\n", (0, 0)),
            ("a `b c.d e` f. (And g.)", (2, 5)),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
    }
}
