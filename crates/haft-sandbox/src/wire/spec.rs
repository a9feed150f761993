//! The specification of one command, as it travels to its supervisor. It deliberately holds no descriptor; those travel
//! with the request.

use std::ffi::OsString;
use std::io;

use super::bounds::Bounds;
use super::bytes::{Reader, Writer, malformed};
use crate::process::Channel;

/// What a supervisor is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// What becomes of the channel, if one travels with the request.
    pub(crate) channel: Option<Channel>,
    /// What the command is confined to, if it is.
    pub(crate) bounds: Option<Bounds>,
}

impl Spec {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
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
        writer.byte(tag(self.channel));
        writer.byte(u8::from(self.bounds.is_some()));
        if let Some(bounds) = &self.bounds {
            bounds.write(&mut writer);
        }
        writer.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> io::Result<Spec> {
        let mut reader = Reader::new(bytes);
        let program = reader.text()?;
        let args_count = reader.count()?;
        let args = (0..args_count).map(|_| reader.text()).collect::<io::Result<_>>()?;
        let env_count = reader.count()?;
        let env = (0..env_count)
            .map(|_| Ok((reader.text()?, reader.text()?)))
            .collect::<io::Result<_>>()?;
        let channel = channel(reader.byte()?)?;
        let bounds = if reader.is_set()? { Some(Bounds::read(&mut reader)?) } else { None };
        let spec = Spec { program, args, env, channel, bounds };
        if reader.is_empty() { Ok(spec) } else { Err(malformed()) }
    }
}

fn tag(channel: Option<Channel>) -> u8 {
    match channel {
        None => 0,
        Some(Channel::Descriptor) => 1,
        Some(Channel::Stdio) => 2,
    }
}

fn channel(tag: u8) -> io::Result<Option<Channel>> {
    Ok(match tag {
        0 => None,
        1 => Some(Channel::Descriptor),
        2 => Some(Channel::Stdio),
        _ => return Err(malformed()),
    })
}
