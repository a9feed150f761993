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
    pub(crate) covers: Vec<WireCover>,
    /// Whether more may have to be covered while the command runs.
    pub(crate) takes_covers: bool,
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

/// A path at which rules take access away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireCover {
    pub(crate) path: PathBuf,
    /// Whether it can still be read.
    pub(crate) is_readable: bool,
    /// Whether the directories around it must keep their places too.
    pub(crate) keeps_place: bool,
}

impl WireCover {
    pub(super) fn write_all(covers: &[WireCover], writer: &mut WireWriter) {
        writer.count(covers.len());
        for cover in covers {
            writer.text(cover.path.as_os_str());
            writer.byte(u8::from(cover.is_readable));
            writer.byte(u8::from(cover.keeps_place));
        }
    }

    pub(super) fn read_all(reader: &mut WireReader<'_>) -> io::Result<Vec<WireCover>> {
        let count = reader.count()?;
        let covers = (0..count).map(|_| {
            let path = reader.text()?.into();
            let (is_readable, keeps_place) = (reader.is_set()?, reader.is_set()?);
            Ok(WireCover { path, is_readable, keeps_place })
        });
        covers.collect()
    }
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
        WireCover::write_all(&self.covers, writer);
        writer.byte(u8::from(self.takes_covers));
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
        let covers = WireCover::read_all(reader)?;
        let takes_covers = reader.is_set()?;
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
            covers,
            takes_covers,
            home,
            network,
            resources,
            mechanisms,
            wants_group,
        })
    }
}
