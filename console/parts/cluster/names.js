// Long names, shortened in the middle. The whole name is in the page, so that copying a selection copies all of it.

import { h } from "../../dom.js";
import { t } from "../../texts.js";

/** Names up to this length are never shortened. */
const SHORT = 28;
/** Number of characters at the end that stay visible, because they often distinguish names. */
const TAIL = 10;

/**
 * @param {string} name
 * @returns {(Node | string)[]}
 */
export function nameParts(name) {
  const all = Array.from(name);
  if (all.length <= SHORT) return [name];
  return [h("span", { class: "stem", text: all.slice(0, -TAIL).join("") }), h("span", { class: "tail", text: all.slice(-TAIL).join("") })];
}

/**
 * A link to the page of a lock.
 * @param {string} address
 * @param {string} name
 */
export function nameLink(address, name) {
  return h("a", { href: address, class: "name", title: name, dir: "auto" }, nameParts(name));
}

/** A button that copies a text. @param {string} text */
export function copyButton(text) {
  const button = h("button", { type: "button", class: "small", text: t("cluster.copy") });
  button.addEventListener("click", async () => {
    const copied = await copyText(text, button);
    button.textContent = t(copied ? "cluster.copied" : "cluster.not-copied");
    window.setTimeout(() => (button.textContent = t("cluster.copy")), 1500);
  });
  return button;
}

/**
 * Copies a text. Browsers offer the clipboard only to pages of this machine and over TLS; elsewhere a selection is copied.
 * @param {string} text
 * @param {HTMLElement} beside
 */
async function copyText(text, beside) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "off-screen", "aria-hidden": "true", readonly: true, value: text });
    beside.after(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    beside.focus();
    return copied;
  }
}
