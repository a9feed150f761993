//! Numbers and byte strings in the store's own files, little-endian and length-prefixed. Truncated
//! input is rejected.

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub(crate) struct ByteWriter {
    pub(crate) bytes: Vec<u8>,
}

impl ByteWriter {
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut ByteWriter {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u8(&mut self, value: u8) -> &mut ByteWriter {
        self.raw(&[value])
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut ByteWriter {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut ByteWriter {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn i128(&mut self, value: i128) -> &mut ByteWriter {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a byte string with its length. The kernel limits names and targets to 4,096 bytes.
    pub(crate) fn string(&mut self, bytes: &[u8]) -> &mut ByteWriter {
        let length = u32::try_from(bytes.len()).expect("names and targets are a few kilobytes");
        self.u32(length).raw(bytes)
    }
}

/// Reads values from the front of a byte slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> ByteReader<'a> {
        ByteReader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i128(&mut self) -> Option<i128> {
        self.array().map(i128::from_le_bytes)
    }

    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        self.raw(length)
    }
}
