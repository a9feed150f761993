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
        // The text of a list item's first line.
        let number = content.trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = number.strip_prefix(". ").filter(|_| number.len() < content.len());
        let item = content.strip_prefix("- ").or(content.strip_prefix("* ")).or(numbered);
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
        // Characters that end no word take the places of those of code spans.
        let mut plain = String::new();
        for (index, part) in paragraph.text.split('`').enumerate() {
            if index > 0 {
                plain.push('`');
            }
            match index % 2 {
                0 => plain.push_str(part),
                _ => plain.push_str(&"c".repeat(part.len())),
            }
        }
        paragraph.text = plain;
    }
    paragraphs
}
