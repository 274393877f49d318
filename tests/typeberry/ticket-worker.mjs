// Makes tickets for the dev chain's authors. The published package names a worker that is not in it; this one answers
// the same requests with the published library.
import { ConcurrentWorker } from "../lib/packages/core/concurrent/index.js";
import { initWasm } from "../lib/packages/core/crypto/index.js";
import { BandernsatchWasm } from "../lib/packages/jam/safrole/bandersnatch-wasm.js";

await initWasm();
const prover = await BandernsatchWasm.new();

async function tickets(shard, prover) {
  const signatures = await prover.batchGenerateRingVrfForValidators(
    shard.ringKeysData,
    shard.proverKeyIndices,
    shard.secretSeedsData,
    shard.secretSeedDataLen,
    shard.inputsData,
    shard.vrfInputDataLen,
  );
  return { signatures, getTransferList: () => [] };
}

ConcurrentWorker.new(tickets, prover).listenToParentPort();
