//! A stream that does not wait for ever for a client that does not read, and lets others write between its pieces.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// A stream on which nothing can be written any more once the other side has not taken a byte for so long.
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// When patience ends, while a write waits.
    end: Option<Pin<Box<Sleep>>>,
    /// What was written since others had their turn.
    in_a_row_bytes: usize,
}

/// What is written at once.
const PIECE_BYTES: usize = 64 * 1024;
/// What is written before others have their turn: copying a large answer to the system takes milliseconds.
const IN_A_ROW_BYTES_MAX: usize = 4 * PIECE_BYTES;

impl<S> Patient<S> {
    pub(super) const fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, end: None, in_a_row_bytes: 0 }
    }

    /// Whether it is others' turn; then the task is woken again behind them.
    fn gives_way(&mut self, context: &Context<'_>) -> bool {
        let gives_way = self.in_a_row_bytes >= IN_A_ROW_BYTES_MAX;
        if gives_way {
            self.in_a_row_bytes = 0;
            context.waker().wake_by_ref();
        }
        gives_way
    }

    /// Passes on what a write came to; one that waits too long has failed.
    fn within(
        &mut self,
        context: &mut Context<'_>,
        write: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = &write {
            self.end = None;
            self.in_a_row_bytes += *written.as_ref().unwrap_or(&0);
            return write;
        }
        self.in_a_row_bytes = 0;
        let end = self.end.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.patience)));
        ready!(end.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.gives_way(context) {
            return Poll::Pending;
        }
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        let write = Pin::new(&mut self.stream).poll_write(context, piece);
        self.within(context, write)
    }

    /// Small answers are written with their heads; a large one piece by piece.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if parts.iter().map(|part| part.len()).sum::<usize>() > PIECE_BYTES {
            let first = parts.iter().map(|part| &**part).find(|part| !part.is_empty());
            return self.poll_write(context, first.unwrap_or_default());
        }
        if self.gives_way(context) {
            return Poll::Pending;
        }
        let write = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.within(context, write)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_client_that_reads_is_waited_for_and_one_that_does_not_is_not() {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut patient = Patient::new(ours, Duration::from_secs(3600));
        let read = async { theirs.read_exact(&mut [0; 12]).await.map(drop) };
        let (written, read) = tokio::join!(patient.write_all(&[7; 12]), read);
        assert!(written.is_ok() && read.is_ok());
        // Others have their turn between the pieces, and all of it arrives.
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let mut large = Patient::new(ours, Duration::from_secs(3600));
        let bytes = vec![7; 2 << 20];
        let read = async {
            let mut read = vec![0; bytes.len()];
            theirs.read_exact(&mut read).await.map(|_| read)
        };
        let (written, read) = tokio::join!(large.write_all(&bytes), read);
        assert!(written.is_ok() && read.is_ok_and(|read| read == bytes));
        patient.patience = Duration::ZERO;
        assert_eq!(patient.write_all(&[7; 12]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
