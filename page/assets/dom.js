// Small helpers. Nothing is written that is already there, so that an unchanged page costs nothing.

export const $ = (id) => document.getElementById(id);

// An element with attributes, properties (when they begin with a dot) and children.
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith(".")) node[key.slice(1)] = value;
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function text(node, value) {
  const wanted = String(value);
  if (node.textContent !== wanted) node.textContent = wanted;
}

export function attribute(node, name, value) {
  const wanted = value === null ? null : String(value);
  if (node.getAttribute(name) === wanted) return;
  if (wanted === null) node.removeAttribute(name);
  else node.setAttribute(name, wanted);
}

// How full a bar is, from 0 to 1.
export function fill(bar, part) {
  const full = Math.max(0, Math.min(1, part || 0));
  const shown = `scaleX(${full > 0 ? Math.max(full, 0.005).toFixed(4) : 0})`;
  if (bar.style.transform !== shown) bar.style.transform = shown;
  attribute(bar, "data-full", full > 0.9);
}

const counts = new Intl.NumberFormat("en");
export const count = (number) => (number === null || number === undefined ? "–" : counts.format(number));

export function bytes(number) {
  if (number < 1000) return `${number} B`;
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 1e4 ? 1 : 0)} kB`;
  return `${(number / 1e6).toFixed(number < 1e7 ? 2 : 1)} MB`;
}

export function duration(ms) {
  if (ms < 0) ms = 0;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 100_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 6_000_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

export function clock(ms) {
  const time = new Date(ms);
  const two = (number) => String(number).padStart(2, "0");
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

export const short = (hash) => `${hash.slice(0, 10)}…${hash.slice(-6)}`;
