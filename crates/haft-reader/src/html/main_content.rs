//! Decides whether the main content can replace the whole page. It cannot if most of the page's own words are elsewhere, as
//! on pages of many entries or tables.

use dom_query::{Document, NodeRef};

/// Least share of a page's own words that the main content has, in percent.
const SHARE_MIN_PERCENT: usize = 30;
/// Most words of a short page, which is read whole if the main content is not most of it.
const SHORT_PAGE_WORDS: usize = 120;
/// Least share of a short page's words that its main content has, in percent.
const SHORT_SHARE_MIN_PERCENT: usize = 60;
/// Elements whose content belongs to a site more than to one of its pages.
const AROUND: &[&str] = &["nav", "footer", "aside", "header", "form", "button", "head", "script"];
/// Roles of such elements.
const ROLES_AROUND: &[&str] =
    &["navigation", "complementary", "contentinfo", "banner", "search", "dialog", "alert", "menu"];

/// Returns whether this content can replace a page with so many own words.
pub(super) fn covers_page(content: &str, page_words: usize) -> bool {
    let words = count_own_words(&Document::fragment(content).root());
    let is_short = page_words <= SHORT_PAGE_WORDS;
    let share_min = if is_short { SHORT_SHARE_MIN_PERCENT } else { SHARE_MIN_PERCENT };
    words > 0 && words * 100 >= page_words * share_min
}

/// Counts words, without those in links and around the content. Scripts without spaces have a word for each few letters.
pub(super) fn count_own_words(root: &NodeRef<'_>) -> usize {
    let mut words = 0;
    let mut pending: Vec<NodeRef<'_>> = vec![*root];
    while let Some(node) = pending.pop() {
        if node.is_text() {
            let text = node.text();
            let wide = text.chars().filter(|character| *character >= '\u{2e80}').count();
            words += text.split_whitespace().count() + wide / 2;
            continue;
        }
        let is_counted = node.node_name().is_none_or(|name| {
            &*name != "a"
                && !AROUND.contains(&&*name)
                && node.attr("role").is_none_or(|role| !ROLES_AROUND.contains(&&*role))
        });
        if is_counted {
            pending.extend(node.children_it(false));
        }
    }
    words
}
