//! Kills a process that drives a plan, again and again, and looks whether the run that others go on with keeps haft's word:
//! no `once` effect is silently repeated, nothing that was acknowledged is lost, what nobody can know is said to be in
//! doubt, and in the end the trace is that of a run which nobody disturbed.
//!
//! `crash_plans --kills N [--seed S] [--seconds S]` makes *worlds*, one after the other, until it has killed so often. In each, *workers*
//! drive the same plan, one after the other, until one comes to its end. What a kill hits depends on time. A world in
//! which something is wrong is left where it is.

mod driver;
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
