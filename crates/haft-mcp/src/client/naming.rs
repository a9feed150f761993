//! Names of a server's tools: ids in haft, and the names that rules speak of. A name that a server chose never takes the
//! place of another tool's.

use std::collections::BTreeMap;

use haft_contract::limits::TOOL_ID_CHARS_MAX;
use haft_contract::{ToolId, sha256_hex};

/// Characters of the digest that tells names apart which would otherwise be one.
const DIGEST_CHARS: usize = 8;

/// Returns the id of each of a server's tools, in their order: `<server>_<tool>`, made of what ids are made of. Of names
/// that come to the same id, one that is spelled as in its id keeps it; the others end in a digest of their name, which is
/// the same whatever other tools there are.
pub(super) fn ids(server: &str, names: &[&str]) -> Vec<Option<ToolId>> {
    let safe = |char: char| match char.to_ascii_lowercase() {
        char @ ('a'..='z' | '0'..='9' | '_') => char,
        _ => '_',
    };
    let plain = |name: &&str| format!("{server}_{}", name.chars().map(safe).collect::<String>());
    let plain: Vec<String> = names.iter().map(plain).collect();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for id in &plain {
        *count.entry(id).or_default() += 1;
    }
    let is_shared = |id: &str| count.get(id).is_some_and(|count| *count > 1);
    let named = names.iter().zip(&plain);
    let id = |(name, id): (&&str, &String)| {
        let is_spelled = *id == format!("{server}_{name}");
        let is_short = id.len() <= TOOL_ID_CHARS_MAX;
        let text = match is_short && (is_spelled || !is_shared(id)) {
            true => id.clone(),
            false => {
                let digest = sha256_hex(name.as_bytes());
                let digest: String = digest.chars().take(DIGEST_CHARS).collect();
                let kept = id.chars().take(TOOL_ID_CHARS_MAX - DIGEST_CHARS - 1);
                format!("{}_{digest}", kept.collect::<String>())
            }
        };
        ToolId::parse(&text).ok()
    };
    named.map(id).collect()
}

/// Returns the name that rules call a tool by, which is also the capability that its calls need.
pub fn permission(server: &str, tool: &str) -> String {
    let is_good = |char: char| char.is_ascii_alphanumeric() || "_-.".contains(char);
    let name: String = tool.chars().map(|char| if is_good(char) { char } else { '_' }).collect();
    format!("mcp:{server}:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_ids_that_stay_apart() {
        let check = |names: &[&str], expect: &[&str]| {
            let found = ids("git", names);
            let found: Vec<&str> =
                found.iter().map(|id| id.as_ref().map_or("-", ToolId::as_str)).collect();
            assert_eq!(found, expect, "{names:?}");
        };
        check(&["status", "git_log"], &["git_status", "git_git_log"]);
        check(
            &["getForecast", "a.b/c-d", "Größe"],
            &["git_getforecast", "git_a_b_c_d", "git_gr__e"],
        );
        check(&["a-b", "a_b", "a.b"], &["git_a_b_d44362d6", "git_a_b", "git_a_b_2e7336dc"]);
        let long = "x".repeat(70);
        let id = ids("git", &[&long]).remove(0).unwrap();
        assert_eq!(id.as_str().len(), TOOL_ID_CHARS_MAX);
        assert_ne!(ids("git", &[&"x".repeat(71)]).remove(0).unwrap(), id);
    }

    #[test]
    fn an_id_does_not_depend_on_the_order() {
        let one = ids("s", &["a-b", "a.b"]);
        let mut other = ids("s", &["a.b", "a-b"]);
        other.reverse();
        assert_eq!(one, other);
    }

    #[test]
    fn rules_name_tools_as_the_server_does() {
        assert_eq!(permission("git", "getForecast"), "mcp:git:getForecast");
        assert_eq!(permission("git", "a b:c*"), "mcp:git:a_b_c_");
    }
}
