//! The helper as a separate program, for launchers whose own program cannot be executed again.

fn main() {
    haft_sandbox::helper::run_if_requested();
    eprintln!("error: haft-sandbox-helper is started by haft, not by hand");
    std::process::exit(2);
}
