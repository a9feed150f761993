//! The running text of Markdown, without code blocks, tables, headings, comments and markup.

/// Text that belongs together: a paragraph or one item of a list.
pub(super) struct Paragraph {
    pub(super) text: String,
    /// The line of each start of a line in `text`, as pairs of offset and line number.
    lines: Vec<(usize, usize)>,
}

impl Paragraph {
    /// Returns the line number of an offset in the text.
    pub(super) fn line(&self, offset: usize) -> usize {
        let before = self.lines.iter().take_while(|(start, _)| *start <= offset);
        before.last().map_or(1, |(_, line)| *line)
    }

    /// Returns a paragraph that is one line, as it stands.
    pub(super) fn of_line(text: &str, number: usize) -> Self {
        Self { text: text.to_owned(), lines: vec![(0, number)] }
    }

    fn push(&mut self, line: &str, number: usize) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(line);
    }
}

/// Splits Markdown into paragraphs. Code spans become one word without its characters.
pub(super) fn paragraphs(markdown: &str) -> Vec<Paragraph> {
    let mut paragraphs = Vec::new();
    let mut open = Paragraph { text: String::new(), lines: Vec::new() };
    let mut fence = None;
    for (index, line) in markdown.lines().enumerate() {
        let content = line.trim();
        let marker = ["```", "~~~"].into_iter().find(|marker| content.starts_with(marker));
        let is_outside = fence.is_none() && marker.is_none();
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            _ => {}
        }
        let is_text = is_outside && !content.is_empty() && !content.starts_with(['#', '|', '<']);
        let item = list_item(content);
        if (!is_text || item.is_some()) && !open.text.is_empty() {
            let empty = Paragraph { text: String::new(), lines: Vec::new() };
            paragraphs.push(std::mem::replace(&mut open, empty));
        }
        if is_text {
            open.push(item.unwrap_or(content), index + 1);
        }
    }
    if !open.text.is_empty() {
        paragraphs.push(open);
    }
    for paragraph in &mut paragraphs {
        paragraph.text = without_code(&paragraph.text);
    }
    paragraphs
}

/// Returns the text of a list item's first line.
fn list_item(line: &str) -> Option<&str> {
    let unnumbered = ["- ", "* "].into_iter().find_map(|bullet| line.strip_prefix(bullet));
    let numbered = || line.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(". ");
    unnumbered.or_else(|| numbered().filter(|_| line.starts_with(|c: char| c.is_ascii_digit())))
}

/// Replaces the contents of code spans and the targets of links by a character each that ends no word.
fn without_code(text: &str) -> String {
    let mut plain = String::new();
    let mut is_code = false;
    for (index, part) in text.split('`').enumerate() {
        if index > 0 {
            plain.push('`');
        }
        if is_code {
            plain.extend(part.chars().flat_map(|c| std::iter::repeat_n('c', c.len_utf8())));
        } else {
            plain.push_str(part);
        }
        is_code = !is_code;
    }
    plain
}
