//! The program in another virtual machine: anan-as from npm gives the same output, exports and gas.
//!
//! It is installed into the target directory, once. Where that cannot be done the test says "skipped".

use alloy_primitives::{Address, Bytes, U256, hex};
use harness::blocks::{Call, MemoryChain, Wallet, contracts};
use jam::{
    Bundle, Params, WorkResult,
    codec::{Encode, put_natural},
};
use serde_json::{Value, json};
use std::{path::PathBuf, process::Command};

const GAS: u64 = 1 << 40;

fn case(name: &str, bundle: &Bundle, chain: &MemoryChain) -> Value {
    let params = Params { refine_gas_max: u64::MAX, ..Params::TINY };
    let mut bundle = bundle.clone();
    bundle.package.items[0].refine_gas = GAS;
    let config = &chain.bundler.config;
    let ours = harness::program::refined(&bundle, config, &params, &[]);
    let WorkResult::Output(output) = &ours.result else { panic!("{name}: {:?}", ours.result) };
    let item = &bundle.package.items[0];
    let mut arguments = vec![0, 0];
    put_natural(item.service.into(), &mut arguments);
    item.payload.encode_to(&mut arguments);
    bundle.package.hash().0.encode_to(&mut arguments);
    let summary = [
        &item.service.to_le_bytes()[..],
        item.code_hash.as_slice(),
        &item.refine_gas.to_le_bytes(),
        &item.accumulate_gas.to_le_bytes(),
        &item.export_count.to_le_bytes(),
        &0_u16.to_le_bytes(),
        &(item.extrinsics.len() as u16).to_le_bytes(),
        &(item.payload.len() as u32).to_le_bytes(),
    ]
    .concat();
    let mut fetch = json!({
        "10,0": hex::encode(bundle.package.context.encode()),
        "11,0": hex::encode([&[1], &summary[..]].concat()),
        "12,0": hex::encode(&summary),
    });
    for (index, blob) in bundle.extrinsics.iter().enumerate() {
        fetch[format!("4,{index}")] = hex::encode(blob).into();
    }
    json!({
        "name": name,
        "arguments": hex::encode(arguments),
        "codeHash": hex::encode(config.code_hash),
        "fetch": fetch,
        "start": GAS.to_string(),
        "output": hex::encode(output),
        "gas": ours.gas_used.to_string(),
        "exports": ours.exports.iter().map(hex::encode).collect::<Vec<_>>(),
    })
}

fn cases() -> (Bytes, Vec<Value>) {
    let alice = Wallet::new(0);
    let counter = Address::repeat_byte(0xc1);
    let ether = U256::from(10).pow(U256::from(18));
    let mut chain = MemoryChain::new(&[
        (alice.address(), ether, Bytes::new()),
        (counter, U256::ZERO, Bytes::from_static(contracts::COUNT)),
    ]);
    let mut cases = vec![];
    let mut build = |name: &str, transactions: &[types::Transaction]| {
        let sealed = chain.build(transactions);
        assert_eq!(sealed.receipts.len(), transactions.len(), "{name}");
        let bundle = chain.package(&sealed).1.bundle;
        cases.push(case(name, &bundle, &chain));
        chain.advance(&sealed);
        bundle
    };
    build(
        "transfers",
        &[
            alice.eip1559(Call::transfer(Address::repeat_byte(9), 0, 1)),
            alice.legacy(Call::transfer(Address::repeat_byte(8), 1, 1)),
        ],
    );
    build("contract", &[alice.eip1559(Call::to(counter, 2)), alice.eip2930(Call::to(counter, 3))]);
    // Whatever they say to 192 bytes of ones: most refuse it, and those that hash or copy do not.
    let precompiles =
        (1..=0x11).chain([0x100]).map(|number: u64| Address::left_padding_from(&number.to_be_bytes()));
    for (nonce, address) in (4..).zip(precompiles) {
        let call = Call { input: vec![1; 192].into(), ..Call::to(address, nonce) };
        build(&format!("precompile {address}"), &[alice.eip1559(call)]);
    }
    let mut refused = build("empty", &[]);
    let payload = refused.package.items[0].payload.to_vec();
    refused.package.items[0].payload = payload[..payload.len() - 1].to_vec().into();
    cases.push(case("refused", &refused, &chain));
    (chain.bundler.config.code(), cases)
}

/// The directory with the scripts and what they need; each test has its own.
fn installed(name: &str) -> Result<PathBuf, String> {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("anan-as");
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).map_err(|why| why.to_string())?;
    for file in ["package.json", "page-end.mjs", "run.mjs"] {
        std::fs::copy(sources.join(file), directory.join(file)).map_err(|why| why.to_string())?;
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-progress"]).current_dir(&directory);
    let output = npm.output().map_err(|why| format!("npm: {why}"))?;
    if output.status.success() { Ok(directory) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
}

#[test]
fn another_machine_gives_the_same_output_and_gas() {
    let directory = match installed("anan-as") {
        Ok(directory) => directory,
        Err(why) => return println!("skipped: anan-as: {}", why.trim()),
    };
    let (code, cases) = cases();
    let file = directory.join("cases.json");
    std::fs::write(&file, json!({ "code": hex::encode(&code), "cases": cases }).to_string()).unwrap();
    let output = Command::new("node").arg("run.mjs").arg(&file).current_dir(&directory).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}");
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
}

/// The reason why the program reads no word over the end of a page (docs/anan-as.md). When this fails, the reason is gone.
#[test]
fn what_anan_as_reads_after_a_word_over_a_page() {
    let directory = match installed("anan-as-page-end") {
        Ok(directory) => directory,
        Err(why) => return println!("skipped: anan-as: {}", why.trim()),
    };
    let output = Command::new("node").arg("page-end.mjs").current_dir(&directory).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let right = |line: &str| {
        let number =
            |name: &str| line.split(name).nth(1).and_then(|rest| rest.split(' ').next()).map(str::to_owned);
        number("read=").is_some() && number("read=") == number("written=")
    };
    let lines = told.lines().filter(|line| line.starts_with("from=")).map(right).collect::<Vec<_>>();
    assert_eq!(lines, [true, false], "{told}{}", String::from_utf8_lossy(&output.stderr));
}
