//! Kills haft thousands of times and looks each time whether it kept its word: nothing that was acknowledged is lost, no
//! effect is without a row, no `once` call is silently repeated, and an outcome that cannot be known is reported as unknown.
//!
//! `crash --kills N [--seed S] [--seconds S]` starts one *driver* a processor. A driver makes *worlds*, one after the
//! other; in each it starts *workers*, one after the other, and kills them. A worker is the real runtime with the real
//! journal and the real tools that change files and run commands. The seed decides everything in a world, except the
//! exact place of a kill at a random moment. A world with a fault is kept.

#[cfg(target_os = "linux")]
mod audit;
#[cfg(target_os = "linux")]
mod checkpoints;
#[cfg(target_os = "linux")]
mod children;
#[cfg(target_os = "linux")]
mod counts;
#[cfg(target_os = "linux")]
mod driver;
#[cfg(target_os = "linux")]
mod heard;
#[cfg(target_os = "linux")]
mod orders;
#[cfg(target_os = "linux")]
mod point;
#[cfg(target_os = "linux")]
mod recorded;
#[cfg(target_os = "linux")]
mod script;
#[cfg(target_os = "linux")]
mod shards;
#[cfg(target_os = "linux")]
mod snapshots;
#[cfg(target_os = "linux")]
mod tools;
#[cfg(target_os = "linux")]
mod worker;
#[cfg(target_os = "linux")]
mod world;

/// Whatever ends the program: it is shown and nothing else.
#[cfg(target_os = "linux")]
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("haft runs on Linux only");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    haft_sandbox::helper::run_if_requested();
    match run() {
        Ok(code) => code,
        Err(err) => {
            eprintln!("error: {err}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn run() -> Result<std::process::ExitCode, Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("worker") => worker::live(worker::Orders::from_args(&args)?)?,
        Some("driver") => shards::drive(&shards::Extent::from_args(&args)?)?,
        _ => return shards::run(&args),
    }
    Ok(std::process::ExitCode::SUCCESS)
}
