//! Near matches of a name that does not exist.

use haft_contract::limits::SUGGESTIONS_MAX;

/// Letters of a name for each of which one may be wrong: of a short one hardly any, or everything would be near it.
const CHARS_PER_MISTAKE: usize = 3;
/// Least length of a name that counts as near because the other contains it.
const CONTAINED_CHARS_MIN: usize = 3;

/// Returns the candidates most like `name`, best first, at most [`SUGGESTIONS_MAX`].
///
/// A candidate is near if one of the two contains the other, since models write `read_file` for `read`, or if a third of
/// the letters of the longer one at most would have to be changed.
pub fn near_matches<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = plain_name(name);
    let near = candidates.filter_map(|candidate| {
        let plain = plain_name(candidate);
        let (one, other) = (name.chars().count(), plain.chars().count());
        let contains = one.min(other) >= CONTAINED_CHARS_MIN
            && (name.contains(&plain) || plain.contains(&name));
        let mistakes = strsim::osa_distance(&name, &plain);
        let is_near = contains || mistakes <= one.max(other) / CHARS_PER_MISTAKE;
        // Of two equally distant names, the one with the same beginning comes first.
        is_near.then(|| (strsim::jaro_winkler(&name, &plain), candidate))
    });
    let mut near: Vec<(f64, &str)> = near.collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    near.into_iter().take(SUGGESTIONS_MAX).map(|(_, candidate)| candidate).collect()
}

/// Returns the letters and digits of a name in lower case, to compare names with different case and separators.
pub fn plain_name(name: &str) -> String {
    name.chars().filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase).collect()
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
        check("", &[]);
    }

    #[test]
    fn a_short_name_is_near_to_few() {
        let check = |name: &str, candidate: &str, expect: bool| {
            let is_near = !near_matches(name, std::iter::once(candidate)).is_empty();
            assert_eq!(is_near, expect, "{name:?} and {candidate:?}");
        };
        check("foo", "tools", false);
        check("fool", "tools", false);
        check("tool", "tools", true);
        check("ls", "lsp", true);
        check("rm", "lsp", false);
        check("mode", "model", true);
        check("node", "tools", false);
        check("todo", "tool", false);
        // A third of the letters and one more.
        check("glib", "glob", true);
        check("glib", "grob", false);
        check("prmisions", "permissions", true);
        check("prmsions", "permissions", true);
        check("prmsins", "permissions", false);
        check("naïve", "naive", true);
    }
}
