//! Reads which pages of a document are wanted: `3`, `2-5`, `1,4-6`.

/// Returns the numbers of the wanted pages, ascending and from 1. `noun` names the pages in messages.
pub(super) fn parse(text: &str, total: usize, noun: &str) -> Result<Vec<usize>, String> {
    let mut wanted = Vec::new();
    for range in text.split(',').map(str::trim) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number > 0);
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(format!("pages: expected numbers such as 3 or 2-5, found {text:?}"));
        };
        if last < first {
            return Err(format!("pages: expected the smaller number first, found {range:?}"));
        }
        if last > total && total == 1 {
            let noun = noun.trim_end_matches('s');
            return Err(format!(
                "pages: the file has only 1 {noun}, found {range:?}: leave pages out"
            ));
        }
        if last > total {
            return Err(format!(
                "pages: the file has {total} {noun}, found {range:?}: give numbers from 1 to {total}"
            ));
        }
        wanted.extend(first..=last);
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_numbers_and_ranges() {
        let check = |text: &str, expect: &str| {
            let found = match parse(text, 9, "pages") {
                Ok(pages) => format!("{pages:?}"),
                Err(problem) => problem,
            };
            assert_eq!(found, expect);
        };
        check("3", "[3]");
        check("2-4, 1,3", "[1, 2, 3, 4]");
        check("9", "[9]");
        check("0", "pages: expected numbers such as 3 or 2-5, found \"0\"");
        check("", "pages: expected numbers such as 3 or 2-5, found \"\"");
        check("5-", "pages: expected numbers such as 3 or 2-5, found \"5-\"");
        check("4-2", "pages: expected the smaller number first, found \"4-2\"");
        check("10", "pages: the file has 9 pages, found \"10\": give numbers from 1 to 9");
        check(
            "1-18446744073709551615",
            "pages: the file has 9 pages, found \"1-18446744073709551615\": give numbers from 1 to 9",
        );
    }
}
