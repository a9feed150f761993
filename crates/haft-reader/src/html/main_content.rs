//! Whether what was found to be the main content stands for the page: it does not if most of what the page says in
//! sentences is elsewhere, as on pages of many entries, or of tables, or on those made to be looked at.

use dom_query::{Document, NodeRef};

/// Part of a page's own words below which something is no main content, in percent.
const SHARE_MIN_PERCENT: usize = 30;
/// Words of a page that is short enough to be read whole if the main content is not most of it.
const SHORT_PAGE_WORDS: usize = 120;
/// Part of a short page's words that its main content has, in percent.
const SHORT_SHARE_MIN_PERCENT: usize = 60;
/// Elements that hold what belongs to a site more than to one of its pages.
const AROUND: &[&str] = &["nav", "footer", "aside", "header", "form", "button", "head", "script"];
/// Roles of elements that do.
const ROLES_AROUND: &[&str] =
    &["navigation", "complementary", "contentinfo", "banner", "search", "dialog", "alert", "menu"];

/// How much a page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentMeasure {
    /// Words that are neither in links nor around the content.
    own_words: usize,
}

/// Measures a page, before anything is taken out of it but what is not seen.
pub(super) fn measure_content(document: &Document) -> ContentMeasure {
    ContentMeasure { own_words: document.body().map_or(0, |body| own_words(&body)) }
}

/// Returns whether this content stands for the page.
pub(super) fn covers_page(content: &str, outline: &ContentMeasure) -> bool {
    let content = Document::fragment(content);
    let words = own_words(&content.root());
    let share_min = if outline.own_words <= SHORT_PAGE_WORDS {
        SHORT_SHARE_MIN_PERCENT
    } else {
        SHARE_MIN_PERCENT
    };
    words > 0 && words * 100 >= outline.own_words * share_min
}

/// Counts words, without those in links and around the content. Scripts without spaces have a word for each few letters.
fn own_words(root: &NodeRef<'_>) -> usize {
    let mut words = 0;
    // An element whose content does not count is passed over as a whole.
    let mut pending: Vec<NodeRef<'_>> = vec![*root];
    while let Some(node) = pending.pop() {
        if node.is_text() {
            words += count_words(&node.text());
        } else if !is_around(&node) {
            pending.extend(node.children_it(false));
        }
    }
    words
}

fn is_around(node: &NodeRef<'_>) -> bool {
    let Some(name) = node.node_name() else { return false };
    &*name == "a"
        || AROUND.contains(&&*name)
        || node.attr("role").is_some_and(|role| ROLES_AROUND.contains(&&*role))
}

fn count_words(text: &str) -> usize {
    let wide = text.chars().filter(|character| *character >= '\u{2e80}').count();
    text.split_whitespace().count() + wide / 2
}
