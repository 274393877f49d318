//! A disk that can be filled: a small file system in memory.

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::{
    ffi::CString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Written at a time when the disk is filled; then ever less.
const FILLER_BYTES: usize = 64 * 1024;

/// A small disk, until it is dropped.
#[derive(Debug)]
pub(super) struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts one of so many bytes. Only those who may mount can.
    pub(super) fn mount(path: &Path, bytes: u64) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let options = CString::new(format!("size={bytes}")).map_err(io::Error::other)?;
        mount("tmpfs", path, "tmpfs", MountFlags::empty(), options.as_c_str())?;
        Ok(Self { path: path.to_owned() })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }

    /// Leaves no byte free; says how many were.
    pub(super) fn fill(&self) -> io::Result<u64> {
        let mut file = File::create(self.filler())?;
        let (mut size, mut written) = (FILLER_BYTES, 0);
        while size > 0 {
            match file.write(&vec![1; size]) {
                Ok(0) => size /= 2,
                Ok(count) => written += count as u64,
                Err(why) if why.kind() == io::ErrorKind::StorageFull => size /= 2,
                Err(why) => return Err(why),
            }
        }
        Ok(written)
    }

    /// Makes room again.
    pub(super) fn empty(&self) -> io::Result<()> {
        fs::remove_file(self.filler())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Whatever still uses it keeps it until then.
        let _ = unmount(&self.path, UnmountFlags::DETACH);
    }
}

/// Copies the files of a directory to another.
pub(super) fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// The bytes of all files of a directory.
pub(super) fn bytes_of(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_takes_nothing_and_an_emptied_one_does() {
        let directory = tempfile::tempdir().unwrap();
        let disk = match SmallDisk::mount(&directory.path().join("disk"), 1 << 20) {
            Ok(disk) => disk,
            Err(why) => {
                println!("skipped: no small disk can be mounted: {why}");
                return;
            }
        };
        assert!(disk.fill().unwrap() > 1 << 19);
        let file = disk.path().join("file");
        let refused = fs::write(&file, [1; 9000]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        disk.empty().unwrap();
        fs::write(&file, [1; 9000]).unwrap();
        let copy = directory.path().join("copy");
        copy_files(disk.path(), &copy).unwrap();
        assert_eq!(bytes_of(&copy).unwrap(), 9000);
    }
}
