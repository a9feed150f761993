//! Measures sessions: the cost of a step of the loop beside the same request of the client alone, and the memory of idle sessions. The
//! model is a script in a separate process. The program prints one figure a line and judges nothing:
//! `case<TAB>entrant<TAB>nanoseconds a step`, or `what<TAB>resident bytes`.
//!
//! Arguments: `steps DIRECTORY MODEL ROUNDS CALLS` (calls of a turn, one a step), `fill DIRECTORY MODEL CHATS` (begins so many
//! sessions) or `idle DIRECTORY MODEL` (opens them all). MODEL is the program `haft-scripted-model`.

mod idle;
mod place;
mod scripted;
mod steps;

use std::path::Path;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "expected steps DIRECTORY MODEL ROUNDS CALLS, fill DIRECTORY MODEL CHATS or idle DIRECTORY MODEL";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["steps", directory, model, rounds, calls] => {
            steps::measure(Path::new(directory), Path::new(model), rounds.parse()?, calls.parse()?)
                .await
        }
        ["fill", directory, model, chats] => {
            idle::fill(Path::new(directory), Path::new(model), chats.parse()?).await
        }
        ["idle", directory, model] => idle::measure(Path::new(directory), Path::new(model)).await,
        _ => Err(USAGE.into()),
    }
}
