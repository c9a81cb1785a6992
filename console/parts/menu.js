// A small menu where somebody clicked.

import { h } from "../dom.js";

/**
 * @param {HTMLElement} where
 * @param {{ x: number, y: number }} at
 * @param {string} title
 * @param {{ label: string, act: () => void }[]} items
 */
export function menu(where, at, title, items) {
  where.querySelector(".menu")?.remove();
  const close = () => {
    list.remove();
    document.removeEventListener("pointerdown", outside);
  };
  const outside = (/** @type {Event} */ event) => {
    if (!list.contains(/** @type {Node} */ (event.target))) close();
  };
  const button = (/** @type {{ label: string, act: () => void }} */ item) =>
    h(
      "button",
      {
        type: "button",
        role: "menuitem",
        on: {
          click: () => {
            close();
            item.act();
          },
        },
      },
      item.label,
    );
  const list = h(
    "div",
    { class: "menu", role: "menu", "aria-label": title },
    h("p", { text: title }),
    items.map(button),
  );
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const place = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "Escape") {
      close();
      where.focus();
    } else if (event.key === "ArrowDown") buttons[(place + 1) % buttons.length].focus();
    else if (event.key === "ArrowUp") buttons[(place - 1 + buttons.length) % buttons.length].focus();
    else return;
    event.preventDefault();
  });
  where.append(list);
  // All of it is seen, also at an edge and where the drawing is wider than the screen.
  const right = where.scrollLeft + where.clientWidth - list.offsetWidth - 4;
  const bottom = where.clientHeight - list.offsetHeight - 4;
  list.style.left = `${Math.max(where.scrollLeft + 4, Math.min(at.x, right))}px`;
  list.style.top = `${Math.max(4, Math.min(at.y + 6, bottom))}px`;
  document.addEventListener("pointerdown", outside);
  list.querySelector("button")?.focus();
}
