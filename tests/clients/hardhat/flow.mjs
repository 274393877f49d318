// Hardhat: its compilation, its network connection, its signers, and what it does itself between them and the node
// (accounts, chain id, gas). It has no WebSockets; events are polled for.
import hre from "hardhat";
import { CHAIN_ID, NAME, SUPPLY, failure, happens, holds, same } from "../given.mjs";

const { ethers, provider } = await hre.network.connect("pectin");
const node = ethers.provider;
const rpc = (method, ...params) => provider.request({ method, params });
const [alice, bob] = await ethers.getSigners();

const mined = async (sent, confirmations = 1) => {
  const receipt = await (await sent).wait(confirmations);
  same(`status of ${receipt.hash}`, receipt.status, 1);
  return receipt;
};

// Deploy, and wait for two confirmations.
same("chain id", BigInt(await rpc("eth_chainId")), BigInt(CHAIN_ID));
const token = await ethers.deployContract("Token", [NAME, SUPPLY]);
const deployed = await mined(token.deploymentTransaction(), 2);
const address = await token.getAddress();
holds("two confirmations", (await deployed.confirmations()) >= 2);

// Reads.
same("reads", await Promise.all([token.name(), token.symbol(), token.decimals(), token.totalSupply()]), [NAME, "JAM", 18n, SUPPLY]);
same("there was no code", await node.getCode(address, deployed.blockNumber - 1), "0x");

// Filters and a listener are there before what they shall show.
const logFilter = await rpc("eth_newFilter", { address, fromBlock: ethers.toQuantity(deployed.blockNumber) });
const blockFilter = await rpc("eth_newBlockFilter");
const polled = happens("a polled event");
await token.once(token.filters.Transfer(null, bob.address), (event) => polled.tell([...event.args]));

// Write.
same("a simulated result", await token.transfer.staticCall(bob.address, 100n), true);
const gas = await token.transfer.estimateGas(bob.address, 100n);
const receipt = await mined(token.transfer(bob.address, 100n));
holds("the estimate suffices", gas >= receipt.gasUsed && gas < 100_000n);
const event = [alice.address, bob.address, 100n];
same("the event", receipt.logs.map((log) => [log.fragment.name, ...log.args]), [["Transfer", ...event]]);
same("balances", await Promise.all([token.balanceOf(alice), token.balanceOf(bob)]), [SUPPLY - 100n, 100n]);
same("the polled event", await polled.told, event);

// The same by logs and by filters.
const found = await token.queryFilter(token.filters.Transfer(null, bob.address), deployed.blockNumber);
same("logs by a topic", found.map((log) => [log.transactionHash, ...log.args]), [[receipt.hash, ...event]]);
same("the filter's logs", (await rpc("eth_getFilterChanges", logFilter)).map((log) => log.transactionHash), [receipt.hash]);
same("all of the filter's", (await rpc("eth_getFilterLogs", logFilter)).length, 2);
holds("the filter's blocks have it", (await rpc("eth_getFilterChanges", blockFilter)).includes(receipt.blockHash));
for (const filter of [logFilter, blockFilter]) same("the filter ends", await rpc("eth_uninstallFilter", filter), true);

// Fees.
const fees = await node.getFeeData();
holds("fees", fees.gasPrice >= 10n ** 9n && fees.maxFeePerGas > fees.maxPriorityFeePerGas);

// Why something fails, by name.
const decoded = async (what, call) => {
  const error = await failure(what, call);
  const data = error.data ?? error.cause?.data;
  holds(`${what} comes with its data, ${error}`, typeof data === "string" && data.length > 2);
  return token.interface.parseError(data);
};
const poor = await decoded("too much", token.connect(bob).transfer.staticCall(alice.address, 101n));
same("the custom error", [poor.name, ...poor.args], ["InsufficientBalance", bob.address, 100n, 101n]);
const nobody = await decoded("nobody", token.approve.staticCall(ethers.ZeroAddress, 1n));
same("the reason", [nobody.name, ...nobody.args], ["Error", "nobody can be allowed nothing"]);
const panic = await decoded("not allowed", token.connect(bob).transferFrom.staticCall(alice.address, bob.address, 1n));
same("the panic", [panic.name, ...panic.args], ["Panic", 0x11n]);
const estimated = await failure("an estimate", token.approve(ethers.ZeroAddress, 1n));
holds(`an estimate says why, ${estimated.message}`, estimated.message.includes("nobody can be allowed nothing"));
const failed = await token.transfer(bob.address, SUPPLY, { gasLimit: 100_000 });
await failure("a mined failure", failed.wait());
same("a mined failure", (await node.getTransactionReceipt(failed.hash)).status, 0);

// Fifty in a row, none waits for another.
const first = await alice.getNonce();
const sent = [];
for (let i = 0; i < 50; i++) sent.push(await token.transfer(bob.address, 1n, { nonce: first + i, gasLimit: 100_000 }));
await Promise.all(sent.map((one) => mined(one)));
same("after fifty", [await token.balanceOf(bob), await alice.getNonce()], [150n, first + 50]);

// Access lists: made by the node, used in types 1 and 2.
const call = await token.transfer.populateTransaction(bob.address, 1n);
const { accessList } = await rpc("eth_createAccessList", { ...call, from: alice.address });
same("whose storage", accessList.map((entry) => [entry.address, entry.storageKeys.length]), [[address.toLowerCase(), 2]]);
// Hardhat chooses the type by the fees that are given.
for (const [type, price] of [[1, { gasPrice: fees.gasPrice }], [2, {}]]) {
  const { hash } = await mined(alice.sendTransaction({ ...call, ...price, accessList }));
  const tx = await node.getTransaction(hash);
  same(`an access list in type ${type}`, [tx.type, tx.accessList.map((entry) => entry.storageKeys)], [type, accessList.map((entry) => entry.storageKeys)]);
}

// The receipt is the answer. Hardhat's signers do not sign without sending; a wallet of ethers does.
const carol = ethers.Wallet.createRandom(node);
await mined(alice.sendTransaction({ to: carol.address, value: ethers.parseEther("2") }));
const raw = await carol.signTransaction(await carol.populateTransaction({ to: bob.address, value: ethers.parseEther("1") }));
const sync = await rpc("eth_sendRawTransactionSync", raw);
same("a receipt at once", [sync.status, sync.from, sync.to], ["0x1", carol.address.toLowerCase(), bob.address.toLowerCase()]);

// Delegation: the fresh account becomes a contract, in whose name calls are made, and then is none again.
const code = await ethers.deployContract("Delegate");
const codeAddress = await (await code.waitForDeployment()).getAddress();
await mined(token.transfer(carol.address, 7n));
const carolRuns = await ethers.getContractAt("Delegate", carol.address, carol);
const calls = await Promise.all([1n, 2n].map(async (n) => ({ to: address, value: 0n, data: (await token.transfer.populateTransaction(bob.address, n)).data })));
// Who delegates in a transaction of its own has used one nonce more by then.
const delegated = async (to) => carol.authorize({ address: to, nonce: (await carol.getNonce()) + 1, chainId: CHAIN_ID });
const run = await mined(carolRuns.run(calls, { type: 4, gasLimit: 500_000, authorizationList: [await delegated(codeAddress)] }));
same("the type of a delegation", run.type, 4);
same("the delegation", await node.getCode(carol.address), `0xef0100${codeAddress.slice(2).toLowerCase()}`);
const ran = code.interface.parseLog(run.logs.at(-1));
same("who ran", [ran.name, ...ran.args], ["Ran", carol.address, 2n]);
same("what is left", await token.balanceOf(carol), 4n);
await mined(carol.sendTransaction({ type: 4, to: bob.address, gasLimit: 500_000, authorizationList: [await delegated(ethers.ZeroAddress)] }));
same("no delegation", await node.getCode(carol.address), "0x");
process.exit(0);
