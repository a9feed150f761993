//! Removes the elements that a person does not see: scripts, elements with attributes that hide them, text for screen
//! readers only, and the numbers beside lines of code.

use dom_query::{Document, NodeRef};

/// Elements that are never read.
const IGNORED_SELECTORS: &[&str] = &[
    "script", "style", "noscript", "template", "iframe", "object", "embed", "applet", "canvas",
    "audio", "video", "svg", "input", "select", "textarea", "datalist", "link", "frame",
    "frameset",
];
/// Classes of text for screen readers only, of numbers beside lines of code, and of links to edit a page.
const HIDDEN_CLASSES: &[&str] = &[
    "sr-only",
    "visually-hidden",
    "visuallyhidden",
    "screen-reader-text",
    "screen-reader-only",
    "linenos",
    "linenodiv",
    "lineno",
    "line-numbers-rows",
    "gutter",
    "mw-editsection",
    "noprint",
    "printfooter",
];
/// Distance to the left or top at which an element is off the screen, in pixels.
const OFF_SCREEN_PX: f64 = 999.0;

/// Removes the hidden elements.
pub(super) fn remove_hidden(document: &Document) {
    let root = document.root();
    let mut hidden: Vec<NodeRef<'_>> = Vec::new();
    for node in root.descendants_it() {
        if node.is_comment() {
            hidden.push(node);
            continue;
        }
        let Some(name) = node.node_name() else { continue };
        let is_named = |attribute: &str, value: &str| {
            node.attr(attribute).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
        };
        // The main content's title and author may come from a script of data.
        let is_data = &*name == "script" && is_named("type", "application/ld+json");
        if is_data || matches!(&*name, "html" | "body" | "head") {
            continue;
        }
        let class = node.class();
        let classes = class.as_deref().unwrap_or_default();
        // Browsers show the picture of a formula where the formula itself is hidden.
        let is_fallback = classes.contains("fallback-image");
        let style = node.attr("style").unwrap_or_default().to_ascii_lowercase();
        let mut declarations = style.split(';').filter_map(|each| each.split_once(':'));
        let is_hidden = IGNORED_SELECTORS.contains(&&*name)
            // A search in the browser shows `until-found` elements.
            || (node.has_attr("hidden") && !is_named("hidden", "until-found"))
            || (is_named("aria-hidden", "true") && !is_fallback)
            || (&*name == "dialog" && !node.has_attr("open"))
            || classes.split_ascii_whitespace().any(|class| HIDDEN_CLASSES.contains(&class))
            || declarations.any(|(property, value)| {
                let value = value.replace("!important", "");
                let value = value.trim();
                match property.trim() {
                    "display" => value == "none",
                    "visibility" => value == "hidden" || value == "collapse",
                    "opacity" | "font-size" | "max-height" | "max-width" => {
                        number(value) == Some(0.0)
                    }
                    "text-indent" | "left" | "top" | "right" | "margin-left" | "margin-top" => {
                        value.ends_with("px")
                            && number(value).is_some_and(|px| px <= -OFF_SCREEN_PX)
                    }
                    "clip" => value.replace(' ', "").starts_with("rect(0"),
                    "clip-path" => value.replace(' ', "").starts_with("inset(100%"),
                    _ => false,
                }
            });
        if is_hidden {
            hidden.push(node);
        }
    }
    for node in hidden {
        node.remove_from_parent();
    }
}

/// Returns the number that a value begins with.
fn number(value: &str) -> Option<f64> {
    let end = value.find(|character: char| !matches!(character, '0'..='9' | '.' | '-' | '+'));
    value.get(..end.unwrap_or(value.len()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether an element with this style is removed.
    fn style_hides(style: &str) -> bool {
        let document = Document::from(format!("<p style=\"{style}\">text"));
        remove_hidden(&document);
        !document.select("p").exists()
    }

    #[test]
    fn style_hides_in_many_ways() {
        for hidden in [
            "display:none",
            "color: red; DISPLAY : None !important",
            "visibility:hidden",
            "opacity: 0",
            "opacity:0.0",
            "font-size:0px",
            "position:absolute; left:-9999px",
            "text-indent: -5000px",
            "clip: rect(0 0 0 0)",
            "clip-path: inset(100%)",
            "max-height:0",
        ] {
            assert!(style_hides(hidden), "{hidden}");
        }
        for shown in [
            "",
            "display:block",
            "opacity:0.5",
            "font-size:0.8em",
            "left:-20px",
            "margin-left:-999em",
            "content: 'display:none'",
            "background: url(a;b)",
        ] {
            assert!(!style_hides(shown), "{shown}");
        }
    }
}
