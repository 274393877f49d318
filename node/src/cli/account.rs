//! `pectin account`: keys in encrypted files, which a node with `--sender-keystore` runs accounts with.

use super::{Failure, file, prompt};
use clap::{Args, Subcommand};
use sender::keys::{Cost, KeysError, Keystore, Keystores, SecretKey};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// What to do.
#[derive(Debug, Args)]
pub(super) struct AccountArgs {
    #[command(subcommand)]
    what: What,
}

/// Where the files are.
#[derive(Debug, Args)]
struct Place {
    /// The directory of keystores.
    #[arg(
        long,
        env = "PECTIN_SENDER_KEYSTORE",
        hide_env = true,
        default_value = "pectin-data/keystore",
        value_name = "DIR"
    )]
    keystore: PathBuf,
}

#[derive(Debug, Args)]
struct Locked {
    #[command(flatten)]
    place: Place,
    /// A file with the password of the keystores; without it the password is asked for.
    #[arg(long, env = "PECTIN_SENDER_PASSWORD_FILE", hide_env = true, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Makes a key and encrypts it.
    #[command(after_help = "Example:\n  pectin account new --keystore keys --password-file password.txt")]
    New {
        #[command(flatten)]
        locked: Locked,
    },
    /// Encrypts a key that there is: a file with its 64 hexadecimal digits, or another keystore.
    #[command(
        after_help = "Example:\n  pectin account import key.txt --keystore keys --password-file password.txt"
    )]
    Import {
        /// The file with the key.
        #[arg(value_name = "FILE")]
        key_file: PathBuf,
        /// A file with the password of the key's file, if that is a keystore; without it the password is asked for.
        #[arg(long, value_name = "FILE")]
        key_password_file: Option<PathBuf>,
        #[command(flatten)]
        locked: Locked,
    },
    /// Lists the accounts of a directory.
    #[command(after_help = "Example:\n  pectin account list --keystore keys")]
    List {
        #[command(flatten)]
        place: Place,
    },
}

pub(super) fn run(args: &AccountArgs) -> Result<(), Failure> {
    match &args.what {
        What::New { locked } => keep(&SecretKey::random().map_err(Failure::runtime)?, locked),
        What::Import { key_file, key_password_file, locked } => {
            keep(&read_key(key_file, key_password_file.as_deref())?, locked)
        }
        What::List { place } => list(&place.keystore),
    }
}

/// Encrypts a key under the directory's password. One that does not open what is there already is refused: a node opens
/// all of them with one password.
fn keep(key: &SecretKey, locked: &Locked) -> Result<(), Failure> {
    let directory = &locked.place.keystore;
    let first = Keystores::list(directory).map_err(failure)?.into_iter().next();
    let password =
        prompt::password(locked.password_file.as_deref(), "the password of the keystores", first.is_none())?;
    if let Some(first) = first {
        let text = file::read(&first.path, "the keystore")?;
        let opened = Keystore::from_json(&text).and_then(|keystore| keystore.decrypt(&password));
        opened.map_err(|why| Failure::Usage(format!("{}: {why}", first.path.display())))?;
    }
    let path = Keystores::store(directory, key, &password, Cost::default()).map_err(failure)?;
    println!("account  {}", key.address());
    println!("keystore {}", path.display());
    Ok(())
}

/// A key from hexadecimal text or from another keystore.
fn read_key(path: &Path, password_file: Option<&Path>) -> Result<SecretKey, Failure> {
    let text = Zeroizing::new(file::read(path, "the key file")?);
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    if !text.trim_start().starts_with('{') {
        return SecretKey::parse(&text).map_err(|why| wrong(&why));
    }
    let keystore = Keystore::from_json(&text).map_err(|why| wrong(&why))?;
    let password = prompt::password(password_file, "the password of the key file", false)?;
    keystore.decrypt(&password).map_err(|why| wrong(&why))
}

fn list(directory: &Path) -> Result<(), Failure> {
    for stored in Keystores::list(directory).map_err(failure)? {
        let address = stored.address.map_or_else(|| "(not said)".to_owned(), |address| address.to_string());
        println!("{address}  {}", stored.path.display());
    }
    Ok(())
}

pub(super) fn failure(why: KeysError) -> Failure {
    match why {
        KeysError::File { .. } | KeysError::NoKey { .. } => Failure::Data(why.to_string()),
        why => Failure::usage(why),
    }
}
