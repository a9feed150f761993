//! A confinement as it travels: what the caller asked for, with the protected names already looked up and turned into
//! paths to pin. It decides nothing.

use std::io;
use std::path::PathBuf;

use super::bytes::{Reader, Writer, malformed};
use crate::confinement::{Mechanisms, Network, Resources};

/// What a command is confined to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) pinned: Vec<Pinned>,
    pub(crate) home: PathBuf,
    pub(crate) network: Network,
    pub(crate) resources: Resources,
    pub(crate) mechanisms: Mechanisms,
    /// Whether a control group is to be used where one can be had.
    pub(crate) wants_group: bool,
}

/// A path that keeps its place, and its content too unless that may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pinned {
    pub(crate) path: PathBuf,
    pub(crate) is_writable: bool,
}

impl Bounds {
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.paths(&self.writable);
        writer.paths(&self.readable);
        writer.paths(&self.hidden);
        writer.count(self.pinned.len());
        for pinned in &self.pinned {
            writer.text(pinned.path.as_os_str());
            writer.byte(u8::from(pinned.is_writable));
        }
        writer.text(self.home.as_os_str());
        writer.byte(tag(self.network));
        let Resources { memory_bytes, processes, temp_bytes, file_bytes, open_files } =
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

    pub(super) fn read(reader: &mut Reader<'_>) -> io::Result<Bounds> {
        let writable = reader.paths()?;
        let readable = reader.paths()?;
        let hidden = reader.paths()?;
        let pinned_count = reader.count()?;
        let pinned = (0..pinned_count)
            .map(|_| Ok(Pinned { path: reader.text()?.into(), is_writable: reader.is_set()? }))
            .collect::<io::Result<_>>()?;
        let home = reader.text()?.into();
        let network = network(reader.byte()?)?;
        let resources = Resources {
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
        Ok(Bounds {
            writable,
            readable,
            hidden,
            pinned,
            home,
            network,
            resources,
            mechanisms,
            wants_group,
        })
    }
}

fn tag(network: Network) -> u8 {
    match network {
        Network::Loopback => 0,
        Network::Proxied => 1,
        Network::Host => 2,
    }
}

fn network(tag: u8) -> io::Result<Network> {
    Ok(match tag {
        0 => Network::Loopback,
        1 => Network::Proxied,
        2 => Network::Host,
        _ => return Err(malformed()),
    })
}
