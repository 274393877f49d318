//! New files that are there as a whole or not at all, whatever happens while they are written.

use alloy_primitives::hex;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Makes a file that only its owner can read, never over another one. It gets its name when all of it is on the disk; what
/// a power loss leaves behind before that has a name that nobody looks for.
pub(super) fn create(
    directory: &Path,
    path: &Path,
    fill: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = unfinished_name(directory)?;
    let written = write(&unfinished, fill).and_then(|()| name(&unfinished, path));
    // It has its name, or was not written: either way this one is not needed any more.
    let removed = match fs::remove_file(&unfinished) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    };
    written?;
    let kept = removed.and_then(|()| fs::File::open(directory)?.sync_all());
    if kept.is_err() {
        // Whoever is told that it failed must not find it later.
        let _gone = fs::remove_file(path);
    }
    kept
}

fn unfinished_name(directory: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|why| io::Error::other(why.to_string()))?;
    Ok(directory.join(format!(".unfinished-{}", hex::encode(random))))
}

fn write(path: &Path, fill: impl FnOnce(&mut fs::File) -> io::Result<()>) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    fill(&mut file)?;
    file.sync_all()
}

/// Gives a file its name if nothing has it: a link, unlike a renaming, never takes the place of another file.
fn name(unfinished: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(unfinished, path) {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(why),
        // There are file systems without links.
        Err(_) if !path.try_exists()? => fs::rename(unfinished, path),
        linked => linked,
    }
}
