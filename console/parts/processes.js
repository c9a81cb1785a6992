// Every process as it is now. Only what has changed is drawn again.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { number, t, tOr } from "../texts.js";
import { stateTable } from "./state.js";

/** More than this are not shown at once. */
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
    /** Where each state is. @type {string[]} */
    this.texts = [];
    /** What was last shown. @type {{ scene: import("../scene.js").Scene, actor: number } | null} */
    this.last = null;
    /** @type {number[]} */
    this.shown = [];
    this.turn(0);
  }

  /** Shows the processes from this one on. @param {number} first */
  turn(first) {
    const last = Math.min(first + SHOWN, this.film.n);
    this.shown = Array.from({ length: last - first }, (_, it) => first + it);
    this.cards.clear();
    const cards = this.shown.map((process) => {
      const element = h("div", { class: "process" });
      this.cards.set(process, { element, name: "" });
      return element;
    });
    this.element.replaceChildren(...cards);
    if (this.film.n > SHOWN) this.element.append(this.pager(first, last));
    if (this.last) this.update(this.last.scene, this.last.actor);
  }

  /**
   * @param {number} first
   * @param {number} last
   */
  pager(first, last) {
    const button = (/** @type {string} */ key, /** @type {number} */ to, /** @type {boolean} */ off) =>
      h(
        "button",
        {
          type: "button",
          disabled: off,
          "data-turn": key,
          on: {
            click: () => {
              this.turn(to);
              const same = this.element.querySelector(`[data-turn="${key}"]`);
              if (same instanceof HTMLElement) same.focus();
            },
          },
        },
        t(`processes.${key}`),
      );
    const words = t("processes.some", { from: `p${first}`, to: `p${last - 1}`, all: number(this.film.n) });
    return h(
      "div",
      { class: "row pager" },
      button("earlier", Math.max(0, first - SHOWN), first === 0),
      button("later", last, last >= this.film.n),
      h("span", { class: "faint", text: words }),
    );
  }

  /**
   * @param {import("../scene.js").Scene} scene
   * @param {number} actor whose event it is
   */
  update(scene, actor) {
    this.last = { scene, actor };
    // Another part of a long film has its own texts.
    const anew = scene.texts !== this.texts;
    this.texts = scene.texts;
    for (const process of this.shown) {
      const card = this.cards.get(process);
      if (!card) continue;
      const name = signature(scene, process, actor, this.open.has(process));
      if (name === card.name && !anew) continue;
      card.name = name;
      this.draw(card.element, scene, process, actor);
    }
  }

  /**
   * @param {HTMLElement} element
   * @param {import("../scene.js").Scene} scene
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
    const text = scene.state(process);
    const before = process === actor && scene.before >= 0 ? scene.texts[scene.before] : undefined;
    const toggle = h(
      "button",
      {
        type: "button",
        class: "name",
        "aria-expanded": String(isOpen),
        on: { click: () => this.toggle(process) },
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

  /** @param {number} process */
  toggle(process) {
    if (!this.open.delete(process)) this.open.add(process);
    if (this.last) this.update(this.last.scene, this.last.actor);
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
 * @param {import("../scene.js").Scene} scene
 * @param {number} process
 * @param {number} actor
 * @param {boolean} open
 */
function signature(scene, process, actor, open) {
  const is = process === actor;
  const suspects = [...scene.suspects[process]].join();
  return `${scene.states[process]}|${scene.up[process]}|${scene.marks[process]}|${suspects}|${is ? scene.before : is}|${open}`;
}
