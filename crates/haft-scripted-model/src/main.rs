//! `haft-scripted-model SCRIPT [PORT]`: serves a JSON script until it is stopped, for people and
//! for tests in other languages. Prints the base URL for clients on one line.

use std::io::Write as _;
use std::process::ExitCode;

use haft_scripted_model::{ModelScript, ScriptedServer};

const USAGE: &str = "expected haft-scripted-model SCRIPT [PORT]";

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn serve() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, port) = match args.as_slice() {
        [file] => (file, 0),
        [file, port] => (file, port.parse().map_err(|_| format!("{USAGE}, found port {port:?}"))?),
        _ => return Err(USAGE.to_owned()),
    };
    let text = std::fs::read_to_string(file).map_err(|err| format!("{file}: {err}"))?;
    let script = ModelScript::parse(&text).map_err(|err| format!("{file}: {err}"))?;
    let server = ScriptedServer::start_on(script, port).map_err(|err| err.to_string())?;
    let mut out = std::io::stdout();
    // A client that waits for the address may read it from a pipe.
    writeln!(out, "{}", server.base_url())
        .and_then(|()| out.flush())
        .map_err(|err| err.to_string())?;
    server.join();
    Ok(())
}
