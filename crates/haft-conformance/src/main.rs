//! A server with what the conformance suite of the protocol expects to find: tools, resources and prompts with certain names.
//! They are tools of haft like any other, called through the same pipeline and served by the same front end as those of
//! `haft serve`; that the suite passes here says something about haft, and nothing here answers a request by itself.
//! Prints its address, and ends when its standard input does.

mod hosting;
mod offerings;
mod requests;
mod tools;

use std::sync::{Arc, OnceLock};

use haft::{Place, Registry, Resume, Runtime, SessionOptions, SystemClock};
use haft_contract::RunId;
use haft_mcp::{HttpServer, STATE_KEY_BYTES, Server};
use haft_server::{Guard, Site};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::hosting::{Failure, parts, random};
use crate::offerings::Fixtures;

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
    let offerings = Arc::new(Fixtures::new());
    let opened = runtime.clone();
    let open = move || {
        let (runtime, offerings) = (opened.clone(), Arc::clone(&offerings));
        connected(&runtime, offerings).map_err(|err| err.to_string())
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
    let site = Site::new(Guard::default()).mount("/mcp", server.service());
    haft_server::serve(listener, site, shutdown, server.shut_down()).await;
    runtime.shut_down().await;
    Ok(())
}

fn connected(runtime: &Runtime, offerings: Arc<Fixtures>) -> Result<Server, Failure> {
    let name = random::<8>()?.map(|byte| format!("{byte:02x}")).concat();
    Ok(Server {
        runtime: runtime.clone(),
        session: runtime.session(SessionOptions::headless(format!("session_{name}"), "mcp"))?,
        run: RunId::parse(&format!("run_{name}"))?,
        place: Place::default(),
        resume: Resume::Continue,
        clock: Arc::new(SystemClock),
        explain: |err| err.to_string(),
        state_key: random::<STATE_KEY_BYTES>()?,
        offerings: Some(offerings),
    })
}
