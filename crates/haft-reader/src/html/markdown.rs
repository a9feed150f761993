//! Content as Markdown. What writes Markdown knows fewer elements than HTML has and takes addresses as they stand, so that
//! the content is brought into a shape that it writes well first.

use dom_query::{Document, NodeRef};
use url::Url;

use super::markdown_cleanup;
use super::tables;

/// Elements that are lines of their own and are written as if they were none.
const BLOCKS: &[&str] = &[
    "address", "aside", "center", "dd", "details", "dialog", "fieldset", "figure", "footer",
    "form", "header", "hgroup", "main", "menu", "nav", "search", "summary", "dl",
];
/// Longest address of a link, in bytes. Longer ones carry data, and say nothing.
const ADDRESS_BYTES_MAX: usize = 2_000;
/// What links to the heading that they stand at consist of.
const MARKS: &[char] =
    &['¶', '#', '§', '\u{1f517}', '\u{f0c1}', '\u{200b}', '∞', '⚓', '^', '↑', '↩'];
/// Classes that name the language of code, before its name.
const LANGUAGE_PREFIXES: &[&str] =
    &["language-", "lang-", "highlight-source-", "highlight-", "brush:", "sourceCode "];
/// What looks like the name of a language among these classes and is none.
const NO_LANGUAGES: &[&str] =
    &["none", "default", "text", "plaintext", "plain", "notranslate", "code"];

/// Returns content as Markdown, with links relative to `base` made complete.
pub(super) fn to_markdown(content: &str, base: Option<&Url>) -> String {
    let document = Document::fragment(content);
    let root = document.root();
    let elements: Vec<NodeRef<'_>> = root.descendants_it().filter(NodeRef::is_element).collect();
    for element in &elements {
        let Some(name) = element.node_name() else { continue };
        match &*name {
            "a" => complete_link(element, base),
            "img" => complete_image(element, base),
            "pre" => name_language(element),
            "dt" | "figcaption" | "legend" => element.rename("p"),
            "button" | "label" | "option" if element.text().trim().is_empty() => {
                element.remove_from_parent();
            }
            name if BLOCKS.contains(&name) => element.rename("div"),
            _ => {}
        }
    }
    tables::normalize_tables(&document);
    markdown_cleanup::clean_markdown(&root.md(None))
}

fn complete_link(link: &NodeRef<'_>, base: Option<&Url>) {
    let text = link.text();
    let has_image = link.descendants_it().any(|node| node.has_name("img"));
    let Some(href) = link.attr("href") else { return };
    let is_mark =
        text.chars().all(|character| character.is_whitespace() || MARKS.contains(&character));
    if is_mark && !has_image && (text.trim().is_empty() || href.contains('#')) {
        link.remove_from_parent();
        return;
    }
    // Whoever reads the text has the place that it leads to before them.
    let is_within_page = href.trim_start().starts_with('#');
    match complete(&href, base).filter(|_| !is_within_page) {
        Some(address) => link.set_attr("href", &address),
        None => link.remove_attr("href"),
    }
    link.remove_attr("title");
}

/// Keeps an image only if it says something to somebody who does not see it.
fn complete_image(image: &NodeRef<'_>, base: Option<&Url>) {
    let alternative = image.attr("alt").filter(|text| !text.trim().is_empty());
    let sources = ["data-src", "data-original", "src"];
    let mut addresses = sources.iter().filter_map(|name| complete(&image.attr(name)?, base));
    match (alternative, addresses.next()) {
        (Some(_), Some(address)) => {
            image.set_attr("src", &address);
            image.remove_attrs(&["srcset", "data-src", "title"]);
        }
        (Some(text), None) => image.replace_with(&document_text(image, &text)),
        (None, _) => image.remove_from_parent(),
    }
}

fn document_text<'a>(node: &NodeRef<'a>, text: &str) -> NodeRef<'a> {
    node.tree.new_text(text)
}

/// Returns the whole address, unless it is none that leads anywhere.
fn complete(address: &str, base: Option<&Url>) -> Option<String> {
    let address = address.trim();
    if address.is_empty() || address.len() > ADDRESS_BYTES_MAX {
        return None;
    }
    let url = match base {
        Some(base) => base.join(address).ok()?,
        None => Url::parse(address).ok()?,
    };
    let leads_somewhere = matches!(url.scheme(), "http" | "https" | "mailto" | "tel" | "ftp");
    (leads_somewhere && url.as_str().len() <= ADDRESS_BYTES_MAX).then(|| url.to_string())
}

/// Notes the language of code where it is looked for. It is named by classes of the code or what is around it.
fn name_language(code: &NodeRef<'_>) {
    let inner = code.descendants_it().find(|node| node.has_name("code"));
    let around = code.ancestors(Some(2));
    let candidates = inner.iter().chain([code]).chain(&around);
    if let Some(language) = candidates.filter_map(language_of).next() {
        code.set_attr("data-lang", &language);
    }
}

fn language_of(node: &NodeRef<'_>) -> Option<String> {
    if let Some(language) = node.attr("data-lang").or_else(|| node.attr("data-language")) {
        return Some(language.to_string());
    }
    let classes = node.class()?;
    let named = LANGUAGE_PREFIXES.iter().find_map(|prefix| {
        let (_, after) = classes.split_once(prefix)?;
        let after = after.trim_start();
        let language =
            after.split(|character: char| character.is_whitespace() || character == ';').next()?;
        Some(language.to_ascii_lowercase())
    })?;
    (!named.is_empty() && !NO_LANGUAGES.contains(&&*named)).then_some(named)
}
