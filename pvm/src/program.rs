//! A program as it stands on chain: metadata, then the Gray Paper's standard program (appendix A.7).
//!
//! ```text
//!   natural(metadata) ++ metadata
//!   u24 |ro| ++ u24 |rw| ++ u16 padding pages ++ u24 stack ++ ro ++ rw ++ u32 |code| ++ code
//! ```
//! `code` holds the jump table, the instructions and their bitmask. This is not polkavm's own container; polkavm takes the parts.

use alloy_primitives::Bytes;
use jam::{
    Params,
    codec::{DecodeError, Decoder},
};
use polkavm::{ProgramBlob, ProgramParts, program::InstructionSetKind};

/// Bytes of a page of memory.
pub(crate) const PAGE_BYTES: u32 = 4096;

/// Why bytes are no program. Such code is not run: authorizing and refining with it panic, accumulating changes nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadProgram {
    /// The layout is not that of a standard program.
    #[error("the program's layout: {0}")]
    Layout(#[from] DecodeError),
    /// Jump table, instructions and bitmask do not fit together.
    #[error("the program's code: {0}")]
    Code(String),
    /// Its sections do not fit into the address space.
    #[error("the program's memory: {0}")]
    Memory(String),
}

/// The parts of a blob, borrowed from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout<'a> {
    /// What the program says about itself; it is never executed.
    pub metadata: &'a [u8],
    /// Data that the program can read.
    pub read_only: &'a [u8],
    /// Data that the program can change.
    pub read_write: &'a [u8],
    /// Pages of zeros behind the data that can be changed.
    pub padding_pages: u16,
    /// Bytes of the stack.
    pub stack_bytes: u32,
    /// Jump table, instructions and bitmask.
    pub code: &'a [u8],
}

impl<'a> Layout<'a> {
    /// Reads the parts of a blob.
    pub fn read(blob: &'a [u8]) -> Result<Self, BadProgram> {
        // Nothing in a program depends on the chain's parameters.
        let mut input = Decoder::new(blob, &Params::FULL);
        let metadata = input.length(1, usize::MAX)?;
        let metadata = input.take(metadata)?;
        let read_only = u24(&mut input)?;
        let read_write = u24(&mut input)?;
        let padding_pages = little_endian(&mut input, 2)? as u16;
        let stack_bytes = u24(&mut input)?;
        let read_only = input.take(read_only as usize)?;
        let read_write = input.take(read_write as usize)?;
        let code = little_endian(&mut input, 4)?;
        let code = input.take(code as usize)?;
        input.finish()?;
        Ok(Self { metadata, read_only, read_write, padding_pages, stack_bytes, code })
    }

    /// The program in the form that polkavm takes.
    pub(crate) fn blob(&self) -> Result<ProgramBlob, BadProgram> {
        let mut parts = ProgramParts::empty(InstructionSetKind::JamV1);
        parts.ro_data_size = self.read_only.len() as u32;
        let data = (self.read_write.len() as u32).next_multiple_of(PAGE_BYTES);
        parts.rw_data_size = data + u32::from(self.padding_pages) * PAGE_BYTES;
        parts.stack_size = self.stack_bytes;
        parts.ro_data = self.read_only.into();
        parts.rw_data = self.read_write.into();
        parts.code_and_jump_table = self.code.into();
        ProgramBlob::from_parts(parts).map_err(|error| BadProgram::Code(error.to_string()))
    }
}

/// A program without sections of its own, for a machine within a machine.
pub(crate) fn bare(code: &Bytes) -> Result<ProgramBlob, BadProgram> {
    Layout { metadata: &[], read_only: &[], read_write: &[], padding_pages: 0, stack_bytes: 0, code }.blob()
}

fn u24(input: &mut Decoder<'_>) -> Result<u32, DecodeError> {
    little_endian(input, 3)
}

fn little_endian(input: &mut Decoder<'_>, bytes: usize) -> Result<u32, DecodeError> {
    Ok(input.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}
