//! A confinement as it is sent to a supervisor: the caller's request, with protected names already
//! resolved to protective mounts. It decides nothing.

use std::io;
use std::path::PathBuf;

use crate::bytes::{WireReader, WireWriter, malformed};
use crate::confinement::{Mechanisms, Network, ResourceLimits};

/// The confinement of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireConfinement {
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) mounts: Vec<WireMount>,
    pub(crate) home: PathBuf,
    pub(crate) network: Network,
    pub(crate) resources: ResourceLimits,
    pub(crate) mechanisms: Mechanisms,
    /// Whether to use a control group where one is available.
    pub(crate) wants_group: bool,
}

/// A path that must keep its place, and also its content unless that may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireMount {
    pub(crate) path: PathBuf,
    pub(crate) is_writable: bool,
}

impl WireConfinement {
    pub(super) fn write(&self, writer: &mut WireWriter) {
        writer.paths(&self.writable);
        writer.paths(&self.readable);
        writer.paths(&self.hidden);
        writer.count(self.mounts.len());
        for pinned in &self.mounts {
            writer.text(pinned.path.as_os_str());
            writer.byte(u8::from(pinned.is_writable));
        }
        writer.text(self.home.as_os_str());
        writer.byte(match self.network {
            Network::Loopback => 0,
            Network::Proxied => 1,
            Network::Host => 2,
        });
        let ResourceLimits { memory_bytes, processes, temp_bytes, file_bytes, open_files } =
            self.resources;
        for number in
            [memory_bytes, u64::from(processes), temp_bytes, file_bytes, u64::from(open_files)]
        {
            writer.number(number);
        }
        let Mechanisms { namespaces, landlock, seccomp } = self.mechanisms;
        for is_set in [namespaces, landlock, seccomp] {
            writer.byte(u8::from(is_set));
        }
        writer.byte(u8::from(self.wants_group));
    }

    pub(super) fn read(reader: &mut WireReader<'_>) -> io::Result<WireConfinement> {
        let writable = reader.paths()?;
        let readable = reader.paths()?;
        let hidden = reader.paths()?;
        let pinned_count = reader.count()?;
        let pinned = (0..pinned_count)
            .map(|_| Ok(WireMount { path: reader.text()?.into(), is_writable: reader.is_set()? }))
            .collect::<io::Result<_>>()?;
        let home = reader.text()?.into();
        let network = match reader.byte()? {
            0 => Network::Loopback,
            1 => Network::Proxied,
            2 => Network::Host,
            _ => return Err(malformed()),
        };
        let resources = ResourceLimits {
            memory_bytes: reader.number()?,
            processes: reader.small_number()?,
            temp_bytes: reader.number()?,
            file_bytes: reader.number()?,
            open_files: reader.small_number()?,
        };
        let mechanisms = Mechanisms {
            namespaces: reader.is_set()?,
            landlock: reader.is_set()?,
            seccomp: reader.is_set()?,
        };
        let wants_group = reader.is_set()?;
        Ok(WireConfinement {
            writable,
            readable,
            hidden,
            mounts: pinned,
            home,
            network,
            resources,
            mechanisms,
            wants_group,
        })
    }
}
