// ethers with accounts whose keys the node holds: nothing is signed here.
import { JsonRpcProvider, verifyMessage, verifyTypedData } from "ethers";

const same = (what, actual, expected) => {
  if (actual !== expected) throw new Error(`${what}: ${actual} instead of ${expected}`);
};
const node = new JsonRpcProvider(process.env.PECTIN_HTTP, undefined, { pollingInterval: 100 });
const accounts = await node.listAccounts();
same("accounts", accounts.length, 10);
const signer = await node.getSigner(3);
const to = "0x00000000000000000000000000000000000a0002";

const sent = await Promise.all(Array.from({ length: 10 }, () => signer.sendTransaction({ to, value: 1n })));
const receipts = await Promise.all(sent.map((tx) => tx.wait(1)));
for (const receipt of receipts) same("status", receipt.status, 1);
same("nonces", sent.map((tx) => tx.nonce).sort((a, b) => a - b).join(), "0,1,2,3,4,5,6,7,8,9");
same("balance", await node.getBalance(to), 10n);

const message = "words to be signed";
same("message", verifyMessage(message, await signer.signMessage(message)), signer.address);
const domain = { name: "Pectin", version: "1", chainId: 1337 };
const types = { Order: [{ name: "id", type: "uint256" }, { name: "by", type: "address" }] };
const order = { id: 7n, by: signer.address };
same("typed data", verifyTypedData(domain, types, order, await signer.signTypedData(domain, types, order)), signer.address);
node.destroy();
