//! The words of ids, descriptions and queries, in the one form in which they are compared: lower case, without the ends that
//! words of English take as verbs and in the plural. The forms need not be words; two that mean the same need to be one.

/// Letters of a word that is long enough to have other forms.
pub(super) const WORD_CHARS_MIN: usize = 3;

/// Words that say nothing of what a tool does.
const SILENT: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "i", "in", "is", "it", "its",
    "of", "on", "or", "that", "the", "this", "to", "with", "you", "your",
];

/// Returns the words of a text. One that is written like `camelCase` is taken as a whole and in its parts.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|character: char| !character.is_alphanumeric());
    let runs = runs.filter(|run| !run.is_empty());
    let lower = runs.flat_map(|run| {
        let parts = parts(run);
        let whole = (parts.len() > 1).then(|| run.to_lowercase());
        parts.into_iter().map(str::to_lowercase).chain(whole)
    });
    lower.filter(|word| SILENT.binary_search(&word.as_str()).is_err()).map(singular).map(base)
}

/// Cuts a run of letters and digits where a capital begins a word: before one that follows a small letter, and before
/// the last of several that a small letter follows.
fn parts(run: &str) -> Vec<&str> {
    if run.is_ascii() && !run.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()) {
        return vec![run];
    }
    let characters: Vec<(usize, char)> = run.char_indices().collect();
    let (mut parts, mut start) = (Vec::new(), 0);
    for window in characters.windows(3) {
        let [(_, before), (at, here), (_, after)] = window else { continue };
        let begins = here.is_uppercase() && (!before.is_uppercase() || after.is_lowercase());
        if begins && let Some(part) = run.get(start..*at) {
            parts.push(part);
            start = *at;
        }
    }
    parts.extend(run.get(start..));
    parts
}

/// Takes the end off that makes a word plural.
fn singular(mut word: String) -> String {
    let has_end = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    if word.len() <= WORD_CHARS_MIN || !has_end(&["s"]) || has_end(&["ss", "us", "is"]) {
        return word;
    }
    let (taken, put) = if word.len() > 4 && has_end(&["ies"]) {
        (3, "y")
    } else if has_end(&["sses", "shes", "ches", "xes", "zes"]) {
        (2, "")
    } else {
        (1, "")
    };
    word.truncate(word.len().saturating_sub(taken));
    word.push_str(put);
    word
}

/// Takes the end off that a verb takes: `create`, `created` and `creating` are one.
fn base(mut word: String) -> String {
    let stem = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed"));
    let is_verb =
        |stem: &&str| stem.len() >= WORD_CHARS_MIN && stem.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    if let Some(stem) = stem.filter(is_verb) {
        let mut ends = stem.bytes().rev();
        let doubled = matches!((ends.next(), ends.next()), (Some(one), Some(other)) if one == other && !b"lsz".contains(&one));
        let bytes = stem.len() - usize::from(doubled);
        word.truncate(bytes);
    }
    if word.len() > WORD_CHARS_MIN && word.ends_with('e') {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_in_one_form() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(words(text).collect::<Vec<_>>(), expect, "of {text:?}");
        };
        check("github_create_issue", &["github", "creat", "issu"]);
        check("shop.place-order", &["shop", "plac", "order"]);
        check("List the issues of a repository.", &["list", "issu", "repository"]);
        check("repositories branches boxes classes", &["repository", "branch", "box", "class"]);
        check("creates created creating create", &["creat", "creat", "creat", "creat"]);
        check(
            "running calling getting sends string need",
            &["run", "call", "get", "send", "string", "need"],
        );
        check("status analysis bus access", &["status", "analysis", "bus", "access"]);
        check("listFiles", &["list", "fil", "listfil"]);
        check("HTTPServer GitHub", &["http", "server", "httpserver", "git", "hub", "github"]);
        check("S3 v2 PDFs", &["s3", "v2", "pd", "fs", "pdf"]);
        check(
            "Straße ÄnderungsÜbersicht 搜索",
            &["straß", "änderung", "übersicht", "änderungsübersicht", "搜索"],
        );
        check("a to the", &[]);
        check("", &[]);
    }

    #[test]
    fn silent_words_are_sorted() {
        assert!(SILENT.is_sorted());
    }
}
