// viem with accounts whose keys the node holds: nothing is signed here.
import { createPublicClient, createWalletClient, defineChain, http as overHttp, verifyMessage, verifyTypedData } from "viem";

const http = process.env.PECTIN_HTTP;
const same = (what, actual, expected) => {
  if (actual !== expected) throw new Error(`${what}: ${actual} instead of ${expected}`);
};
const chain = defineChain({
  id: 1337,
  name: "Pectin",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [http] } },
});
const node = createPublicClient({ chain, transport: overHttp(http), pollingInterval: 100 });
const wallet = createWalletClient({ chain, transport: overHttp(http) });
const [account, other] = await wallet.getAddresses();
const to = "0x00000000000000000000000000000000000a0001";

// Ten at once from one account, without a nonce: the node gives them out.
const first = await node.getTransactionCount({ address: account });
const sent = await Promise.all(Array.from({ length: 10 }, () => wallet.sendTransaction({ account, to, value: 1n })));
same("ten hashes", new Set(sent).size, 10);
const receipts = await Promise.all(sent.map((hash) => node.waitForTransactionReceipt({ hash })));
for (const receipt of receipts) same("status", receipt.status, "success");
const nonces = await Promise.all(sent.map(async (hash) => (await node.getTransaction({ hash })).nonce));
same("nonces", nonces.sort((a, b) => a - b).join(), Array.from({ length: 10 }, (_, n) => first + n).join());
same("balance", await node.getBalance({ address: to }), 10n);

const message = "words to be signed";
const signature = await wallet.signMessage({ account: other, message });
same("message", await verifyMessage({ address: other, message, signature }), true);
const typed = {
  domain: { name: "Pectin", version: "1", chainId: 1337 },
  types: { Order: [{ name: "id", type: "uint256" }, { name: "by", type: "address" }] },
  primaryType: "Order",
  message: { id: 7n, by: other },
};
const typedSignature = await wallet.signTypedData({ account: other, ...typed });
same("typed data", await verifyTypedData({ address: other, ...typed, signature: typedSignature }), true);

// An account that the node does not have.
const stranger = "0x00000000000000000000000000000000000000aa";
const refused = await wallet.sendTransaction({ account: stranger, to, value: 1n }).then(() => "sent", (error) => error.name);
same("a stranger's transaction", refused, "TransactionExecutionError");
