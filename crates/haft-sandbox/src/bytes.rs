//! Encodes and decodes numbers and names. Input that does not decode completely is an error;
//! nothing is guessed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A message under construction.
#[derive(Default)]
pub(crate) struct WireWriter {
    bytes: Vec<u8>,
}

/// A message that is being decoded.
pub(crate) struct WireReader<'a> {
    bytes: &'a [u8],
}

impl WireWriter {
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn count(&mut self, count: usize) {
        // A count that does not fit makes the whole message far larger than a launcher sends.
        self.bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    pub(crate) fn number(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &OsStr) {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn paths(&mut self, paths: &[PathBuf]) {
        self.count(paths.len());
        for path in paths {
            self.text(path.as_os_str());
        }
    }
}

impl<'a> WireReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> WireReader<'a> {
        WireReader { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn byte(&mut self) -> io::Result<u8> {
        let [value] = self.take()?;
        Ok(value)
    }

    pub(crate) fn count(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(crate) fn number(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn take<const LENGTH: usize>(&mut self) -> io::Result<[u8; LENGTH]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(malformed)?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(crate) fn small_number(&mut self) -> io::Result<u32> {
        u32::try_from(self.number()?).map_err(|_| malformed())
    }

    pub(crate) fn text(&mut self) -> io::Result<OsString> {
        let length = usize::try_from(self.count()?).map_err(|_| malformed())?;
        let text = self.bytes.split_off(..length).ok_or_else(malformed)?;
        Ok(OsString::from_vec(text.to_vec()))
    }

    pub(crate) fn paths(&mut self) -> io::Result<Vec<PathBuf>> {
        let count = self.count()?;
        (0..count).map(|_| Ok(self.text()?.into())).collect()
    }

    pub(crate) fn is_set(&mut self) -> io::Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(malformed()),
        }
    }
}

pub(crate) fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "launcher and helper are not of one build")
}
