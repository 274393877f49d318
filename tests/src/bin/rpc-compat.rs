//! `rpc-compat [--tests DIR] [--url URL | --dev] [--only METHOD]`: replays recorded requests and compares the answers.
//!
//! Without a URL the recorded chain of `$PECTIN_FIXTURES/rpc-compat` is imported and served here. With one the requests
//! go there; with `--dev` they go to a `pectin dev` that begins with the recorded chain's last state. Then misses do not
//! fail: which requests make sense depends on the node.

use harness::{openrpc::Schemas, process::Pectin};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};
use tests::rpc_compat::{Fixture, Report, fixtures, serve};

struct Arguments {
    tests: Option<PathBuf>,
    url: Option<String>,
    dev: bool,
    only: Option<String>,
}

fn arguments() -> Option<Arguments> {
    let mut parsed = Arguments { tests: None, url: None, dev: false, only: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match &*name {
            "--tests" => parsed.tests = Some(arguments.next()?.into()),
            "--url" => parsed.url = Some(arguments.next()?),
            "--dev" => parsed.dev = true,
            "--only" => parsed.only = Some(arguments.next()?),
            _ => return None,
        }
    }
    Some(parsed)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("usage: rpc-compat [--tests DIR] [--url URL | --dev] [--only METHOD]");
        return ExitCode::from(2);
    };
    let Some(folder) = harness::fixtures::folder("rpc-compat") else { return ExitCode::from(2) };
    match run(&folder, &arguments) {
        Ok(report) => {
            println!("{report}");
            let elsewhere = arguments.dev || arguments.url.is_some();
            let failed = !elsewhere && !report.unexpected.is_empty();
            ExitCode::from(u8::from(failed))
        }
        Err(error) => {
            eprintln!("rpc-compat: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(folder: &Path, arguments: &Arguments) -> std::io::Result<Report> {
    let schemas = Schemas::read(&folder.join("openrpc.json"))?;
    let mut all = fixtures(arguments.tests.as_deref().unwrap_or(&folder.join("tests")))?;
    let wanted = |fixture: &Fixture| arguments.only.as_ref().is_none_or(|only| *only == fixture.method);
    all.retain(wanted);
    if let Some(url) = &arguments.url {
        return Report::of(url, &all, &schemas);
    }
    if arguments.dev {
        let genesis = folder.join("head-genesis.json").display().to_string();
        let mut pectin =
            Pectin::start(["dev", "--http-port", "0", "--genesis", &genesis, "--min-gas-price", "0"])?;
        let line = pectin.wait_for("RPC ").map_err(std::io::Error::other)?;
        pectin.wait_for("ready in").map_err(std::io::Error::other)?;
        return Report::of(line.split_whitespace().nth(1).unwrap_or_default(), &all, &schemas);
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let server = runtime.block_on(serve(folder))?;
    let report = Report::of(&format!("http://{}", server.address()), &all, &schemas);
    runtime.block_on(server.stop());
    report
}
