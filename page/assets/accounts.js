// The sender's managed accounts: nonces, gaps, what is on its way, what they own. Only a node with a sender has them, and
// outside of development only the operator may see them. The node says which is the case, and is asked only for what it
// will give.

import { $, attribute, count, el, text } from "./dom.js";
import { read, write } from "./kept.js";
import { isLive, parts } from "./live.js";

const EVERY_MS = 2000;
const STORE = "sessionStorage";
const KEY = "pectin-token";
const HEADS = ["Account", "Chain", "Next nonce", "Gaps", "In flight", "Waiting", "Held", "On loan", "Balance", "State"];
const body = el("tbody");
let token = null;

export function start() {
  // Until the window is closed; it is never part of an address.
  token = read(STORE, KEY);
  const heads = HEADS.map((name) => el("th", { scope: "col" }, name));
  $("accounts").append(el("thead", {}, el("tr", {}, ...heads)), body);
  $("accounts-token").addEventListener("submit", (event) => {
    event.preventDefault();
    keep($("accounts-token-text").value.trim() || null);
    $("accounts-token-text").value = "";
    text($("accounts-token-said"), "");
    ask();
  });
  load();
}

function keep(given) {
  token = given;
  write(STORE, KEY, given);
}

const needsToken = () => Boolean(parts.get("accounts")?.token) && token === null;

async function load() {
  if (!document.hidden) await ask();
  setTimeout(load, EVERY_MS);
}

// What the node says about accounts has changed.
export function draw() {
  const { there } = parts.get("accounts");
  $("accounts-panel").hidden = !there || needsToken();
  $("accounts-token").hidden = !there || !needsToken();
}

// Asks, and draws what is answered.
export async function ask() {
  if (!isLive() || !parts.get("accounts")?.there || needsToken()) return;
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch("/page/accounts", { headers }).catch(() => null);
  // A node that is not there says nothing about its accounts.
  if (!response) return;
  if (response.status === 401) {
    keep(null);
    text($("accounts-token-said"), "The node does not know this token.");
  }
  table(response.ok ? await response.json() : []);
  draw();
}

// What an account owns, in whole coins.
function coins(wei) {
  if (wei === null) return "–";
  const parts = BigInt(wei) / 10n ** 14n;
  return (Number(parts) / 1e4).toLocaleString("en", { minimumFractionDigits: 4, maximumFractionDigits: 4 });
}

function cells(account) {
  return [
    account.address, account.chain, count(account.next), count(account.gaps), count(account.inFlight), count(account.waiting),
    count(account.held), count(account.leased), coins(account.balance), account.state,
  ];
}

function table(accounts) {
  while (body.rows.length > accounts.length) body.deleteRow(-1);
  accounts.forEach((account, place) => {
    const row = body.rows[place] ?? body.appendChild(el("tr", {}, ...HEADS.map(() => el("td"))));
    attribute(row.cells[0], "class", "mono");
    attribute(row.cells[9], "class", ["stuck", "degraded"].includes(account.state) ? "trouble" : null);
    cells(account).forEach((value, cell) => text(row.cells[cell], value));
  });
}
