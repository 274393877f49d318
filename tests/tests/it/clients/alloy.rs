//! alloy: the client that Rust programs use, with its fillers over HTTP and its subscriptions over a WebSocket.

use super::{Network, install};
use alloy_contract::Error as ContractError;
use alloy_eips::eip7702::Authorization;
use alloy_network::{EthereumWallet, TransactionBuilder, TransactionBuilder7702, TransactionResponse as _};
use alloy_primitives::{Address, Bytes, U256};
use alloy_provider::{DynProvider, Provider, ProviderBuilder, WsConnect};
use alloy_rpc_types_eth::{Filter, TransactionReceipt, TransactionRequest};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolCall, SolEvent, SolValue, sol};
use futures_util::StreamExt;
use serde_json::Value;
use std::time::Duration;

sol! {
    #[sol(rpc)]
    contract Token {
        event Transfer(address indexed from, address indexed to, uint256 value);
        #[derive(Debug, PartialEq, Eq)]
        error InsufficientBalance(address owner, uint256 has, uint256 wants);
        function name() external view returns (string);
        function totalSupply() external view returns (uint256);
        function balanceOf(address owner) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
        function approve(address spender, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
    }

    #[sol(rpc)]
    contract Delegate {
        struct Call { address to; uint256 value; bytes data; }
        event Ran(address indexed account, uint256 calls);
        function run(Call[] calldata calls) external payable;
    }
}

const NAME: &str = "Pectin Token";
const SUPPLY: u64 = 1_000_000;
/// Nothing here takes long; what does not come is a failed test, not a hanging one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who talks to the node, and about what.
struct Session {
    node: DynProvider,
    live: DynProvider,
    alice: Address,
    bob: Address,
    token: Token::TokenInstance<DynProvider>,
    deployed: u64,
}

async fn mined(request: TransactionRequest, node: &DynProvider) -> TransactionReceipt {
    let receipt = node.send_transaction(request).await.unwrap().get_receipt().await.unwrap();
    assert!(receipt.status(), "{receipt:?}");
    receipt
}

fn creation(code: &Value, arguments: Vec<u8>) -> TransactionRequest {
    let mut code = code["bytecode"].as_str().unwrap().parse::<Bytes>().unwrap().to_vec();
    code.extend(arguments);
    TransactionRequest::default().with_deploy_code(code)
}

impl Session {
    /// Connects, deploys the token, and waits for two confirmations.
    async fn start(network: &Network, token: &Value) -> Self {
        let [alice, bob] = [0, 1].map(|n: usize| network.keys[n].parse::<PrivateKeySigner>().unwrap());
        let wallet = EthereumWallet::from(alice.clone());
        let http = network.http().parse().unwrap();
        let node = ProviderBuilder::new().wallet(wallet).connect_http(http);
        node.client().set_poll_interval(Duration::from_millis(100));
        let node = node.erased();
        let live = ProviderBuilder::new().connect_ws(WsConnect::new(network.ws())).await.unwrap().erased();
        assert_eq!(node.get_chain_id().await.unwrap(), 732846);
        let arguments = (NAME.to_owned(), U256::from(SUPPLY)).abi_encode_params();
        let sent = node.send_transaction(creation(token, arguments)).await.unwrap();
        let receipt = sent.with_required_confirmations(2).get_receipt().await.unwrap();
        let deployed = receipt.block_number.unwrap();
        assert!(node.get_block_number().await.unwrap() > deployed, "two confirmations");
        let token = Token::new(receipt.contract_address.unwrap(), node.clone());
        Self { node, live, alice: alice.address(), bob: bob.address(), token, deployed }
    }

    async fn balance(&self, owner: Address) -> u64 {
        self.token.balanceOf(owner).call().await.unwrap().to()
    }

    fn transfer(&self, value: u64) -> TransactionRequest {
        let call = self.token.transfer(self.bob, U256::from(value));
        call.into_transaction_request()
    }
}

#[test]
fn alloy() {
    let Some(installed) = install::installed() else { return };
    let network = Network::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let session = Session::start(&network, &installed.artifact("Token")).await;
        assert_eq!(session.token.name().call().await.unwrap(), NAME);
        assert_eq!(session.token.totalSupply().call().await.unwrap(), U256::from(SUPPLY));
        session.a_transfer_is_seen_everywhere().await;
        session.fees_are_estimated().await;
        session.failures_have_names().await;
        session.fifty_in_a_row().await;
        session.access_lists().await;
        session.a_receipt_at_once().await;
        session.a_delegation(&installed.artifact("Delegate")).await;
    });
    network.conclude("alloy");
}

impl Session {
    async fn a_transfer_is_seen_everywhere(&self) {
        let of_token =
            Filter::new().address(*self.token.address()).event_signature(Token::Transfer::SIGNATURE_HASH);
        let filter = self.node.new_filter(&of_token).await.unwrap();
        let mut polled = self.node.watch_blocks().await.unwrap().into_stream();
        let mut logs = self.live.subscribe_logs(&of_token).await.unwrap();
        let mut heads = self.live.subscribe_blocks().await.unwrap();
        let mut pending = self.live.subscribe_pending_transactions().await.unwrap();

        let gas =
            self.token.transfer(self.bob, U256::from(100)).from(self.alice).estimate_gas().await.unwrap();
        let receipt = mined(self.transfer(100), &self.node).await;
        assert!(gas >= receipt.gas_used && gas < 100_000, "{gas}");
        let event = receipt.decoded_log::<Token::Transfer>().unwrap();
        assert_eq!((event.from, event.to, event.value), (self.alice, self.bob, U256::from(100)));
        assert_eq!((self.balance(self.alice).await, self.balance(self.bob).await), (SUPPLY - 100, 100));

        let found =
            self.node.get_logs(&of_token.clone().from_block(self.deployed).topic2(self.bob)).await.unwrap();
        assert_eq!(
            found.iter().map(|log| log.transaction_hash).collect::<Vec<_>>(),
            [Some(receipt.transaction_hash)]
        );
        let changes = self.node.get_filter_changes::<alloy_rpc_types_eth::Log>(filter).await.unwrap();
        assert_eq!(changes, found);
        assert!(self.node.uninstall_filter(filter).await.unwrap());
        let seen = async {
            assert_eq!(logs.recv().await.unwrap(), found[0]);
            assert_eq!(pending.recv().await.unwrap(), receipt.transaction_hash);
            assert!(heads.recv().await.unwrap().number > self.deployed);
            let wanted = receipt.block_hash.unwrap();
            while !polled.next().await.unwrap().contains(&wanted) {}
        };
        tokio::time::timeout(PATIENCE, seen).await.unwrap();
        let trace = self.node.raw_request("debug_traceTransaction".into(), [receipt.transaction_hash]).await;
        assert_eq!(trace.map(|trace: Value| trace["gas"].as_u64()).unwrap(), Some(receipt.gas_used));
    }

    async fn fees_are_estimated(&self) {
        let fees = self.node.estimate_eip1559_fees().await.unwrap();
        assert!(fees.max_fee_per_gas > fees.max_priority_fee_per_gas);
        assert!(self.node.get_gas_price().await.unwrap() >= 1_000_000_000);
        let history = self.node.get_fee_history(4, Default::default(), &[25.0, 75.0]).await.unwrap();
        assert_eq!(history.base_fee_per_gas.len(), history.gas_used_ratio.len() + 1);
    }

    async fn failures_have_names(&self) {
        let too_much =
            self.token.transfer(self.alice, U256::from(101)).from(self.bob).call().await.unwrap_err();
        let poor = too_much.as_decoded_error::<Token::InsufficientBalance>().unwrap();
        let expected =
            Token::InsufficientBalance { owner: self.bob, has: U256::from(100), wants: U256::from(101) };
        assert_eq!(poor, expected);
        let reason = |error: &ContractError| {
            let data = error.as_revert_data().unwrap();
            alloy_sol_types::decode_revert_reason(&data).unwrap()
        };
        let nobody = self.token.approve(Address::ZERO, U256::from(1));
        let words = "revert: nobody can be allowed nothing";
        assert_eq!(reason(&nobody.call().await.unwrap_err()), words);
        assert_eq!(reason(&nobody.estimate_gas().await.unwrap_err()), words);
        let steal = self.token.transferFrom(self.alice, self.bob, U256::from(1)).from(self.bob);
        assert!(reason(&steal.call().await.unwrap_err()).contains("0x11"));
        let failing = self.transfer(SUPPLY).with_gas_limit(100_000);
        let receipt = self.node.send_transaction(failing).await.unwrap().get_receipt().await.unwrap();
        assert!(!receipt.status());
    }

    async fn fifty_in_a_row(&self) {
        let first = self.node.get_transaction_count(self.alice).await.unwrap();
        let mut sent = vec![];
        for _ in 0..50 {
            sent.push(self.node.send_transaction(self.transfer(1).with_gas_limit(100_000)).await.unwrap());
        }
        for one in sent {
            assert!(one.get_receipt().await.unwrap().status());
        }
        assert_eq!(self.balance(self.bob).await, 150);
        assert_eq!(self.node.get_transaction_count(self.alice).await.unwrap(), first + 50);
    }

    async fn access_lists(&self) {
        let made = self.node.create_access_list(&self.transfer(1).with_from(self.alice)).await.unwrap();
        let [entry] = &*made.access_list.0 else { panic!("{made:?}") };
        assert_eq!((entry.address, entry.storage_keys.len()), (*self.token.address(), 2));
        let price = self.node.get_gas_price().await.unwrap();
        let requests = [self.transfer(1).with_gas_price(price), self.transfer(1)];
        for (request, kind) in requests.into_iter().zip([1_u8, 2]) {
            let receipt = mined(request.with_access_list(made.access_list.clone()), &self.node).await;
            let found = self.node.get_transaction_by_hash(receipt.transaction_hash).await.unwrap().unwrap();
            assert_eq!(u8::from(found.inner.tx_type()), kind);
            assert_eq!(
                alloy_consensus::Transaction::access_list(found.inner.inner()),
                Some(&made.access_list)
            );
            assert_eq!(found.from(), self.alice);
        }
    }

    async fn a_receipt_at_once(&self) {
        let request = TransactionRequest::default().with_to(self.bob).with_value(U256::from(1));
        let receipt = self.node.send_transaction_sync(request).await.unwrap();
        assert!(receipt.status());
        assert_eq!(receipt.to, Some(self.bob));
    }

    /// A fresh account becomes a contract, in whose name calls are made, and then is none again.
    async fn a_delegation(&self, code: &Value) {
        let carol = PrivateKeySigner::random();
        let code = mined(creation(code, vec![]), &self.node).await.contract_address.unwrap();
        let call = |to, value| Token::transferCall { to, value: U256::from(value) }.abi_encode();
        let give =
            TransactionRequest::default().with_to(*self.token.address()).with_input(call(carol.address(), 7));
        mined(give, &self.node).await;
        let authorize = |address, nonce| {
            let authorization = Authorization { chain_id: U256::from(732846), address, nonce };
            let signature = carol.sign_hash_sync(&authorization.signature_hash()).unwrap();
            authorization.into_signed(signature)
        };
        let calls = [1, 2].map(|value| Delegate::Call {
            to: *self.token.address(),
            value: U256::ZERO,
            data: call(self.bob, value).into(),
        });
        let run =
            Delegate::new(carol.address(), self.node.clone()).run(calls.to_vec()).into_transaction_request();
        let receipt = mined(run.with_authorization_list(vec![authorize(code, 0)]), &self.node).await;
        let designation = [&[0xef, 0x01, 0x00], code.as_slice()].concat();
        assert_eq!(self.node.get_code_at(carol.address()).await.unwrap(), Bytes::from(designation));
        let ran = receipt.decoded_log::<Delegate::Ran>().unwrap();
        assert_eq!((ran.account, ran.calls), (carol.address(), U256::from(2)));
        assert_eq!(self.balance(carol.address()).await, 4);
        let revoke = TransactionRequest::default().with_to(carol.address());
        mined(revoke.with_authorization_list(vec![authorize(Address::ZERO, 1)]), &self.node).await;
        assert!(self.node.get_code_at(carol.address()).await.unwrap().is_empty());
    }
}
