//! `guest-link ELF VERSION OUT`: links the guest's ELF file into a blob in JAM's conventional framing, and prints its hash.
//!
//! The metadata say name and version; the service adds a chain's configuration behind them (`service::code`).

use jam_codec::Encode;
use jam_program_blob_common::{ConventionalMetadata, CrateInfo, ProgramBlob};
use polkavm::ProgramParts;
use polkavm_linker::{Config, TargetInstructionSet, program_from_elf};
use std::{error::Error, fs};

/// The entry points in the order of the Gray Paper: refine starts at 0, accumulate at 5.
const ENTRY_POINTS: [&[u8]; 2] = [b"refine_ext", b"accumulate_ext"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [elf, version, out] = &arguments[..] else { return Err("usage: guest-link ELF VERSION OUT".into()) };
    let mut config = Config::default();
    config.set_strip(true);
    config.set_dispatch_table(ENTRY_POINTS.map(<[u8]>::to_vec).to_vec());
    let program = program_from_elf(config, TargetInstructionSet::JamV1, &fs::read(elf)?)?;
    let parts = ProgramParts::from_bytes(program.into())?;
    let info = CrateInfo {
        name: "pectin".into(),
        version: version.clone(),
        license: "MIT OR Apache-2.0".into(),
        authors: vec![],
    };
    let blob = ProgramBlob::from_pvm(&parts, ConventionalMetadata::Info(info).encode().into()).to_vec()?;
    fs::write(out, &blob)?;
    let hash = blake2b_simd::Params::new().hash_length(32).hash(&blob);
    println!("{}", hash.to_hex());
    Ok(())
}
