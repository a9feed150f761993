//! Takes out of a document what a person who looks at the page does not see: scripts, what elements themselves say is
//! hidden, what is there for other than eyes, and the numbers beside lines of code.

use dom_query::{Document, NodeRef};

/// Elements that are never read.
const IGNORED_SELECTORS: &[&str] = &[
    "script", "style", "noscript", "template", "iframe", "object", "embed", "applet", "canvas",
    "audio", "video", "svg", "input", "select", "textarea", "datalist", "link", "frame",
    "frameset",
];
/// Classes of what is there for other than eyes, of numbers beside lines of code, and of what serves to change a page.
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
/// Distance beyond which nothing is on a screen, in pixels.
const OFF_SCREEN_PX: f64 = 999.0;

/// Removes what is not seen.
pub(super) fn remove_hidden(document: &Document) {
    let root = document.root();
    let unseen: Vec<NodeRef<'_>> = root.descendants_it().filter(is_hidden).collect();
    for node in unseen {
        node.remove_from_parent();
    }
}

fn is_hidden(node: &NodeRef<'_>) -> bool {
    if node.is_comment() {
        return true;
    }
    let Some(name) = node.node_name() else { return false };
    if &*name == "script" && is_data_about_the_page(node) {
        return false;
    }
    let is_root = matches!(&*name, "html" | "body" | "head");
    !is_root
        && (IGNORED_SELECTORS.contains(&&*name)
            || has_hiding_attribute(node, &name)
            || has_hidden_class(node))
}

/// Returns whether a script is none but says title and author, for those who look for them.
fn is_data_about_the_page(script: &NodeRef<'_>) -> bool {
    script.attr("type").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/ld+json"))
}

fn has_hiding_attribute(node: &NodeRef<'_>, name: &str) -> bool {
    let is_named = |attribute: &str, value: &str| {
        node.attr(attribute).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
    };
    // What is hidden until it is found is there to be found.
    let is_hidden = node.has_attr("hidden") && !is_named("hidden", "until-found");
    is_hidden
        || (is_named("aria-hidden", "true") && !is_fallback(node))
        || (name == "dialog" && !node.has_attr("open"))
        || node.attr("style").is_some_and(|style| style_hides(&style))
}

/// Returns whether this is the picture of a formula, which is seen where the formula itself is not.
fn is_fallback(node: &NodeRef<'_>) -> bool {
    node.class().is_some_and(|classes| classes.contains("fallback-image"))
}

fn has_hidden_class(node: &NodeRef<'_>) -> bool {
    let Some(classes) = node.class() else { return false };
    classes.split_ascii_whitespace().any(|class| HIDDEN_CLASSES.contains(&class))
}

/// Returns whether declarations of style hide the element that has them.
fn style_hides(style: &str) -> bool {
    let style = style.to_ascii_lowercase();
    let declarations = style.split(';').filter_map(|declaration| declaration.split_once(':'));
    declarations.map(|(name, value)| (name.trim(), value.replace("!important", ""))).any(
        |(name, value)| {
            let value = value.trim();
            match name {
                "display" => value == "none",
                "visibility" => value == "hidden" || value == "collapse",
                "opacity" | "font-size" | "max-height" | "max-width" => number(value) == Some(0.0),
                "text-indent" | "left" | "top" | "right" | "margin-left" | "margin-top" => {
                    value.ends_with("px") && number(value).is_some_and(|px| px <= -OFF_SCREEN_PX)
                }
                "clip" => value.replace(' ', "").starts_with("rect(0"),
                "clip-path" => value.replace(' ', "").starts_with("inset(100%"),
                _ => false,
            }
        },
    )
}

/// Returns the number that a value begins with.
fn number(value: &str) -> Option<f64> {
    let end = value.find(|character: char| !matches!(character, '0'..='9' | '.' | '-' | '+'));
    value.get(..end.unwrap_or(value.len()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
