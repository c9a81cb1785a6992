// Every process as it is now. Only what has changed is drawn again.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { t, tOr } from "../texts.js";
import { stateTable } from "./state.js";

/** More than this are not shown at once: those that act are. */
const SHOWN = 64;

/**
 * @typedef {{ crash?: (process: number) => void, recover?: (process: number) => void }} Deeds
 */

export class Processes {
  /**
   * @param {import("../film.js").Film} film
   * @param {Deeds} deeds
   */
  constructor(film, deeds) {
    this.film = film;
    this.deeds = deeds;
    this.open = new Set(film.n <= 6 ? Array.from({ length: film.n }, (_, it) => it) : []);
    this.element = h("div", { class: "processes" });
    /** @type {Map<number, { element: HTMLElement, name: string }>} */
    this.cards = new Map();
    this.shown = Array.from({ length: Math.min(film.n, SHOWN) }, (_, it) => it);
    for (const process of this.shown) {
      const element = h("div", { class: "process" });
      this.cards.set(process, { element, name: "" });
      this.element.append(element);
    }
    if (film.n > SHOWN) {
      this.element.append(h("p", { class: "faint", text: t("processes.more", { shown: SHOWN, all: film.n }) }));
    }
  }

  /**
   * @param {import("../film.js").Scene} scene
   * @param {number} actor whose event it is
   */
  update(scene, actor) {
    for (const process of this.shown) {
      const card = this.cards.get(process);
      if (!card) continue;
      const name = signature(scene, process, actor, this.open.has(process));
      if (name === card.name) continue;
      card.name = name;
      this.draw(card.element, scene, process, actor);
    }
  }

  /**
   * @param {HTMLElement} element
   * @param {import("../film.js").Scene} scene
   * @param {number} process
   * @param {number} actor
   */
  draw(element, scene, process, actor) {
    const up = scene.up[process] === 1;
    const mark = up ? scene.marks[process] : "crashed";
    const suspects = [...scene.suspects[process]].sort((a, b) => a - b);
    element.classList.toggle("actor", process === actor);
    element.classList.toggle("down", !up);
    const isOpen = this.open.has(process);
    const text = this.film.texts[scene.states[process]];
    const before = process === actor && scene.before >= 0 ? this.film.texts[scene.before] : undefined;
    const toggle = h(
      "button",
      {
        type: "button",
        class: "name",
        "aria-expanded": String(isOpen),
        on: { click: () => this.toggle(scene, process, actor) },
      },
      `p${process}`,
    );
    const deed = up ? this.deeds.crash : this.deeds.recover;
    const label = t(up ? "processes.crash" : "processes.recover", { process: `p${process}` });
    element.replaceChildren(
      h(
        "header",
        {},
        toggle,
        mark ? h("span", { class: `badge mark-${mark}`, text: tOr(`mark.${mark}`, mark) }) : null,
        suspects.length > 0
          ? h("span", { class: "suspects", text: t("processes.suspects", { who: list(suspects) }) })
          : null,
        h("span", { class: "space" }),
        deed
          ? h(
              "button",
              { type: "button", class: "deed", title: label, "aria-label": label, on: { click: () => deed(process) } },
              icon(up ? "crash" : "recover"),
            )
          : null,
      ),
      isOpen ? stateTable(text, before) : "",
    );
  }

  /**
   * @param {import("../film.js").Scene} scene
   * @param {number} process
   * @param {number} actor
   */
  toggle(scene, process, actor) {
    if (!this.open.delete(process)) this.open.add(process);
    this.update(scene, actor);
    const button = this.cards.get(process)?.element.querySelector("button.name");
    if (button instanceof HTMLElement) button.focus();
  }
}

/** @param {number[]} processes */
function list(processes) {
  const names = processes.map((it) => `p${it}`);
  return names.length > 6 ? `${names.slice(0, 6).join(", ")} +${names.length - 6}` : names.join(", ");
}

/**
 * What a card depends on.
 * @param {import("../film.js").Scene} scene
 * @param {number} process
 * @param {number} actor
 * @param {boolean} open
 */
function signature(scene, process, actor, open) {
  const is = process === actor;
  const suspects = [...scene.suspects[process]].join();
  return `${scene.states[process]}|${scene.up[process]}|${scene.marks[process]}|${suspects}|${is ? scene.before : is}|${open}`;
}
