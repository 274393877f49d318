// A chain on which nothing happens: confirmations still come for a while, then blocks stop, and a time lock that expires
// after the last block can nevertheless be estimated and opened.
import { ContractFactory, JsonRpcProvider, Wallet } from "ethers";
import { artifact, failure, holds, http, keys, same } from "../given.mjs";

const LOCK_SECONDS = 25;
/** The default is a dozen. */
const CONFIRMATIONS = 12;
/** Without a block for so long, at a second a slot, none comes by itself. */
const IDLE_MS = 4_000;

const node = new JsonRpcProvider(http, undefined, { polling: true, pollingInterval: 100, cacheTimeout: -1 });
const alice = new Wallet(keys[0], node);
const { abi, bytecode } = artifact("TimeLock");
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const lock = await new ContractFactory(abi, bytecode, alice).deploy(LOCK_SECONDS);
const opensAt = Number(await lock.waitForDeployment().then(() => lock.opensAt()));
const tooEarly = await failure("an early estimate", lock.open.estimateGas());
same("why it is too early", lock.interface.parseError(tooEarly.data)?.name, "TooEarly");

// Any wait(n) up to a dozen returns, though nobody sends anything.
const receipt = await lock.deploymentTransaction().wait(CONFIRMATIONS);
holds("a dozen confirmations", (await receipt.confirmations()) >= CONFIRMATIONS);

// The chain falls silent, and the lock expires.
let [last, since] = [await node.getBlockNumber(), Date.now()];
while (Date.now() - since < IDLE_MS || Date.now() < (opensAt + 1) * 1000) {
  await pause(100);
  const number = await node.getBlockNumber();
  if (number !== last) [last, since] = [number, Date.now()];
}
const latest = await node.getBlock("latest");
holds(`the newest block (${latest.timestamp}) is older than the lock (${opensAt})`, latest.timestamp < opensAt);
const pending = await node.send("eth_getBlockByNumber", ["pending", false]);
holds(`pending (${Number(pending.timestamp)}) is not`, Number(pending.timestamp) >= opensAt);

// Estimated where wallets estimate: without a block, at latest and at pending.
const call = { from: alice.address, to: await lock.getAddress(), data: lock.interface.encodeFunctionData("open") };
for (const at of [[], ["latest"], ["pending"]]) {
  const gas = BigInt(await node.send("eth_estimateGas", [call, ...at]));
  holds(`an estimate at ${at}`, gas > 21_000n && gas < 100_000n);
}
const opened = await (await lock.open()).wait();
same("it opens", [opened.status, await lock.isOpen()], [1, true]);
process.exit(0);
