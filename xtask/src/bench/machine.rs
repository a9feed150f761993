//! The machine that the figures were measured on. Names of hosts, people and directories are deliberately left out.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::peers::Peers;
use crate::files;
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
        let [processor, load, kernel] = ["cpuinfo", "loadavg", "sys/kernel/osrelease"]
            .map(|name| files::read(&Path::new("/proc").join(name)));
        let processor = first_of(&processor?, "model name").unwrap_or("unknown").to_owned();
        let load = load?.split(' ').next().unwrap_or_default().to_owned();
        // The numbers of the release, without what its builder put behind them.
        let kernel = kernel?.trim().split('-').next().unwrap_or_default().to_owned();
        Ok(Self {
            cores: cores.get(),
            processor,
            kernel,
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
