//! What the things that travel are, field by field.

use super::Kind;
use alloy_consensus::Header;
use alloy_primitives::Bytes;
use alloy_rlp::Decodable;
use jam::{
    Block, Bundle, Params, RefineContext, WorkItem, WorkPackage, WorkReport, WorkResult,
    block::Guarantee,
    codec::{Decode, DecodeError},
    package::ImportRoot,
};
use serde_json::{Value, json};
use service::{
    accumulate::Claim,
    blobs,
    payload::{Payload, decode_headers},
};
use state::{Blake2b, Witness};

/// What the bytes are, or why they are not what they should be.
pub(super) fn describe(kind: Kind, bytes: &Bytes, params: &Params) -> Result<Value, String> {
    let malformed = |why: DecodeError| format!("this is no {kind:?}: {why}").to_lowercase();
    match kind {
        Kind::Package => Ok(package(&WorkPackage::decode(bytes, params).map_err(malformed)?, params)),
        Kind::Bundle => Ok(bundle(&Bundle::decode(bytes, params).map_err(malformed)?, params)),
        Kind::Report => Ok(report(&WorkReport::decode(bytes, params).map_err(malformed)?)),
        Kind::Block => Ok(block(&Block::decode(bytes, params).map_err(malformed)?)),
        Kind::Witness => witness(bytes),
        Kind::Header => header_of(bytes),
        Kind::Service => crate::cli::service::describe(bytes),
    }
}

fn context(context: &RefineContext) -> Value {
    json!({
        "anchor": context.anchor.0,
        "anchorStateRoot": context.state_root,
        "anchorBeefyRoot": context.beefy_root,
        "lookupAnchor": context.lookup_anchor.0,
        "lookupAnchorSlot": context.lookup_anchor_slot,
        "prerequisites": context.prerequisites.iter().map(|package| package.0).collect::<Vec<_>>(),
    })
}

fn package(package: &WorkPackage, params: &Params) -> Value {
    json!({
        "packageHash": package.hash().0,
        "authorizer": {
            "host": package.auth_code_host,
            "codeHash": package.auth_code_hash,
            "hash": package.authorizer_hash(),
            "config": package.authorizer_config,
            "token": package.authorization,
        },
        "context": context(&package.context),
        "items": package.items.iter().map(item).collect::<Vec<_>>(),
        "withinLimits": package.check(params).map_or_else(|why| json!(why.to_string()), |()| json!(true)),
    })
}

fn item(item: &WorkItem) -> Value {
    let import = |import: &jam::package::ImportSpec| match import.root {
        ImportRoot::Segments(root) => json!({ "segmentsRoot": root.0, "index": import.index }),
        ImportRoot::Package(package) => json!({ "packageHash": package.0, "index": import.index }),
    };
    json!({
        "service": item.service,
        "codeHash": item.code_hash,
        "refineGas": item.refine_gas,
        "accumulateGas": item.accumulate_gas,
        "exports": item.export_count,
        "imports": item.imports.iter().map(import).collect::<Vec<_>>(),
        "extrinsics": item.extrinsics.iter().map(|blob| json!({ "hash": blob.hash, "bytes": blob.len }))
            .collect::<Vec<_>>(),
        "payload": payload(&item.payload),
    })
}

/// The payload of our service; of another one, the bytes.
fn payload(bytes: &Bytes) -> Value {
    match Payload::decode(bytes) {
        Ok(payload) => json!({
            "parent": header(&payload.parent),
            "blocks": payload.blocks,
            "last": payload.last,
            "signature": payload.signature,
        }),
        Err(_) => json!(bytes),
    }
}

/// The blocks of a run: each header with the hashes of its transactions.
fn run(transactions: &Bytes, headers: &Bytes) -> Option<Value> {
    let lists = blobs::split(transactions).ok()?;
    let headers = decode_headers(headers, u32::try_from(lists.len()).ok()?).ok()?;
    let blocks = headers.iter().zip(&lists).map(|(sealed, list)| {
        let transactions = blobs::split(list).ok()?;
        let mut value = header(sealed);
        value["transactions"] =
            transactions.iter().map(|tx| json!(alloy_primitives::keccak256(tx))).collect();
        Some(value)
    });
    blocks.collect::<Option<Vec<_>>>().map(Value::from)
}

fn header(header: &Header) -> Value {
    json!({
        "number": header.number,
        "hash": header.hash_slow(),
        "parentHash": header.parent_hash,
        "stateRoot": header.state_root,
        "transactionsRoot": header.transactions_root,
        "receiptsRoot": header.receipts_root,
        "beneficiary": header.beneficiary,
        "gasLimit": header.gas_limit,
        "gasUsed": header.gas_used,
        "timestamp": header.timestamp,
        "baseFeePerGas": header.base_fee_per_gas,
        "extraData": header.extra_data,
    })
}

fn header_of(bytes: &Bytes) -> Result<Value, String> {
    let rest = &mut &bytes[..];
    let decoded = Header::decode(rest).map_err(|why| format!("this is no header: {why}"))?;
    if !rest.is_empty() {
        return Err(format!("this is no header: {} bytes follow it", rest.len()));
    }
    Ok(header(&decoded))
}

fn bundle(bundle: &Bundle, params: &Params) -> Value {
    let mut value = json!({
        "package": package(&bundle.package, params),
        "extrinsicsMatch": bundle.check(&Default::default())
            .map_or_else(|why| json!(why.to_string()), |()| json!(true)),
        "imports": bundle.imports.len(),
    });
    // What our service brings, in its order. Of another service only the lengths say something.
    value["extrinsics"] = match bundle.extrinsics.as_slice() {
        [first, codes, transactions, headers, hints] => {
            match (Witness::decode(first), run(transactions, headers)) {
                (Ok(found), Some(blocks)) => json!({
                    "witness": witness_view(first, &found),
                    "codesBytes": codes.len(),
                    "hintsBytes": hints.len(),
                    "blocks": blocks,
                }),
                _ => lengths(&bundle.extrinsics),
            }
        }
        others => lengths(others),
    };
    value
}

fn lengths(blobs: &[Bytes]) -> Value {
    json!(blobs.iter().map(|blob| json!({ "bytes": blob.len() })).collect::<Vec<_>>())
}

fn report(report: &WorkReport) -> Value {
    let digest = |digest: &jam::WorkDigest| {
        json!({
            "service": digest.service,
            "codeHash": digest.code_hash,
            "payloadHash": digest.payload_hash,
            "accumulateGas": digest.accumulate_gas,
            "result": result(&digest.result),
            "load": {
                "gasUsed": digest.load.gas_used,
                "imports": digest.load.imports,
                "extrinsics": digest.load.extrinsic_count,
                "extrinsicBytes": digest.load.extrinsic_bytes,
                "exports": digest.load.exports,
            },
        })
    };
    json!({
        "reportHash": report.hash().0,
        "packageHash": report.package().0,
        "core": report.core,
        "bundleBytes": report.spec.bundle_len,
        "erasureRoot": report.spec.erasure_root,
        "exportsRoot": report.spec.exports_root.0,
        "exports": report.spec.exports_count,
        "authorizerHash": report.authorizer,
        "authorizerGasUsed": report.auth_gas_used,
        "context": context(&report.context),
        "digests": report.digests.iter().map(digest).collect::<Vec<_>>(),
    })
}

fn result(result: &WorkResult) -> Value {
    match result {
        WorkResult::Failed(why) => json!({ "failed": why.to_string() }),
        WorkResult::Output(output) => match Claim::decode(output) {
            Some(claim) => json!({
                "first": claim.first, "last": { "number": claim.last.number, "hash": claim.last.hash },
                "parent": claim.parent, "blocksRoot": claim.blocks_root,
                "preRoot": claim.pre_root, "postRoot": claim.post_root, "gasUsed": claim.gas_used,
            }),
            None => json!({ "output": output }),
        },
    }
}

fn block(block: &Block) -> Value {
    let guarantee = |guarantee: &Guarantee| {
        json!({
            "slot": guarantee.slot,
            "validators": guarantee.signatures.iter().map(|one| one.validator).collect::<Vec<_>>(),
            "report": report(&guarantee.report),
        })
    };
    let (header, extrinsic) = (&block.header, &block.extrinsic);
    json!({
        "headerHash": header.hash().0,
        "parent": header.parent.0,
        "slot": header.slot,
        "author": header.author,
        "priorStateRoot": header.prior_state_root,
        "extrinsicHash": header.extrinsic_hash,
        "extrinsicMatches": header.extrinsic_hash == extrinsic.hash(),
        "epochMark": header.epoch_mark.as_ref().map(|mark| json!({
            "entropy": mark.entropy, "validators": mark.validators.len(),
        })),
        "offenders": header.offenders.len(),
        "tickets": extrinsic.tickets.len(),
        "preimages": extrinsic.preimages.len(),
        "guarantees": extrinsic.guarantees.iter().map(guarantee).collect::<Vec<_>>(),
        "assurances": extrinsic.assurances.iter().map(|one| one.validator).collect::<Vec<_>>(),
        "disputes": extrinsic.disputes.verdicts.len(),
    })
}

fn witness(bytes: &Bytes) -> Result<Value, String> {
    let decoded = Witness::decode(bytes).map_err(|why| format!("this is no witness: {why}"))?;
    Ok(witness_view(bytes, &decoded))
}

fn witness_view(bytes: &Bytes, witness: &Witness) -> Value {
    let counts = witness.counts();
    json!({
        "root": witness.root(),
        "bytes": bytes.len(),
        "proves": witness.verify::<Blake2b>(witness.root())
            .map_or_else(|why| json!(why.to_string()), |_| json!(true)),
        "stems": counts.stems,
        "hashes": counts.hashes,
        "keys": counts.keys,
        "values": counts.values,
    })
}
