//! The program `haft-temporal`: runs of haft on Temporal. The engine decides when and where a run is driven. The installed program
//! `haft` drives it, and its journal decides what is executed. This program uses no library of haft.

mod activities;
mod answer;
mod asks;
mod child;
mod connection;
mod ending;
mod follow;
mod placement;
mod request;
mod start;
mod worker;
mod workflow;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::connection::ConnectionArgs;

/// Run plans and agents of haft on Temporal
///
/// A run is a workflow. Workers drive it with the installed haft and share one journal in PostgreSQL. If a worker dies, another one
/// with the same workspace resumes the run: no finished call is repeated, and a call that may have happened waits for a person.
#[derive(Parser)]
#[command(name = "haft-temporal", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Task queue of the fleet. The queues of workspaces and labels begin with its name
    #[arg(long, global = true, value_name = "NAME", default_value = "haft")]
    task_queue: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Worker(worker::WorkerArgs),
    Run(start::RunArgs),
    Resume(start::ResumeArgs),
    Agent(start::AgentArgs),
    Status(follow::StatusArgs),
    Settle(follow::SettleArgs),
    Asks(answer::AsksArgs),
    Answer(answer::AnswerArgs),
    Cancel(follow::CancelArgs),
    /// Become a program that ends with the worker
    #[command(name = child::TIED, hide = true)]
    ExecTied {
        /// The process of the worker.
        worker: i32,
        /// The program and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        // No thread may exist yet: the signal is tied to the one that asks for it.
        Command::ExecTied { worker, command } => {
            child::exec_tied(worker, &command).map(|()| ExitCode::FAILURE)
        }
        command => run(command, &cli.task_queue, &cli.connection),
    };
    done.unwrap_or_else(|err| {
        eprintln!("error: {err:#}");
        ExitCode::from(2)
    })
}

fn run(command: Command, queue: &str, connection: &ConnectionArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            Command::Worker(args) => worker::run(args, queue, connection).await,
            Command::Run(args) => start::run(args, queue, connection).await,
            Command::Resume(args) => start::resume(args, queue, connection).await,
            Command::Agent(args) => start::agent(args, queue, connection).await,
            Command::Status(args) => follow::status(args, connection).await,
            Command::Settle(args) => follow::settle(args, connection).await,
            Command::Asks(args) => answer::asks(args, connection).await,
            Command::Answer(args) => answer::answer(args, connection).await,
            Command::Cancel(args) => follow::cancel(args, connection).await,
            Command::ExecTied { .. } => Ok(ExitCode::FAILURE),
        }
    })
}
