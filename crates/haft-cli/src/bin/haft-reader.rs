//! The program `haft-reader`, which turns pages into text. haft starts it confined, speaks to it over standard input and
//! output, and ends it by closing the input.

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().len() > 1 {
        eprintln!("error: haft-reader takes no arguments\n\nhint: haft starts it to read pages");
        return ExitCode::from(2);
    }
    // If a page crashes a library, haft reports that to the caller. It is not a fault of haft, so no panic is printed.
    std::panic::set_hook(Box::new(|_| {}));
    match haft_reader::serve(io::stdin(), io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::FAILURE
        }
    }
}
