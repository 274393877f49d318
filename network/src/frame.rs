//! Messages on a stream: a length of four bytes, then the content.
//!
//! Reading copies once, from QUIC's packets into one piece of memory, so that whatever is decoded from it can share
//! it. Writing hands pieces over as they are: a bundle of 12 MB is not copied to be sent.

use crate::{
    error::{CANCELLED, Refusal, StreamError},
    kind::Kind,
    memory::{Held, Share},
};
use bytes::{Bytes, BytesMut};
use quinn::{RecvStream, SendStream};

/// A message in pieces.
pub(crate) type Message = Vec<Bytes>;

/// A message that may fill a window.
const LARGE_BYTES: usize = 64 << 10;

/// Where the bytes that we read come from.
enum Incoming {
    /// From a peer.
    Stream(RecvStream),
    /// From memory, as if a peer had sent them and then finished its half.
    #[cfg(feature = "offline")]
    Recorded(Bytes),
}

impl Incoming {
    async fn read_exact(&mut self, into: &mut [u8]) -> Result<(), quinn::ReadExactError> {
        match self {
            Self::Stream(stream) => stream.read_exact(into).await,
            #[cfg(feature = "offline")]
            Self::Recorded(bytes) if bytes.len() < into.len() => {
                Err(quinn::ReadExactError::FinishedEarly(std::mem::take(bytes).len()))
            }
            #[cfg(feature = "offline")]
            Self::Recorded(bytes) => {
                into.copy_from_slice(&bytes.split_to(into.len()));
                Ok(())
            }
        }
    }

    async fn read_chunk(&mut self, max: usize) -> Result<Option<Bytes>, quinn::ReadError> {
        match self {
            Self::Stream(stream) => Ok(stream.read_chunk(max, true).await?.map(|chunk| chunk.bytes)),
            #[cfg(feature = "offline")]
            Self::Recorded(bytes) => {
                let len = bytes.len().min(max);
                Ok((len > 0).then(|| bytes.split_to(len)))
            }
        }
    }
}

/// The half of a stream that we read.
pub(crate) struct Input {
    incoming: Incoming,
    /// Whose memory a request is charged to; answers that we asked for are not.
    share: Option<Share>,
    held: Vec<Held>,
}

impl Input {
    pub(crate) const fn new(recv: RecvStream, share: Option<Share>) -> Self {
        Self { incoming: Incoming::Stream(recv), share, held: vec![] }
    }

    /// A stream that somebody wrote down.
    #[cfg(feature = "offline")]
    pub(crate) const fn recorded(bytes: Bytes) -> Self {
        Self { incoming: Incoming::Recorded(bytes), share: None, held: vec![] }
    }

    /// The stream's kind.
    pub(crate) async fn kind(&mut self) -> Result<Kind, StreamError> {
        let mut byte = [0];
        self.incoming.read_exact(&mut byte).await?;
        Kind::from_byte(byte[0]).ok_or(StreamError::Kind(byte[0]))
    }

    /// The next message, of at most `max` bytes.
    pub(crate) async fn message(&mut self, max: usize) -> Result<Bytes, StreamError> {
        self.next_message(max).await?.ok_or(StreamError::Truncated)
    }

    /// The next message, or `None` if the stream ends instead.
    pub(crate) async fn next_message(&mut self, max: usize) -> Result<Option<Bytes>, StreamError> {
        let mut len = [0; 4];
        match self.incoming.read_exact(&mut len).await {
            Err(quinn::ReadExactError::FinishedEarly(0)) => return Ok(None),
            read => read?,
        }
        let len = u32::from_le_bytes(len) as usize;
        if len > max {
            return Err(StreamError::Oversized { len: len as u64, max });
        }
        if let Some(share) = &self.share {
            self.held.push(share.hold(len).await);
        }
        // The system gives memory page by page as it is written to: what is declared but never arrives costs nothing.
        let mut content = BytesMut::with_capacity(len);
        while content.len() < len {
            let Some(chunk) = self.incoming.read_chunk(len - content.len()).await? else {
                return Err(StreamError::Truncated);
            };
            content.extend_from_slice(&chunk);
        }
        Ok(Some(content.freeze()))
    }

    /// That the stream ends here.
    pub(crate) async fn end(&mut self) -> Result<(), StreamError> {
        match self.incoming.read_chunk(1).await? {
            None => Ok(()),
            Some(_) => Err(StreamError::Trailing),
        }
    }

    /// Tells the other side that nothing more is read.
    pub(crate) fn stop(&mut self, refusal: Refusal) {
        match &mut self.incoming {
            Incoming::Stream(stream) => drop(stream.stop(refusal.code())),
            #[cfg(feature = "offline")]
            Incoming::Recorded(bytes) => bytes.clear(),
        }
    }

    /// The stream's number.
    pub(crate) fn id(&self) -> u64 {
        match &self.incoming {
            Incoming::Stream(stream) => stream.id().index(),
            #[cfg(feature = "offline")]
            Incoming::Recorded(_) => 0,
        }
    }

    /// Gives back the memory that the messages were charged for.
    pub(crate) fn release(&mut self) {
        self.held.clear();
    }
}

/// The half of a stream that we write. Unless it is finished it is reset when it is dropped: half a request is not a
/// request.
pub(crate) struct Output {
    send: SendStream,
    open: bool,
}

impl Output {
    pub(crate) const fn new(send: SendStream) -> Self {
        Self { send, open: true }
    }

    pub(crate) async fn kind(&mut self, kind: Kind) -> Result<(), StreamError> {
        Ok(self.send.write_all(&[kind as u8]).await?)
    }

    pub(crate) async fn message(&mut self, mut pieces: Message) -> Result<(), StreamError> {
        let len = pieces.iter().map(Bytes::len).sum::<usize>();
        let declared = u32::try_from(len)
            .map_err(|_| StreamError::Oversized { len: len as u64, max: u32::MAX as usize })?;
        self.send.write_all(&declared.to_le_bytes()).await?;
        if len < LARGE_BYTES {
            return Ok(self.send.write_all_chunks(&mut pieces).await?);
        }
        // While a window is full, a write that waits is not told that the other side has had enough.
        let stopped = self.send.stopped();
        tokio::select! {
            biased;
            written = self.send.write_all_chunks(&mut pieces) => Ok(written?),
            Ok(Some(code)) = stopped => Err(StreamError::Refused(Refusal::from_code(code))),
        }
    }

    pub(crate) fn finish(&mut self) -> Result<(), StreamError> {
        self.open = false;
        self.send.finish().map_err(|error| quinn::WriteError::from(error).into())
    }

    /// Waits until the other side has all of it, or refuses it.
    pub(crate) async fn delivered(&mut self) -> Result<(), StreamError> {
        match self.send.stopped().await {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(StreamError::Refused(Refusal::from_code(code))),
            Err(quinn::StoppedError::ConnectionLost(error)) => Err(StreamError::Lost(error)),
            Err(_) => Err(StreamError::Truncated),
        }
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.open = false;
        let _ = self.send.reset(refusal.code());
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.open {
            let _ = self.send.reset(CANCELLED);
        }
    }
}
