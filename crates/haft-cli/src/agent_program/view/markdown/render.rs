//! Whole blocks of markdown as lines.

use clap::builder::styling::{AnsiColor, Color, Effects, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::code::code_lines;
use super::table::table_lines;
use super::{MarkdownStyle, parser};
use crate::agent_program::view::fold::fold_text;

const CODE: Color = Color::Ansi(AnsiColor::Cyan);
const QUOTE_MARK: &str = "> ";

/// Returns the lines of blocks.
pub(super) fn render_blocks(source: &str, style: MarkdownStyle) -> Vec<String> {
    let mut page = MarkdownPage {
        style,
        lines: Vec::new(),
        text: String::new(),
        effects: Vec::new(),
        containers: Vec::new(),
        lists: Vec::new(),
        links: Vec::new(),
        code: None,
        rows: Vec::new(),
    };
    for event in parser(source) {
        page.take_event(event);
    }
    page.write_text();
    page.lines
}

/// Blocks while they are made into lines.
struct MarkdownPage {
    style: MarkdownStyle,
    lines: Vec<String>,
    /// The text of the present block, with styles.
    text: String,
    effects: Vec<Effects>,
    /// Items and quotes around the present block.
    containers: Vec<Container>,
    /// The number of the next item of each list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The address of each open link, and where its text begins.
    links: Vec<(String, usize)>,
    /// The language and the text of the code that is read.
    code: Option<(String, String)>,
    rows: Vec<Vec<String>>,
}

/// An item or a quote.
struct Container {
    /// The beginning of its first line.
    first: String,
    /// The beginning of its other lines.
    rest: String,
    /// Whether a block of it is shown.
    has_block: bool,
}

impl MarkdownPage {
    fn take_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push_text(&text),
            },
            Event::Code(text) => {
                let mark = if self.style.has_colours { "" } else { "`" };
                self.push_styled(&format!("{mark}{text}{mark}"), Some(CODE));
            }
            Event::SoftBreak => self.text.push(' '),
            Event::HardBreak => self.text.push('\n'),
            Event::Rule => {
                self.text.push_str("---");
                self.write_text();
            }
            Event::TaskListMarker(is_done) => {
                self.text.push_str(if is_done { "[x] " } else { "[ ] " });
            }
            Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.push_text(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin_paragraph(),
            Tag::Heading { level, .. } => {
                self.effects.push(Effects::BOLD);
                let marks = "#".repeat(depth_of(level));
                self.push_text(&format!("{marks} "));
            }
            Tag::BlockQuote(_) => {
                self.begin_paragraph();
                let (first, rest) = (QUOTE_MARK.to_owned(), QUOTE_MARK.to_owned());
                self.containers.push(Container { first, rest, has_block: false });
            }
            Tag::CodeBlock(kind) => {
                self.write_text();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                let language = info.split([' ', ',', '{']).next().unwrap_or_default().to_owned();
                self.code = Some((language, String::new()));
            }
            Tag::List(number) => {
                self.write_text();
                self.lists.push(number);
            }
            Tag::Item => {
                let first = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    Some(None) | None => "- ".to_owned(),
                };
                let rest = " ".repeat(first.len());
                self.containers.push(Container { first, rest, has_block: false });
            }
            Tag::Table(_) => {
                self.write_text();
                self.rows.clear();
            }
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            Tag::Emphasis => self.effects.push(Effects::ITALIC),
            Tag::Strong => self.effects.push(Effects::BOLD),
            Tag::Strikethrough => self.effects.push(Effects::STRIKETHROUGH),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.text.len()));
            }
            Tag::HtmlBlock
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.write_text(),
            TagEnd::Heading(_) => {
                self.effects.pop();
                self.write_text();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.write_text();
                let container = self.containers.pop();
                // An item without text has its mark, too.
                if let Some(empty) = container.filter(|it| !it.has_block && tag == TagEnd::Item) {
                    let (first, _) = self.take_prefixes();
                    self.lines.push(format!("{first}{}", empty.first).trim_end().to_owned());
                }
            }
            TagEnd::CodeBlock => self.write_code(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text).replace('\n', " ");
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let (prefix, _) = self.take_prefixes();
                let rows = std::mem::take(&mut self.rows);
                self.lines.extend(table_lines(&rows, &prefix, self.style));
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.effects.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some((address, start)) = self.links.pop() {
                    let shown = self.text.get(start..).unwrap_or_default();
                    let shown = anstream::adapter::strip_str(shown).to_string();
                    let is_shown = shown.trim_matches('`') == address || address.is_empty();
                    // `<me@example.com>` has the address `mailto:me@example.com`.
                    if !is_shown && address != format!("mailto:{shown}") {
                        self.push_text(&format!(" ({address})"));
                    }
                }
            }
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        self.push_styled(text, None);
    }

    /// Adds text in the present style.
    fn push_styled(&mut self, text: &str, colour: Option<Color>) {
        let text = haft_contract::escape_controls(text).replace('\t', "    ");
        let effects = self.effects.iter().fold(Effects::new(), |all, one| all | *one);
        let style = Style::new().effects(effects).fg_color(colour);
        if self.style.has_colours && style != Style::new() {
            self.text.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.text.push_str(&text);
        }
    }

    /// Ends a text that is in no paragraph, and shows a gap to an earlier paragraph of the same item or quote.
    fn begin_paragraph(&mut self) {
        self.write_text();
        if self.containers.last().is_some_and(|container| container.has_block) {
            let rest: String = self.containers.iter().map(|it| it.rest.as_str()).collect();
            self.lines.push(rest.trim_end().to_owned());
        }
    }

    /// Returns what the next line begins with, and the lines after it.
    fn take_prefixes(&mut self) -> (String, String) {
        let rest: String = self.containers.iter().map(|it| it.rest.as_str()).collect();
        let mut first = String::new();
        for container in &mut self.containers {
            container.has_block = true;
            first.push_str(&std::mem::replace(&mut container.first, container.rest.clone()));
        }
        (first, rest)
    }

    /// Writes the text of the present block, if there is any.
    fn write_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = text.trim_end_matches(['\n', ' ']);
        if text.is_empty() {
            return;
        }
        let (first, rest) = self.take_prefixes();
        for (index, line) in text.split('\n').enumerate() {
            let prefix = if index == 0 { &first } else { &rest };
            let folded = fold_text(&format!("{prefix}{line}"), self.style.columns, &rest);
            self.lines.extend(folded.split('\n').map(str::to_owned));
        }
    }

    fn write_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let (first, rest) = self.take_prefixes();
        for (index, line) in code.trim_end_matches('\n').split('\n').enumerate() {
            let prefix = if index == 0 { &first } else { &rest };
            self.lines.extend(code_lines(&language, line, prefix, self.style));
        }
    }
}

fn depth_of(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
