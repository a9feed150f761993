//! Suggestions for a name that does not exist, as the end of a message.

use haft::near_matches;

/// Returns `; did you mean a or b?`, or nothing where nothing is near.
pub(crate) fn did_you_mean<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    let near = near_matches(name, candidates);
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_named_if_any_is_near() {
        let check = |name: &str, expect: &str| {
            let names = ["read", "write", "city", "finance_price", "apply_patch"];
            assert_eq!(did_you_mean(name, names.into_iter()), expect, "for {name:?}");
        };
        check("read_file", "; did you mean read?");
        check("FinancePrice", "; did you mean finance_price?");
        check("citty", "; did you mean city?");
        check("zzz", "");
        check("", "");
    }
}
