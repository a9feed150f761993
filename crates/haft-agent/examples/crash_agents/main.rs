//! Kills a process with an agent's session again and again, and checks the resumed session. No `once` effect is silently repeated,
//! neither by the agent nor by its subagents. Nothing that was acknowledged is lost, and unknown outcomes are in doubt. In the end,
//! everything is done, and the record is true. [`haft_faults::crash`] describes the kills and the command line.

mod audit;
mod model;
mod script;
mod worker;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    haft_faults::crash::run::<audit::Conversations>(&args)
}
