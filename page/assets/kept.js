// What the browser keeps for this page, in `localStorage` or `sessionStorage`. Where storage is blocked even asking for it
// throws; the page works all the same, and forgets.

export function read(where, key) {
  try {
    return window[where].getItem(key);
  } catch {
    return null;
  }
}

// Keeps a value; nothing (`null`) forgets it.
export function write(where, key, value) {
  try {
    if (value === null) window[where].removeItem(key);
    else window[where].setItem(key, value);
  } catch {
    // It is forgotten with the page.
  }
}
