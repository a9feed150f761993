//! A server with what the conformance suite of the protocol expects to find: tools, resources and prompts with certain names.
//! They are tools of haft like any other, called through the same pipeline and served by the same front end as those of
//! `haft serve`; that the suite passes here says something about haft, and nothing here answers a request by itself.
//! Prints its address, and ends when its standard input does.

mod fixture_resources;
mod hosting;
mod requests;
mod tools;

use std::sync::{Arc, OnceLock};

use haft::{ConnectionOptions, Registry, ResumeMode, Runtime, SystemClock, TaskAttempt};
use haft_contract::RunId;
use haft_mcp::{HttpServer, McpServerParts, STATE_KEY_BYTES};
use haft_server::{HttpSite, RequestGuard};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::fixture_resources::FixtureResources;
use crate::hosting::{Failure, parts, random};

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve())?;
    // Returning would wait for a thread that may be in the middle of a blocking read.
    std::process::exit(0)
}

async fn serve() -> Result<(), Failure> {
    let place = tempfile::tempdir()?;
    let changing = Arc::new(OnceLock::new());
    let runtime = Runtime::new(parts(&place, Registry::new(tools::all(&changing))?)?)?;
    // The tool that changes the list of tools gets to know it when there is one.
    let _ = changing.set(runtime.catalog().clone());
    let offerings = Arc::new(FixtureResources::new());
    let opened = runtime.clone();
    let open = move || {
        let name = random::<8>().map_err(|err| err.to_string())?;
        let name = name.map(|byte| format!("{byte:02x}")).concat();
        let options = ConnectionOptions::headless(format!("session_{name}"), "mcp");
        Ok::<_, String>(McpServerParts {
            runtime: opened.clone(),
            connection: opened.open_connection(options).map_err(|err| err.to_string())?,
            run: RunId::parse(&format!("run_{name}")).map_err(|err| err.to_string())?,
            address: TaskAttempt::default(),
            resume: ResumeMode::Continue,
            clock: Arc::new(SystemClock),
            advise: haft_mcp::plain_advice,
            explain: |err| err.to_string(),
            state_key: random::<STATE_KEY_BYTES>().map_err(|err| err.to_string())?,
            resource_provider: Some(Arc::clone(&offerings) as _),
            ask_pages: None,
            task_host: None,
        })
    };
    let server = HttpServer::new(open()?, Box::new(open));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let shutdown = CancellationToken::new();
    let ended = shutdown.clone();
    tokio::spawn(async move {
        // Whatever comes is as good as the end.
        let _ = tokio::io::stdin().read_u8().await;
        ended.cancel();
    });
    let site = HttpSite::new(RequestGuard::default()).mount("/mcp", server.service());
    haft_server::serve(listener, site, shutdown, server.shut_down()).await;
    runtime.shut_down().await;
    Ok(())
}
