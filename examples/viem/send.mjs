// A JavaScript client: pays somebody with viem, and waits until nothing can undo it.
//
//   npm install viem && node send.mjs http://127.0.0.1:8545
//
// The key is that of the second account of `pectin dev`; everybody knows it.
import { createPublicClient, createWalletClient, defineChain, http, parseGwei } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const url = process.argv[2] ?? 'http://127.0.0.1:8545';
const account = privateKeyToAccount('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d');
const somebody = '0x00000000000000000000000000000000000000cc';

const chain = defineChain({
  id: 732846,
  name: 'Pectin',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [url] } },
});
const reader = createPublicClient({ chain, transport: http(url), pollingInterval: 100 });
const wallet = createWalletClient({ account, chain, transport: http(url) });

const hash = await wallet.sendTransaction({ to: somebody, value: parseGwei('1') });
console.log(`accepted   ${hash}`);

// The receipt comes with the block. The builder has executed it; nobody else has seen it yet.
const receipt = await reader.waitForTransactionReceipt({ hash });
console.log(`sealed     in block ${receipt.blockNumber}, status ${receipt.status}`);

// `safe` is what the service on JAM has applied, `finalized` what nothing undoes.
for (const blockTag of ['safe', 'finalized']) {
  while ((await reader.getBlock({ blockTag })).number < receipt.blockNumber) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  console.log(`${blockTag.padEnd(10)} block ${receipt.blockNumber}`);
}
const balance = await reader.getBalance({ address: somebody, blockTag: 'finalized' });
console.log(`balance    ${balance} wei`);
