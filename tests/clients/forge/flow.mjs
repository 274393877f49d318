// forge: compiles with solc-js, creates, broadcasts scripts, and tests on the node's state.
import { cpSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CHAIN_ID, NAME, SUPPLY, holds, http, keys, same, ws } from "../given.mjs";
import { call, env, refusal } from "../program.mjs";

const project = fileURLToPath(new URL(".", import.meta.url));
const forge = (...args) => call("forge", args, project);
const cast = (...args) => call("cast", args);
const [aliceKey] = keys;
const [alice, bob, carol] = await Promise.all(keys.slice(0, 3).map((key) => cast("wallet", "address", key)));
const balance = async (token, owner) => Number((await cast("call", token, "balanceOf(address)(uint256)", owner)).split(" ")[0]);
for (const old of ["broadcast", "cache", "out"]) rmSync(`${project}/${old}`, { recursive: true, force: true });
// forge compiles only what lies below its project.
cpSync(`${project}/../contracts`, `${project}/src`, { recursive: true });

// Create.
await forge("build");
const created = JSON.parse(await forge("create", "--json", "--broadcast", "--private-key", aliceKey, "src/Token.sol:Token", "--constructor-args", NAME, SUPPLY));
same("what was created", await balance(created.deployedTo, alice), Number(SUPPLY));

// A script whose transactions follow each other without waiting, fifty of one account among them.
const script = (name, url, ...more) => forge("script", `script/Deploy.s.sol:${name}`, "--broadcast", "--non-interactive", "--rpc-url", url, ...more);
const broadcast = (name) => JSON.parse(readFileSync(`${project}/broadcast/${name}/${CHAIN_ID}/run-latest.json`));
env.PECTIN_KEYS = keys.join(",");
const printed = await script("Deploy", http);
holds(`the script is complete, ${printed}`, printed.includes("ONCHAIN EXECUTION COMPLETE & SUCCESSFUL"));
const { receipts, returns } = broadcast("Deploy.s.sol");
same("receipts", [receipts.length, receipts.every((receipt) => receipt.status === "0x1")], [51, true]);
const token = returns.token.value;
same("after fifty", [await balance(token, alice), await balance(token, bob)], [Number(SUPPLY) - 100, 100]);

// Another one that waits for each (over the WebSocket), with a delegation.
env.TOKEN = token;
await script("Run", ws, "--slow");
const ran = broadcast("Deploy.s.sol");
same("types", ran.receipts.map((receipt) => receipt.type), ["0x2", "0x2", "0x4"]);
const code = ran.returns.code.value;
same("the delegation", await cast("code", carol), `0xef0100${code.slice(2).toLowerCase()}`);
same("who ran", ran.receipts[2].logs.at(-1).address, carol.toLowerCase());
same("what is left", [await balance(token, carol), await balance(token, bob)], [5, 102]);
// Sent again, everything is there already.
await script("Run", ws, "--resume", "--private-key", aliceKey);
same("nothing twice", await balance(token, carol), 5);

// Why something fails, by name.
const words = await refusal("forge", ["script", "script/Deploy.s.sol:TooMuch", "--broadcast", "--rpc-url", http], project);
holds(`the custom error, ${words}`, words.includes(`InsufficientBalance(${bob}, 102, 1000000`));

// Tests on the node's state.
const tested = JSON.parse(await forge("test", "--json", "--fork-url", http));
const results = Object.values(tested).flatMap((suite) => Object.entries(suite.test_results));
same("tests", results.map(([, result]) => result.status), ["Success", "Success", "Success"]);
process.exit(0);
