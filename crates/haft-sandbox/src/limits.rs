//! The default limits of a command, which [`ResourceLimits`](crate::ResourceLimits) starts with. Nothing is checked here.

const GIB: u64 = 1024 * 1024 * 1024;

/// Default memory of a command, in bytes.
///
/// Limit (commands): the command is killed.
pub const MEMORY_BYTES_DEFAULT: u64 = 4 * GIB;
/// Default number of processes and threads of a command.
///
/// Limit (commands): the command cannot start another one.
pub const PROCESSES_DEFAULT: u32 = 1_024;
/// Default size of a command's temporary files, in bytes.
///
/// Limit (commands): writing fails.
pub const TEMP_BYTES_DEFAULT: u64 = 2 * GIB;
/// Default size of one file that a command writes, in bytes.
///
/// Limit (commands): writing fails.
pub const FILE_BYTES_DEFAULT: u64 = 4 * GIB;
/// Default number of open files of one process.
///
/// Limit (commands): opening fails.
pub const OPEN_FILES_DEFAULT: u32 = 4_096;
