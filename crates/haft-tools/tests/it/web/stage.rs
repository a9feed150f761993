//! A runtime that calls the tools of the web: which hosts are allowed, and what their names resolve to.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use haft::{
    Call, CallLimits, Connection, ConnectionOptions, NetworkSettings, Registry, Runtime,
    RuntimeParts, WorkspaceRoots,
};
use haft_contract::{Envelope, RunId};
use haft_journal::{LeaseOwner, MemoryJournal};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::proxy::{HostResolveFuture, HostResolver};
use haft_tools::{Profile, ToolOptions, WebSearchOptions};
use serde_json::{Value, json};

/// A runtime over an empty workspace.
pub(super) struct Stage {
    _directory: tempfile::TempDir,
    runtime: Runtime,
}

/// Answers with what it was told, one answer after the other, and the last one again and again.
#[derive(Default)]
pub(super) struct Names {
    answers: Mutex<HashMap<String, Vec<IpAddr>>>,
}

/// The settings of a stage.
#[derive(Default)]
pub(super) struct Setting {
    pub(super) rules: Vec<Rule>,
    pub(super) names: Names,
    pub(super) web_search: WebSearchOptions,
    pub(super) output_bytes: Option<usize>,
    pub(super) authorities: Option<PathBuf>,
}

impl Names {
    pub(super) fn of(names: &[(&str, &[&str])]) -> Self {
        let parsed = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let answers = names.iter().map(|(name, texts)| ((*name).to_owned(), parsed(texts)));
        Self { answers: Mutex::new(answers.collect()) }
    }
}

impl HostResolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> HostResolveFuture<'a> {
        Box::pin(async move {
            let mut answers = self.answers.lock().unwrap();
            match answers.get_mut(name) {
                Some(addresses) if addresses.len() > 1 => Ok(vec![addresses.remove(0)]),
                Some(addresses) => Ok(addresses.clone()),
                None => Err(io::Error::other("no such name")),
            }
        })
    }
}

/// Returns a rule that lets hosts be asked.
pub(super) fn allow(pattern: &str) -> Rule {
    Rule::new("net.fetch", pattern, RuleAction::Allow)
}

impl Stage {
    /// Makes a stage on which this machine may be asked by its address.
    pub(super) fn new() -> Self {
        Self::with(Setting { rules: vec![allow("127.0.0.1")], ..Setting::default() })
    }

    pub(super) fn with(setting: Setting) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        let roots = WorkspaceRoots::open(&root, &[]).unwrap();
        let options = ToolOptions { web_search: setting.web_search, ..ToolOptions::default() };
        let defaults = CallLimits::default();
        let output_bytes = setting.output_bytes.unwrap_or(defaults.output_bytes);
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(haft_tools::tools(Profile::Contract, &options)).unwrap(),
            rules: setting.rules.into_iter().map(|rule| (RuleScope::Manifest, rule)).collect(),
            limits: CallLimits { output_bytes, ..defaults },
            networking: NetworkSettings {
                resolver: Arc::new(setting.names),
                authorities: setting.authorities,
            },
            ..RuntimeParts::new(
                Arc::new(MemoryJournal::new()),
                roots,
                directory.path().join("sidecars"),
                Arc::new(haft::SystemClock),
                LeaseOwner { id: "test".to_owned(), location: "a test".to_owned() },
            )
        })
        .unwrap();
        Self { _directory: directory, runtime }
    }

    pub(super) fn session(&self, id: &str) -> Connection {
        self.runtime.open_connection(ConnectionOptions::headless(id, "test")).unwrap()
    }

    pub(super) async fn call(&self, tool: &str, input: Value) -> Envelope {
        self.call_in("s1", tool, input).await
    }

    pub(super) async fn call_in(&self, session: &str, tool: &str, input: Value) -> Envelope {
        let session = self.session(session);
        session.keep_outputs();
        let run = session.run(RunId::parse("r1").unwrap());
        run.call(Call::new(tool, input)).await.unwrap()
    }

    pub(super) async fn fetch(&self, url: &str) -> Envelope {
        self.call("web_fetch", json!({ "url": url })).await
    }

    /// Fetches and returns the answer as a model reads it, with the code of an error before it.
    pub(super) async fn text(&self, url: &str) -> String {
        shown(&self.fetch(url).await)
    }
}

/// Returns an answer as a model reads it, with the code of an error before it.
pub(super) fn shown(envelope: &Envelope) -> String {
    match envelope.code() {
        Some(code) => format!("{}: {}", code.as_str(), envelope.text()),
        None => envelope.text(),
    }
}
