// cast: one command for each step, as people type them.
import { CHAIN_ID, NAME, SUPPLY, artifact, happens, holds, keys, same, ws } from "../given.mjs";
import { call, refusal, start } from "../program.mjs";

const cast = (...args) => call("cast", args);
const fails = (...args) => refusal("cast", args);
const [aliceKey, , carolKey] = keys;
const [alice, bob, carol] = await Promise.all(keys.slice(0, 3).map((key) => cast("wallet", "address", key)));
const by = (key) => ["--private-key", key, "--json"];
const send = async (...args) => {
  const receipt = JSON.parse(await cast("send", ...by(aliceKey), ...args));
  same(`status of ${receipt.transactionHash}`, receipt.status, "0x1");
  return receipt;
};
const { bytecode } = artifact("Token");
const TRANSFER = "transfer(address,uint256)";
const TRANSFERRED = await cast("sig-event", "Transfer(address,address,uint256)");
const nobody = `0x${"00".repeat(20)}`;
const pad = (address) => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;

// Deploy, and wait for two confirmations.
same("chain id", await cast("chain-id"), String(CHAIN_ID));
holds("the client's name", (await cast("client")).startsWith("pectin/"));
const args = await cast("abi-encode", "constructor(string,uint256)", NAME, SUPPLY);
const deployed = await send("--confirmations", 2, "--create", bytecode + args.slice(2));
const token = deployed.contractAddress;
// cast waits for confirmations only if there is no receipt yet when it first looks.
while (Number(await cast("block-number")) < Number(deployed.blockNumber) + 1) await new Promise((resolve) => setTimeout(resolve, 100));
const nonce = await cast("tx", deployed.transactionHash, "nonce");
holds("it is where it must be", (await cast("compute-address", alice, "--nonce", nonce)).toLowerCase().endsWith(token));

// Reads.
const read = (signature, ...args) => cast("call", token, signature, ...args);
const balance = async (owner) => Number((await read("balanceOf(address)(uint256)", owner)).split(" ")[0]);
same("reads", await Promise.all(["name()(string)", "symbol()(string)", "decimals()(uint8)"].map((one) => read(one))), [`"${NAME}"`, '"JAM"', "18"]);
same("the supply", await balance(alice), Number(SUPPLY));
same("there was no code", await cast("code", token, "--block", Number(deployed.blockNumber) - 1), "0x");
holds("there is code", (await cast("codesize", token)) > 500);

// A filter and a subscription are there before what they shall show.
const filter = JSON.parse(await cast("rpc", "eth_newFilter", JSON.stringify({ address: token })));
const seen = happens("a subscribed log");
const subscription = start("cast", ["logs", "--rpc-url", ws, "--address", token, "--subscribe"], (line) => line.trim().startsWith("transactionHash:") && seen.tell(line.trim().split(/ +/)[1]));

// Write. The subscription may begin late; transfers go on until one of them has been seen.
const estimated = Number(await cast("estimate", "--from", alice, token, TRANSFER, bob, 100));
const receipt = await send(token, TRANSFER, bob, 100);
holds("the estimate suffices", estimated >= Number(receipt.gasUsed) && estimated < 100_000);
same("who got what", receipt.logs.map((log) => log.topics.concat(Number(log.data))), [[TRANSFERRED, pad(alice), pad(bob), 100]]);
same("balances", [await balance(alice), await balance(bob)], [Number(SUPPLY) - 100, 100]);

// The same by logs, by the filter, by receipt and transaction, and by execution.
const logs = JSON.parse(await cast("logs", "--json", "--from-block", Number(deployed.blockNumber), "--address", token, "Transfer(address indexed from, address indexed to, uint256 value)", "", bob));
same("logs by a topic", logs.map((log) => log.transactionHash), [receipt.transactionHash]);
const changes = JSON.parse(await cast("rpc", "eth_getFilterChanges", filter));
same("the filter's logs", changes.map((log) => log.transactionHash), [receipt.transactionHash]);
same("the filter ends", await cast("rpc", "eth_uninstallFilter", filter), "true");
same("the receipt", JSON.parse(await cast("receipt", "--json", receipt.transactionHash)).blockHash, receipt.blockHash);
same("the transaction", (await cast("tx", receipt.transactionHash, "to")).toLowerCase(), token);
same("the block", JSON.parse(await cast("block", "--json", Number(receipt.blockNumber))).hash, receipt.blockHash);
const run = await cast("run", receipt.transactionHash);
holds(`cast run has executed it, ${run}`, run.includes(`::transfer(${bob}, 100)`) && run.includes("Transaction successfully executed") && run.includes(`Gas used: ${Number(receipt.gasUsed)}`));
const trace = JSON.parse(await cast("rpc", "debug_traceTransaction", receipt.transactionHash, '{"tracer":"callTracer"}'));
same("the node's trace", [trace.type, trace.to, trace.gasUsed], ["CALL", token, receipt.gasUsed]);
let transfers = 100;
const later = [receipt.transactionHash];
for (let told = false; !told; transfers += 1) {
  later.push((await send(token, TRANSFER, bob, 1)).transactionHash);
  told = await Promise.race([seen.told.then(() => true), new Promise((resolve) => setTimeout(resolve, 300, false))]);
}
const log = await seen.told;
holds(`the subscribed log ${log} is of one of them`, later.includes(log));
subscription.kill();

// Fees, over the WebSocket too.
holds("a gas price", Number(await cast("gas-price", "--rpc-url", ws)) >= 1e9);
holds("a base fee", Number(await cast("base-fee")) >= 1e9);
holds("a fee history", JSON.parse(await cast("rpc", "eth_feeHistory", "0x4", "latest", "[25,75]")).reward.length > 0);

// Why something fails, by name.
const poor = await fails("call", "--from", bob, token, TRANSFER, alice, transfers + 1);
const data = /data: "(0x[0-9a-f]+)"/.exec(poor)[1];
const decoded = (await cast("decode-error", "--sig", "InsufficientBalance(address,uint256,uint256)", data)).split("\n").map((line) => line.split(" ")[0]);
same("the custom error", decoded, [bob, String(transfers), String(transfers + 1)]);
const approve = [token, "approve(address,uint256)", nobody, 1];
const reason = "execution reverted: nobody can be allowed nothing";
holds("the reason of a call", (await fails("call", ...approve)).includes(`error code 3: ${reason}`));
holds("the reason of an estimate", (await fails("send", ...by(aliceKey), ...approve)).includes(reason));
holds("a panic", (await fails("call", "--from", bob, token, "transferFrom(address,address,uint256)", alice, bob, 1)).includes("arithmetic underflow or overflow"));
const failed = JSON.parse(await cast("send", ...by(aliceKey), "--gas-limit", 100_000, token, TRANSFER, bob, SUPPLY));
same("a mined failure", failed.status, "0x0");
const why = await cast("run", failed.transactionHash);
holds(`and why, ${why}`, /Revert\] (custom error 0xdb42144d|InsufficientBalance)/.test(why));
holds("an old nonce", (await fails("send", ...by(aliceKey), "--nonce", 0, "--gas-limit", 21_000, bob)).includes("nonce too low"));

// Fifty in a row, none waits for another.
const first = Number(await cast("nonce", alice));
const hashes = [];
for (let i = 0; i < 50; i++) hashes.push(await cast("send", "--private-key", aliceKey, "--async", "--nonce", first + i, "--gas-limit", 100_000, token, TRANSFER, bob, 1));
const receipts = await Promise.all([0, 24, 49].map((i) => cast("receipt", "--json", hashes[i])));
same("three of fifty", receipts.map((one) => JSON.parse(one).status), ["0x1", "0x1", "0x1"]);
transfers += 50;
same("after fifty", [await balance(bob), Number(await cast("nonce", alice))], [transfers, first + 50]);

// Access lists: made by the node, used in types 1 and 2.
const { accessList } = JSON.parse(await cast("access-list", "--json", "--from", alice, token, TRANSFER, bob, 1));
same("whose storage", accessList.map((entry) => [entry.address, entry.storageKeys.length]), [[token, 2]]);
for (const [type, more] of [["0x1", ["--legacy"]], ["0x2", []]]) {
  const { transactionHash } = await send(...more, "--access-list", JSON.stringify(accessList), token, TRANSFER, bob, 1);
  const tx = JSON.parse(await cast("tx", "--json", transactionHash));
  same(`an access list in type ${type}`, [tx.type, tx.accessList], [type, accessList]);
}

// The receipt is the answer.
const sync = await send("--sync", "--value", "1ether", bob);
same("a receipt at once", sync.to, bob.toLowerCase());
const raw = await cast("mktx", "--private-key", aliceKey, "--value", 1, bob);
same("what was signed elsewhere", JSON.parse(await cast("rpc", "eth_sendRawTransactionSync", raw)).status, "0x1");

// Delegation: an account becomes a contract, in whose name calls are made, and then is none again.
const { contractAddress: code } = await send("--create", artifact("Delegate").bytecode);
await send(token, TRANSFER, carol, 7);
const authorization = await cast("wallet", "sign-auth", code, "--private-key", carolKey);
const transferred = await cast("calldata", TRANSFER, bob, 1);
const ran = await send("--auth", authorization, carol, "run((address,uint256,bytes)[])", `[(${token},0,${transferred}),(${token},0,${transferred})]`);
same("the type of a delegation", ran.type, "0x4");
same("the delegation", await cast("code", carol), `0xef0100${code.slice(2)}`);
same("who ran", [ran.logs.at(-1).address, Number(ran.logs.at(-1).data)], [carol.toLowerCase(), 2]);
same("what is left", await balance(carol), 5);
// Who delegates in a transaction of its own.
same("the delegation ends", JSON.parse(await cast("send", ...by(carolKey), "--auth", nobody, bob)).status, "0x1");
same("no delegation", await cast("code", carol), "0x");
process.exit(0);
