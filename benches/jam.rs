//! Bundles and erasure coding at the sizes that real chains see.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jam::{
    Bundle, ErasureCode, Params,
    codec::Encode,
    follow::{Follower, Limits},
    hash::blake2b,
    package::ExtrinsicSpec,
    sample::{Author, Sample, Source},
};
use std::hint::black_box;

/// A bundle with three extrinsics of about a megabyte together, as ours have.
fn bundle_of_a_megabyte() -> Bundle {
    let mut source = Source::new(&Params::FULL, 7);
    let mut bundle = Bundle::sample(&mut source);
    while bundle.package.items.is_empty() {
        bundle = Bundle::sample(&mut source);
    }
    bundle.package.items.truncate(1);
    bundle.package.items[0].imports.clear();
    bundle.imports.clear();
    bundle.extrinsics = [600_000, 100_000, 300_000].map(|len| source.bytes(len).into()).into();
    let specs = bundle.extrinsics.iter();
    bundle.package.items[0].extrinsics =
        specs.map(|blob| ExtrinsicSpec { hash: blake2b(&[blob]), len: blob.len() as u32 }).collect();
    bundle
}

fn bundles(c: &mut Criterion) {
    let bundle = bundle_of_a_megabyte();
    let bytes = encoded(&bundle);
    let mut group = c.benchmark_group("bundle 1 MB");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("encode", |b| b.iter(|| black_box(&bundle).encode()));
    group.bench_function("decode", |b| b.iter(|| Bundle::decode(black_box(&bytes), &Params::FULL)));
    group.bench_function("check hashes", |b| b.iter(|| black_box(&bundle).check(&[].into())));
    group.finish();
}

fn encoded(bundle: &Bundle) -> jam::codec::Bytes {
    bundle.encode().into()
}

fn erasure(c: &mut Criterion) {
    let code = ErasureCode::new(&Params::FULL);
    let data = Source::new(&Params::FULL, 8).bytes(13_791_360);
    let shards = code.encode(&data).expect("there is data");
    let mut group = c.benchmark_group("erasure 13.8 MB 342:1023");
    group.sample_size(10).throughput(Throughput::Bytes(data.len() as u64));
    group.bench_function("encode", |b| b.iter(|| code.encode(black_box(&data))));
    let last = || (681..1023).map(|index| (index, &shards[index][..]));
    group.bench_function("recover", |b| b.iter(|| code.recover(data.len(), last())));
    group.finish();
}

/// A block of the full chain: a report on every core, and every validator's word on the reports before.
fn follow(c: &mut Criterion) {
    let author = Author::new(Params::FULL);
    let start = || Follower::new(Params::FULL, author.start(), Limits::default());
    let mut scratch = start();
    let first = author.full_block(&scratch.view(), 1, false);
    scratch.import(first.clone());
    let second = author.full_block(&scratch.view(), 2, true);
    let ready = || {
        let mut follower = start();
        follower.import(first.clone());
        (follower, second.clone())
    };
    let mut group = c.benchmark_group("follow");
    group.sample_size(10);
    group.bench_function("import 341 reports, 1,023 assurances", |b| {
        b.iter_batched(ready, |(mut follower, block)| follower.import(block), BatchSize::PerIteration)
    });
    group.finish();
}

criterion_group!(benches, bundles, erasure, follow);
criterion_main!(benches);
