//! Kills a process that drives a plan, again and again, and looks whether the run that others go on with keeps haft's word:
//! no `once` effect is silently repeated, nothing that was acknowledged is lost, what nobody can know is said to be in
//! doubt, and in the end the trace is that of a run which nobody disturbed. How kills are made, and what is to be typed, is
//! said by [`haft_faults::crash`].

mod audit;
mod script;
mod worker;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    haft_faults::crash::run::<audit::Plans>(&args)
}
