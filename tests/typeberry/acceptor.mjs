// A guarantor's door made of typeberry's library: takes packages (CE 133) and prints what it understood.
//
//   node acceptor.mjs PORT GENESIS   ->   listening NAME PORT
//                                         package HASH core CORE extrinsics LEN,LEN,...
import { Blake2b } from "./node_modules/@typeberry/lib/packages/core/hash/index.js";
import { Encoder } from "./node_modules/@typeberry/lib/packages/core/codec/index.js";
import { WorkPackage } from "./node_modules/@typeberry/lib/packages/jam/block/work-package.js";
import { tinyChainSpec } from "./node_modules/@typeberry/lib/packages/jam/config/index.js";
import { altNameRaw, Quic } from "./node_modules/@typeberry/lib/packages/core/networking/index.js";
import { deriveEd25519SecretKey } from "./node_modules/@typeberry/lib/packages/core/crypto/key-derivation.js";
import { ed25519, initWasm } from "./node_modules/@typeberry/lib/packages/core/crypto/index.js";
import { StreamManager } from "./node_modules/@typeberry/lib/packages/jam/jamnp-s/stream-manager.js";
import { ServerHandler } from "./node_modules/@typeberry/lib/packages/jam/jamnp-s/protocol/ce-133-work-package-submission.js";

const [port, genesis] = [Number(process.argv[2]), process.argv[3]];
await initWasm();
const blake2b = await Blake2b.createHasher();
const secret = deriveEd25519SecretKey(blake2b.hashString("acceptor").asOpaque(), blake2b);
const key = await ed25519.privateKey(secret);
const network = await Quic.setup({ host: "127.0.0.1", port, key, protocols: [`jamnp-s/0/${genesis}`] });
const streams = new StreamManager();
streams.registerIncomingHandlers(
  ServerHandler.new((core, workPackage, extrinsics) => {
    const bytes = Encoder.encodeObject(WorkPackage.Codec, workPackage, tinyChainSpec);
    const lengths = extrinsics.map((extrinsic) => extrinsic.length).join(",");
    console.log(`package ${blake2b.hashBytes(bytes)} core ${core} extrinsics ${lengths}`);
  }),
);
network.peers.onPeerConnected((peer) => {
  peer.addOnIncomingStream((stream) => {
    streams.onIncomingStream(peer, stream).catch((error) => console.error(`stream: ${error}`));
    return "ok";
  });
  return "ok";
});
await network.start();
console.log(`listening ${altNameRaw(key.pubKey)} ${port}`);
