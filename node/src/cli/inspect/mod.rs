//! `pectin inspect`: what is in a file, and what was in a bundle.
//!
//! A kind and a file: decoded, readable or as JSON. For a bundle, a block's number instead of a file: the bundle is made
//! again and written as files.

mod describe;
mod rebuilt;

use super::{
    Failure,
    client::{RpcArgs, TokenArgs},
    show::{self, Format},
};
use alloy_primitives::{Bytes, hex};
use clap::{Args, ValueEnum};
use jam::{ChainSpec, Params};
use serde_json::Value;
use std::{io::Read, path::PathBuf};

/// Bytes of a file at most: a bundle is far smaller.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What a file may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Kind {
    /// A work package.
    Package,
    /// A work package with its extrinsics.
    Bundle,
    /// A work report.
    Report,
    /// A block of the JAM chain.
    Block,
    /// The witness of an EVM block: the part of the state that it touches.
    Witness,
    /// The header of an EVM block, in RLP.
    Header,
    /// The service's code: its program and its configuration.
    Service,
}

/// What to look at.
#[derive(Debug, Args)]
pub(super) struct InspectArgs {
    /// What the file holds.
    #[arg(value_enum, value_name = "KIND")]
    kind: Kind,
    /// The file: bytes, or hexadecimal digits; - reads standard input.
    #[arg(value_name = "FILE", required_unless_present = "block", conflicts_with = "block")]
    file: Option<PathBuf>,
    /// The chain whose parameters count. [default: tries the tiny and the full chain]
    #[arg(long, value_name = "FILE")]
    chain_spec: Option<PathBuf>,
    /// Make the bundle of this block again, instead of reading a file.
    #[arg(long, value_name = "NUMBER", requires = "out")]
    block: Option<u64>,
    /// Where its files go: a new directory.
    #[arg(long, value_name = "DIR", requires = "block")]
    out: Option<PathBuf>,
    /// The data directory of a node that is stopped. Without it the running node is asked.
    #[arg(long, value_name = "DIR", requires = "block")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    rpc: RpcArgs,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &InspectArgs) -> Result<(), Failure> {
    let value = match (&args.file, args.block, &args.out) {
        (_, Some(number), Some(out)) => {
            if args.kind != Kind::Bundle {
                return Err(Failure::usage(
                    "--block makes a bundle again: pectin inspect bundle --block .. --out ..",
                ));
            }
            let source = rebuilt::Source {
                data_dir: args.data_dir.as_deref(),
                rpc: &args.rpc,
                token_file: args.token.token_file.as_deref(),
            };
            rebuilt::write(number, out, &source)?
        }
        (Some(file), ..) => {
            let bytes = read(file)?;
            let named = |why: String| Failure::Data(format!("{}: {why}", file.display()));
            decode(args, &bytes).map_err(named)?
        }
        _ => return Err(Failure::usage("a file is needed, or --block with --out")),
    };
    args.format.print(&value, show::lines);
    Ok(())
}

/// The bytes of a file, which may be written in hexadecimal.
fn read(path: &std::path::Path) -> Result<Bytes, Failure> {
    let failed = |why: std::io::Error| Failure::Usage(format!("{}: {why}", path.display()));
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(path).map_err(failed)?),
    };
    input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::Usage(format!("{}: longer than {FILE_BYTES_MAX} bytes", path.display())));
    }
    Ok(from_hex(&bytes).unwrap_or(bytes).into())
}

/// Text of hexadecimal digits with 0x before them, and nothing else.
fn from_hex(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    hex::decode(text.strip_prefix("0x")?).ok()
}

fn decode(args: &InspectArgs, bytes: &Bytes) -> Result<Value, String> {
    if let Some(path) = &args.chain_spec {
        let text = std::fs::read_to_string(path).map_err(|why| format!("the chain specification: {why}"))?;
        let spec = ChainSpec::from_json(&text).map_err(|why| format!("the chain specification: {why}"))?;
        return describe::describe(args.kind, bytes, &spec.params);
    }
    let tiny = describe::describe(args.kind, bytes, &Params::TINY);
    tiny.or_else(|why| describe::describe(args.kind, bytes, &Params::FULL).map_err(|_| why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_that_it_is_hexadecimal_is_read_so() {
        assert_eq!(from_hex(b"0x0102\n"), Some(vec![1, 2]));
        assert_eq!(from_hex(b"0102"), None, "bytes may look like digits");
        assert_eq!(from_hex(b"0x0"), None);
        assert_eq!(from_hex(&[0xff, 0]), None);
    }
}
