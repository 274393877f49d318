//! `pectin doctor`: is this machine fit to build blocks, and is the node that runs on it well?
//!
//! It changes nothing, except that it writes and removes a small file in the data directory to see how long the disk
//! takes. Whatever it cannot look at it says so about. A problem ends it with exit code 1.

mod clock;
mod disk;
mod node;
mod ports;

use super::{
    Failure, Options,
    client::Client,
    file,
    show::{self, Format, table},
};
use clap::Args;
use serde_json::json;
use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

/// What to look at.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// The configuration file of the node.
    #[arg(long, env = "PECTIN_CONFIG", hide_env = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A time server to compare the clock with: a name or an address, perhaps with a port. Nobody is asked without it.
    #[arg(long, value_name = "HOST")]
    ntp: Option<String>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    network: file::Network,
    #[command(flatten)]
    options: Options,
}

/// How something was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Verdict {
    /// As it should be.
    Good,
    /// It could not be looked at.
    Unknown,
    /// Worth a thought.
    Warning,
    /// The node cannot do its work like this.
    Problem,
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at, and what was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    what: &'static str,
    verdict: Verdict,
    text: String,
}

impl Finding {
    fn new(what: &'static str, verdict: Verdict, text: impl Into<String>) -> Self {
        Self { what, verdict, text: text.into() }
    }
}

pub(super) fn run(args: DoctorArgs) -> Result<(), Failure> {
    let (network, options) = file::merged(args.config.as_deref(), args.network, args.options)?;
    let data_dir = options.data_dir.clone().unwrap_or_else(|| PathBuf::from("pectin-data"));
    let address = options.http_addr.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let port = options.http_port.unwrap_or(super::setup::HTTP_PORT);
    let host = if address.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address };
    let mut node = Client::connect(&format!("http://{}", std::net::SocketAddr::new(host, port))).ok();

    let slot_ms = network.slot_ms.unwrap_or(6000);
    let mut findings = vec![clock::against_server(args.ntp.as_deref())];
    findings.extend(node::look(node.as_mut(), slot_ms));
    findings.extend(ports::look(address, port, &options));
    findings.extend(disk::look(&data_dir));
    findings.extend(node::files(&network));
    print(&findings, args.format);
    match findings.iter().filter(|finding| finding.verdict == Verdict::Problem).count() {
        0 => Ok(()),
        count => Err(Failure::Runtime(format!("{count} problems"))),
    }
}

fn print(findings: &[Finding], format: Format) {
    let value = findings.iter().map(
        |finding| json!({ "what": finding.what, "verdict": finding.verdict.name(), "text": finding.text }),
    );
    let value = value.collect::<Vec<_>>().into();
    format.print(&value, |_| {
        let row = |finding: &Finding| {
            [finding.verdict.name().to_owned(), finding.what.to_owned(), finding.text.clone()]
        };
        table(["verdict", "what", "found"], &findings.iter().map(row).collect::<Vec<_>>())
    });
    if !format.json {
        let worst = findings.iter().map(|finding| finding.verdict).max();
        show::print(match worst {
            Some(Verdict::Problem) => "",
            Some(Verdict::Warning) => "\nit works; the warnings are worth a thought\n",
            _ => "\nall is well\n",
        });
    }
}
