// ethers 6: a JSON-RPC provider that batches what comes together, and a WebSocket provider.
import { Contract, ContractFactory, Interface, JsonRpcProvider, Network, Wallet, WebSocketProvider, ZeroAddress, parseEther, toQuantity } from "ethers";
import { CHAIN_ID, NAME, SUPPLY, artifact, failure, happens, holds, http, keys, same, ws } from "../given.mjs";

const network = Network.from(CHAIN_ID);
const node = new JsonRpcProvider(http, network, { staticNetwork: network, cacheTimeout: -1 });
node.pollingInterval = 100;
const live = new WebSocketProvider(ws, network);
const [alice, bob] = keys.map((key) => new Wallet(key, node));
const { abi, bytecode } = artifact("Token");
const delegate = artifact("Delegate");

const mined = async (sent, confirmations = 1) => {
  const receipt = await (await sent).wait(confirmations);
  same(`status of ${receipt.hash}`, receipt.status, 1);
  return receipt;
};

// Deploy, and wait for two confirmations.
same("chain id", BigInt(await node.send("eth_chainId", [])), BigInt(CHAIN_ID));
const token = await new ContractFactory(abi, bytecode, alice).deploy(NAME, SUPPLY);
const deployed = await mined(token.deploymentTransaction(), 2);
const address = await token.getAddress();
same("where it is", deployed.contractAddress, address);
holds("two confirmations", (await deployed.confirmations()) >= 2);

// Reads, several in one request.
same("reads", await Promise.all([token.name(), token.symbol(), token.decimals(), token.totalSupply()]), [NAME, "JAM", 18n, SUPPLY]);
holds("there is code", (await node.getCode(address)).length > 1000);
same("there was none", await node.getCode(address, deployed.blockNumber - 1), "0x");

// Filters (over HTTP) and subscriptions (over the WebSocket) are there before what they shall show.
const filter = await node.send("eth_newFilter", [{ address, fromBlock: toQuantity(deployed.blockNumber) }]);
const seen = { polled: happens("a polled event"), log: happens("a log"), block: happens("a block"), pending: happens("a transaction") };
const liveToken = new Contract(address, abi, live);
const value = (name) => (...args) => seen[name].tell(args.slice(0, 3));
await token.once(token.filters.Transfer(null, bob.address), (event) => seen.polled.tell([...event.args]));
await liveToken.once("Transfer", value("log"));
await live.once("block", seen.block.tell);
await live.once("pending", seen.pending.tell);
// What the provider subscribes to it asks for without waiting; on one connection this comes after it.
await live.send("eth_unsubscribe", [await live.send("eth_subscribe", ["newHeads"])]);

// Write.
same("a simulated result", await token.transfer.staticCall(bob.address, 100n), true);
const gas = await token.transfer.estimateGas(bob.address, 100n);
const receipt = await mined(token.transfer(bob.address, 100n));
holds("the estimate suffices", gas >= receipt.gasUsed && gas < 100_000n);
const event = [alice.address, bob.address, 100n];
same("the event", receipt.logs.map((log) => [log.fragment.name, ...log.args]), [["Transfer", ...event]]);
same("balances", await Promise.all([token.balanceOf(alice), token.balanceOf(bob)]), [SUPPLY - 100n, 100n]);

// The same by logs, by filters, and by subscriptions.
const found = await token.queryFilter(token.filters.Transfer(null, bob.address), deployed.blockNumber);
same("logs by a topic", found.map((log) => [log.transactionHash, ...log.args]), [[receipt.hash, ...event]]);
same("all logs", (await node.getLogs({ address, fromBlock: deployed.blockNumber })).length, 2);
same("logs of a block", (await node.getLogs({ address, blockHash: receipt.blockHash })).length, 1);
same("the filter's logs", (await node.send("eth_getFilterChanges", [filter])).map((log) => log.transactionHash), [receipt.hash]);
same("all of the filter's", (await node.send("eth_getFilterLogs", [filter])).length, 2);
same("the filter ends", await node.send("eth_uninstallFilter", [filter]), true);
same("the polled event", await seen.polled.told, event);
same("the subscribed event", await seen.log.told, event);
same("the subscribed transaction", await seen.pending.told, receipt.hash);
holds("the subscribed block follows", (await seen.block.told) > deployed.blockNumber);

// Fees.
const fees = await node.getFeeData();
holds("fees", fees.gasPrice >= 10n ** 9n && fees.maxFeePerGas > fees.maxPriorityFeePerGas);
const block = await node.getBlock("latest", true);
holds("a block with its base fee", block.baseFeePerGas >= 10n ** 9n);

// Why something fails, by name.
const poor = await failure("too much", token.connect(bob).transfer.staticCall(alice.address, 101n));
same("the custom error", [poor.code, poor.revert.name, [...poor.revert.args]], ["CALL_EXCEPTION", "InsufficientBalance", [bob.address, 100n, 101n]]);
same("the reason", (await failure("nobody", token.approve.staticCall(ZeroAddress, 1n))).reason, "nobody can be allowed nothing");
same("an estimate's reason", (await failure("nobody", token.approve(ZeroAddress, 1n))).reason, "nobody can be allowed nothing");
const panic = await failure("not allowed", token.connect(bob).transferFrom.staticCall(alice.address, bob.address, 1n));
same("the panic", [panic.revert.name, [...panic.revert.args]], ["Panic", [0x11]]);
const failed = await failure("a mined failure", token.transfer(bob.address, SUPPLY, { gasLimit: 100_000 }).then((sent) => sent.wait()));
same("a mined failure", [failed.code, failed.receipt.status], ["CALL_EXCEPTION", 0]);
same("too poor", (await failure("too poor", alice.sendTransaction({ to: bob, value: parseEther("1000000"), gasLimit: 21_000 }))).code, "INSUFFICIENT_FUNDS");
same("an old nonce", (await failure("an old nonce", alice.sendTransaction({ to: bob, nonce: 0 }))).code, "NONCE_EXPIRED");

// Fifty in a row, none waits for another.
const first = await alice.getNonce();
const sent = [];
for (let i = 0; i < 50; i++) sent.push(await token.transfer(bob.address, 1n, { nonce: first + i, gasLimit: 100_000 }));
await Promise.all(sent.map((one) => mined(one)));
same("after fifty", [await token.balanceOf(bob), await alice.getNonce()], [150n, first + 50]);

// Access lists: made by the node, used in types 1 and 2.
const call = await token.transfer.populateTransaction(bob.address, 1n);
const { accessList } = await node.send("eth_createAccessList", [{ ...call, from: alice.address }, "latest"]);
same("whose storage", accessList.map((entry) => [entry.address, entry.storageKeys.length]), [[address.toLowerCase(), 2]]);
for (const type of [1, 2]) {
  const { hash } = await mined(alice.sendTransaction({ ...call, type, accessList }));
  const tx = await node.getTransaction(hash);
  same(`an access list in type ${type}`, [tx.type, tx.accessList.map((entry) => entry.storageKeys)], [type, accessList.map((entry) => entry.storageKeys)]);
}

// The receipt is the answer.
const transaction = await alice.populateTransaction({ to: bob.address, value: parseEther("1") });
const sync = await node.send("eth_sendRawTransactionSync", [await alice.signTransaction(transaction)]);
same("a receipt at once", [sync.status, sync.to], ["0x1", bob.address.toLowerCase()]);

// Delegation: a fresh account becomes a contract, in whose name calls are made, and then is none again.
const carol = Wallet.createRandom(node);
const code = await new ContractFactory(delegate.abi, delegate.bytecode, alice).deploy();
await code.waitForDeployment();
await mined(token.transfer(carol.address, 7n));
const carolRuns = new Contract(carol.address, delegate.abi, alice);
const calls = await Promise.all([1n, 2n].map(async (n) => ({ to: address, value: 0n, data: (await token.transfer.populateTransaction(bob.address, n)).data })));
const authorization = await carol.authorize({ address: await code.getAddress(), nonce: 0, chainId: CHAIN_ID });
const run = await mined(carolRuns.run(calls, { authorizationList: [authorization] }));
same("the type of a delegation", run.type, 4);
same("the delegation", await node.getCode(carol.address), `0xef0100${(await code.getAddress()).slice(2).toLowerCase()}`);
const ran = new Interface(delegate.abi).parseLog(run.logs.at(-1));
same("who ran", [ran.name, ...ran.args], ["Ran", carol.address, 2n]);
same("what is left", await token.balanceOf(carol), 4n);
const revoke = await carol.authorize({ address: ZeroAddress, nonce: 1, chainId: CHAIN_ID });
await mined(alice.sendTransaction({ to: carol.address, authorizationList: [revoke] }));
same("no delegation", await node.getCode(carol.address), "0x");
process.exit(0);
