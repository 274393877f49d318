//! Shards, assurances and segments: CE 137, CE 141, CE 148.

use super::{Payload, Rules, one, work::proofs};
use crate::{
    error::StreamError,
    frame::{Input, Message},
    kind::{JUSTIFICATION_BYTES_MAX, SEGMENT_PROOF_MAX},
};
use bytes::Bytes;
use jam::{
    Hash, HeaderHash, SegmentRoot, Signature,
    bundle::Import,
    codec::{self, Decode, Decoder, Encode, Malformed},
    params::SEGMENT_BYTES,
};

/// A request for an assurer's shards (CE 137).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ShardRequest {
    /// The erasure root of the report.
    pub erasure_root: Hash,
    /// Which shard.
    pub index: u16,
}

impl Payload for ShardRequest {
    fn write(&self) -> Vec<Message> {
        one(&(self.erasure_root, self.index))
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let (erasure_root, index) = rules.decode(&input.message(34).await?)?;
        Ok(Self { erasure_root, index })
    }
}

/// An assurer's shards, and why they are the right ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShardAnswer {
    /// The shard of the bundle.
    pub bundle_shard: Bytes,
    /// The shards of the exported segments, then of the pages of proofs.
    pub segment_shards: Vec<Bytes>,
    /// The siblings on the way from the erasure root down to the shards: one hash each, or two.
    pub justification: Vec<codec::Bytes>,
}

impl Payload for ShardAnswer {
    fn write(&self) -> Vec<Message> {
        let mut justification = vec![];
        for entry in &self.justification {
            justification.push(u8::from(entry.len() > 32));
            justification.extend_from_slice(entry);
        }
        vec![vec![self.bundle_shard.clone()], self.segment_shards.clone(), vec![justification.into()]]
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let sizes = &rules.sizes;
        let bundle_shard = input.message(sizes.bundle_shard).await?;
        let mut shards = input.message(sizes.segment_shards).await?;
        if !shards.len().is_multiple_of(sizes.segment_shard) {
            return Err(StreamError::Wrong("not a whole number of segment shards"));
        }
        let count = shards.len() / sizes.segment_shard;
        let segment_shards = (0..count).map(|_| shards.split_to(sizes.segment_shard)).collect();
        let bytes = input.message(JUSTIFICATION_BYTES_MAX).await?;
        let mut entries = Decoder::new(&bytes, &rules.params);
        let mut justification = vec![];
        while entries.left() > 0 {
            let start = entries.clone();
            let len = match entries.byte()? {
                0 => 32,
                1 => 64,
                tag => return Err(start.error(Malformed::Tag { tag }).into()),
            };
            justification.push(codec::Bytes::copy_from_slice(entries.take(len)?));
        }
        Ok(Self { bundle_shard, segment_shards, justification })
    }
}

/// A validator's word on what it holds (CE 141). Which validator follows from the connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssuranceMessage {
    /// The parent of the block that it is for.
    pub anchor: HeaderHash,
    /// One bit per core.
    pub bits: Vec<u8>,
    /// The signature.
    pub signature: Signature,
}

impl Payload for AssuranceMessage {
    fn write(&self) -> Vec<Message> {
        let mut bytes = self.anchor.encode();
        bytes.extend_from_slice(&self.bits);
        self.signature.encode_to(&mut bytes);
        vec![vec![bytes.into()]]
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let bytes = input.message(rules.sizes.assurance).await?;
        let mut input = Decoder::new(&bytes, &rules.params);
        let anchor = Decode::decode_from(&mut input)?;
        let bits = input.take(usize::from(rules.params.cores.div_ceil(8)))?.to_vec();
        let signature = Decode::decode_from(&mut input)?;
        input.finish()?;
        Ok(Self { anchor, bits, signature })
    }
}

/// A request for segments (CE 148): of each tree, which ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentRequest {
    /// The trees and the places of the segments in them.
    pub trees: Vec<(SegmentRoot, Vec<u16>)>,
}

impl SegmentRequest {
    /// All segments asked for, in order.
    pub fn segments(&self) -> impl Iterator<Item = (SegmentRoot, u16)> {
        self.trees.iter().flat_map(|(root, indices)| indices.iter().map(|index| (*root, *index)))
    }

    /// That each segment is the one asked for.
    pub(crate) fn check(&self, imports: &[Import]) -> Result<(), StreamError> {
        let fits = |((root, index), import): ((SegmentRoot, u16), &Import)| {
            jam::merkle::segment_proves(root, index.into(), &import.segment, &import.proof)
        };
        match self.segments().zip(imports).all(fits) {
            true => Ok(()),
            false => Err(StreamError::Wrong("another segment than was asked for")),
        }
    }
}

impl Payload for SegmentRequest {
    fn write(&self) -> Vec<Message> {
        let mut bytes = vec![];
        codec::put_exactly(&self.trees, &mut bytes);
        vec![vec![bytes.into()]]
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        let trees = rules.sequence(&input.message(rules.sizes.segment_request).await?)?;
        let request = Self { trees };
        if request.segments().count() > rules.params.imports_max as usize {
            return Err(StreamError::Wrong("more segments than may be asked for"));
        }
        Ok(request)
    }
}

impl Payload for Vec<Import> {
    fn write(&self) -> Vec<Message> {
        vec![self.iter().map(|import| import.segment.0.clone()).collect(), vec![proofs(self)]]
    }

    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError> {
        // How many there are the segments themselves say; whether as many as were asked for, who asked knows.
        let mut segments = input.message(rules.sizes.segments).await?;
        if !segments.len().is_multiple_of(SEGMENT_BYTES) {
            return Err(StreamError::Wrong("not a whole number of segments"));
        }
        let proofs = input.message(rules.sizes.proofs).await?;
        let mut proofs = Decoder::new(&proofs, &rules.params);
        let mut imports = vec![];
        while !segments.is_empty() {
            let segment = segments.split_to(SEGMENT_BYTES).into();
            imports.push(Import { segment, proof: proofs.at_most(SEGMENT_PROOF_MAX)? });
        }
        proofs.finish()?;
        Ok(imports)
    }
}
