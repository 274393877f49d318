//! The server half: reads a request, has the service answer it, sends the answer.

use crate::{
    Kind, announce,
    connection::Connection,
    error::{Refusal, StreamError},
    frame::{Input, Message, Output},
    message::{
        AssuranceMessage, BlockRequest, BundleSubmission, PackageSubmission, Payload, Rules, SegmentRequest,
        SegmentRoots, ShardRequest, SharedBundle, StateRequest, cut_extrinsics, read_imports,
    },
    service::{Caller, Service},
};
use jam::{
    Bundle, Guarantee, WorkPackage,
    codec::{Decode, DecodeError, Decoder},
};
use std::time::Duration;
use tokio::time::timeout;

/// Why a request is not answered.
pub(crate) enum Failure {
    /// The service does not want to.
    Refused(Refusal),
    /// The peer broke the protocol, or is gone.
    Stream(StreamError),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        Self::Stream(error)
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Self::Stream(error.into())
    }
}

/// Serves one stream that the peer opened.
pub(crate) async fn stream(connection: Connection, send: quinn::SendStream, recv: quinn::RecvStream) {
    let (mut output, mut input) = (Output::new(send), Input::new(recv, Some(connection.memory())));
    let receive = connection.shared().limits.receive();
    let kind = match within("the kind of a stream", receive, input.kind()).await {
        Ok(Kind::Announcements) => return announce::accepted(&connection, output, input).await,
        Ok(kind) => kind,
        Err(error) => return turn_down(&connection, None, &mut output, &mut input, &error),
    };
    match answer(&connection, kind, &mut input).await {
        Ok(messages) => {
            let sending = async {
                for message in messages {
                    output.message(message).await?;
                }
                output.finish()?;
                // What was read is not needed any longer, and the answer is QUIC's now.
                input.release();
                output.delivered().await
            };
            let patience = connection.shared().limits.answer();
            if let Err(error) = within("taking an answer", patience, sending).await {
                connection.blame(Some(kind), &error);
            }
        }
        Err(Failure::Refused(refusal)) => {
            output.refuse(refusal);
            input.stop(refusal);
        }
        Err(Failure::Stream(error)) => turn_down(&connection, Some(kind), &mut output, &mut input, &error),
    }
}

fn turn_down(
    connection: &Connection,
    kind: Option<Kind>,
    output: &mut Output,
    input: &mut Input,
    error: &StreamError,
) {
    let refusal = match error {
        StreamError::Timeout { .. } => Refusal::Late,
        StreamError::Kind(_) => Refusal::Unsupported,
        _ => Refusal::Violation,
    };
    output.refuse(refusal);
    input.stop(refusal);
    connection.blame(kind, error);
}

pub(crate) async fn within<T>(
    what: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, StreamError>>,
) -> Result<T, StreamError> {
    let late = StreamError::Timeout { what, ms: limit.as_millis() as u64 };
    timeout(limit, work).await.unwrap_or(Err(late))
}

/// What one request needs.
pub(crate) struct Request<'a> {
    pub(crate) input: &'a mut Input,
    pub(crate) rules: &'a Rules,
    pub(crate) caller: &'a Caller,
    pub(crate) service: &'a dyn Service,
    pub(crate) receive: Duration,
    pub(crate) handle: Duration,
}

async fn answer(connection: &Connection, kind: Kind, input: &mut Input) -> Result<Vec<Message>, Failure> {
    let shared = connection.shared();
    let mut request = Request {
        input,
        rules: &shared.rules,
        caller: connection.caller(),
        service: &*shared.service,
        receive: shared.limits.receive(),
        handle: shared.limits.handle(),
    };
    let (service, caller) = (request.service, request.caller);
    match kind {
        Kind::Announcements => Err(Refusal::Unsupported.into()),
        Kind::Blocks => {
            let asked = request.read::<BlockRequest>().await?;
            request.work(service.blocks(caller, asked)).await
        }
        Kind::State => {
            let asked = request.read::<StateRequest>().await?;
            request.work(service.state(caller, asked)).await
        }
        Kind::Package => {
            let submission = request.package().await?;
            request.work(service.package(caller, submission)).await
        }
        Kind::Bundle => {
            let submission = request.bundle().await?;
            request.work(service.bundle(caller, submission)).await
        }
        Kind::Share => {
            let bundle = request.read::<SharedBundle>().await?;
            request.work(service.share(caller, bundle)).await
        }
        Kind::Report => {
            let guarantee = request.read::<Guarantee>().await?;
            request.work(service.report(caller, guarantee)).await
        }
        Kind::Shard => {
            let asked = request.read::<ShardRequest>().await?;
            request.work(service.shard(caller, asked)).await
        }
        Kind::Assurance => {
            let assurance = request.read::<AssuranceMessage>().await?;
            request.work(service.assurance(caller, assurance)).await
        }
        Kind::Segments => {
            let asked = request.read::<SegmentRequest>().await?;
            request.work(service.segments(caller, asked)).await
        }
    }
}

impl Request<'_> {
    /// The whole request.
    pub(crate) async fn read<Q: Payload>(&mut self) -> Result<Q, StreamError> {
        let reading = async {
            let request = Q::read(self.input, self.rules).await?;
            self.input.end().await?;
            Ok(request)
        };
        within("a request", self.receive, reading).await
    }

    async fn message(&mut self, max: usize) -> Result<bytes::Bytes, StreamError> {
        within("a request", self.receive, self.input.message(max)).await
    }

    /// Asks the service, and makes messages of its answer.
    async fn work<A: Payload>(
        &self,
        work: impl Future<Output = Result<A, Refusal>>,
    ) -> Result<Vec<Message>, Failure> {
        let answer = timeout(self.handle, work).await.unwrap_or(Err(Refusal::Busy))?;
        Ok(answer.write())
    }

    /// A package with its blobs. The blobs are read only if the package is welcome.
    pub(crate) async fn package(&mut self) -> Result<PackageSubmission, Failure> {
        let head = self.message(self.rules.sizes.package + 2).await?;
        let (core, package) = <(u16, WorkPackage)>::decode(&head, &self.rules.params)?;
        self.service.admits(self.caller, core, &package).await?;
        let extrinsics = self.extrinsics(&package).await?;
        within("a request", self.receive, self.input.end()).await?;
        Ok(PackageSubmission { core, package, extrinsics })
    }

    async fn extrinsics(&mut self, package: &WorkPackage) -> Result<Vec<jam::codec::Bytes>, StreamError> {
        let bytes = self.message(self.rules.sizes.extrinsics).await?;
        cut_extrinsics(package, &bytes)
    }

    /// A bundle, message by message.
    pub(crate) async fn bundle(&mut self) -> Result<BundleSubmission, Failure> {
        let head = self.message(self.rules.sizes.mappings).await?;
        let mut head = Decoder::new(&head, &self.rules.params);
        let (core, segment_roots) = <(u16, SegmentRoots)>::decode_from(&mut head)?;
        head.finish()?;
        let package = self.message(self.rules.sizes.package).await?;
        let package = WorkPackage::decode(&package, &self.rules.params)?;
        let imports = package.imports().count();
        if imports > self.rules.params.imports_max as usize {
            return Err(StreamError::Wrong("more imports than a package may have").into());
        }
        self.service.admits(self.caller, core, &package).await?;
        let extrinsics = self.extrinsics(&package).await?;
        let reading = read_imports(self.input, self.rules, imports);
        let imports = within("a request", self.receive, reading).await?;
        within("a request", self.receive, self.input.end()).await?;
        Ok(BundleSubmission { core, segment_roots, bundle: Bundle { package, extrinsics, imports } })
    }
}
