//! Converts content to Markdown. The library that writes Markdown knows few elements and copies addresses unchanged.
//! Therefore the content is first changed to elements that the library writes well.

use dom_query::{Document, NodeRef};
use url::Url;

use super::markdown_cleanup;
use super::tables;

/// Elements that become separate lines.
const BLOCKS: &[&str] = &[
    "address", "aside", "center", "dd", "details", "dialog", "fieldset", "figure", "footer",
    "form", "header", "hgroup", "main", "menu", "nav", "search", "summary", "dl",
];
/// Longest address of a link, in bytes. Longer addresses carry data that a reader cannot use.
const ADDRESS_BYTES_MAX: usize = 2_000;
/// Characters of links from a heading to itself.
const MARKS: &[char] =
    &['¶', '#', '§', '\u{1f517}', '\u{f0c1}', '\u{200b}', '∞', '⚓', '^', '↑', '↩'];
/// Classes that name the language of code, before its name.
const LANGUAGE_PREFIXES: &[&str] =
    &["language-", "lang-", "highlight-source-", "highlight-", "brush:", "sourceCode "];
/// Names in these classes that name no language.
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
            "a" => {
                let text = element.text();
                let has_image = element.descendants_it().any(|node| node.has_name("img"));
                let Some(href) = element.attr("href") else { continue };
                let is_mark =
                    text.chars().all(|each| each.is_whitespace() || MARKS.contains(&each));
                if is_mark && !has_image && (text.trim().is_empty() || href.contains('#')) {
                    element.remove_from_parent();
                    continue;
                }
                // A link within the page leads to text that the reader already has.
                let is_within_page = href.trim_start().starts_with('#');
                match complete(&href, base).filter(|_| !is_within_page) {
                    Some(address) => element.set_attr("href", &address),
                    None => element.remove_attr("href"),
                }
                element.remove_attr("title");
            }
            // An image without a description tells a reader of text nothing.
            "img" => {
                let description = element.attr("alt").filter(|text| !text.trim().is_empty());
                let sources = ["data-src", "data-original", "src"];
                let address = sources.iter().find_map(|name| complete(&element.attr(name)?, base));
                match (description, address) {
                    (Some(_), Some(address)) => {
                        element.set_attr("src", &address);
                        element.remove_attrs(&["srcset", "data-src", "title"]);
                    }
                    (Some(text), None) => element.replace_with(&element.tree.new_text(text)),
                    (None, _) => element.remove_from_parent(),
                }
            }
            // Classes of the code, or of the elements around it, name its language.
            "pre" => {
                let inner = element.descendants_it().find(|node| node.has_name("code"));
                let around = element.ancestors(Some(2));
                let mut candidates = inner.iter().chain([element]).chain(&around);
                let language = candidates.find_map(|node| {
                    let named = node.attr("data-lang").or_else(|| node.attr("data-language"));
                    if let Some(language) = named {
                        return Some(language.to_string());
                    }
                    let classes = node.class()?;
                    let named = LANGUAGE_PREFIXES.iter().find_map(|prefix| {
                        let (_, after) = classes.split_once(prefix)?;
                        let end = |each: char| each.is_whitespace() || each == ';';
                        after.trim_start().split(end).next().map(str::to_ascii_lowercase)
                    })?;
                    let is_language = !named.is_empty() && !NO_LANGUAGES.contains(&&*named);
                    is_language.then_some(named)
                });
                if let Some(language) = language {
                    element.set_attr("data-lang", &language);
                }
            }
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

/// Returns the whole address, unless it is empty, too long or of another scheme.
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
