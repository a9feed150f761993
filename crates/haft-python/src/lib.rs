//! Hosts tools that are written in Python.
//!
//! A tool is a file with a dictionary METADATA and the function that it names. The file says everything in METADATA; nothing
//! is inferred from its code, and nothing of it is executed before it is called. So there are three steps: a
//! [`ToolDirectory`] lists its files; [`read_metadata`] has Python's own parser read METADATA, in a confined process;
//! [`check`] judges what was read and says of every file what is wrong with it and how to mend it. What is left are tools:
//! [`tools`] makes a [`Tool`](haft_contract::Tool) of each, whose calls run in warm worker processes, one a file, under the
//! grant of the call.
//!
//! The crate deliberately starts no process by itself, and never loads Python into this one: workers are started through
//! [`Residents`](haft_contract::Residents), which confines them.
#![deny(missing_docs)]

mod check;
mod directory;
mod host;
mod interpreter;
pub mod limits;
mod pool;
mod problem;
mod reading;
mod registry_file;
mod worker;

pub use directory::{DirectoryError, Listing, SourceFile, ToolDirectory};
pub use interpreter::{InterpreterError, find_interpreter, interpreter_places};
pub use reading::{
    Bound, BoundBy, Function, Parameter, ParameterKind, Reading, ReadingCache, ReadingCode,
    ReadingProblem, interpreter_version, read_metadata,
};

pub use check::{Checked, CheckedTool, Permissions, UNCONFINED, check};
pub use host::{WorkerOptions, tools};
pub use problem::{Problem, ProblemCode, Severity};

pub use registry_file::{Difference, FieldChange, RegistryFile, RegistryFileError, RemovedWhy};
