//! Kills a process that drives a plan, again and again, and checks the guarantees of the resumed run: no `once` effect is
//! silently repeated, no acknowledged outcome is lost, an unknown end is in doubt, and the final trace is that of an
//! undisturbed run. Some nodes ask a person, and one tool is dangerous. Another process answers, and dies as well: no node
//! executes without an answer, and none waits for ever. [`haft_faults::crash`] describes the kills and the command line.

mod answerer;
mod audit;
mod script;
mod worker;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [role, world, seed] if role == answerer::ROLE => match answerer::run(world, seed) {
            Ok(()) => std::process::ExitCode::SUCCESS,
            Err(err) => {
                eprintln!("error: {err}");
                std::process::ExitCode::FAILURE
            }
        },
        _ => haft_faults::crash::run::<audit::Plans>(&args),
    }
}
