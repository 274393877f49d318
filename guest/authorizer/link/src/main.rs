//! `authorizer-link ELF NAME OUT`: links an authorizer into a blob as it stands on chain, and prints its hash.
//!
//! ```text
//!   natural(metadata) ++ 0 name version license authors ++ standard program (Gray Paper, A.7)
//! ```
//! The metadata are JAM's conventional ones; all strings are short, so each length is one byte.

use polkavm_common::program::ProgramParts;
use polkavm_linker::{Config, TargetInstructionSet, program_from_elf};
use std::{error::Error, fs};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENSE: &str = "MIT OR Apache-2.0";
const PAGE_BYTES: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [elf, name, out] = &arguments[..] else { return Err("usage: authorizer-link ELF NAME OUT".into()) };
    let mut config = Config::default();
    config.set_strip(true);
    config.set_dispatch_table(vec![b"is_authorized_ext".to_vec()]);
    let linked = program_from_elf(config, TargetInstructionSet::JamV1, &fs::read(elf)?)?;
    let parts = ProgramParts::from_bytes(linked.into())?;
    let mut blob = metadata(name)?;
    program(&parts, &mut blob)?;
    fs::write(out, &blob)?;
    let hash = blake2b_simd::Params::new().hash_length(32).hash(&blob);
    println!("{} {}", hash.to_hex(), blob.len());
    Ok(())
}

fn metadata(name: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut fields = vec![0];
    for text in [name, VERSION, LICENSE] {
        fields.push(short(text.len())?);
        fields.extend_from_slice(text.as_bytes());
    }
    // No authors.
    fields.push(0);
    let mut out = vec![short(fields.len())?];
    out.append(&mut fields);
    Ok(out)
}

fn short(len: usize) -> Result<u8, Box<dyn Error>> {
    u8::try_from(len).ok().filter(|len| *len < 0x80).ok_or_else(|| "a length of more than one byte".into())
}

fn program(parts: &ProgramParts, out: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
    let pages = |bytes: usize| bytes.div_ceil(PAGE_BYTES);
    let padding = pages(parts.rw_data_size as usize).saturating_sub(pages(parts.rw_data.len()));
    put(out, parts.ro_data_size as usize, 3)?;
    put(out, parts.rw_data.len(), 3)?;
    put(out, padding, 2)?;
    put(out, parts.stack_size as usize, 3)?;
    let start = out.len();
    out.extend_from_slice(&parts.ro_data);
    out.resize(start + parts.ro_data_size as usize, 0);
    out.extend_from_slice(&parts.rw_data);
    put(out, parts.code_and_jump_table.len(), 4)?;
    out.extend_from_slice(&parts.code_and_jump_table);
    Ok(())
}

fn put(out: &mut Vec<u8>, number: usize, bytes: usize) -> Result<(), Box<dyn Error>> {
    if number >> (8 * bytes) != 0 {
        return Err("a section is too large".into());
    }
    out.extend_from_slice(&number.to_le_bytes()[..bytes]);
    Ok(())
}
