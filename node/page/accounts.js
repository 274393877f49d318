// The sender's managed accounts: nonces, gaps, what is on its way, what they own. Only a node with a sender has them, and
// outside of development only the operator may see them.

import { $, attribute, count, el, text } from "./dom.js";

const EVERY_MS = 2000;
const KEY = "pectin-token";
const HEADS = ["Account", "Chain", "Next nonce", "Gaps", "In flight", "Waiting", "Held", "On loan", "Balance", "State"];
const body = el("tbody");

export function start() {
  const heads = HEADS.map((name) => el("th", { scope: "col" }, name));
  $("accounts").append(el("thead", {}, el("tr", {}, ...heads)), body);
  $("accounts-token").addEventListener("submit", (event) => {
    event.preventDefault();
    // Until the window is closed; it is never part of an address.
    sessionStorage.setItem(KEY, $("accounts-token-text").value.trim());
    $("accounts-token-text").value = "";
    ask();
  });
  load();
}

async function load() {
  if (!document.hidden) await ask();
  setTimeout(load, EVERY_MS);
}

async function ask() {
  const token = sessionStorage.getItem(KEY);
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch("/page/accounts", { headers }).catch(() => null);
  // A node that is not there says nothing about its accounts.
  if (!response) return;
  const accounts = response.ok ? await response.json() : [];
  $("accounts-panel").hidden = accounts.length === 0;
  $("accounts-token").hidden = response.status !== 401;
  if (response.status === 401 && token) sessionStorage.removeItem(KEY);
  draw(accounts);
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

function draw(accounts) {
  while (body.rows.length > accounts.length) body.deleteRow(-1);
  accounts.forEach((account, place) => {
    const row = body.rows[place] ?? body.appendChild(el("tr", {}, ...HEADS.map(() => el("td"))));
    attribute(row.cells[0], "class", "mono");
    attribute(row.cells[9], "class", ["stuck", "degraded"].includes(account.state) ? "trouble" : null);
    cells(account).forEach((value, cell) => text(row.cells[cell], value));
  });
}
