//! The specification of one command as it is sent to its supervisor. It deliberately contains no
//! descriptors; those travel with the request.

use std::ffi::OsString;
use std::io;

use super::bounds::WireConfinement;
use crate::bytes::{WireReader, WireWriter, malformed};
use crate::channel::CommandChannel;

/// The command that a supervisor must run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireCommandSpec {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// The use of the channel, if one travels with the request.
    pub(crate) channel: Option<CommandChannel>,
    /// The confinement of the command, if it has one.
    pub(crate) bounds: Option<WireConfinement>,
}

impl WireCommandSpec {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = WireWriter::default();
        writer.text(&self.program);
        writer.count(self.args.len());
        for arg in &self.args {
            writer.text(arg);
        }
        writer.count(self.env.len());
        for (name, value) in &self.env {
            writer.text(name);
            writer.text(value);
        }
        writer.byte(match self.channel {
            None => 0,
            Some(CommandChannel::Descriptor) => 1,
            Some(CommandChannel::Stdio) => 2,
        });
        writer.byte(u8::from(self.bounds.is_some()));
        if let Some(bounds) = &self.bounds {
            bounds.write(&mut writer);
        }
        writer.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> io::Result<WireCommandSpec> {
        let mut reader = WireReader::new(bytes);
        let program = reader.text()?;
        let args_count = reader.count()?;
        let args = (0..args_count).map(|_| reader.text()).collect::<io::Result<_>>()?;
        let env_count = reader.count()?;
        let env = (0..env_count)
            .map(|_| Ok((reader.text()?, reader.text()?)))
            .collect::<io::Result<_>>()?;
        let channel = match reader.byte()? {
            0 => None,
            1 => Some(CommandChannel::Descriptor),
            2 => Some(CommandChannel::Stdio),
            _ => return Err(malformed()),
        };
        let bounds =
            if reader.is_set()? { Some(WireConfinement::read(&mut reader)?) } else { None };
        let spec = WireCommandSpec { program, args, env, channel, bounds };
        if reader.is_empty() { Ok(spec) } else { Err(malformed()) }
    }
}
