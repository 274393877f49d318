//! What a signature's recovery costs: by itself, and with others.

#![allow(missing_docs, reason = "Criterion's macros make items without them")]

use alloy_primitives::{Address, B256, Signature};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use harness::blocks::{Call, Wallet};
use std::hint::black_box;

fn signed(count: u64) -> Vec<(Signature, B256)> {
    let transfer = |index| Wallet::new(index % 7).eip1559(Call::transfer(Address::repeat_byte(9), index, 1));
    (0..count).map(transfer).map(|tx| (*tx.signature(), tx.signature_hash())).collect()
}

fn recovery(c: &mut Criterion) {
    println!("this machine recovers {} at a time", ecrecover::at_once());
    let mut group = c.benchmark_group("recovery");
    for count in [1, 2, 4, 8, 16, 100] {
        let signed = signed(count);
        group.throughput(Throughput::Elements(count));
        group.bench_function(format!("{count}, one by one"), |b| {
            b.iter(|| {
                signed.iter().map(|(signature, hash)| ecrecover::signer(signature, *hash)).for_each(
                    |signer| {
                        black_box(signer);
                    },
                )
            });
        });
        group.bench_function(format!("{count}, together"), |b| {
            b.iter(|| black_box(ecrecover::signers(&signed)))
        });
    }
    group.finish();
}

criterion_group!(benches, recovery);
criterion_main!(benches);
