//! Several pieces in one input: each after its length.

/// Puts a piece behind the others.
pub(super) fn put(piece: &[u8], out: &mut Vec<u8>) {
    let len = u16::try_from(piece.len()).expect("seeds are small");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(piece);
}

/// All pieces in one input.
pub(super) fn joined<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Vec<u8> {
    let mut out = vec![];
    pieces.into_iter().for_each(|piece| put(piece.as_ref(), &mut out));
    out
}

/// The pieces of an input. A length that is too large means the rest.
pub(super) struct Sections<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Sections<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.0.split_first_chunk::<2>()?;
        let len = usize::from(u16::from_le_bytes(*len)).min(rest.len());
        let (piece, rest) = rest.split_at(len);
        self.0 = rest;
        Some(piece)
    }
}

impl<'a> Sections<'a> {
    /// The next piece, or nothing.
    pub(super) fn take_or_empty(&mut self) -> &'a [u8] {
        self.next().unwrap_or_default()
    }
}
