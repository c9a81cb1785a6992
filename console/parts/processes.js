// The current state of every process. Only the cards that changed are redrawn.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { number, t, tOr } from "../texts.js";
import { stateTable } from "./state.js";

/** Maximum number of processes per page. */
const SHOWN = 64;

/**
 * @typedef {{ crash?: (process: number) => void, recover?: (process: number) => void }} ProcessActions
 */

export class Processes {
  /**
   * @param {import("../recording.js").Recording} recording
   * @param {ProcessActions} actions
   */
  constructor(recording, actions) {
    this.recording = recording;
    this.actions = actions;
    this.open = new Set(recording.n <= 6 ? Array.from({ length: recording.n }, (_, it) => it) : []);
    this.element = h("div", { class: "processes" });
    /** @type {Map<number, { element: HTMLElement, name: string }>} */
    this.cards = new Map();
    /** The texts of the segment that was last shown. @type {string[]} */
    this.texts = [];
    /** Arguments of the last update. @type {{ global: import("../global-state.js").GlobalState, actor: number } | null} */
    this.last = null;
    /** @type {number[]} */
    this.shown = [];
    this.showFrom(0);
  }

  /** Shows the page that starts with this process. @param {number} first */
  showFrom(first) {
    const last = Math.min(first + SHOWN, this.recording.n);
    this.shown = Array.from({ length: last - first }, (_, it) => first + it);
    this.cards.clear();
    const cards = this.shown.map((process) => {
      const element = h("div", { class: "process" });
      this.cards.set(process, { element, name: "" });
      return element;
    });
    this.element.replaceChildren(...cards);
    if (this.recording.n > SHOWN) this.element.append(this.pager(first, last));
    if (this.last) this.update(this.last.global, this.last.actor);
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
              this.showFrom(to);
              const same = this.element.querySelector(`[data-turn="${key}"]`);
              if (same instanceof HTMLElement) same.focus();
            },
          },
        },
        t(`processes.${key}`),
      );
    const words = t("processes.some", { from: `p${first}`, to: `p${last - 1}`, all: number(this.recording.n) });
    return h(
      "div",
      { class: "row pager" },
      button("earlier", Math.max(0, first - SHOWN), first === 0),
      button("later", last, last >= this.recording.n),
      h("span", { class: "faint", text: words }),
    );
  }

  /**
   * @param {import("../global-state.js").GlobalState} global
   * @param {number} actor the process of the current event
   */
  update(global, actor) {
    this.last = { global, actor };
    // Another segment of a long recording has its own texts.
    const textsChanged = global.texts !== this.texts;
    this.texts = global.texts;
    for (const process of this.shown) {
      const card = this.cards.get(process);
      if (!card) continue;
      const name = signature(global, process, actor, this.open.has(process));
      if (name === card.name && !textsChanged) continue;
      card.name = name;
      this.draw(card.element, global, process, actor);
    }
  }

  /**
   * @param {HTMLElement} element
   * @param {import("../global-state.js").GlobalState} global
   * @param {number} process
   * @param {number} actor
   */
  draw(element, global, process, actor) {
    const up = global.up[process] === 1;
    const mark = up ? global.marks[process] : "crashed";
    const suspects = [...global.suspects[process]].sort((a, b) => a - b);
    element.classList.toggle("actor", process === actor);
    element.classList.toggle("down", !up);
    const permission = up ? global.permission(process) : null;
    const isOpen = this.open.has(process);
    const text = global.state(process);
    const before = process === actor && global.previousState >= 0 ? global.texts[global.previousState] : undefined;
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
    const action = up ? this.actions.crash : this.actions.recover;
    const label = t(up ? "processes.crash" : "processes.recover", { process: `p${process}` });
    element.replaceChildren(
      h(
        "header",
        {},
        toggle,
        mark ? h("span", { class: `badge mark-${mark}`, text: tOr(`mark.${mark}`, mark) }) : null,
        permission !== null ? h("span", { class: "badge permission", text: permissionBadge(permission) }) : null,
        suspects.length > 0
          ? h("span", { class: "suspects", text: t("processes.suspects", { who: list(suspects) }) })
          : null,
        h("span", { class: "space" }),
        action
          ? h(
              "button",
              { type: "button", class: "fault-button", title: label, "aria-label": label, on: { click: () => action(process) } },
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
    if (this.last) this.update(this.last.global, this.last.actor);
    const button = this.cards.get(process)?.element.querySelector("button.name");
    if (button instanceof HTMLElement) button.focus();
  }
}

/** @param {import("../global-state.js").Permission} permission */
function permissionBadge(permission) {
  return Array.isArray(permission) ? t("permission.vote-badge", { holders: list(permission) }) : t("permission.token-badge");
}

/** @param {number[]} processes */
function list(processes) {
  const names = processes.map((it) => `p${it}`);
  return names.length > 6 ? `${names.slice(0, 6).join(", ")} +${names.length - 6}` : names.join(", ");
}

/**
 * Returns a key of everything that a card shows; a card is redrawn when its key changes.
 * @param {import("../global-state.js").GlobalState} global
 * @param {number} process
 * @param {number} actor
 * @param {boolean} open
 */
function signature(global, process, actor, open) {
  const is = process === actor;
  const suspects = [...global.suspects[process]].join();
  return `${global.states[process]}|${global.up[process]}|${global.marks[process]}|${suspects}|${is ? global.previousState : is}|${open}`;
}
