//! Kills a process that has a conversation with an agent, again and again, and looks whether the one that others go on with
//! keeps haft's word: no `once` effect is silently repeated, neither by the agent nor by its subagents, nothing that was
//! acknowledged is lost, what nobody can know is said to be in doubt, and in the end everything is done and what is
//! kept of it is true.
//!
//! `crash_agents --kills N [--seed S] [--seconds S]` makes *worlds*, one after the other, until it has killed so often. In
//! each, *workers* have the same conversation, one after the other, until one comes to its end. What a kill hits depends on
//! time. A world in which something is wrong is left where it is.

mod audit;
mod driver;
mod model;
mod random;
mod script;
mod worker;

/// Whatever ends the program: it is shown and nothing else.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.as_slice() {
        [role, world, life] if role == "worker" => worker::live(world.as_ref(), life),
        _ => driver::run(&args),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            std::process::ExitCode::FAILURE
        }
    }
}
