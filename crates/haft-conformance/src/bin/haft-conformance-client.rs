//! A client of the servers that the conformance suite of the protocol starts: haft's own client, with the tools of the server
//! as tools of haft, called through the same pipeline as everywhere. The suite appends the address of its server, and says
//! in the environment which scenario it plays. A login, in which a person would take part, is agreed to at once.

#[path = "../hosting.rs"]
mod hosting;

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use haft::{Call, ConnectionOptions, NetworkSettings, Registry, Run, Runtime};
use haft_contract::{BoxFuture, Contract, RequirementSet, RunId};
use haft_mcp::{
    Authorization, FormFiller, McpServerSpec, McpServers, McpTransport, OAuthOptions,
    RemoteMcpServer, TokenStore, ToolListCache,
};
use serde_json::{Map, Value, json};

use crate::hosting::{Failure, parts, random};

/// The name of the server.
const NAME: &str = "suite";
/// Logins of one scenario. A server that wants more of them wants them without end.
const LOGINS_MAX: usize = 3;
/// Where the suite expects it to be written down what a client is.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
/// The address that the suite redirects a browser to. No server listens there: the client reads the redirect itself.
const REDIRECT_URI: &str = "http://127.0.0.1:3000/callback";

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run_scenario())
}

async fn run_scenario() -> Result<(), Failure> {
    let url = std::env::args().next_back().ok_or("expected the address of a server")?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context: Value = serde_json::from_str(&context)?;
    let authorization = Arc::new(authorization(&url, &context)?);
    let mut logins = 0;
    let servers = loop {
        let servers = servers(&url, &authorization);
        match servers.discover_tools().await.remove(NAME) {
            None => break servers,
            Some(_) if authorization.is_login_needed() => {
                log_in(&authorization, &mut logins).await?
            }
            Some(err) => return Err(err.message.into()),
        }
        servers.close().await;
    };
    let played = call_all(&servers, &context, &authorization, logins).await;
    servers.close().await;
    played
}

/// Makes the calls that the scenario asks for, or one of each tool.
async fn call_all(
    servers: &McpServers,
    context: &Value,
    authorization: &Arc<Authorization>,
    mut logins: usize,
) -> Result<(), Failure> {
    let place = tempfile::tempdir()?;
    let tools = servers.tools(&|_| None).tools;
    let runtime = Runtime::new(parts(&place, Registry::new(tools)?)?)?;
    let session = runtime.open_connection(ConnectionOptions::headless("conformance", "suite"))?;
    let run = session.run(RunId::parse("conformance")?);
    let mut calls = calls(&session.listed_tools(), context).into_iter().rev().collect::<Vec<_>>();
    while let Some((tool, input)) = calls.pop() {
        let failure = call(&run, &tool, &input).await?;
        match failure {
            Some(_) if authorization.is_login_needed() => {
                log_in(authorization, &mut logins).await?;
                calls.push((tool, input));
            }
            // Of a tool that fails, the suite wants to see that it was called.
            Some(why) => eprintln!("{tool}: {why}"),
            None => {}
        }
    }
    runtime.shut_down().await;
    Ok(())
}

async fn call(run: &Run, tool: &str, input: &Value) -> Result<Option<String>, Failure> {
    let envelope = run.call(Call::new(tool, input.clone())).await?;
    let envelope = serde_json::to_value(envelope)?;
    Ok(envelope.get("error_text").and_then(Value::as_str).map(str::to_owned))
}

fn calls(listed: &[Arc<Contract>], context: &Value) -> Vec<(String, Value)> {
    let named = context.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
    let named: Vec<(String, Value)> = named
        .filter_map(|call| {
            let id = format!("{NAME}_{}", call.get("name")?.as_str()?);
            let mut input = call.get("arguments")?.as_object()?.clone();
            // A field without a value is left out, as models do.
            input.retain(|_, value| !value.is_null());
            Some((id, input.into()))
        })
        .collect();
    if !named.is_empty() {
        return named;
    }
    let sampled =
        |contract: &Arc<Contract>| (contract.id.to_string(), sample(&contract.parameters));
    listed.iter().map(sampled).collect()
}

/// Returns an input that a schema takes, as far as the suite's are concerned.
fn sample(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let value = |name: &Value| {
        let name = name.as_str()?;
        let kind = schema.get("properties")?.get(name)?.get("type").and_then(Value::as_str);
        let value = match kind {
            Some("integer" | "number") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            Some(_) | None => json!("text"),
        };
        Some((name.to_owned(), value))
    };
    required.filter_map(value).collect::<Map<_, _>>().into()
}

fn servers(url: &str, authorization: &Arc<Authorization>) -> McpServers {
    let remote = RemoteMcpServer {
        url: url.to_owned(),
        headers: Vec::new(),
        networking: NetworkSettings::default(),
        authorization: Some(Arc::clone(authorization)),
    };
    let spec = McpServerSpec {
        name: NAME.to_owned(),
        transport: McpTransport::Remote(Box::new(remote)),
        requires: RequirementSet::default(),
        directories: Vec::new(),
        writable_directories: Vec::new(),
        trusts_annotations: false,
        form_filler: Some(Arc::new(DefaultFormFiller)),
        failure_remedy: None,
        timeout_ms: None,
        cache_key: String::new(),
    };
    let cache: Arc<dyn ToolListCache> = Arc::new(NoToolListCache);
    McpServers::new([spec], &cache)
}

fn authorization(url: &str, context: &Value) -> Result<Authorization, String> {
    let field = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let options = OAuthOptions {
        client_id: field("client_id"),
        client_secret: field("client_secret"),
        client_metadata_url: Some(CLIENT_METADATA_URL.to_owned()),
        scopes: Vec::new(),
    };
    Authorization::new(
        url,
        &NetworkSettings::default(),
        options,
        Arc::new(MemoryTokenStore::default()),
    )
}

async fn log_in(authorization: &Arc<Authorization>, logins: &mut usize) -> Result<(), Failure> {
    *logins += 1;
    if *logins > LOGINS_MAX {
        return Err(format!("the server wants more than {LOGINS_MAX} logins").into());
    }
    let login = authorization.begin_login(REDIRECT_URI, random()?).await?;
    let url = login.url.clone();
    let redirected = tokio::task::spawn_blocking(move || follow_login(&url)).await??;
    Ok(login.finish(&redirected).await?)
}

/// Opens an address as a person would who agrees to everything, and returns where that leads.
fn follow_login(url: &str) -> Result<String, Failure> {
    let rest = url.strip_prefix("http://").ok_or("expected an address of this machine")?;
    let (host, target) = rest.split_once('/').ok_or("expected an address with a path")?;
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let location = answer.lines().take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    location.ok_or_else(|| format!("nobody is sent anywhere: {answer}").into())
}

/// Keeps a login for as long as the scenario goes on.
#[derive(Default)]
struct MemoryTokenStore(Mutex<Option<String>>);

impl TokenStore for MemoryTokenStore {
    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, text: &str) -> io::Result<()> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}

/// Keeps no list of tools.
struct NoToolListCache;

impl ToolListCache for NoToolListCache {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn put(&self, _: &str, _: &str) {}
}

/// Leaves all fields of forms as they are.
struct DefaultFormFiller;

impl FormFiller for DefaultFormFiller {
    fn fill<'a>(&'a self, _: &'a str, _: &'a Value) -> BoxFuture<'a, Option<Map<String, Value>>> {
        Box::pin(async { Some(Map::new()) })
    }
}
