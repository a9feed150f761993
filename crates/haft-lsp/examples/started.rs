//! The tool `lsp` from Rust: a runtime with the tool, and one call. Arguments: ROOT PROGRAM INPUT.
//! PROGRAM is a language server that communicates over its standard input and output; INPUT is the
//! tool's input. Tests use this program as the helper that starts processes.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use haft::{Call, ConnectionOptions, Registry, Runtime, RuntimeParts, SystemClock, WorkspaceRoots};
use haft_contract::RunId;
use haft_journal::{LeaseOwner, MemoryJournal};
use haft_lsp::{
    LspOptions, ServerProgram, ServerProgramError, ServerProgramFinder, builtin_languages,
};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;

/// Uses one program for every language.
struct OneProgram(PathBuf);

impl ServerProgramFinder for OneProgram {
    fn find(&self, _: &[String]) -> Result<ServerProgram, ServerProgramError> {
        Ok(ServerProgram { path: self.0.clone(), readable: vec![self.0.clone()] })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // The helper that starts processes is this same program, executed with a separate argument.
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
        let roots = WorkspaceRoots::open(&PathBuf::from(root), &[])?;
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(vec![haft_lsp::lsp(options)])?,
            rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
            launcher: Launcher::new(std::env::current_exe()?),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            ..RuntimeParts::new(
                Arc::new(MemoryJournal::new()),
                roots,
                std::env::temp_dir().join("haft-lsp-example"),
                Arc::new(SystemClock),
                LeaseOwner { id: "example".to_owned(), location: "an example".to_owned() },
            )
        })?;
        let session = runtime.open_connection(ConnectionOptions::headless("s1", "example"))?;
        let run = session.run(RunId::parse("r1")?);
        let envelope = run.call(Call::new("lsp", input)).await?;
        println!("{}", envelope.text());
        runtime.shut_down().await;
        Ok(())
    })
}
