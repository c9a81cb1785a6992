// Tabs: one of several panels is shown at a time.

import { h } from "../dom.js";

/** Numbers the tab lists of the page, so that ids are unique. */
let count = 0;

/**
 * @typedef {{ key: string, label: string, content: HTMLElement }} Tab
 * @typedef {{ element: HTMLElement, mark: (key: string, note: string, isUrgent?: boolean) => void, chosen: () => string }} Tabs
 */

/**
 * @param {string} label
 * @param {Tab[]} tabs
 * @param {string} chosen key of the tab that is shown first
 * @param {(key: string) => void} [onChoose]
 * @returns {Tabs}
 */
export function tabList(label, tabs, chosen, onChoose) {
  const prefix = `tabs-${(count += 1)}`;
  /** @type {Map<string, HTMLButtonElement>} */
  const buttons = new Map();
  const panels = tabs.map(({ key, content }) =>
    h("div", { role: "tabpanel", id: `${prefix}-${key}`, "aria-labelledby": `${prefix}-${key}-tab`, class: "tab-panel", tabindex: "0" }, content),
  );
  let current = tabs.some(({ key }) => key === chosen) ? chosen : tabs[0].key;
  const choose = (/** @type {string} */ key) => {
    current = key;
    tabs.forEach((tab, index) => {
      const isChosen = tab.key === key;
      buttons.get(tab.key)?.setAttribute("aria-selected", String(isChosen));
      buttons.get(tab.key)?.setAttribute("tabindex", isChosen ? "0" : "-1");
      panels[index].hidden = !isChosen;
    });
  };
  // After a click the arrow keys still belong to the player. After the tab key they move between the tabs.
  let isPressed = false;
  const move = (/** @type {KeyboardEvent} */ event) => {
    if (isPressed) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const index = tabs.findIndex(({ key }) => key === current);
    const next = tabs[(index + step + tabs.length) % tabs.length].key;
    choose(next);
    onChoose?.(next);
    buttons.get(next)?.focus();
  };
  for (const { key, label } of tabs) {
    const button = h("button", {
      type: "button",
      role: "tab",
      id: `${prefix}-${key}-tab`,
      "aria-controls": `${prefix}-${key}`,
      "data-tab": key,
      text: label,
    });
    button.addEventListener("click", () => {
      choose(key);
      onChoose?.(key);
    });
    buttons.set(key, button);
  }
  const bar = h("div", { role: "tablist", "aria-label": label, class: "tab-bar", on: { keydown: move } }, [...buttons.values()]);
  bar.addEventListener("pointerdown", () => (isPressed = true));
  bar.addEventListener("focusout", () => (isPressed = false));
  choose(current);
  return {
    element: h("div", { class: "tabs" }, bar, panels),
    mark: (key, note, isUrgent = true) => {
      const button = buttons.get(key);
      button?.classList.toggle("marked", note !== "" && isUrgent);
      button?.classList.toggle("noted", note !== "" && !isUrgent);
      if (button) button.title = note;
    },
    chosen: () => current,
  };
}
