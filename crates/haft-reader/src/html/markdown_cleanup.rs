//! Cleans up Markdown: removes needless escapes, invisible characters and repeated empty lines. Code does not change.

use haft_contract::is_invisible;

use crate::page::is_control;

/// Tidies Markdown.
pub(super) fn clean_markdown(markdown: &str) -> String {
    let mut tidied = String::with_capacity(markdown.len());
    let mut fence: Option<String> = None;
    let mut is_after_empty = true;
    for line in markdown.lines() {
        // Three backquotes or more open a fence. A span of code that begins a line ends on the same line.
        let content = line.trim_start();
        let rest = content.trim_start_matches('`');
        let length = content.len() - rest.len();
        let is_fence = length >= 3 && !rest.contains('`');
        let marks = content.get(..length).filter(|_| is_fence).unwrap_or_default();
        if let Some(open) = &fence {
            tidied.extend(line.chars().filter(|character| !is_control(*character)));
            tidied.push('\n');
            if marks.len() >= open.len() && line.trim() == marks {
                fence = None;
            }
            is_after_empty = false;
            continue;
        }
        let unescaped = without_spare_escapes(line);
        let mut text = String::with_capacity(unescaped.len());
        let mut rest = unescaped.as_str();
        // The addresses of links are copied unchanged, so they need no references to `&`.
        while let Some((before, after)) = rest.split_once("](") {
            let end = after.find([')', ' ']).unwrap_or(after.len());
            let (address, others) = after.split_at(end);
            text.extend([before, "](", &address.replace("&amp;", "&")]);
            rest = others;
        }
        text.push_str(rest);
        let text = text.replace("  <br>", "<br>");
        // Two spaces at the end break the line.
        let text = if text.ends_with("  ") {
            format!("{}  ", text.trim_end())
        } else {
            text.trim_end().to_owned()
        };
        let is_empty = text.trim().is_empty();
        if !(is_empty && is_after_empty) {
            tidied.push_str(if is_empty { "" } else { &text });
            tidied.push('\n');
        }
        is_after_empty = is_empty;
        if !marks.is_empty() {
            fence = Some(marks.to_owned());
        }
    }
    let length = tidied.trim_end().len();
    tidied.truncate(length);
    tidied
}

/// Removes escapes of underscores within words, where an underscore needs none and an escape hides the name from a search.
fn without_spare_escapes(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut characters = line.chars().filter(|character| !is_invisible(*character)).peekable();
    let mut ticks = 0;
    // How many backquotes opened the current span of code.
    let mut span = 0;
    let mut before = ' ';
    while let Some(character) = characters.next() {
        if character == '`' && before != '\\' {
            ticks += 1;
            if characters.peek() != Some(&'`') {
                span = if span == 0 {
                    ticks
                } else if span == ticks {
                    0
                } else {
                    span
                };
                ticks = 0;
            }
        }
        if character == '\\'
            && span == 0
            && characters.peek() == Some(&'_')
            && before.is_alphanumeric()
        {
            let mut after = characters.clone();
            after.next();
            // More may follow, as in `__init__`.
            if after.find(|next| !matches!(next, '\\' | '_')).is_some_and(char::is_alphanumeric) {
                continue;
            }
        }
        text.push(character);
        before = if character == '_' && before.is_alphanumeric() { before } else { character };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underscores_within_words_need_no_escape() {
        assert_eq!(
            clean_markdown(r"call snake\_case\_name and \_this\_"),
            r"call snake_case_name and \_this\_"
        );
        assert_eq!(clean_markdown(r"a\_\_b and end\_"), r"a__b and end\_");
        assert_eq!(clean_markdown(r"`a\_b` c\_d ``e\_`f`` g\_h"), r"`a\_b` c_d ``e\_`f`` g_h");
    }

    #[test]
    fn addresses_are_as_they_are_asked_for() {
        let line =
            "A &amp; [b](https://c.example/?d=1&amp;e=2) &amp; ![f](https://g.example/?h&amp;i)";
        let expect = "A &amp; [b](https://c.example/?d=1&e=2) &amp; ![f](https://g.example/?h&i)";
        assert_eq!(clean_markdown(line), expect);
    }

    #[test]
    fn code_stays_as_it_is() {
        let code = "```python\na\\_b\n\n\n\n`` ` ``\n  ```";
        assert_eq!(
            clean_markdown(&format!("x\n\n\n\n{code}\n\n\n\ny\u{200b}")),
            format!("x\n\n{code}\n\ny")
        );
    }
}
