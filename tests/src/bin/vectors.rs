//! `vectors DIR`: runs every specification vector below DIR.

use std::{path::PathBuf, process::ExitCode};
use tests::vectors::Report;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(dir), None) = (arguments.next().map(PathBuf::from), arguments.next()) else {
        eprintln!(
            "usage: vectors DIR   (a folder laid out like vectors/jam or vectors/ubt, or one above them)"
        );
        return ExitCode::from(2);
    };
    match Report::of(&dir) {
        Ok(report) => {
            println!("{report}");
            ExitCode::from(u8::from(report.failed() > 0 || report.passed() == 0))
        }
        Err(error) => {
            eprintln!("vectors: cannot read {}: {error}", dir.display());
            ExitCode::from(2)
        }
    }
}
