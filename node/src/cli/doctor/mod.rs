//! `pectin doctor`: is this machine fit to build blocks, and is the node that runs on it well?
//!
//! It changes nothing, except that it writes and removes a small file in the data directory to see how long the disk
//! takes. Whatever it cannot look at it says so about. A problem ends it with exit code 1.

mod clock;
mod disk;
mod node;
mod ports;
mod secrets;

use super::{
    Failure, Options, check,
    client::{Client, RpcArgs},
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
    /// The running node. [default: where the settings say that it serves RPC]
    #[arg(long, env = "PECTIN_RPC_URL", hide_env = true, value_name = "URL")]
    rpc_url: Option<String>,
    /// Certificates (PEM) that may sign the node's, besides those that browsers trust.
    #[arg(long, env = "PECTIN_RPC_CA", hide_env = true, value_name = "FILE")]
    rpc_ca: Option<PathBuf>,
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
    let address = options.http_addr.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let port = options.http_port.unwrap_or(super::setup::HTTP_PORT);
    let host = if address.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address };
    let own = || format!("http://{}", std::net::SocketAddr::new(host, port));
    let rpc = RpcArgs { rpc_url: args.rpc_url.unwrap_or_else(own), rpc_ca: args.rpc_ca };
    let node = Some(rpc.client()?).filter(Client::is_reachable);

    let slot_ms = network.slot_ms.unwrap_or(super::setup::SLOT_MS);
    let mut findings = vec![clock::against_server(args.ntp.as_deref())];
    findings.extend(node::look(node.as_ref(), slot_ms));
    findings.extend(ports::look(address, port, &options));
    findings.extend(disk::look(&check::data_dir(&options)));
    findings.extend(secrets::look(&network, &options));
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
        show::print(&summary(findings));
    }
}

/// The last line: what could not be looked at is not well, it is unknown.
fn summary(findings: &[Finding]) -> String {
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    match (count(Verdict::Problem), count(Verdict::Warning), count(Verdict::Unknown)) {
        (0, 0, 0) => "\nall is well\n".to_owned(),
        (0, 0, unknown) => {
            format!("\nno problem was found; {unknown} of {} could not be looked at\n", findings.len())
        }
        (0, ..) => "\nit works; the warnings are worth a thought\n".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_not_well() {
        let of = |verdicts: &[Verdict]| {
            summary(&verdicts.iter().map(|verdict| Finding::new("x", *verdict, "")).collect::<Vec<_>>())
        };
        use Verdict::{Good, Problem, Unknown, Warning};
        assert!(of(&[Good, Good]).contains("all is well"));
        assert!(of(&[Good, Unknown]).contains("no problem was found; 1 of 2 could not be looked at"));
        assert!(of(&[Good, Unknown, Warning]).contains("warnings"));
        assert_eq!(of(&[Problem, Unknown]), "");
    }
}
