//! Compression, by the program gzip that every Linux has. Without a name and a time in the head, the same bytes give the same
//! result.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

/// Bytes of the head of a stream without a name, and of its end: the checksum and the size.
const HEAD_BYTES: usize = 10;
const TAIL_BYTES: usize = 8;

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    /// For releases. More effort takes three times as long and saves less than a hundredth of programs.
    Smallest,
    /// For packages that tests install once.
    Fastest,
}

/// Bytes that are compressed as the formats gzip and zip have them.
pub(super) struct CompressedBytes {
    gzip: Vec<u8>,
}

impl CompressedBytes {
    /// Compresses bytes.
    pub(super) fn new(bytes: &[u8], compression: Compression) -> anyhow::Result<Self> {
        let level = match compression {
            Compression::Smallest => "-6",
            Compression::Fastest => "-1",
        };
        let mut gzip = Command::new("gzip");
        gzip.args(["--no-name", "--stdout", level]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = gzip.spawn().context("cannot start `gzip`")?;
        let mut input = child.stdin.take().context("gzip has no standard input")?;
        // Written beside, because gzip writes before it has read everything.
        let output = std::thread::scope(|scope| {
            let writer = scope.spawn(move || input.write_all(bytes));
            let output = child.wait_with_output()?;
            writer.join().map_err(|_| anyhow::anyhow!("the writer to gzip panicked"))??;
            anyhow::Ok(output)
        })?;
        ensure!(output.status.success(), "gzip failed ({})", output.status);
        ensure!(output.stdout.len() >= HEAD_BYTES + TAIL_BYTES, "gzip wrote no stream");
        Ok(Self { gzip: output.stdout })
    }

    /// Returns the whole stream.
    pub(super) fn into_gzip(self) -> Vec<u8> {
        self.gzip
    }

    /// Returns the compressed data alone.
    pub(super) fn deflated(&self) -> &[u8] {
        &self.gzip[HEAD_BYTES..self.gzip.len() - TAIL_BYTES]
    }

    /// Returns the checksum of the original bytes, least significant byte first.
    pub(super) fn checksum(&self) -> &[u8] {
        &self.gzip[self.gzip.len() - TAIL_BYTES..][..4]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_give_the_same_result_in_both_formats() {
        let text = "haft ".repeat(100_000);
        let make = || CompressedBytes::new(text.as_bytes(), Compression::Smallest).unwrap();
        let one = make();
        assert!(one.deflated().len() < 10_000);
        // python3 -c 'import zlib; print(zlib.crc32(b"haft").to_bytes(4, "little"))'
        let short = CompressedBytes::new(b"haft", Compression::Fastest).unwrap();
        assert_eq!(short.checksum(), [0xe3, 0xd8, 0x0c, 0xf2]);
        assert_eq!(one.into_gzip(), make().into_gzip());
    }
}
