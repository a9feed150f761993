//! Converts HTML to Markdown: removes hidden elements, finds the main content and completes its links. If a page has no
//! main content, or far more text than its main content, the whole page is converted.
//!
//! Elements that only style sheets or scripts hide are kept.

mod hidden;
mod main_content;
mod markdown;
mod markdown_cleanup;
mod tables;

use dom_query::Document;
use dom_smoothie::{Config, Readability};
use url::Url;

use crate::limits::DEPTH_MAX;

/// The content of an HTML page.
pub(crate) struct HtmlContent {
    pub(crate) title: Option<String>,
    pub(crate) markdown: String,
    /// Whether the Markdown is the whole page.
    pub(crate) is_whole: bool,
}

/// The elements of a page are nested deeper than [`DEPTH_MAX`].
pub(crate) struct DeepPage;

/// Converts a page. Its links are relative to its URL.
pub(crate) fn read_html(html: &str, url: &str) -> Result<HtmlContent, DeepPage> {
    let document = Document::from(html);
    // The steps below recurse into the elements.
    let mut unseen = vec![(document.root(), 0)];
    while let Some((node, depth)) = unseen.pop() {
        if depth > DEPTH_MAX {
            return Err(DeepPage);
        }
        unseen.extend(node.next_element_sibling().map(|sibling| (sibling, depth)));
        unseen.extend(node.first_element_child().map(|child| (child, depth + 1)));
    }
    let mut base = Url::parse(url).ok();
    if let Some(address) = document.base_uri() {
        base = match base {
            Some(page) => page.join(address.trim()).ok().or(Some(page)),
            None => Url::parse(address.trim()).ok(),
        };
    }
    hidden::remove_hidden(&document);
    let page_words = document.body().map_or(0, |body| main_content::count_own_words(&body));
    let whole = document.body().map(|body| body.inner_html());
    // Classes tell the language of code.
    let config = Config { keep_classes: true, ..Config::default() };
    // Only a URL can be refused, and haft passes no URL.
    let Ok(mut readability) = Readability::with_document(document, None, Some(config)) else {
        return Ok(HtmlContent { title: None, markdown: String::new(), is_whole: true });
    };
    let own_title = readability.doc.select_single("title").text().to_string();
    let article = readability.parse().ok();
    let found_title = article.as_ref().map_or("", |article| &article.title);
    let title = better_title(found_title, &own_title);
    let main = article.filter(|article| main_content::covers_page(&article.content, page_words));
    let (content, is_whole) = match main {
        Some(article) => (article.content, false),
        None => (whole.unwrap_or_default(), true),
    };
    let markdown = markdown::to_markdown(&content, base.as_ref());
    Ok(HtmlContent { title: Some(title), markdown, is_whole })
}

/// Returns the found title, unless it lost its beginning, which is seldom the name of a site.
fn better_title(found: &str, own: &str) -> String {
    let (found, own) = (found.trim(), own.trim());
    let is_cut = !own.starts_with(found) && own.contains(found);
    if found.is_empty() || is_cut { own.to_owned() } else { found.to_owned() }
}

#[cfg(test)]
mod tests;
