// What every flow is given, and how it says that something is not as expected.
import { readFileSync } from "node:fs";
import { inspect, isDeepStrictEqual } from "node:util";

/** Where the node is, through the wire that counts. */
export const http = process.env.PECTIN_HTTP;
export const ws = process.env.PECTIN_WS;
/** Keys of accounts that own 10,000 ether each. */
export const keys = process.env.PECTIN_KEYS.split(",");
export const CHAIN_ID = 732846;
/** What the token begins with. */
export const NAME = "Pectin Token";
export const SUPPLY = 1_000_000n;

/** A compiled contract. */
export const artifact = (name) => JSON.parse(readFileSync(new URL(`./artifacts/${name}.json`, import.meta.url)));

/** Ends the flow unless two values are the same. */
export function same(what, actual, expected) {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${what}: ${inspect(actual)} instead of ${inspect(expected)}`);
}

/** Ends the flow unless it holds. */
export function holds(what, condition) {
  if (!condition) throw new Error(`${what} does not hold`);
}

/** The error that something must end with. */
export async function failure(what, promise) {
  const result = await promise.then((value) => ({ value }), (error) => ({ error }));
  if ("error" in result) return result.error;
  throw new Error(`${what} did not fail, but gave ${inspect(result.value)}`);
}

/** Something that must happen soon: resolves with what `tell` is called with first. */
export function happens(what, ms = 60_000) {
  let tell;
  const told = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} did not happen`)), ms);
    tell = (value) => (clearTimeout(timer), resolve(value));
  });
  return { tell, told };
}
