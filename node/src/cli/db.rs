//! `pectin db`: looking after the data directory.

use super::{
    Failure,
    client::{RpcArgs, TokenArgs},
    file,
    progress::{Progress, bar, during},
    setup,
    show::{self, Format, table},
};
use ::sender::Copied;
use clap::{Args, Subcommand};
use runtime::data::{self, Copy, DataError};
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
    /// Where the sender keeps its rows, if not in sender.redb in the data directory. Rows in Redis are not looked after here.
    #[arg(long, env = "PECTIN_SENDER_STORE", hide_env = true, value_name = "FILE")]
    sender_store: Option<String>,
}

impl Place {
    /// The sender's file; none if its rows are in Redis.
    fn sender(&self) -> Option<PathBuf> {
        match self.sender_store.as_deref() {
            Some(url) if file::is_redis(url) => None,
            Some(path) => Some(path.into()),
            None => Some(self.data_dir.join(data::SENDER)),
        }
    }

    /// The sender's file, if it is there.
    fn sender_there(&self) -> Option<PathBuf> {
        self.sender().filter(|path| path.exists())
    }
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
        What::Stat { place, format } => stat(place, *format),
        What::Check { place } => check(place),
        What::Compact { place } => compact(place),
        What::Backup { place, to, rpc, token } => backup(place, to, rpc, token),
        What::Restore { place, from } => restore(place, from),
    }
}

fn open(directory: &Path) -> Result<Store, Failure> {
    Ok(data::open(directory, &data::spec(directory)?)?)
}

fn failed(why: StoreError) -> Failure {
    DataError::Store(why).into()
}

/// How much of a copy is written, in a line. The copy may be shorter than what it is made of, so this is about right.
fn copying(from: PathBuf, to: &Path) -> impl Fn() -> String + use<> {
    let unfinished = data::unfinished(to);
    move || {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let done = bytes(&unfinished);
        format!("copying {} {} MiB", bar(done, bytes(&from)), done >> 20)
    }
}

fn stat(place: &Place, format: Format) -> Result<(), Failure> {
    let stat = open(&place.data_dir)?.stat().map_err(failed)?;
    let sender = place.sender_there().map(|path| data::with_sender(|| ::sender::store::stat_file(&path)));
    let sender = sender.transpose()?;
    let tables = stat
        .tables
        .iter()
        .map(|table| json!({ "name": table.name, "entries": table.entries, "bytes": table.bytes }));
    let id = |block: types::BlockId| json!({ "number": block.number, "hash": block.hash });
    let value = json!({
        "fileBytes": stat.file_bytes,
        "finalized": id(stat.finalized),
        "newest": id(stat.newest),
        "statesFrom": stat.oldest,
        "proofsFrom": stat.folded,
        "historyBytesPerValue": stat.history_bytes_per_value(),
        "tables": tables.collect::<Vec<_>>(),
        "sender": sender.map(|sender| json!({
            "fileBytes": sender.file_bytes, "rows": sender.rows, "bytes": sender.bytes,
        })),
    });
    format.print(&value, |value| {
        let rows = stat
            .tables
            .iter()
            .map(|table| [table.name.to_owned(), table.entries.to_string(), table.bytes.to_string()]);
        let rows = rows.collect::<Vec<_>>();
        let sender = match sender {
            Some(sender) => format!("{} bytes, {} rows of {} bytes", sender.file_bytes, sender.rows, sender.bytes),
            None => "no file".to_owned(),
        };
        format!(
            "file         {} bytes\nsender       {sender}\nfinalized    {}\nnewest       {}\nstates from  {}\n\
             proofs from  {}\nhistory      {} bytes per changed value\n\n{}",
            value["fileBytes"],
            stat.finalized,
            stat.newest,
            stat.oldest,
            stat.folded,
            stat.history_bytes_per_value().map_or_else(|| "0".to_owned(), |bytes| bytes.to_string()),
            table(["table", "entries", "bytes"], &rows)
        )
    });
    Ok(())
}

fn check(place: &Place) -> Result<(), Failure> {
    let directory = &place.data_dir;
    let pages = || "checking pages".to_owned();
    during(pages, || store::verify(directory.join(data::STORE))).map_err(failed)?;
    let store = open(directory)?;
    let mut progress = Progress::new();
    store.check(|count| progress.show(|| format!("checking: {count} values or blocks"))).map_err(failed)?;
    drop(progress);
    let sender = place.sender_there();
    if let Some(path) = &sender {
        let verify = || data::with_sender(|| ::sender::store::verify_file(path));
        during(|| "checking the sender's pages".to_owned(), verify)?;
    }
    let (finalized, newest) = store.heads();
    let sender = if sender.is_some() { ", the sender's file too" } else { "" };
    show::print(&format!(
        "{} is sound: final to {finalized}, sealed to {newest}{sender}\n",
        directory.display()
    ));
    Ok(())
}

fn compact(place: &Place) -> Result<(), Failure> {
    let file = place.data_dir.join(data::STORE);
    let line = |path: PathBuf| {
        move || {
            let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
            format!("making {} smaller: {} MiB now", path.display(), bytes >> 20)
        }
    };
    let (before, after) = during(line(file.clone()), || store::compact(&file)).map_err(failed)?;
    show::print(&format!("{before} bytes before, {after} after\n"));
    if let Some(path) = place.sender_there() {
        let compact = || data::with_sender(|| ::sender::store::compact_file(&path));
        let (before, after) = during(line(path.clone()), compact)?;
        show::print(&format!("the sender's: {before} bytes before, {after} after\n"));
    }
    Ok(())
}

fn backup(place: &Place, to: &Path, rpc: &RpcArgs, token: &TokenArgs) -> Result<(), Failure> {
    let directory = &place.data_dir;
    let spec = data::spec(directory)?;
    let line = copying(directory.join(data::STORE), &to.join(data::STORE));
    let copied = during(line, || match data::open(directory, &spec) {
        Ok(store) => {
            let sender = |file: &Path| match place.sender() {
                Some(path) => data::copy_sender(&path, file),
                None => Ok(Some(Copied::Elsewhere)),
            };
            let Copy { finalized, sender } = data::backup(&store, &spec.to_json(), to, sender)?;
            let sender = sender.map(|sender| if sender == Copied::Elsewhere { "in Redis" } else { "copied" });
            Ok(json!({ "number": finalized.number, "hash": finalized.hash, "sender": sender }))
        }
        Err(DataError::Store(StoreError::InUse(_))) => by_node(directory, to, rpc, token),
        Err(why) => Err(why.into()),
    })?;
    let (number, hash) = (&copied["number"], copied["hash"].as_str().unwrap_or("-"));
    let sender = match copied["sender"].as_str() {
        Some("copied") => ", with the sender's requests",
        Some("in Redis") => "; the sender's requests are in Redis, which has backups of its own",
        Some(_) => "; the sender keeps its requests in memory alone",
        None => "; there is no sender",
    };
    show::print(&format!("copied to {}: final to block {number} ({hash}){sender}\n", to.display()));
    Ok(())
}

/// Lets the running node make the copy, however long it takes.
fn by_node(directory: &Path, to: &Path, rpc: &RpcArgs, token: &TokenArgs) -> Result<Value, Failure> {
    let to = std::path::absolute(to).map_err(|why| Failure::Usage(format!("{}: {why}", to.display())))?;
    let file = token.token_file.clone().unwrap_or_else(|| directory.join(data::TOKEN));
    let client = rpc.client()?.with_token(Some(&setup::read_token(&file)?))?.without_timeout();
    client.call("builder_backup", json!([to]))
}

fn restore(place: &Place, from: &Path) -> Result<(), Failure> {
    let directory = &place.data_dir;
    let target = directory.join(data::STORE);
    // Where the sender looks for its rows; if that is no file, there is nothing of it in the backup either.
    let sender = place.sender().unwrap_or_else(|| directory.join(data::SENDER));
    during(copying(from.join(data::STORE), &target), || data::restore(from, directory, &sender))?;
    show::print(&format!("restored {} to {}\n", from.display(), directory.display()));
    Ok(())
}
