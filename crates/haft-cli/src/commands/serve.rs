//! `haft serve`: the tools for any number of MCP clients over HTTP. The server crate checks who may connect, and the MCP
//! crate speaks the protocol. This file connects the two and prints the address.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use haft::{ResumeMode, Runtime, TaskAttempt};
use haft_mcp::{HttpServer, McpServerParts, McpTaskHost};
use haft_sandbox::proxy::OwnListener;
use haft_server::{BearerToken, HttpSite, RequestGuard};
use serde_json::json;
use tokio::net::TcpListener;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::model::model_of_environment;
use crate::plan_run::ModelOpener;
use crate::programs;
use crate::signals;
use crate::views::output;
use crate::views::remedy::advice_for_model;
use haft_app::compose::task_agents::TaskAgents;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::{compose, id, skills};

/// Where MCP is.
const MCP_PATH: &str = "/mcp";
/// Random bytes in a token that is made up.
const TOKEN_BYTES: usize = 24;
/// The longest file that may hold a token, in bytes.
const TOKEN_FILE_BYTES_MAX: u64 = 4_096;

/// Serve the tools to MCP clients over HTTP
///
/// MCP is at /mcp, in both eras of the protocol; the inspector is at /, and /healthz answers `ok`. Each client that begins with a handshake gets a
/// session and a run. Requests without a handshake share one session and one run, unless `_meta` names another run with the
/// key `haft/run`. Clients send the header `Authorization: Bearer TOKEN`. The token comes from --token-file or HAFT_TOKEN;
/// without them, haft makes one up and prints it with the address.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  haft serve                        Offer the tools for the working directory on this machine
  haft serve --listen 127.0.0.1:0   Take any free port, and print which
  haft serve --token-file token     Take the token from a file
  haft serve --no-token             Let in everybody on this machine
  haft serve --listen 0.0.0.0:4238 --host tools.example.org --token-file token
                                    Listen for others, behind a proxy that does TLS")]
pub(crate) struct ServeArgs {
    /// Address and port to listen on; with port 0 any free one
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:4238",
        env = "HAFT_LISTEN",
        hide_env_values = true
    )]
    listen: SocketAddr,

    /// File that holds the token which clients have to know
    #[arg(long, value_name = "FILE", env = "HAFT_TOKEN_FILE", hide_env_values = true)]
    token_file: Option<PathBuf>,

    /// Ask for no token, which is possible on a loopback address only
    ///
    /// Every program and every user of this machine can use the tools then. Pages in a browser still cannot.
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,

    /// Name that the server is reached by, beside its address (can be repeated)
    ///
    /// Requests that name another host are refused: a web site could point a name at this machine.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// Origin whose pages may use the server from a browser, such as http://localhost:6274 (can be repeated)
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,

    /// Print the address and the token as one line of JSON
    #[arg(long)]
    json: bool,
}

/// How clients come to know the token.
enum ServeToken {
    /// There is none.
    NotRequired,
    /// The user gave it.
    GivenByUser(BearerToken),
    /// It was made up, and is printed.
    Generated(BearerToken, String),
}

impl ServeToken {
    fn token(&self) -> Option<&BearerToken> {
        match self {
            Self::NotRequired => None,
            Self::GivenByUser(token) | Self::Generated(token, _) => Some(token),
        }
    }
}

/// Runs the command. Without models, a server whose clients can give tasks to agents is handed to the program that has them.
pub(crate) async fn run(
    args: &ServeArgs,
    cx: &CliContext,
    models: Option<ModelOpener>,
) -> CommandResult {
    let secret = secret(args)?;
    for host in &args.hosts {
        let is_name = !host.is_empty()
            && host.chars().all(|one| one.is_ascii_alphanumeric() || "-._".contains(one));
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if !is_name && !is_address {
            return Err(CommandError::usage(format!(
                "--host {host:?}: expected a name such as tools.example.org, without scheme and port"
            )));
        }
    }
    for origin in &args.origins {
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_site = |site: &str| {
            !site.is_empty()
                && site.chars().all(|one| one.is_ascii_alphanumeric() || "-._:[]".contains(one))
        };
        if !site.is_some_and(is_site) {
            return Err(CommandError::usage(format!(
                "--origin {origin:?}: expected scheme, host and port as browsers name them, such as \
                 http://localhost:6274, without a path"
            )));
        }
    }
    let guard = RequestGuard {
        token: secret.token().cloned(),
        hosts: args.hosts.clone(),
        origins: args.origins.clone(),
    };
    let settings = cx.resolve_settings()?;
    let choice = model_of_environment(&cx.host);
    let is_model_named = choice.is_named(&settings.model);
    if is_model_named && models.is_none() && programs::is_installed(programs::AGENT, &cx.host) {
        return programs::replace_with(programs::AGENT, &cx.host);
    }
    let listener = TcpListener::bind(args.listen).await.map_err(|err| cannot_listen(args, &err))?;
    let address = listener.local_addr().map_err(|err| cannot_listen(args, &err))?;
    let _mark = OwnListener::mark(address).map_err(|err| CommandError::unmarked(address, &err))?;
    let runtime = compose::serving_runtime(&settings, &cx.host).await?;
    compose::recover(&runtime, &cx.host).await?;
    let shutdown = signals::stop_token()?;
    let models = models.filter(|_| is_model_named).map(|open| open(choice, &settings, &cx.host));
    let agents = models.map(|models| TaskAgents::find(models, &runtime, &settings, &cx.host));
    let stateless = open_server(&runtime, agents.as_ref(), &settings, &cx.host)?;
    // All sessions find the same skills, so one warning is enough.
    if runtime.registry().contract("skill").is_some() {
        skills::warn_of_problems(&stateless.connection, &cx.host);
    }
    #[cfg(feature = "inspector")]
    let of_pages = settings.clone();
    let (opened, of_session) = (runtime.clone(), cx.host.clone());
    let open = move || {
        open_server(&opened, agents.as_ref(), &settings, &of_session).map_err(|err| err.message)
    };
    let server = HttpServer::new(stateless, Box::new(open));
    let site = HttpSite::new(guard).mount(MCP_PATH, server.service());
    // No request may name «all addresses of this machine», so the server goes by another one.
    let authority = match (address.ip().is_unspecified(), args.hosts.first()) {
        (false, _) => address.to_string(),
        (true, Some(host)) => format!("{host}:{}", address.port()),
        (true, None) => format!("localhost:{}", address.port()),
    };
    let url = format!("http://{authority}{MCP_PATH}");
    #[cfg(feature = "inspector")]
    let reached = (authority.as_str(), address.ip().is_loopback());
    #[cfg(feature = "inspector")]
    let (pages, site) = super::inspect::InspectorPages::mount(site, &of_pages, reached, cx);
    #[cfg(feature = "inspector")]
    let link = Some(pages.new_link(&authority)?);
    #[cfg(not(feature = "inspector"))]
    let link: Option<String> = None;
    if args.json {
        let token = match &secret {
            ServeToken::NotRequired | ServeToken::GivenByUser(_) => None,
            ServeToken::Generated(_, text) => Some(text),
        };
        output::write_json(&json!({ "url": url, "token": token, "inspector": link }))?;
    } else {
        output::write_data(&url)?;
        match &secret {
            ServeToken::NotRequired => output::print_aside(
                "no token is asked for: every program of this machine can use the tools",
            ),
            ServeToken::GivenByUser(_) => {}
            ServeToken::Generated(_, text) => {
                output::write_data(&format!("Authorization: Bearer {text}"))?
            }
        }
        if let Some(link) = link {
            output::print_aside(format_args!("inspector, for one browser, once: {link}"));
        }
        if !address.ip().is_loopback() {
            output::print_aside(
                "other machines reach this address, and what is sent is not encrypted: put a proxy with TLS in front",
            );
        }
    }
    haft_server::serve(listener, site, shutdown, server.shut_down()).await;
    runtime.shut_down().await;
    Ok(CommandStatus::Done)
}

/// Opens a session with a new run.
fn open_server(
    runtime: &Runtime,
    agents: Option<&Arc<TaskAgents>>,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<McpServerParts, CommandError> {
    let subagents = agents.map(|agents| agents.subagents()).unwrap_or_default();
    let session = compose::open_mcp_connection(runtime, settings, host, subagents)?;
    let task_host = agents.map(|agents| agents.of_connection(&session) as Arc<dyn McpTaskHost>);
    // A later session may recall what was answered in this one, cut outputs included.
    session.keep_outputs();
    Ok(McpServerParts {
        runtime: runtime.clone(),
        connection: session,
        run: compose::new_run(host.now_ms())?,
        address: TaskAttempt::default(),
        resume: ResumeMode::default(),
        clock: host.clock(),
        explain: |err| CommandError::from(err).message_for_client(),
        advise: advice_for_model,
        state_key: id::random_bytes()?,
        resource_provider: None,
        ask_pages: Some(compose::ask_page_finder(settings, host)),
        task_host,
    })
}

fn secret(args: &ServeArgs) -> Result<ServeToken, CommandError> {
    if args.no_token {
        return if args.listen.ip().is_loopback() {
            Ok(ServeToken::NotRequired)
        } else {
            let message = format!(
                "--no-token on {}: everybody who reaches that address could use the tools",
                args.listen
            );
            Err(CommandError::usage(message).hint("haft serve --no-token --listen 127.0.0.1:4238"))
        };
    }
    if let Some(file) = &args.token_file {
        let cannot =
            |err: io::Error| CommandError::usage(format!("--token-file {}: {err}", file.display()));
        let size = std::fs::metadata(file).map_err(cannot)?.len();
        if size > TOKEN_FILE_BYTES_MAX {
            return Err(CommandError::usage(format!(
                "--token-file {}: expected a token, found {size} bytes",
                file.display()
            )));
        }
        let token = BearerToken::parse(&std::fs::read_to_string(file).map_err(cannot)?);
        return token
            .map(ServeToken::GivenByUser)
            .map_err(|err| CommandError::usage(format!("{}: {err}", file.display())));
    }
    if let Some(text) = std::env::var_os("HAFT_TOKEN").filter(|text| !text.is_empty()) {
        let token = BearerToken::parse(&text.to_string_lossy());
        return token
            .map(ServeToken::GivenByUser)
            .map_err(|err| CommandError::usage(format!("HAFT_TOKEN: {err}")));
    }
    let bytes = id::random_bytes::<TOKEN_BYTES>()?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let token = BearerToken::parse(&text).map_err(CommandError::failed)?;
    Ok(ServeToken::Generated(token, text))
}

fn cannot_listen(args: &ServeArgs, err: &io::Error) -> CommandError {
    let address = args.listen;
    match err.kind() {
        io::ErrorKind::AddrInUse => {
            let message =
                format!("{address} is in use by another program, perhaps another haft serve");
            let free = SocketAddr::new(address.ip(), 0);
            CommandError::failed(message).hint(format!("haft serve --listen {free}"))
        }
        io::ErrorKind::AddrNotAvailable => {
            CommandError::usage(format!("{address} is no address of this machine"))
        }
        _ => CommandError::failed(format!("cannot listen on {address}: {err}")),
    }
}
