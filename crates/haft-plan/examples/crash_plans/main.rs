//! Kills a process that drives a plan, again and again, and checks the guarantees of the resumed run: no `once` effect is
//! silently repeated, no acknowledged outcome is lost, an unknown end is in doubt, and the final trace is that of an
//! undisturbed run. [`haft_faults::crash`] describes the kills and the command line.

mod audit;
mod script;
mod worker;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    haft_faults::crash::run::<audit::Plans>(&args)
}
