//! `pectin db`: looking after the data directory.

use super::{
    Failure,
    client::{Client, RpcArgs, TokenArgs},
    progress::Progress,
    setup,
    show::{self, Format, table},
};
use crate::data::{self, DataError};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

/// What to do.
#[derive(Debug, Args)]
pub(super) struct DbArgs {
    #[command(subcommand)]
    what: What,
}

/// Whose data.
#[derive(Debug, Args)]
struct Place {
    /// The data directory.
    #[arg(long, env = "PECTIN_DATA_DIR", hide_env = true, default_value = "pectin-data", value_name = "DIR")]
    data_dir: PathBuf,
}

#[derive(Debug, Subcommand)]
enum What {
    /// How large the data is, and how far the chain is. The node must be stopped.
    #[command(after_help = "Example:\n  pectin db stat --data-dir ./chain")]
    Stat {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        format: Format,
    },
    /// Reads everything and compares it with its checksums, hashes and roots. The node must be stopped.
    #[command(after_help = "Example:\n  pectin db check --data-dir ./chain")]
    Check {
        #[command(flatten)]
        place: Place,
    },
    /// Makes the file smaller. The node must be stopped.
    #[command(after_help = "Example:\n  pectin db compact --data-dir ./chain")]
    Compact {
        #[command(flatten)]
        place: Place,
    },
    /// Copies the data into a new directory. The node may run: it makes the copy itself then, and goes on.
    #[command(after_help = "Example:\n  pectin db backup --data-dir ./chain --to ./backup-monday")]
    Backup {
        #[command(flatten)]
        place: Place,
        /// The new directory. If the node runs it is one on the node's machine.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        #[command(flatten)]
        rpc: RpcArgs,
        #[command(flatten)]
        token: TokenArgs,
    },
    /// Puts a backup into a data directory that has no data yet.
    #[command(after_help = "Example:\n  pectin db restore --from ./backup-monday --data-dir ./chain-again")]
    Restore {
        #[command(flatten)]
        place: Place,
        /// The backup.
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
    },
}

impl From<DataError> for Failure {
    fn from(why: DataError) -> Self {
        match why {
            DataError::Exists(_) => Self::usage(why),
            DataError::Store(StoreError::InUse(_)) => Self::Data(format!("{why}: stop the node first")),
            why => Self::Data(why.to_string()),
        }
    }
}

pub(super) fn run(args: &DbArgs) -> Result<(), Failure> {
    match &args.what {
        What::Stat { place, format } => stat(&place.data_dir, *format),
        What::Check { place } => check(&place.data_dir),
        What::Compact { place } => compact(&place.data_dir),
        What::Backup { place, to, rpc, token } => backup(&place.data_dir, to, rpc, token),
        What::Restore { place, from } => {
            data::restore(from, &place.data_dir)?;
            show::print(&format!("restored {} to {}\n", from.display(), place.data_dir.display()));
            Ok(())
        }
    }
}

fn open(directory: &Path) -> Result<Store, Failure> {
    Ok(data::open(directory, &data::spec(directory)?)?)
}

fn failed(why: StoreError) -> Failure {
    DataError::Store(why).into()
}

fn stat(directory: &Path, format: Format) -> Result<(), Failure> {
    let stat = open(directory)?.stat().map_err(failed)?;
    let tables = stat
        .tables
        .iter()
        .map(|table| json!({ "name": table.name, "entries": table.entries, "bytes": table.bytes }));
    let id = |block: types::BlockId| json!({ "number": block.number, "hash": block.hash });
    let value = json!({
        "fileBytes": stat.file_bytes,
        "finalized": id(stat.finalized),
        "newest": id(stat.newest),
        "statesFrom": stat.folded,
        "tables": tables.collect::<Vec<_>>(),
    });
    format.print(&value, |value| {
        let rows = stat
            .tables
            .iter()
            .map(|table| [table.name.to_owned(), table.entries.to_string(), table.bytes.to_string()]);
        let rows = rows.collect::<Vec<_>>();
        format!(
            "file         {} bytes\nfinalized    {}\nnewest       {}\nstates from  {}\n\n{}",
            value["fileBytes"],
            stat.finalized,
            stat.newest,
            stat.folded,
            table(["table", "entries", "bytes"], &rows)
        )
    });
    Ok(())
}

fn check(directory: &Path) -> Result<(), Failure> {
    let mut progress = Progress::new();
    progress.show(|| "checking pages".to_owned());
    store::verify(directory.join(data::STORE)).map_err(failed)?;
    let store = open(directory)?;
    store.check(|count| progress.show(|| format!("checking: {count} values or blocks"))).map_err(failed)?;
    let (finalized, newest) = store.heads();
    drop(progress);
    show::print(&format!("{} is sound: final to {finalized}, sealed to {newest}\n", directory.display()));
    Ok(())
}

fn compact(directory: &Path) -> Result<(), Failure> {
    let mut progress = Progress::new();
    progress.show(|| "making the file smaller".to_owned());
    let (before, after) = store::compact(directory.join(data::STORE)).map_err(failed)?;
    drop(progress);
    show::print(&format!("{before} bytes before, {after} after\n"));
    Ok(())
}

fn backup(directory: &Path, to: &Path, rpc: &RpcArgs, token: &TokenArgs) -> Result<(), Failure> {
    let spec = data::spec(directory)?;
    let mut progress = Progress::new();
    progress.show(|| "copying".to_owned());
    let finalized = match data::open(directory, &spec) {
        Ok(store) => {
            let finalized = data::backup(&store, &spec.to_json(), to)?;
            json!({ "number": finalized.number, "hash": finalized.hash })
        }
        Err(DataError::Store(StoreError::InUse(_))) => by_node(directory, to, rpc, token)?,
        Err(why) => return Err(why.into()),
    };
    drop(progress);
    let (number, hash) = (&finalized["number"], finalized["hash"].as_str().unwrap_or("-"));
    show::print(&format!("copied to {}: final to block {number} ({hash})\n", to.display()));
    Ok(())
}

/// Lets the running node make the copy.
fn by_node(directory: &Path, to: &Path, rpc: &RpcArgs, token: &TokenArgs) -> Result<Value, Failure> {
    let to = std::path::absolute(to).map_err(|why| Failure::Usage(format!("{}: {why}", to.display())))?;
    let file = token.token_file.clone().unwrap_or_else(|| directory.join(data::TOKEN));
    let mut client = Client::connect(&rpc.rpc_url)?.with_token(Some(setup::read_token(&file)?));
    client.call("builder_backup", json!([to]))
}
