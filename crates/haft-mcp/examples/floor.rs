//! The floor of the benchmark: the least that a server on the same SDK can do. It has the transport of `haft mcp`, or
//! that of `haft serve` without its listener, the same kind of async runtime, and two tools, `read` and `write`, that pass their arguments on to the standard library.
//! It deliberately has no rules, no journal, no root, no limits and no messages worth reading: what `haft mcp` takes
//! longer than this is what those cost.

// The formatter would look for the tests of that module beside this file.
#[rustfmt::skip]
#[path = "../src/stdio.rs"]
mod stdio;

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

/// Takes the transport that the SDK offers by itself, not the faster one of `haft mcp`.
const SDK_STDIO: &str = "--sdk-stdio";

/// Listens for HTTP on a free port, and prints the address.
const HTTP: &str = "--http";

#[derive(Clone)]
struct Floor {
    tools: Vec<Tool>,
}

impl ServerHandler for Floor {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("floor", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let done = match request.name.as_ref() {
            "read" => std::fs::read_to_string(text(&arguments, "path")?),
            "write" => std::fs::write(text(&arguments, "path")?, text(&arguments, "content")?)
                .map(|()| "ok".to_owned()),
            name => {
                return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None));
            }
        };
        let result = match done {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(err) => CallToolResult::error(vec![ContentBlock::text(err.to_string())]),
        };
        Ok(result.into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve())?;
    runtime.shutdown_background();
    // Returning would wait for a thread that may be in the middle of a blocking read.
    std::process::exit(0)
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let floor = Floor {
        tools: vec![tool("read", &["path"], true), tool("write", &["path", "content"], false)],
    };
    if std::env::args().any(|arg| arg == HTTP) {
        return listen(floor).await;
    }
    if std::env::args().any(|arg| arg == SDK_STDIO) {
        floor.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let stdio::Stdio { input, output, flags } = stdio::open()?;
    floor.serve((input, output)).await?.waiting().await?;
    drop(flags);
    Ok(())
}

async fn listen(floor: Floor) -> Result<(), Box<dyn Error>> {
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(floor.clone()), sessions, config);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        let answer = service_fn(move |request: Request<Incoming>| {
            let service = service.clone();
            async move { Ok::<_, Infallible>(service.handle(request).await) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

fn tool(name: &'static str, properties: &[&str], is_read_only: bool) -> Tool {
    let strings: Map<String, Value> =
        properties.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let schema = JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(strings)),
        ("required".to_owned(), json!(properties)),
    ]);
    let annotations = ToolAnnotations::new()
        .read_only(is_read_only)
        .destructive(!is_read_only)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, "Does what its name says to a file.", schema).with_annotations(annotations)
}

fn text<'a>(arguments: &'a JsonObject, name: &str) -> Result<&'a str, ErrorData> {
    let found = arguments.get(name).and_then(Value::as_str);
    found.ok_or_else(|| ErrorData::invalid_params(format!("{name}: expected a string"), None))
}
