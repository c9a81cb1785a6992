// The prefixes of the names of locks as a tree. A chosen prefix limits the list.

import { h } from "../../dom.js";
import { keyedChildren, setText } from "../../keyed.js";
import { number, t } from "../../texts.js";

/** @typedef {import("../../lock-names.js").PrefixNode} PrefixNode */

/**
 * @param {string} chosen
 * @param {(prefix: string) => void} onChoose
 * @returns {{ element: HTMLElement, show: (tree: PrefixNode[], all: number) => void, choose: (prefix: string) => void }}
 */
export function prefixMenu(chosen, onChoose) {
  /** Prefixes that the user has opened or closed. @type {Map<string, boolean>} */
  const opened = new Map();
  let current = chosen;
  /** @type {{ tree: PrefixNode[], all: number }} */
  let shown = { tree: [], all: 0 };
  const root = h("ul", { class: "plain prefixes" });
  const choose = (/** @type {string} */ prefix) => {
    current = prefix;
    draw();
  };
  const pick = (/** @type {string} */ prefix) => {
    choose(prefix);
    onChoose(prefix);
  };
  const nodeView = (/** @type {PrefixNode} */ { prefix }) => {
    const list = h("ul", { class: "plain prefixes" });
    const showChildren = keyedChildren(list, (/** @type {PrefixNode} */ node) => node.prefix, nodeView);
    const toggle = h("button", { type: "button", class: "toggle", "aria-label": t("locks.unfold", { prefix }) });
    const [label, count] = [h("span", { class: "prefix-label", dir: "auto" }), h("span", { class: "faint" })];
    const button = h("button", { type: "button", class: "prefix", title: prefix, on: { click: () => pick(prefix) } }, label, " ", count);
    let open = false;
    toggle.addEventListener("click", () => {
      opened.set(prefix, !open);
      draw();
    });
    return {
      element: h("li", {}, h("div", { class: "prefix-row" }, toggle, button), list),
      update: (/** @type {PrefixNode} */ node) => {
        open = opened.get(prefix) ?? current.startsWith(prefix);
        setText(label, node.label);
        setText(count, number(node.count));
        if (current === prefix) button.setAttribute("aria-current", "true");
        else button.removeAttribute("aria-current");
        toggle.classList.toggle("none", node.children.length === 0);
        toggle.disabled = node.children.length === 0;
        toggle.setAttribute("aria-expanded", String(open));
        list.hidden = !open;
        showChildren(open ? node.children : []);
      },
    };
  };
  const showRoot = keyedChildren(root, (/** @type {PrefixNode} */ node) => node.prefix, nodeView);
  const allCount = h("span", { class: "faint" });
  const all = h("button", { type: "button", class: "prefix", on: { click: () => pick("") } }, t("locks.all"), " ", allCount);
  const draw = () => {
    setText(allCount, number(shown.all));
    if (current === "") all.setAttribute("aria-current", "true");
    else all.removeAttribute("aria-current");
    showRoot(shown.tree);
  };
  const element = h("nav", { class: "prefix-menu", "aria-label": t("locks.prefixes") }, h("div", { class: "prefix-row" }, all), root);
  return {
    element,
    show: (tree, count) => {
      shown = { tree, all: count };
      element.hidden = tree.length === 0;
      draw();
    },
    choose,
  };
}
