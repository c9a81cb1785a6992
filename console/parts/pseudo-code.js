// The algorithm in pseudo-code, with the step that the current event has executed.

import { h } from "../dom.js";
import { stepTexts, t } from "../texts.js";

/**
 * @typedef {import("../api.js").Step} Step
 * @typedef {import("../global-state.js").Record} Record
 */

/**
 * Returns the index of the step that the records of an event execute; -1 if there is none.
 * @param {Step[]} steps
 * @param {Record[]} records
 */
export function executedStep(steps, records) {
  const cause = records.find((record) => record.type === "command" || record.type === "deliver");
  // What a process ignores or refuses is not a step of the paper.
  if (!cause || records.some((record) => record.type === "ignore" || record.type === "refuse")) return -1;
  const on = firstWord(cause.type === "command" ? cause.command : cause.kind);
  const effects = new Set(records.map((record) => (record.type === "send" ? record.kind : record.type === "output" ? firstWord(record.output) : undefined)));
  return steps.findIndex((step) => step.on === on && (step.doing === null || effects.has(step.doing)));
}

/** The name of a command or an output without its contents. @param {string | undefined} text */
function firstWord(text) {
  return /^[\w-]+/.exec(text ?? "")?.[0] ?? "";
}

/**
 * @param {{ name: string, steps: Step[] }} algorithm
 * @param {Record[]} records the records of the current event
 * @param {number} actor
 */
export function pseudoCode(algorithm, records, actor) {
  const executed = executedStep(algorithm.steps, records);
  const texts = stepTexts(algorithm);
  const row = (/** @type {Step} */ step, /** @type {number} */ index) =>
    h(
      "li",
      { class: index === executed ? "code-step executed" : "code-step", "aria-current": index === executed ? "step" : undefined },
      h("span", { class: "kind", text: step.on }),
      h("span", { text: texts[index] ?? step.text }),
    );
  return [
    h("p", { class: "faint", text: executed < 0 ? t("code.none") : t("code.executed", { process: `p${actor}` }) }),
    h("ol", { class: "plain code" }, algorithm.steps.map(row)),
  ];
}
