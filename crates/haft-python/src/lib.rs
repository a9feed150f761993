//! Hosts tools written in Python.
//!
//! A tool is a file with a dictionary METADATA and the function that it names. METADATA declares
//! everything; nothing is inferred from the code, and no code runs before a call. There are three
//! steps. A [`ToolDirectory`] lists its files. [`read_metadata`] lets Python's own parser read
//! METADATA in a confined process. [`check_tool_files`] checks the result and reports every problem
//! with a remedy. [`tools`] turns each valid file into a [`Tool`](haft_contract::Tool). Its calls
//! run in warm worker processes, one per file, under the grant of the call.
//!
//! The crate starts no process itself, and never loads Python into this one: workers are started
//! through [`BackgroundProcesses`](haft_contract::BackgroundProcesses), which confines them.
#![deny(missing_docs)]

mod check;
mod directory;
mod interpreter;
pub mod limits;
mod parsed_file;
mod pool;
mod problem;
mod registry_file;
mod tools;
mod trial;
mod worker;
mod worker_options;

pub use directory::{SourceFile, ToolDirectory, ToolDirectoryError, ToolFileList};
pub use interpreter::{InterpreterError, find_interpreter, interpreter_paths};
pub use parsed_file::{
    MetadataProblem, MetadataProblemCode, NameBinding, NameBindingKind, ParameterKind,
    ParsedToolFile, ParsedToolFileCache, PythonFunction, PythonParameter, interpreter_version,
    read_metadata,
};

pub use check::{
    CheckedDirectory, CheckedTool, PythonToolPermissions, UNCONFINED, check_tool_files,
    compare_directories,
};
pub use problem::{ProblemCode, ToolFileProblem, ToolFileSeverity};
pub use tools::tools;
pub use trial::try_deterministic_tools;
pub use worker_options::WorkerOptions;

pub use registry_file::{
    RegistryDifference, RegistryFieldChange, RegistryFile, RegistryFileError, RemovalReason,
};
