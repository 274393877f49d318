//! What a block can hold, and that validators get the same.

use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip7702::constants::EIP7702_DELEGATION_DESIGNATOR,
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use bundler::{Draft, Refused, Sealed};
use harness::blocks::{BENEFICIARY, Call, MemoryChain, Values, Wallet, context, contracts};
use service::{accumulate::Outcome, exports};
use state::{AccountKeys, BasicData, Blake2b, Values as _};
use types::BlockId;

const COUNTER: Address = Address::repeat_byte(0xc1);
const SEE: Address = Address::repeat_byte(0xc2);
const TOKEN: Address = Address::repeat_byte(0xc3);

fn ether(n: u64) -> U256 {
    U256::from(n) * U256::from(10).pow(U256::from(18))
}

fn chain() -> MemoryChain {
    let mut accounts =
        (0..4).map(|i| (Wallet::new(i).address(), ether(100), Bytes::new())).collect::<Vec<_>>();
    accounts.push((COUNTER, U256::ZERO, Bytes::from_static(contracts::COUNT)));
    accounts.push((SEE, U256::ZERO, Bytes::from_static(contracts::SEE)));
    accounts.push((TOKEN, U256::ZERO, contracts::erc20()));
    MemoryChain::new(&accounts)
}

/// Refines as a validator does, and compares with what was sealed.
fn validate(chain: &MemoryChain, sealed: &Sealed<Values>) {
    let (refined, packaged) = chain.package(sealed);
    let output = chain.refine(&packaged.bytes()).unwrap();
    let header = sealed.block().header();
    assert_eq!(output.claim, *refined.claim());
    assert_eq!((output.claim.first, output.claim.last), (header.number, sealed.block().id()));
    assert_eq!(
        (output.claim.pre_root, output.claim.post_root),
        (chain.parent.layer.root(), sealed.layer.root())
    );
    assert_eq!((output.claim.gas_used, header.state_root), (header.gas_used, sealed.layer.root()));
    assert_eq!(output.exports.len(), refined.export_segments());

    let (block, receipts) = exports::import(&output.exports).unwrap().remove(0);
    assert_eq!(block.header, *header);
    assert_eq!(receipts, sealed.receipts.to_vec());
    let transactions = sealed.block().transactions();
    assert!(block.body.transactions.iter().eq(transactions.iter().map(|tx| &**tx)));
}

fn balance(sealed: &Sealed<Values>, address: Address) -> U256 {
    let value = sealed.layer.value(&AccountKeys::<Blake2b>::new(address).basic_data()).unwrap();
    value.map_or(U256::ZERO, |value| U256::from(BasicData::decode(&value).unwrap().balance))
}

fn slot(sealed: &Sealed<Values>, address: Address, slot: u64) -> U256 {
    let key = AccountKeys::<Blake2b>::new(address).slot(U256::from(slot));
    sealed.layer.value(&key).unwrap().unwrap_or_default().into()
}

#[test]
fn every_type_of_transaction_is_built_and_refined() {
    let mut chain = chain();
    let [alice, bob, carol, dave] = [0, 1, 2, 3].map(Wallet::new);
    let item = AccessListItem { address: COUNTER, storage_keys: vec![B256::ZERO] };
    let listed = Call { access_list: AccessList(vec![item]), ..Call::to(COUNTER, 1) };
    // `carol` becomes a counter and is called as one, by another sender.
    let delegated = bob.eip7702(Call::to(carol.address(), 0), vec![carol.delegates(COUNTER, 0)]);
    let transactions = [
        alice.legacy(Call::transfer(Address::repeat_byte(0x99), 0, 5)),
        alice.eip2930(listed.clone()),
        alice.eip1559(Call { nonce: 2, ..listed }),
        delegated,
        bob.eip1559(Call::to(carol.address(), 1)),
        dave.eip1559(Call::create(contracts::deploy(contracts::COUNT), 0)),
        dave.eip1559(Call::to(dave.address().create(0), 1)),
        dave.eip1559(Call::create(contracts::destroyed_at_once(), 2)),
        dave.eip1559(Call::to(SEE, 3)),
    ];
    let sealed = chain.build(&transactions);
    assert_eq!(sealed.block().transactions().len(), transactions.len());
    assert!(sealed.receipts.iter().all(|receipt| receipt.status()));
    validate(&chain, &sealed);

    let header = sealed.block().header();
    assert_eq!(slot(&sealed, COUNTER, 0), U256::from(2));
    assert_eq!(slot(&sealed, carol.address(), 0), U256::from(2));
    assert_eq!(slot(&sealed, dave.address().create(0), 0), U256::ONE);
    assert_eq!(balance(&sealed, Address::repeat_byte(0x99)), U256::from(5));
    assert_eq!(balance(&sealed, dave.address().create(2)), U256::ZERO);
    assert_eq!(slot(&sealed, dave.address().create(2), 1), U256::ZERO);
    let designator = [&EIP7702_DELEGATION_DESIGNATOR[..], COUNTER.as_slice()].concat();
    let code_hash = sealed.layer.value(&AccountKeys::<Blake2b>::new(carol.address()).code_hash()).unwrap();
    assert_eq!(code_hash, Some(keccak256(designator)));

    // What a contract sees is what the header says.
    assert_eq!(slot(&sealed, SEE, 0), U256::ONE);
    assert_eq!(slot(&sealed, SEE, 1), U256::from(header.timestamp));
    assert_eq!(slot(&sealed, SEE, 2), U256::from(header.base_fee_per_gas.unwrap()));
    assert_eq!(slot(&sealed, SEE, 3), U256::from_be_bytes(BENEFICIARY.into_word().0));
    assert_eq!(slot(&sealed, SEE, 4), U256::from_be_bytes(keccak256(header.parent_hash).0));
    assert_eq!(slot(&sealed, SEE, 5), U256::from(732846));
    assert_eq!(
        slot(&sealed, SEE, 6),
        U256::from_be_bytes(header.parent_hash.0),
        "BLOCKHASH comes from the history contract"
    );
    assert_eq!(slot(&sealed, SEE, 7), U256::from(service::config::GAS_LIMIT));
    assert_eq!(slot(&sealed, SEE, 8), U256::ONE);
}

#[test]
fn a_contract_that_was_there_before_survives_its_self_destruction() {
    // EIP-6780: only what is created in the same transaction goes; the balance moves all the same.
    let doomed = Address::repeat_byte(0xdd);
    let alice = Wallet::new(0);
    let mut chain = MemoryChain::new(&[
        (alice.address(), ether(1), Bytes::new()),
        (doomed, ether(2), Bytes::from_static(contracts::DESTROY)),
    ]);
    let sealed = chain.build(&[alice.eip1559(Call::to(doomed, 0))]);
    validate(&chain, &sealed);
    assert_eq!(balance(&sealed, doomed), U256::ZERO);
    assert!(balance(&sealed, alice.address()) > ether(2));
    let code_hash = sealed.layer.value(&AccountKeys::<Blake2b>::new(doomed).code_hash()).unwrap();
    assert_eq!(code_hash, Some(keccak256(contracts::DESTROY)));
}

#[test]
fn every_precompile_answers_the_same_on_both_sides() {
    let alice = Wallet::new(0);
    let mut chain = chain();
    let precompiles = (1..=0x11_u64).chain([0x100]);
    let transactions = precompiles.enumerate().map(|(nonce, number)| {
        let to = Address::left_padding_from(&number.to_be_bytes());
        let input = Bytes::from(vec![0; 288]);
        alice.eip1559(Call { input, ..Call::to(to, nonce as u64) })
    });
    let transactions = transactions.collect::<Vec<_>>();
    let sealed = chain.build(&transactions);
    assert_eq!(sealed.block().transactions().len(), 18);
    validate(&chain, &sealed);
}

#[test]
fn empty_blocks_follow_each_other_and_the_base_fee_stops_at_its_floor() {
    let mut chain = chain();
    chain.parent.header.base_fee_per_gas = Some(1_200_000_000);
    chain.parent.hash = chain.parent.header.hash_slow();
    let mut state = service::accumulate::ServiceState::new(chain.parent.id());
    for (number, fee) in [1_050_000_000, 1_000_000_000, 1_000_000_000].into_iter().enumerate() {
        let sealed = chain.build(&[]);
        validate(&chain, &sealed);
        assert_eq!(sealed.block().header().base_fee_per_gas, Some(fee));
        assert_eq!(sealed.block().id().number, number as u64 + 1);
        let claim = *chain.package(&sealed).0.claim();
        assert_eq!(state.apply(&claim), Outcome::Applied(vec![sealed.block().id()]));
        chain.advance(&sealed);
    }
}

#[test]
fn fees_go_to_the_beneficiary_and_the_base_fee_to_nobody() {
    let mut chain = chain();
    let alice = Wallet::new(0);
    let before = ether(100);
    let sealed = chain.build(&[alice.eip1559(Call::transfer(Address::repeat_byte(0x99), 0, 7))]);
    let gwei = U256::from(1_000_000_000);
    assert_eq!(balance(&sealed, BENEFICIARY), U256::from(21_000) * gwei);
    let paid = U256::from(7) + U256::from(2 * 21_000) * gwei;
    assert_eq!(balance(&sealed, alice.address()), before - paid);
    validate(&chain, &sealed);
}

#[test]
fn a_new_version_is_the_same_block_in_another_package() {
    let mut chain = chain();
    let alice = Wallet::new(0);
    let sealed = chain.build(&[alice.eip1559(Call::to(COUNTER, 0)), alice.eip1559(Call::to(SEE, 1))]);
    let (refined, first) = chain.package(&sealed);
    let draft = Draft::decode(&sealed.draft.encode()).unwrap();
    assert_eq!(draft, sealed.draft);
    let drafts = std::slice::from_ref(&draft);
    let rebuild =
        |number| chain.bundler.rebuild(drafts, &chain.parent, chain.codes.clone(), context(number)).unwrap();
    assert_eq!(
        (rebuild(1).hash, rebuild(1).bytes()),
        (first.hash, first.bytes()),
        "the same context, the same bytes"
    );
    let second = rebuild(2);
    assert_ne!(second.hash, first.hash);
    assert_eq!(second.run, types::Run::of(sealed.block().id()));
    let claim = chain.refine(&second.bytes()).unwrap().claim;
    assert_eq!(claim, *refined.claim());

    // On another state, or with another hash, there is no rebuilding.
    let mut other = chain.clone();
    other.advance(&sealed);
    assert!(other.bundler.rebuild(drafts, &other.parent, other.codes.clone(), context(2)).is_err());
}

#[test]
fn two_blocks_that_are_open_at_once_do_not_disturb_each_other() {
    let mut chain = chain();
    let [alice, bob] = [0, 1].map(Wallet::new);
    let of_alice = (0..5).map(|nonce| alice.eip1559(Call::to(COUNTER, nonce))).collect::<Vec<_>>();
    let of_bob = (0..5).map(|nonce| bob.eip1559(Call::to(COUNTER, nonce))).collect::<Vec<_>>();
    let mut alone = chain.clone();
    let alone = [alone.build(&of_alice), alone.build(&of_bob)].map(|sealed| sealed.block().id());

    let (mut first, mut second) = (chain.open(), chain.open());
    for (a, b) in of_alice.iter().zip(&of_bob) {
        first.push(a).unwrap();
        second.push(b).unwrap();
    }
    let secret = chain.secret.clone();
    let [first, second] = [first, second].map(|open| open.seal(&secret).unwrap());
    assert_eq!([&first, &second].map(|sealed| sealed.block().id()), alone);
    validate(&chain, &first);
    validate(&chain, &second);
    assert_eq!(slot(&first, COUNTER, 0), U256::from(5));
}

#[test]
fn no_two_sealed_blocks_share_a_hash() {
    let mut chain = chain();
    let ids = [0; 3].map(|_| chain.build(&[]).block().id());
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    assert!(ids.iter().all(|id: &BlockId| id.number == 1));
}

#[test]
fn a_refused_transaction_leaves_no_trace() {
    let mut chain = chain();
    let [alice, bob] = [0, 1].map(Wallet::new);
    let nobody = Wallet::new(77);
    let good = alice.eip1559(Call::to(COUNTER, 0));
    let clean = chain.clone().build(std::slice::from_ref(&good));
    let mut open = chain.open();
    let refused = |result: Result<&_, Refused>| result.map(drop).unwrap_err().to_string();
    for (tx, why) in [
        (nobody.eip1559(Call::to(TOKEN, 0)), "not now: insufficient funds for gas * price + value"),
        (bob.eip1559(Call::to(TOKEN, 9)), "not now: nonce 9, the sender's next is 0"),
        (
            bob.eip1559(Call { max_fee: 5, tip: 5, ..Call::to(TOKEN, 0) }),
            "not now: max fee per gas less than block base fee",
        ),
        (
            bob.eip1559(Call { gas_limit: 20_000, ..Call::to(TOKEN, 0) }),
            "never: invalid: call gas cost (21000) exceeds the gas limit (20000)",
        ),
        (bob.eip1559(Call { chain_id: 5, ..Call::to(TOKEN, 0) }), "never: invalid: invalid chain ID"),
        (bob.eip7702(Call::to(TOKEN, 0), vec![]), "never: invalid: empty authorization list"),
    ] {
        assert_eq!(refused(open.push(&tx)), why);
    }
    open.push(&good).unwrap();
    assert_eq!(refused(open.push(&good)), "never: nonce too low: another transaction took this nonce");
    let sealed = open.seal(&chain.secret).unwrap();
    assert_eq!(sealed.block().id(), clean.block().id());
    let extrinsics = |sealed| chain.package(sealed).0.extrinsics().to_vec();
    assert_eq!(extrinsics(&sealed), extrinsics(&clean));
    validate(&chain, &sealed);
}

#[test]
fn token_transfers_log_and_move_balances() {
    let [alice, bob] = [0, 1].map(Wallet::new);
    let mut chain = chain();
    // Without a balance the contract reverts, which is a receipt like any other.
    let sealed =
        chain
            .build(&[alice
                .eip1559(Call { input: contracts::erc20_transfer(bob.address(), 3), ..Call::to(TOKEN, 0) })]);
    assert!(!sealed.receipts[0].status());
    validate(&chain, &sealed);

    let amount = contracts::erc20_transfer(bob.address(), 0);
    let sealed = chain.build(&[alice.eip1559(Call { input: amount, ..Call::to(TOKEN, 0) })]);
    let logs = sealed.receipts[0].logs();
    assert_eq!((logs.len(), logs[0].topics()[0]), (1, contracts::TRANSFER_TOPIC));
    assert_eq!(logs[0].topics()[2], bob.address().into_word());
    assert_eq!(sealed.block().header().logs_bloom, *sealed.receipts[0].logs_bloom());
    validate(&chain, &sealed);
}
