// A context menu at the position of a click.

import { h } from "../dom.js";

/**
 * @param {HTMLElement} container
 * @param {{ x: number, y: number }} at
 * @param {string} title
 * @param {{ label: string, act: () => void }[]} items
 */
export function menu(container, at, title, items) {
  container.querySelector(".menu")?.remove();
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
    const index = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "Escape") {
      close();
      container.focus();
    } else if (event.key === "ArrowDown") buttons[(index + 1) % buttons.length].focus();
    else if (event.key === "ArrowUp") buttons[(index - 1 + buttons.length) % buttons.length].focus();
    else return;
    event.preventDefault();
  });
  container.append(list);
  // Keeps the whole menu visible, also at an edge and when the drawing is wider than the screen.
  const right = container.scrollLeft + container.clientWidth - list.offsetWidth - 4;
  const bottom = container.clientHeight - list.offsetHeight - 4;
  list.style.left = `${Math.max(container.scrollLeft + 4, Math.min(at.x, right))}px`;
  list.style.top = `${Math.max(4, Math.min(at.y + 6, bottom))}px`;
  document.addEventListener("pointerdown", outside);
  list.querySelector("button")?.focus();
}
