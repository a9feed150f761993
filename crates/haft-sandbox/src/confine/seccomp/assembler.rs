//! Putting a filter program together: instructions, and jumps to places that are known by name until the end. It knows
//! the instruction set of the kernel's classic packet filters and nothing of system calls.

use std::io;

use libc::sock_filter;

/// A program in the making, whose places are named by `L`.
#[derive(Debug)]
pub(super) struct Assembler<L> {
    code: Vec<sock_filter>,
    jumps: Vec<(usize, Via, L)>,
    places: Vec<(L, usize)>,
}

/// Which part of an instruction holds the distance to jump.
#[derive(Clone, Copy, Debug)]
enum Via {
    /// Eight bits, taken when the comparison holds.
    IfTrue,
    /// Thirty-two bits, taken always.
    Always,
}

/// What a conditional jump compares the loaded value with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compare {
    Equal(u32),
    AtLeast(u32),
    AnyBitOf(u32),
}

impl<L: Copy + PartialEq> Assembler<L> {
    pub(super) fn new() -> Assembler<L> {
        Assembler { code: Vec::new(), jumps: Vec::new(), places: Vec::new() }
    }

    /// Loads four bytes of the description of the system call.
    pub(super) fn load(&mut self, offset: u32) {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    }

    /// Keeps these bits of the loaded value only.
    pub(super) fn mask(&mut self, bits: u32) {
        self.push(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, bits);
    }

    /// Ends the program with this answer.
    pub(super) fn answer(&mut self, action: u32) {
        self.push(libc::BPF_RET | libc::BPF_K, action);
    }

    /// Jumps if the comparison holds, else goes on.
    pub(super) fn jump_if(&mut self, compare: Compare, to: L) {
        let (operation, value) = match compare {
            Compare::Equal(value) => (libc::BPF_JEQ, value),
            Compare::AtLeast(value) => (libc::BPF_JGE, value),
            Compare::AnyBitOf(value) => (libc::BPF_JSET, value),
        };
        self.jumps.push((self.code.len(), Via::IfTrue, to));
        self.push(libc::BPF_JMP | operation | libc::BPF_K, value);
    }

    pub(super) fn jump(&mut self, to: L) {
        self.jumps.push((self.code.len(), Via::Always, to));
        self.push(libc::BPF_JMP | libc::BPF_JA, 0);
    }

    /// Gives the next instruction a name.
    pub(super) fn place(&mut self, name: L) {
        self.places.push((name, self.code.len()));
    }

    /// Returns the program, with every jump at its distance.
    pub(super) fn finish(mut self) -> io::Result<Vec<sock_filter>> {
        for (from, via, to) in &self.jumps {
            let place = self.places.iter().find(|(name, _)| name == to).map(|(_, place)| *place);
            // Jumps go forward only; the instruction after the jump is at distance zero.
            let distance = place.and_then(|place| place.checked_sub(from + 1));
            let instruction = self.code.get_mut(*from);
            let (Some(distance), Some(instruction)) = (distance, instruction) else {
                return Err(invalid("a jump leads to no later place"));
            };
            match via {
                Via::IfTrue => {
                    instruction.jt =
                        u8::try_from(distance).map_err(|_| invalid("a jump is long"))?;
                }
                Via::Always => {
                    instruction.k =
                        u32::try_from(distance).map_err(|_| invalid("a jump is long"))?;
                }
            }
        }
        Ok(self.code)
    }

    fn push(&mut self, code: u32, value: u32) {
        // Every operation is a sum of constants below 256, so that nothing is cut off.
        let code = u16::try_from(code).unwrap_or(u16::MAX);
        self.code.push(sock_filter { code, jt: 0, jf: 0, k: value });
    }
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
