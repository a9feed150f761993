//! `haft help-markdown`: the help of all commands and the table of settings as one Markdown text, which is committed as
//! `docs/cli.md`. With `protected-paths` it is the table of protected names and hidden places, `docs/protected-paths.md`.

use clap::{Args, Command, ValueEnum};
use haft_app::host_paths::CREDENTIALS;
use haft_app::manifest::setting::{SETTINGS, Widens};
use haft_sandbox::OBEYED_NAMES;

use crate::error::{CommandResult, CommandStatus};
use crate::views::output;

/// Characters of a line of help.
const WIDTH: usize = 100;

/// The arguments of `haft help-markdown`.
#[derive(Args)]
pub(crate) struct HelpMarkdownArgs {
    /// The page to print.
    #[arg(value_enum, default_value_t)]
    page: DocumentPage,
}

/// A page of the documentation that the program prints.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum DocumentPage {
    /// The command line.
    #[default]
    Cli,
    /// The protected names and the hidden places.
    ProtectedPaths,
}

/// Runs the command: prints a page.
pub(crate) fn run(args: &HelpMarkdownArgs, haft: Command) -> CommandResult {
    match args.page {
        DocumentPage::Cli => write_command_line(haft),
        DocumentPage::ProtectedPaths => {
            output::write_data(&protected_paths())?;
            Ok(CommandStatus::Done)
        }
    }
}

/// Prints the help of the command line `haft`.
fn write_command_line(haft: Command) -> CommandResult {
    let mut haft = haft.term_width(WIDTH);
    // Hands settings down to the commands, and gives commands their full names.
    haft.build();
    let mut text = String::from(
        "# The command line\n\nThe help of every command. This file is generated: `cargo xtask generated` writes \
         it.\n\nThe settings and the output options of `haft` can be given to every command.\n",
    );
    write_command(haft, Depth::Top, &mut text);
    write_settings(&mut text);
    output::write_data(&text)?;
    Ok(CommandStatus::Done)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Top,
    Below,
}

fn write_command(command: Command, depth: Depth, text: &mut String) {
    // The arguments that all commands share are shown once, at the top.
    let mut shown = match depth {
        Depth::Top => command.clone(),
        Depth::Below => without_shared_arguments(command.clone()),
    };
    let name = shown.get_bin_name().unwrap_or_else(|| shown.get_name()).to_owned();
    let help = shown.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    text.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim()));
    for subcommand in command.get_subcommands() {
        if !subcommand.is_hide_set() && subcommand.get_name() != "help" {
            write_command(subcommand.clone(), Depth::Below, text);
        }
    }
}

/// Hides the arguments that a command shares with all others.
pub(super) fn without_shared_arguments(command: Command) -> Command {
    command.mut_args(|arg| {
        let is_shared = arg.is_global_set() || arg.get_id() == "help" || arg.get_id() == "version";
        if is_shared { arg.hide(true) } else { arg }
    })
}

fn write_settings(text: &mut String) {
    text.push_str(
        "\n## Settings\n\n\
         A flag comes before the variable of the environment, and the variable before `haft.toml`. `[]`\n\
         stands for an item of a list, `*` for a name. The last column says whether a manifest that you\n\
         have not trusted yet can set the value: always, only to restrict, or never.\n\n\
         | key in haft.toml | flag | variable | sets | untrusted |\n|---|---|---|---|---|\n",
    );
    let code = |name: Option<&str>| name.map_or_else(String::new, |name| format!("`{name}`"));
    for setting in SETTINGS {
        let untrusted = match (setting.key, setting.widens) {
            (None, _) => "",
            (Some(_), Widens::Never) => "always",
            (Some(_), Widens::If(_)) => "to restrict",
            (Some(_), Widens::Always) => "never",
            (Some(_), Widens::OfEntry) => "as its entry",
        };
        let (key, flag, env) = (code(setting.key), code(setting.flag), code(setting.env));
        text.push_str(&format!("| {key} | {flag} | {env} | {} | {untrusted} |\n", setting.doc));
    }
}

/// Returns the page about names that are protected and places that are hidden.
fn protected_paths() -> String {
    let code = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let link = |source: &str| match source.contains("://") {
        true => format!("<{source}>"),
        false => format!("[{source}]({source})"),
    };
    let mut text = String::from(
        "# Protected names and hidden places\n\nThis file is generated: `cargo xtask generated` writes it. [security.md]\
         (security.md) says what haft does with these\nnames and places.\n\n## Protected names\n\nNeither tools nor commands \
         change files of these names in a root. `**` stands for everything below, and `/.` for the name\nalone. `[sandbox]` \
         `protect` adds names, and `unprotect` removes some.\n\n| program | names | source |\n|---|---|---|\n",
    );
    for names in OBEYED_NAMES {
        let (program, patterns, source) = (names.program, code(names.patterns), names.source);
        text.push_str(&format!("| {program} | {patterns} | {} |\n", link(source)));
    }
    text.push_str(
        "\n## Hidden places\n\nNo tool or command reads these files and directories, whether they lie in a root or not. `~` is \
         the home directory. `$NAME` is the\nvalue of a variable.\n\n| program | places | source |\n|---|---|---|\n",
    );
    for owner in CREDENTIALS {
        let places = code(owner.places);
        text.push_str(&format!("| {} | {places} | {} |\n", owner.owner, link(owner.source)));
    }
    text
}
