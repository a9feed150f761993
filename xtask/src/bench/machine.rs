//! The machine that the figures were measured on. Names of hosts, people and directories are deliberately left out.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::peers::Peers;
use crate::process::capture;

pub(super) struct Machine {
    cores: usize,
    processor: String,
    kernel: String,
    rustc: String,
    /// Processes that wanted to run in the last minute, on average.
    load: String,
    peers: Vec<String>,
}

impl Machine {
    pub(super) fn look(peers: &Peers) -> anyhow::Result<Self> {
        let cores = std::thread::available_parallelism().context("the cores cannot be counted")?;
        let processor = first_of(&read("/proc/cpuinfo")?, "model name").unwrap_or("unknown").into();
        let load = read("/proc/loadavg")?.split(' ').next().unwrap_or_default().to_owned();
        Ok(Self {
            cores: cores.get(),
            processor,
            kernel: release(&read("/proc/sys/kernel/osrelease")?),
            rustc: capture(Command::new("rustc").arg("--version"))?.trim().to_owned(),
            load,
            peers: peers.versions(),
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cores, processor, kernel, rustc, load, peers } = self;
        writeln!(formatter, "Measured on {cores} cores ({processor}), Linux {kernel},")?;
        writeln!(formatter, "{rustc}; {}. Load before it began: {load}.", peers.join("; "))
    }
}

/// Returns the first value of a name in the form of /proc, `name : value`.
pub(super) fn first_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim()).next()
}

fn read(path: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(Path::new(path)).with_context(|| format!("cannot read {path}"))
}

/// Returns the numbers of a kernel release, without what its builder put behind them.
fn release(text: &str) -> String {
    text.trim().split('-').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_name() {
        let text = "VmRSSx:\t1 kB\nVmRSS:\t  4096 kB\nVmRSS:\t5 kB\n";
        assert_eq!(first_of(text, "VmRSS"), Some("4096 kB"));
        assert_eq!(first_of(text, "Vm"), None);
    }
}
