//! The tool `lsp` from Rust: a runtime that has it, and one call. Arguments: ROOT PROGRAM INPUT, where the program is a
//! language server that speaks over its standard input and output, and the input is that of the tool. Tests use it as the
//! program that starts processes.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use haft::{
    Call, Limits, OnRepeat, Registry, Roots, Runtime, RuntimeParts, Sandbox, SessionOptions,
    SystemClock,
};
use haft_contract::{RequirementSet, RunId, Variables};
use haft_journal::{MemoryJournal, Owner};
use haft_lsp::{LspOptions, NoProgram, ProgramFound, Programs, builtin_languages};
use haft_policy::{Action, NetworkGuard, Rule, RuleScope};
use haft_sandbox::Launcher;

/// One program, whatever is asked for.
struct OneProgram(PathBuf);

impl Programs for OneProgram {
    fn find(&self, _: &[String]) -> Result<ProgramFound, NoProgram> {
        Ok(ProgramFound { path: self.0.clone(), readable: vec![self.0.clone()] })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // The same program starts processes: it is called again for that, with an argument of its own.
    haft_sandbox::helper::run_if_requested();
    let mut args = std::env::args_os().skip(1);
    let mut next = || args.next().ok_or("expected arguments ROOT PROGRAM INPUT");
    let (root, program, input) = (next()?, next()?, next()?);
    let input = serde_json::from_str(&input.to_string_lossy())?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    executor.block_on(async {
        let programs = Arc::new(OneProgram(program.into()));
        let languages = builtin_languages();
        let options = LspOptions { languages, programs, is_unconfined: false };
        let roots = Roots::open(&PathBuf::from(root), &[])?;
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(vec![haft_lsp::lsp(options)])?,
            journal: Arc::new(MemoryJournal::new()),
            variables: Variables { workspace: roots.paths(), ..Variables::default() },
            roots,
            requires: RequirementSet::default(),
            rules: vec![(RuleScope::Manifest, Rule::new("*", "*", Action::Allow))],
            limits: Limits::default(),
            allow_network: false,
            network_guard: NetworkGuard::default(),
            sandbox: Sandbox::system(),
            project_rules: None,
            watchdogs: Vec::new(),
            launcher: Launcher::new(std::env::current_exe()?),
            networking: haft::Networking::default(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            sidecars: std::env::temp_dir().join("haft-lsp-example"),
            clock: Arc::new(SystemClock),
            owner: Owner { id: "example".to_owned(), place: "an example".to_owned() },
            is_gone: Arc::new(|_| None),
            snapshots: None,
            on_repeat: OnRepeat::default(),
            settings: "{}".to_owned(),
        })?;
        let session = runtime.session(SessionOptions::headless("s1", "example"))?;
        let run = session.run(RunId::parse("r1")?);
        let envelope = run.call(Call::new("lsp", input)).await?;
        println!("{}", envelope.text());
        runtime.shut_down().await;
        Ok(())
    })
}
