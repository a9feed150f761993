//! `haft inspect`: the pages of the inspector, on this machine alone. It prints the link, and opens a browser if there is one.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use clap::Args;
use haft_inspector::{InspectorParts, InspectorRouter};
use haft_sandbox::proxy::OwnListener;
use haft_server::{BrowserSessions, HttpSite, RequestGuard};
use serde_json::json;
use tokio::net::TcpListener;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::signals;
use crate::views::output;
use haft_app::InspectorPresence;
use haft_app::host::AppHost;
use haft_app::id;
use haft_app::settings::EffectiveSettings;

/// Show runs, calls and changes in a browser
///
/// Starts the inspector on this machine, and opens a browser if there is one. Each printed link logs in one browser, once.
/// The inspector shows what is in the journal: runs while they go on and afterwards, calls with their inputs and answers,
/// changes of files, sessions, plans and rules. You can settle calls in doubt there, undo changes, stop runs and add rules.
/// With --json, each line on standard input prints a further link. An interrupt ends it.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  haft inspect              Open the inspector in a browser
  haft inspect --no-open    Print the link only
  haft inspect --port 4239 --no-open
                            Take this port, for a tunnel: ssh -L 4239:127.0.0.1:4239 MACHINE")]
pub(crate) struct InspectArgs {
    /// Port to listen on; any free one unless given
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Print the link, and open no browser
    #[arg(long)]
    no_open: bool,
}

/// The pages of the inspector on a site.
pub(crate) struct InspectorPages {
    sessions: Arc<BrowserSessions>,
    /// Other processes of the user find the inspector, so that a notification can link to it.
    #[expect(dead_code, reason = "it is only kept")]
    presence: Option<InspectorPresence>,
}

impl InspectorPages {
    /// Adds the pages to a site.
    pub(crate) fn mount(
        site: HttpSite,
        settings: &EffectiveSettings,
        reached: (&str, bool),
        cx: &CliContext,
    ) -> (Self, HttpSite) {
        let random = || id::random_bytes().map_err(|err| io::Error::other(err.message));
        let journal = &settings.durability.journal;
        let presence = InspectorPresence::announce(&cx.host, journal, reached)
            .inspect_err(|err| {
                let message = format!("notifications cannot link to this inspector: {err}");
                output::print_warning(&message, None);
            })
            .ok();
        let sessions = BrowserSessions::new(random);
        let sessions = Arc::new(match &presence {
            Some(presence) => sessions.with_foreign_links(Arc::new(presence.link_user())),
            None => sessions,
        });
        let service = InspectorRouter::new(InspectorParts {
            host: cx.host.clone(),
            settings: settings.clone(),
            overrides: cx.setting_args.overrides(),
            sessions: Arc::clone(&sessions),
        });
        let site = site.mount_pages(haft_inspector::page_parts(&sessions), service);
        (Self { sessions, presence }, site)
    }

    /// Returns a link that logs in one browser.
    pub(crate) fn new_link(&self, address: &str) -> Result<String, CommandError> {
        let token = self.sessions.issue_link().map_err(CommandError::failed)?;
        Ok(format!("http://{address}/#token={token}"))
    }
}

/// Runs the command.
pub(crate) async fn run(args: &InspectArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let port = args.port.unwrap_or(0);
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let listener = listener.await.map_err(|err| {
        let message = format!("port {port} of this machine cannot be listened on: {err}");
        CommandError::failed(message).hint("haft inspect")
    })?;
    let address = listener.local_addr().map_err(CommandError::failed)?;
    let _mark = OwnListener::mark(address).map_err(|err| CommandError::unmarked(address, &err))?;
    let address = address.to_string();
    let shutdown = signals::stop_token()?;
    let (pages, site) = InspectorPages::mount(
        HttpSite::new(RequestGuard::default()),
        &settings,
        (&address, true),
        cx,
    );
    let link = pages.new_link(&address)?;
    print_link(&link, cx)?;
    let opened = match args.no_open || cx.setting_args.json {
        true => None,
        false => open_browser(&pages.new_link(&address)?, &cx.host),
    };
    let is_terminal = io::stdin().is_terminal();
    let can_ask = is_terminal || cx.setting_args.json;
    if is_terminal && !cx.setting_args.json {
        let browser =
            if opened.is_some() { "A browser was asked to open the inspector. " } else { "" };
        output::print_aside(format_args!(
            "{browser}Press Enter for a further link, and Ctrl-C to end the inspector."
        ));
    }
    // The thread may wait for a line for ever; the process does not wait for it.
    let further_links = async {
        let read_line = async || {
            if !can_ask {
                return false;
            }
            let read =
                tokio::task::spawn_blocking(|| io::stdin().lock().read_line(&mut String::new()));
            matches!(read.await, Ok(Ok(1..)))
        };
        while read_line().await {
            if let Ok(link) = pages.new_link(&address) {
                let _ = print_link(&link, cx);
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = haft_server::serve(listener, site, shutdown, async {}) => {}
        () = further_links => {}
    }
    Ok(CommandStatus::Done)
}

fn print_link(link: &str, cx: &CliContext) -> Result<(), CommandError> {
    if cx.setting_args.json {
        output::write_json(&json!({ "url": link }))?;
    } else {
        output::write_data(link)?;
    }
    Ok(())
}

/// A file that leads a browser to the inspector. Its end removes it.
struct OpenedFile(PathBuf);

impl Drop for OpenedFile {
    fn drop(&mut self) {
        // Its link works once, so a file that stays says nothing.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Asks the desktop to open a link, if there is one. The link is in a file that only the user reads: other users of the machine
/// see the arguments of every program.
fn open_browser(link: &str, host: &AppHost) -> Option<OpenedFile> {
    let has_desktop =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| host.variable_if_set(name).is_some());
    let opener = match host.variable_text("BROWSER").filter(|name| !name.is_empty()) {
        Some(browser) if !browser.contains(['%', ' ', ':']) => browser,
        _ if has_desktop => "xdg-open".to_owned(),
        _ => return None,
    };
    let directory = host.state().directory().join("inspector");
    let file = write_link(&directory, link).ok()?;
    let started = Command::new(opener)
        .arg(&file.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.ok().map(|_| file)
}

fn write_link(directory: &Path, link: &str) -> io::Result<OpenedFile> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let name = id::new("open", 0).map_err(|err| io::Error::other(err.message))?;
    let path = directory.join(format!("{name}.html"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let file_of = OpenedFile(path);
    // The link has only letters, digits and signs that mean nothing in HTML.
    writeln!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><title>haft</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\"><p><a href=\"{link}\">Open the inspector</a>"
    )?;
    Ok(file_of)
}
