//! HTML as Markdown: what nobody sees is taken out, the main content is found, and it is written down with its links
//! complete. A page in which no main content can be found, or which has far more to say than that, is written down whole.
//!
//! What is hidden by style sheets or scripts is not known here.

mod hidden;
mod main_content;
mod markdown;
mod markdown_cleanup;
mod tables;

use dom_query::Document;
use dom_smoothie::{Config, Readability};
use url::Url;

use self::main_content::covers_page;
use crate::limits::DEPTH_MAX;

/// What a page says.
pub(crate) struct HtmlContent {
    pub(crate) title: Option<String>,
    pub(crate) markdown: String,
    /// Whether all of the page is written down.
    pub(crate) is_whole: bool,
}

/// The elements of a page are nested deeper than [`DEPTH_MAX`].
pub(crate) struct DeepPage;

/// Reads a page that lies at a URL.
pub(crate) fn read_html(html: &str, url: &str) -> Result<HtmlContent, DeepPage> {
    let document = Document::from(html);
    // What follows recurses into the elements.
    if is_deep(&document) {
        return Err(DeepPage);
    }
    let base = base_of(&document, url);
    hidden::remove_hidden(&document);
    let outline = main_content::measure_content(&document);
    let whole = document.body().map(|body| body.inner_html());
    // Classes tell the language of code.
    let config = Config { keep_classes: true, ..Config::default() };
    let mut readability = match Readability::with_document(document, None, Some(config)) {
        Ok(readability) => readability,
        // Only a URL can be refused, and none is given.
        Err(_) => {
            return Ok(HtmlContent { title: None, markdown: String::new(), is_whole: true });
        }
    };
    let own_title = readability.doc.select_single("title").text().to_string();
    let article = readability.parse().ok();
    let title = article.as_ref().map_or("", |article| &article.title);
    let title = better_title(title, &own_title);
    let main = article.filter(|article| covers_page(&article.content, &outline));
    let (content, is_whole) = match main {
        Some(article) => (article.content, false),
        None => (whole.unwrap_or_default(), true),
    };
    let markdown = markdown::to_markdown(&content, base.as_ref());
    Ok(HtmlContent { title: Some(title), markdown, is_whole })
}

fn is_deep(document: &Document) -> bool {
    let mut unseen = vec![(document.root(), 0)];
    while let Some((node, depth)) = unseen.pop() {
        if depth > DEPTH_MAX {
            return true;
        }
        unseen.extend(node.next_element_sibling().map(|sibling| (sibling, depth)));
        unseen.extend(node.first_element_child().map(|child| (child, depth + 1)));
    }
    false
}

/// Returns the title that was made out, unless something was cut off its beginning: that is seldom the name of a site.
fn better_title(found: &str, own: &str) -> String {
    let (found, own) = (found.trim(), own.trim());
    let is_cut = !own.starts_with(found) && own.contains(found);
    if found.is_empty() || is_cut { own.to_owned() } else { found.to_owned() }
}

/// Returns what links are relative to.
fn base_of(document: &Document, url: &str) -> Option<Url> {
    let page = Url::parse(url).ok();
    let Some(base) = document.base_uri() else { return page };
    match &page {
        Some(page) => page.join(base.trim()).ok().or_else(|| Some(page.clone())),
        None => Url::parse(base.trim()).ok(),
    }
}

#[cfg(test)]
mod tests;
