//! Markdown of the agent as lines for a terminal, while it streams. A line is shown once nothing that follows can change it:
//! a paragraph or a table when it is over, an item of a list when the next one begins, and code line by line. Shown lines never
//! change.

mod code;
mod render;
mod table;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use self::render::render_blocks;
use super::fold::fold_text;
use super::limits::MARKDOWN_BLOCK_BYTES_MAX;

/// How markdown is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarkdownStyle {
    /// Columns of a line.
    pub(super) columns: usize,
    pub(super) has_colours: bool,
    /// Whether a screen reader reads the lines: a table is a list of its cells then.
    pub(super) is_linear: bool,
}

/// Text that streams.
#[derive(Default)]
pub(super) struct MarkdownStream {
    /// The text that is not shown, or of which only the first lines are.
    pending: String,
    /// Lines of the first pending block that are shown.
    shown_lines: usize,
    /// Whether another block was shown before.
    has_blocks: bool,
    /// The fence of the code that streams.
    fence: Option<CodeFence>,
}

/// The fence around code that is not closed yet.
struct CodeFence {
    mark: char,
    marks: usize,
    /// Columns before the fence, which are taken from each line.
    indent: usize,
    language: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    /// It ends with its line.
    Line,
    Fenced,
    List,
    Other,
}

struct Block {
    range: Range<usize>,
    kind: BlockKind,
    /// The start of the last item, if the block is a list.
    last_item: usize,
}

/// The markdown that models write.
fn parser(source: &str) -> Parser<'_> {
    let tables = Options::ENABLE_TABLES;
    Parser::new_ext(source, tables | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
}

impl MarkdownStream {
    /// Takes the next part of the text, and returns the lines that are ready.
    pub(super) fn take_text(&mut self, delta: &str, style: MarkdownStyle) -> Vec<String> {
        self.pending.extend(delta.chars().filter(|character| *character != '\r'));
        let mut lines = Vec::new();
        if delta.contains('\n') {
            while self.show_complete(style, &mut lines) {}
        }
        if self.pending.len() > MARKDOWN_BLOCK_BYTES_MAX {
            lines.append(&mut self.finish(style));
            self.has_blocks = true;
        }
        lines
    }

    /// Returns the text that is not shown yet, as it was written.
    pub(super) fn pending_text(&self) -> &str {
        &self.pending
    }

    /// Ends the text, and returns the lines that are left.
    pub(super) fn finish(&mut self, style: MarkdownStyle) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.pending.is_empty() && !self.pending.ends_with('\n') {
            self.pending.push('\n');
        }
        while self.show_complete(style, &mut lines) {}
        let source = std::mem::take(&mut self.pending);
        let mut end = 0;
        for block in blocks(&source) {
            self.show_undefined(&source, end..block.range.start, style, &mut lines);
            end = block.range.end;
            self.show_block(source.get(block.range).unwrap_or_default(), style, &mut lines);
        }
        self.show_undefined(&source, end..source.len(), style, &mut lines);
        *self = Self::default();
        lines
    }

    /// Shows what is complete. Returns whether there may be more.
    fn show_complete(&mut self, style: MarkdownStyle, lines: &mut Vec<String>) -> bool {
        let Some(end) = self.pending.rfind('\n') else { return false };
        if self.fence.is_some() {
            return self.show_code_lines(style, lines);
        }
        let source = self.pending.get(..=end).unwrap_or_default().to_owned();
        let mut blocks = blocks(&source);
        let Some(last) = blocks.pop() else { return false };
        let mut shown = 0;
        for block in blocks {
            self.show_undefined(&source, shown..block.range.start, style, lines);
            shown = block.range.end;
            self.show_block(source.get(block.range).unwrap_or_default(), style, lines);
        }
        self.show_undefined(&source, shown..last.range.start, style, lines);
        let mut has_more = false;
        shown = last.range.start;
        let text = source.get(last.range.clone()).unwrap_or_default();
        let is_followed = source.lines().next_back().is_some_and(|line| line.trim().is_empty());
        match last.kind {
            BlockKind::Fenced => match CodeFence::open(source.get(shown..).unwrap_or_default()) {
                Some((fence, code)) => {
                    self.begin_block(lines);
                    self.fence = Some(fence);
                    shown += code;
                    has_more = true;
                }
                None => {
                    self.show_block(text, style, lines);
                    shown = last.range.end;
                }
            },
            BlockKind::List => {
                let items = source.get(last.range.start..last.last_item).unwrap_or_default();
                self.show_block_start(items, style, lines);
            }
            BlockKind::Line => {
                self.show_block(text, style, lines);
                shown = last.range.end;
            }
            BlockKind::Other if is_followed => {
                self.show_block(text, style, lines);
                shown = last.range.end;
            }
            BlockKind::Other => {}
        }
        self.pending.drain(..shown);
        has_more
    }

    /// Shows lines of code up to its end. Returns whether the code is over.
    fn show_code_lines(&mut self, style: MarkdownStyle, lines: &mut Vec<String>) -> bool {
        let Some(fence) = &self.fence else { return true };
        let (mut shown, mut is_over) = (0, false);
        for line in self.pending.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            shown += line.len();
            let line = line.trim_end_matches('\n');
            if fence.is_closed_by(line) {
                is_over = true;
                break;
            }
            lines.extend(code::code_lines(&fence.language, fence.without_indent(line), "", style));
        }
        self.pending.drain(..shown);
        if is_over {
            self.fence = None;
        }
        is_over
    }

    /// Notes that a block begins, and shows the gap before it.
    fn begin_block(&mut self, lines: &mut Vec<String>) {
        if std::mem::replace(&mut self.has_blocks, true) {
            lines.push(String::new());
        }
    }

    /// Shows the lines of a block that are not shown yet.
    fn show_block(&mut self, source: &str, style: MarkdownStyle, lines: &mut Vec<String>) {
        self.show_block_start(source, style, lines);
        self.shown_lines = 0;
    }

    /// Shows the lines of the beginning of a block that are not shown yet.
    fn show_block_start(&mut self, source: &str, style: MarkdownStyle, lines: &mut Vec<String>) {
        let rendered = render_blocks(source, style);
        if self.shown_lines == 0 && !rendered.is_empty() {
            self.begin_block(lines);
        }
        let shown = std::mem::replace(&mut self.shown_lines, rendered.len());
        lines.extend(rendered.into_iter().skip(shown));
    }

    /// Shows text between two blocks as it was written: definitions of links, which are in no block.
    fn show_undefined(
        &mut self,
        source: &str,
        range: Range<usize>,
        style: MarkdownStyle,
        lines: &mut Vec<String>,
    ) {
        let text = source.get(range).unwrap_or_default().trim();
        if !text.is_empty() {
            self.begin_block(lines);
            let text = fold_text(&haft_contract::escape_controls(text), style.columns, "  ");
            lines.extend(text.split('\n').map(str::to_owned));
        }
    }
}

/// Returns the outermost blocks of a text.
fn blocks(source: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in parser(source).into_offset_iter() {
        let is_outermost = depth == 0;
        let kind = match &event {
            Event::Start(tag) => {
                depth += 1;
                match tag {
                    Tag::Heading { .. } if source.get(range.clone()).is_some_and(is_one_line) => {
                        BlockKind::Line
                    }
                    Tag::CodeBlock(CodeBlockKind::Fenced(_)) => BlockKind::Fenced,
                    Tag::List(_) => BlockKind::List,
                    _ => BlockKind::Other,
                }
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                continue;
            }
            _ => BlockKind::Line,
        };
        if is_outermost {
            let last_item = range.start;
            blocks.push(Block { range, kind, last_item });
        } else if let Event::Start(Tag::Item) = event
            && let Some(list) = blocks.last_mut()
        {
            // The item of an inner list begins after its indent, which the parser does not count.
            let line = source.get(..range.start).and_then(|before| before.rfind('\n'));
            list.last_item = list.last_item.max(line.map_or(0, |line| line + 1));
        }
    }
    blocks
}

fn is_one_line(text: &str) -> bool {
    !text.trim_end().contains('\n')
}

impl CodeFence {
    /// Returns the fence that a text begins with, and where its code begins. Returns `None` if the fence is closed.
    fn open(text: &str) -> Option<(Self, usize)> {
        let (first, code) = text.split_once('\n')?;
        let mark = first.trim_start().chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let indent = first.len() - first.trim_start().len();
        let marks = first.trim_start().chars().take_while(|character| *character == mark).count();
        let info = first.trim_start().trim_start_matches(mark).trim();
        let language = info.split([' ', ',', '{']).next().unwrap_or_default().to_owned();
        let fence = Self { mark, marks, indent, language };
        let is_closed = code.lines().any(|line| fence.is_closed_by(line));
        (!is_closed).then_some((fence, first.len() + 1))
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let marks = line.trim();
        let indent = line.len() - line.trim_start().len();
        indent <= 3
            && marks.chars().count() >= self.marks
            && marks.chars().all(|it| it == self.mark)
    }

    /// Returns a line of code without the columns that the fence is indented by.
    fn without_indent<'l>(&self, line: &'l str) -> &'l str {
        let spaces = line.bytes().take(self.indent).take_while(|byte| *byte == b' ').count();
        line.get(spaces..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
