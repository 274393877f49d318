//! A file that is looked at and never written: what the storage engine writes while it opens it stays in memory.
//!
//! The engine marks a file as open, and repairs one that was not closed, before it can be read. A file of another version must
//! stay as it is, so these writes go to pages above the file.

use redb::{StorageBackend, backends::FileBackend};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

const PAGE: u64 = 4096;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Overlay {
    file: FileBackend,
    /// Where the tables begin in the file.
    start: u64,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    bytes: u64,
    /// How much of the file still counts: what was cut off comes back as zeros.
    file_bytes: u64,
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl Overlay {
    /// Over the tables of a file, which begin at `start`.
    pub(crate) fn new(file: File, start: u64) -> io::Result<Self> {
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        let bytes = file.len()?.saturating_sub(start);
        let written = Written { bytes, file_bytes: bytes, pages: BTreeMap::new() };
        Ok(Self { file, start, written: Mutex::new(written) })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page as the file has it; zeros behind its end.
    fn page_of_file(&self, file_bytes: u64, page: u64) -> io::Result<Box<[u8]>> {
        let mut bytes = vec![0; PAGE as usize].into_boxed_slice();
        let from = page * PAGE;
        let there = file_bytes.saturating_sub(from).min(PAGE) as usize;
        if there > 0 {
            self.file.read(self.start + from, &mut bytes[..there])?;
        }
        Ok(bytes)
    }
}

/// The parts of a range that lie in one page each: the page, where in it, and where in the range.
fn parts(offset: u64, bytes: usize) -> impl Iterator<Item = (u64, usize, core::ops::Range<usize>)> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let position = offset + at as u64;
        let within = (position % PAGE) as usize;
        let part = at..bytes.min(at + PAGE as usize - within);
        at = part.end;
        (!part.is_empty()).then_some((position / PAGE, within, part))
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().bytes)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        let end = offset.checked_add(out.len() as u64).filter(|end| *end <= written.bytes);
        end.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        for (page, within, part) in parts(offset, out.len()) {
            let bytes = part.len();
            match written.pages.get(&page) {
                Some(page) => out[part].copy_from_slice(&page[within..within + bytes]),
                None => {
                    let page = self.page_of_file(written.file_bytes, page)?;
                    out[part].copy_from_slice(&page[within..within + bytes]);
                }
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written();
        if len < written.bytes {
            written.file_bytes = written.file_bytes.min(len);
            written.pages.split_off(&len.div_ceil(PAGE));
            if let Some(last) = written.pages.get_mut(&(len / PAGE)) {
                last[(len % PAGE) as usize..].fill(0);
            }
        }
        written.bytes = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        for (page, within, part) in parts(offset, data.len()) {
            let bytes = part.len();
            if !written.pages.contains_key(&page) {
                let of_file = self.page_of_file(written.file_bytes, page)?;
                written.pages.insert(page, of_file);
            }
            let page = written.pages.get_mut(&page).expect("it was put there");
            page[within..within + bytes].copy_from_slice(&data[part]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Write};

    #[test]
    fn what_is_written_is_read_again_and_the_file_stays_as_it_is() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let before = (0..10_000_u32).map(|byte| byte as u8).collect::<Vec<_>>();
        file.write_all(&before).unwrap();
        let overlay = Overlay::new(File::open(file.path()).unwrap(), 100).unwrap();
        assert_eq!(overlay.len().unwrap(), 9_900);
        overlay.write(4_000, &[7; 200]).unwrap();
        overlay.set_len(20_000).unwrap();
        overlay.write(19_990, &[9; 10]).unwrap();
        let mut read = vec![0; 20_000];
        overlay.read(0, &mut read).unwrap();
        let mut expected = before[100..].to_vec();
        expected[4_000..4_200].fill(7);
        expected.resize(19_990, 0);
        expected.resize(20_000, 9);
        assert!(read == expected);
        assert!(overlay.read(19_999, &mut [0; 2]).is_err(), "behind the end");
        overlay.set_len(4_100).unwrap();
        overlay.set_len(20_000).unwrap();
        overlay.read(0, &mut read).unwrap();
        expected[4_100..].fill(0);
        assert!(read == expected, "what was cut off is zeros");
        assert!(fs::read(file.path()).unwrap() == before);
    }
}
