//! Near matches of a name that does not exist.

use haft_contract::limits::SUGGESTIONS_MAX;

/// How alike two names must be to be worth naming, from 0 to 1.
const SIMILARITY_MIN: f64 = 0.6;

/// Returns the candidates most like `name`, best first, at most [`SUGGESTIONS_MAX`].
pub fn near_matches<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = plain_name(name);
    let mut scored: Vec<(f64, &str)> = candidates
        .map(|candidate| (similarity(&name, &plain_name(candidate)), candidate))
        .filter(|(score, _)| *score >= SIMILARITY_MIN)
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    scored.into_iter().take(SUGGESTIONS_MAX).map(|(_, candidate)| candidate).collect()
}

/// Returns the name without what spellings differ in: case, and the marks between words.
pub fn plain_name(name: &str) -> String {
    name.chars().filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A name that contains the other counts as near: models write `read_file` for `read`.
fn similarity(name: &str, candidate: &str) -> f64 {
    let contains = name.len() > 2
        && candidate.len() > 2
        && (name.contains(candidate) || candidate.contains(name));
    let distance = strsim::jaro_winkler(name, candidate)
        .min(strsim::normalized_levenshtein(name, candidate) + 0.2);
    if contains { distance.max(0.75) } else { distance }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_comes_first_and_strangers_are_left_out() {
        let check = |name: &str, expect: &[&str]| {
            let tools = ["read", "write", "edit", "glob", "grep", "bash", "todo", "apply_patch"];
            assert_eq!(near_matches(name, tools.into_iter()), expect, "for {name:?}");
        };
        check("read_file", &["read"]);
        check("Bash", &["bash"]);
        check("applypatch", &["apply_patch"]);
        check("gerp", &["grep"]);
        check("ApplyPatch", &["apply_patch"]);
        check("zzz", &[]);
    }
}
