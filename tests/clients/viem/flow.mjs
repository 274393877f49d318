// viem: public and wallet clients over HTTP (in batches) and over a WebSocket.
import {
  BaseError, ContractFunctionRevertedError, createPublicClient, createWalletClient, decodeEventLog, defineChain, encodeFunctionData,
  http as overHttp, parseEther, parseEventLogs, webSocket, zeroAddress,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { CHAIN_ID, NAME, SUPPLY, artifact, failure, happens, holds, http, keys, same, ws } from "../given.mjs";

const chain = defineChain({
  id: CHAIN_ID,
  name: "Pectin",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [http], webSocket: [ws] } },
});
const [alice, bob] = keys.map((key) => privateKeyToAccount(key));
const node = createPublicClient({ chain, transport: overHttp(http, { batch: true }), pollingInterval: 100 });
const live = createPublicClient({ chain, transport: webSocket(ws) });
const wallet = createWalletClient({ account: alice, chain, transport: overHttp(http), pollingInterval: 100 });
const { abi, bytecode } = artifact("Token");
const delegate = artifact("Delegate");

const receiptOf = async (hash, confirmations = 1) => {
  const receipt = await node.waitForTransactionReceipt({ hash, confirmations });
  same(`status of ${hash}`, receipt.status, "success");
  return receipt;
};

// Deploy, and wait for two confirmations.
same("chain id", await node.getChainId(), CHAIN_ID);
const deployed = await receiptOf(await wallet.deployContract({ abi, bytecode, args: [NAME, SUPPLY] }), 2);
const address = deployed.contractAddress;
const confirmations = await node.getTransactionConfirmations({ transactionReceipt: deployed });
holds(`${confirmations} confirmations are two`, confirmations >= 2n);
const token = { address, abi };
const balance = (owner, more = {}) => node.readContract({ ...token, functionName: "balanceOf", args: [owner], ...more });

// Reads, several in one request.
const reads = ["name", "symbol", "decimals", "totalSupply"].map((functionName) => node.readContract({ ...token, functionName }));
same("reads", await Promise.all(reads), [NAME, "JAM", 18, SUPPLY]);
same("nothing was there before", await failure("an older state", balance(alice.address, { blockNumber: 0n })).then((e) => e.name), "ContractFunctionExecutionError");

// Filters and subscriptions are there before what they shall show.
const logFilter = await node.createContractEventFilter({ ...token, eventName: "Transfer" });
const blockFilter = await node.createBlockFilter();
const pendingFilter = await node.createPendingTransactionFilter();
const seen = { log: happens("a log"), block: happens("a block"), pending: happens("a transaction"), number: happens("a number") };
const onError = (error) => { throw error; };
const watches = [
  live.watchContractEvent({ ...token, eventName: "Transfer", onLogs: ([log]) => seen.log.tell(log), onError }),
  live.watchBlocks({ onBlock: seen.block.tell, onError }),
  live.watchPendingTransactions({ onTransactions: ([hash]) => seen.pending.tell(hash), onError }),
  live.watchBlockNumber({ onBlockNumber: seen.number.tell, onError }),
];
// Calls on one connection are answered while subscriptions begin; these come after them.
while ((await live.request({ method: "eth_subscribe", params: ["newHeads"] }).then((id) => live.request({ method: "eth_unsubscribe", params: [id] }))) !== true);

// Write, as simulated.
const transfer = { ...token, functionName: "transfer", args: [bob.address, 100n] };
const { request, result } = await node.simulateContract({ ...transfer, account: alice });
same("the simulated result", result, true);
const gas = await node.estimateContractGas({ ...transfer, account: alice });
const transferred = await wallet.writeContract(request);
const receipt = await receiptOf(transferred);
const event = { from: alice.address, to: bob.address, value: 100n };
same("the event", parseEventLogs({ abi, logs: receipt.logs }).map(({ eventName, args }) => ({ eventName, args })), [{ eventName: "Transfer", args: event }]);
same("balances", await Promise.all([balance(alice.address), balance(bob.address)]), [SUPPLY - 100n, 100n]);

// The same by logs, by filters, and by subscriptions.
const between = { fromBlock: deployed.blockNumber, toBlock: "latest" };
const logs = await node.getContractEvents({ ...token, eventName: "Transfer", args: { to: bob.address }, ...between });
same("logs by a topic", logs.map((log) => [log.transactionHash, log.args]), [[transferred, event]]);
same("all logs", (await node.getLogs({ address, ...between })).length, 2);
same("logs of a block", (await node.getLogs({ address, blockHash: receipt.blockHash })).length, 1);
same("the filter's logs", (await node.getFilterChanges({ filter: logFilter })).map((log) => log.args), [event]);
same("and nothing twice", await node.getFilterChanges({ filter: logFilter }), []);
holds("the filter's blocks have it", (await node.getFilterChanges({ filter: blockFilter })).includes(receipt.blockHash));
holds("the filter's transactions have it", (await node.getFilterChanges({ filter: pendingFilter })).includes(transferred));
for (const filter of [logFilter, blockFilter, pendingFilter]) same("the filter ends", await node.uninstallFilter({ filter }), true);
same("the subscribed log", (await seen.log.told).args, event);
same("the subscribed transaction", await seen.pending.told, transferred);
holds("the subscribed block follows", (await seen.block.told).number > deployed.blockNumber);
holds("the subscribed number follows", (await seen.number.told) > deployed.blockNumber);
watches.forEach((end) => end());

// Fees.
const fees = await node.estimateFeesPerGas();
holds("the fee covers the base fee", fees.maxFeePerGas > fees.maxPriorityFeePerGas);
holds("a gas price", (await node.getGasPrice()) >= 1_000_000_000n);
const history = await node.getFeeHistory({ blockCount: 4, rewardPercentiles: [25, 75] });
same("a fee history", [history.baseFeePerGas.length - 1, history.reward.length], [history.gasUsedRatio.length, history.gasUsedRatio.length]);
holds("the estimate suffices", gas >= receipt.gasUsed && gas < 100_000n);

// Why something fails, by name.
const reverted = async (what, call) => {
  const error = await failure(what, call);
  holds(`${what} is an error of viem`, error instanceof BaseError);
  return error.walk((cause) => cause instanceof ContractFunctionRevertedError);
};
const poor = await reverted("too much", node.simulateContract({ ...token, functionName: "transfer", args: [alice.address, 101n], account: bob }));
same("the custom error", [poor.data.errorName, poor.data.args], ["InsufficientBalance", [bob.address, 100n, 101n]]);
const approveNobody = { ...token, functionName: "approve", args: [zeroAddress, 1n], account: alice };
same("the reason", (await reverted("nobody", node.simulateContract(approveNobody))).reason, "nobody can be allowed nothing");
const steal = { ...token, functionName: "transferFrom", args: [alice.address, bob.address, 1n], account: bob };
same("the panic", (await reverted("not allowed", node.simulateContract(steal))).data.args, [0x11n]);
same("an estimate fails alike", (await reverted("not allowed", node.estimateContractGas(approveNobody))).reason, "nobody can be allowed nothing");
const failing = await wallet.writeContract({ ...token, functionName: "transfer", args: [bob.address, SUPPLY], gas: 100_000n });
same("a mined failure", (await node.waitForTransactionReceipt({ hash: failing })).status, "reverted");

// Fifty in a row, none waits for another.
const first = await node.getTransactionCount({ address: alice.address });
const hashes = [];
for (let i = 0; i < 50; i++) hashes.push(await wallet.writeContract({ ...token, functionName: "transfer", args: [bob.address, 1n], nonce: first + i, gas: 100_000n }));
await Promise.all(hashes.map((hash) => receiptOf(hash)));
same("after fifty", [await balance(bob.address), await node.getTransactionCount({ address: alice.address })], [150n, first + 50]);

// Access lists: made by the node, used in types 1 and 2.
const data = encodeFunctionData({ abi, functionName: "transfer", args: [bob.address, 1n] });
const { accessList } = await node.createAccessList({ account: alice, to: address, data });
same("whose storage", accessList.map((entry) => [entry.address, entry.storageKeys.length]), [[address.toLowerCase(), 2]]);
for (const type of ["eip2930", "eip1559"]) {
  const mined = await receiptOf(await wallet.sendTransaction({ type, to: address, data, accessList }));
  const found = await node.getTransaction({ hash: mined.transactionHash });
  same(`an access list in ${type}`, [found.type, found.accessList], [type, accessList]);
}

// The receipt is the answer.
const sync = await wallet.sendTransactionSync({ to: bob.address, value: parseEther("1") });
same("a receipt at once", [sync.status, sync.to], ["success", bob.address.toLowerCase()]);

// Delegation: a fresh account becomes a contract, in whose name calls are made, and then is none again.
const carol = privateKeyToAccount(generatePrivateKey());
const { contractAddress: code } = await receiptOf(await wallet.deployContract(delegate));
await receiptOf(await wallet.writeContract({ ...token, functionName: "transfer", args: [carol.address, 7n] }));
const authorization = await wallet.signAuthorization({ account: carol, contractAddress: code });
const calls = [1n, 2n].map((value) => ({ to: address, value: 0n, data: encodeFunctionData({ abi, functionName: "transfer", args: [bob.address, value] }) }));
const run = await receiptOf(await wallet.writeContract({ address: carol.address, abi: delegate.abi, functionName: "run", args: [calls], authorizationList: [authorization] }));
same("the type of a delegation", run.type, "eip7702");
same("the delegation", await node.getCode({ address: carol.address }), `0xef0100${code.slice(2).toLowerCase()}`);
const ran = decodeEventLog({ abi: delegate.abi, ...run.logs.at(-1) });
same("who ran", [ran.eventName, ran.args], ["Ran", { account: carol.address, calls: 2n }]);
same("what is left", await balance(carol.address), 4n);
const revoke = await wallet.signAuthorization({ account: carol, contractAddress: zeroAddress });
await receiptOf(await wallet.sendTransaction({ to: carol.address, authorizationList: [revoke] }));
same("no delegation", await node.getCode({ address: carol.address }), undefined);

// What has not happened: simulated blocks and proofs.
const { results } = await node.simulateCalls({ account: bob.address, calls: [{ to: address, abi, functionName: "transfer", args: [alice.address, 5n] }, { to: address, abi, functionName: "balanceOf", args: [alice.address] }] });
same("simulated", results[1].result, (await balance(alice.address)) + 5n);
const proof = await node.getProof({ address: alice.address, storageKeys: [] });
same("the proven balance", proof.balance, await node.getBalance({ address: alice.address }));
process.exit(0);
