// As for Hardhat itself, with Ignition and its defaults.
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import hardhatEthers from "@nomicfoundation/hardhat-ethers";
import hardhatIgnitionEthers from "@nomicfoundation/hardhat-ignition-ethers";
import { CHAIN_ID, http, keys } from "../given.mjs";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
// Hardhat compiles only what lies below its project.
cpSync(path("../contracts"), path("./contracts"), { recursive: true });

export default {
  plugins: [hardhatEthers, hardhatIgnitionEthers],
  // solc-js, which Hardhat can run itself.
  solidity: { version: "0.8.37", path: path("../node_modules/solc/soljson.js") },
  networks: { pectin: { type: "http", url: http, chainId: CHAIN_ID, accounts: keys } },
};
