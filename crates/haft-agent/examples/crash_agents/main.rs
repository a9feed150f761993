//! Kills a process that has a conversation with an agent, again and again, and looks whether the one that others go on with
//! keeps haft's word: no `once` effect is silently repeated, neither by the agent nor by its subagents, nothing that was
//! acknowledged is lost, what nobody can know is said to be in doubt, and in the end everything is done and what is
//! kept of it is true. How kills are made, and what is to be typed, is said by [`haft_faults::crash`].

mod audit;
mod model;
mod script;
mod worker;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    haft_faults::crash::run::<audit::Conversations>(&args)
}
