//! `cargo xtask picture`: the moving picture in README.md, an SVG whose texts a real session printed. The lines of
//! `docs/session.txt` are run one after the other in an empty project, with the `haft` of this checkout.
//!
//! Only the typing is made up. The picture needs no script, and it stands still for those who asked their system for that.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::files;
use crate::process::{cargo, run as run_program};

const SESSION: &str = "docs/session.txt";
const PICTURE: &str = "docs/session.svg";
/// Characters of a line. A longer line is continued on the next one.
const COLUMNS: usize = 96;
/// Lines of the screen.
const ROWS: usize = 17;
const CHARACTER_WIDTH: f64 = 8.4;
const LINE_HEIGHT: f64 = 19.0;
const MARGIN: f64 = 18.0;
/// Space above the text, with the buttons of the window.
const TITLE_HEIGHT: f64 = 34.0;
const TYPED_MS: u64 = 22;
const PAUSE_MS: u64 = 450;
const READING_MS: u64 = 1_300;
const READING_MS_PER_LINE: u64 = 330;

/// A piece of a line with one look.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScreenSpan {
    text: String,
    /// A class of the picture's style sheet, or nothing.
    class: String,
}

type ScreenLine = Vec<ScreenSpan>;

/// A command and what it printed.
struct PictureScene {
    command: String,
    lines: Vec<ScreenLine>,
}

/// Runs `cargo xtask picture`.
pub(crate) fn run(root: &Path, _arguments: &[String]) -> anyhow::Result<()> {
    run_program(cargo().current_dir(root).args(["build", "--quiet", "-p", "haft-cli", "--bins"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into);
    let world = root.join("target/picture");
    files::remove_dir(&world)?;
    for name in ["home", "work"] {
        files::create_dir(&world.join(name))?;
    }
    let mut scenes = Vec::new();
    for line in files::read(&root.join(SESSION))?.lines() {
        let (shown, command) = match line.strip_prefix("#!") {
            Some(command) => (false, command.trim()),
            None if line.starts_with('#') || line.is_empty() => continue,
            None => (true, line),
        };
        let printed = output_of(command, &world, &target.join("debug"))?;
        if shown {
            scenes
                .push(PictureScene { command: command.to_owned(), lines: screen_lines(&printed) });
        }
    }
    ensure!(!scenes.is_empty(), "{SESSION} has no commands");
    let picture = draw(&scenes);
    files::write(&root.join(PICTURE), &picture)?;
    println!("wrote {PICTURE}: {} scenes, {} bytes", scenes.len(), picture.len());
    Ok(())
}

/// Runs a command and returns what a terminal would show, with its colours.
fn output_of(command: &str, world: &Path, programs: &Path) -> anyhow::Result<String> {
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(world.join("work"))
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("HOME", world.join("home"))
        .env("CLICOLOR_FORCE", "1")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{command}`"))?;
    // The directory of this checkout must not end up in a committed file.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.replace(&*world.join("work").to_string_lossy(), "/home/you/project"))
}

/// Returns the lines of a screen: at most [`ROWS`] below the command, each at most [`COLUMNS`] long.
fn screen_lines(printed: &str) -> Vec<ScreenLine> {
    let mut lines = Vec::new();
    let mut style = ScreenStyle::default();
    for line in printed.lines() {
        let mut spans = ScreenLine::new();
        let mut column = 0;
        for (text, class) in styled(line, &mut style) {
            let mut rest = text.as_str();
            while !rest.is_empty() {
                if column == COLUMNS {
                    lines.push(std::mem::take(&mut spans));
                    column = 0;
                }
                let room = COLUMNS - column;
                let cut = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
                let (part, after) = rest.split_at(cut);
                spans.push(ScreenSpan { text: part.to_owned(), class: class.clone() });
                column += part.chars().count();
                rest = after;
            }
        }
        lines.push(spans);
    }
    if lines.len() > ROWS {
        lines.truncate(ROWS - 1);
        lines.push(vec![ScreenSpan { text: "…".to_owned(), class: "d".to_owned() }]);
    }
    lines
}

/// The look that escape sequences set.
#[derive(Default)]
struct ScreenStyle {
    is_bold: bool,
    is_dim: bool,
    colour: Option<u32>,
}

impl ScreenStyle {
    fn set(&mut self, codes: &str) {
        for code in codes.split(';') {
            match code.parse().unwrap_or(0) {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_dim = true,
                22 => (self.is_bold, self.is_dim) = (false, false),
                colour @ 30..=37 => self.colour = Some(colour - 30),
                colour @ 90..=97 => self.colour = Some(colour - 90),
                39 => self.colour = None,
                _ => {}
            }
        }
    }

    fn class(&self) -> String {
        let mut classes = Vec::new();
        if self.is_bold {
            classes.push("b".to_owned());
        }
        if self.is_dim {
            classes.push("d".to_owned());
        }
        classes.extend(self.colour.map(|colour| format!("c{colour}")));
        classes.join(" ")
    }
}

/// Splits a line at its escape sequences.
fn styled(line: &str, style: &mut ScreenStyle) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let mut pieces = line.split("\u{1b}[");
    parts.push((pieces.next().unwrap_or_default().to_owned(), style.class()));
    for piece in pieces {
        let end = piece.find(|next: char| next.is_ascii_alphabetic()).unwrap_or(piece.len());
        let (codes, text) = piece.split_at(end);
        if text.starts_with('m') {
            style.set(codes);
        }
        parts.push((text.chars().skip(1).collect(), style.class()));
    }
    parts.retain(|(text, _)| !text.is_empty());
    parts
}

/// Returns the picture. Each scene has its share of one animation that repeats.
fn draw(scenes: &[PictureScene]) -> String {
    let times: Vec<(u64, u64)> = scenes.iter().map(scene_times).collect();
    let total: u64 = times.iter().map(|(typed, read)| typed + read).sum();
    let percent = |ms: u64| 100.0 * ms as f64 / total as f64;
    let width = COLUMNS as f64 * CHARACTER_WIDTH + 2.0 * MARGIN;
    let height = TITLE_HEIGHT + (ROWS + 2) as f64 * LINE_HEIGHT + MARGIN;
    let mut style = String::from(STYLE);
    let mut body = String::new();
    let mut start = 0;
    for (index, (scene, (typed, read))) in scenes.iter().zip(&times).enumerate() {
        let (shown, printed, end) =
            (percent(start), percent(start + typed), percent(start + typed + read));
        let seconds = total as f64 / 1_000.0;
        let _ = writeln!(
            style,
            ".s{index}{{animation:s{index} {seconds}s step-end infinite}}\
             @keyframes s{index}{{0%{{opacity:0}}{shown:.2}%{{opacity:1}}{end:.2}%{{opacity:0}}}}\
             .t{index}{{animation:t{index} {seconds}s linear infinite}}\
             @keyframes t{index}{{0%,{shown:.2}%{{clip-path:inset(0 100% 0 0)}}{:.2}%,100%{{clip-path:inset(0)}}}}\
             .o{index}{{animation:o{index} {seconds}s step-end infinite}}\
             @keyframes o{index}{{0%{{opacity:0}}{printed:.2}%{{opacity:1}}}}",
            percent(start + typed.saturating_sub(PAUSE_MS)),
        );
        let class = if index == 0 { "s first" } else { "s" };
        let _ = write!(body, "<g class=\"{class} s{index}\">");
        let prompt = line_position(0);
        let _ = write!(
            body,
            "<text x=\"{MARGIN}\" y=\"{prompt:.1}\" class=\"c2 b\">$</text><text x=\"{:.1}\" y=\"{prompt:.1}\" class=\"b t{index}\">{}</text><g class=\"o o{index}\">",
            MARGIN + 2.0 * CHARACTER_WIDTH,
            escaped(&scene.command)
        );
        for (row, line) in scene.lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            let _ = write!(body, "<text x=\"{MARGIN}\" y=\"{:.1}\">", line_position(row + 1));
            for span in line {
                let text = escaped(&span.text);
                let _ = match span.class.as_str() {
                    "" => write!(body, "{text}"),
                    class => write!(body, "<tspan class=\"{class}\">{text}</tspan>"),
                };
            }
            body.push_str("</text>");
        }
        body.push_str("</g></g>\n");
        start += typed + read;
    }
    let commands: Vec<&str> = scenes.iter().map(|scene| scene.command.as_str()).collect();
    let buttons: String = [("#ff5f58", 20), ("#ffbd2e", 40), ("#18c132", 60)]
        .map(|(colour, x)| format!("<circle cx=\"{x}\" cy=\"18\" r=\"6\" fill=\"{colour}\"/>"))
        .concat();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" xml:space=\"preserve\">\n\
         <title>A session with haft</title>\n<desc>{}</desc>\n<style>{style}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e2127\"/>{buttons}\n{body}</svg>\n",
        escaped(&commands.join("\n"))
    )
}

/// Returns the time in which a command is typed, and the time in which its output is shown, in milliseconds.
fn scene_times(scene: &PictureScene) -> (u64, u64) {
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let typed = TYPED_MS * count(scene.command.chars().count()) + PAUSE_MS;
    (typed, READING_MS + READING_MS_PER_LINE * count(scene.lines.len()))
}

fn line_position(row: usize) -> f64 {
    TITLE_HEIGHT + (row as f64 + 1.0) * LINE_HEIGHT
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.chars().filter(|next| *next == '\n' || !next.is_control()).collect()
}

/// The looks of texts. The numbers are those of the colours of a terminal.
const STYLE: &str = "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#dcdfe4;white-space:pre}\
.b{font-weight:bold}.d{opacity:.65}.c1{fill:#e06c75}.c2{fill:#98c379}.c3{fill:#e5c07b}.c4{fill:#61afef}.c5{fill:#c678dd}.c6{fill:#56b6c2}\
.s,.o{opacity:0}\n\
@media (prefers-reduced-motion:reduce){.s,.o,.s *{animation:none!important}.first,.first .o{opacity:1}}\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str, class: &str) -> ScreenSpan {
        ScreenSpan { text: text.to_owned(), class: class.to_owned() }
    }

    #[test]
    fn colours_become_classes_and_long_lines_are_continued() {
        let lines = screen_lines("\u{1b}[1;31merror:\u{1b}[0m no\nplain\n");
        assert_eq!(lines, [vec![span("error:", "b c1"), span(" no", "")], vec![span("plain", "")]]);
        let long = "x".repeat(COLUMNS + 3);
        let lines = screen_lines(&long);
        assert_eq!(lines, [vec![span(&"x".repeat(COLUMNS), "")], vec![span("xxx", "")]]);
        let many = "line\n".repeat(ROWS + 5);
        let lines = screen_lines(&many);
        assert_eq!((lines.len(), lines.last()), (ROWS, Some(&vec![span("…", "d")])));
    }

    #[test]
    fn the_picture_has_what_was_printed_and_no_markup_of_it() {
        let scene =
            PictureScene { command: "echo '<b>'".to_owned(), lines: screen_lines("<b> & more\n") };
        let picture = draw(&[scene]);
        assert!(picture.contains("echo '&lt;b&gt;'"), "{picture}");
        assert!(picture.contains("&lt;b&gt; &amp; more"), "{picture}");
        assert!(!picture.contains("<b>"), "{picture}");
    }
}
