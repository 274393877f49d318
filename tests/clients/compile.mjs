// Compiles the contracts with solc-js: `artifacts/NAME.json`, each with its ABI and its bytecode.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import solc from "solc";

const read = (name) => ({ content: readFileSync(`contracts/${name}`, "utf8") });
const sources = Object.fromEntries(readdirSync("contracts").map((name) => [name, read(name)]));
const settings = { optimizer: { enabled: true }, outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } } };
const output = JSON.parse(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })));
const errors = (output.errors ?? []).filter((error) => error.severity === "error");
if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
mkdirSync("artifacts", { recursive: true });
for (const contracts of Object.values(output.contracts)) {
  for (const [name, { abi, evm }] of Object.entries(contracts)) {
    writeFileSync(`artifacts/${name}.json`, JSON.stringify({ abi, bytecode: `0x${evm.bytecode.object}` }));
  }
}
