//! Assembles a filter program: instructions, and jumps to labels. It knows the instruction set of
//! the kernel's classic packet filters, and nothing about system calls.

use std::io;

use libc::sock_filter;

const JUMP_ALWAYS: u32 = libc::BPF_JMP | libc::BPF_JA;

/// A program under construction, with labels of type `L`.
#[derive(Debug)]
pub(super) struct SeccompAssembler<L> {
    code: Vec<sock_filter>,
    jumps: Vec<(usize, L)>,
    places: Vec<(L, usize)>,
}

/// The condition of a conditional jump on the loaded value.
#[derive(Clone, Copy, Debug)]
pub(super) enum JumpCondition {
    Equal(u32),
    AtLeast(u32),
    AnyBitOf(u32),
}

impl<L: Copy + PartialEq> SeccompAssembler<L> {
    pub(super) fn new() -> SeccompAssembler<L> {
        SeccompAssembler { code: Vec::new(), jumps: Vec::new(), places: Vec::new() }
    }

    /// Loads four bytes of the system call's description.
    pub(super) fn load(&mut self, offset: u32) {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    }

    /// Keeps only these bits of the loaded value.
    pub(super) fn mask(&mut self, bits: u32) {
        self.push(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, bits);
    }

    /// Ends the program with this action.
    pub(super) fn return_action(&mut self, action: u32) {
        self.push(libc::BPF_RET | libc::BPF_K, action);
    }

    /// Jumps if the comparison is true, otherwise continues.
    pub(super) fn jump_if(&mut self, compare: JumpCondition, to: L) {
        let (operation, value) = match compare {
            JumpCondition::Equal(value) => (libc::BPF_JEQ, value),
            JumpCondition::AtLeast(value) => (libc::BPF_JGE, value),
            JumpCondition::AnyBitOf(value) => (libc::BPF_JSET, value),
        };
        self.jumps.push((self.code.len(), to));
        self.push(libc::BPF_JMP | operation | libc::BPF_K, value);
    }

    pub(super) fn jump(&mut self, to: L) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP_ALWAYS, 0);
    }

    /// Sets a label at the next instruction.
    pub(super) fn place(&mut self, name: L) {
        self.places.push((name, self.code.len()));
    }

    /// Returns the program with all jump distances filled in.
    pub(super) fn finish(mut self) -> io::Result<Vec<sock_filter>> {
        for (from, to) in &self.jumps {
            let place = self.places.iter().find(|(name, _)| name == to).map(|(_, place)| *place);
            // Jumps go forward only; the instruction after the jump is at distance zero.
            let distance = place.and_then(|place| place.checked_sub(from + 1));
            let instruction = self.code.get_mut(*from);
            let (Some(distance), Some(instruction)) = (distance, instruction) else {
                return Err(invalid("a jump leads to no later place"));
            };
            // A conditional jump has eight bits for the distance.
            let is_long = |_| invalid("a jump is long");
            if u32::from(instruction.code) == JUMP_ALWAYS {
                instruction.k = u32::try_from(distance).map_err(is_long)?;
            } else {
                instruction.jt = u8::try_from(distance).map_err(is_long)?;
            }
        }
        Ok(self.code)
    }

    fn push(&mut self, code: u32, value: u32) {
        // Every operation is a sum of constants below 256, so nothing is truncated.
        let code = u16::try_from(code).unwrap_or(u16::MAX);
        self.code.push(sock_filter { code, jt: 0, jf: 0, k: value });
    }
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
