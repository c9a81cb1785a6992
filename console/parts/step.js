// The current step: what happens in it, and the states of the processes that it involves.

import { h } from "../dom.js";
import { number, t } from "../texts.js";
import { formatTime } from "../time.js";
import { describe } from "./describe.js";
import { stateTable } from "./state.js";

/** Maximum number of records of a step that are listed. */
const RECORDS = 12;

/** @typedef {import("../global-state.js").Record} Record */

/**
 * Lists what happens in a step.
 * @param {Record[]} records
 * @param {number} actor
 * @param {number} time
 */
export function stepRecords(records, actor, time) {
  const item = (/** @type {Record} */ record) =>
    h("li", { class: `record ${record.type}` }, describe(record), record.body ? h("code", { text: record.body }) : null);
  const first = records.slice(0, RECORDS);
  const more = records.length - first.length;
  return [
    h("p", { class: "moment" }, h("strong", { text: `p${actor}` }), ` · ${formatTime(time)}`),
    h(
      "ul",
      { class: "plain step-records" },
      first.map(item),
      more > 0 ? h("li", { class: "faint", text: t("step.more", { count: number(more) }) }) : null,
    ),
  ];
}

/**
 * Describes a step in one line.
 * @param {Record[]} records
 * @param {number} actor
 */
export function stepLine(records, actor) {
  return `p${actor}: ${records.slice(0, 2).map(describe).join("; ")}`;
}

/**
 * Shows the state of the process that takes the step, and of the process whose message it receives.
 * @param {import("../global-state.js").GlobalState} global
 * @param {Record[]} records
 * @param {number} actor
 */
export function statesInvolved(global, records, actor) {
  const before = global.previousState >= 0 ? global.texts[global.previousState] : undefined;
  const sender = records.find((record) => record.type === "deliver")?.from;
  const one = (/** @type {number} */ process, /** @type {string | undefined} */ earlier) =>
    h("section", {}, h("h3", { text: t("state.of", { process: `p${process}` }) }), stateTable(global.state(process), earlier));
  return [one(actor, before), sender !== undefined && sender !== actor ? one(sender, undefined) : null];
}
