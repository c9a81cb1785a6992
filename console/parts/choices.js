// The panel in which the next step is chosen.

import { alternatives, withArrival } from "../choices.js";
import { h, select } from "../dom.js";
import { number, t } from "../texts.js";
import { formatExact } from "../time.js";

/** Maximum numbers of messages that are listed, and of processes that have buttons. */
const SHOWN = 40;
const PROCESSES_SHOWN = 24;

/**
 * @typedef {(scenario: import("../link.js").Scenario, at: { time: number } | { event: number }) => void} Branch
 * @typedef {(kind: string, fault: string, at?: { event: number } | { time: number }) => void} Fault
 */

/**
 * @param {import("../recording.js").Recording} recording
 * @param {number} step
 * @param {import("../link.js").Scenario} scenario
 * @param {{ branch: Branch, fault: Fault }} actions
 */
export function choicesPanel(recording, step, scenario, { branch, fault }) {
  const now = recording.time(step);
  const found = alternatives(recording, step, scenario.fifo ?? true);
  if (!found) return [h("p", { class: "faint", text: t("choices.unavailable") }), faults(recording, step, fault)];
  const { choices, postponed } = found;
  const shown = choices.slice(0, SHOWN);
  const row = (/** @type {import("../choices.js").Choice} */ { record, isNext }) => {
    const [from, to, message] = [`p${record.from}`, `p${record.to}`, record.message ?? 0];
    const deliver = () => branch(withArrival(scenario, message, postponed.filter((it) => it !== message), now), { time: now + 1 });
    const lose = () => fault("lose", `${record.from}-${record.to}@${formatExact(record.time)}`);
    const label = t("choices.deliver-this", { kind: record.kind ?? "", from, to });
    return h(
      "li",
      { class: isNext ? "choice-row next" : "choice-row" },
      h("span", { class: "kind", text: record.kind ?? "" }),
      ` ${from} → ${to} `,
      isNext
        ? h("span", { class: "badge", text: t("choices.next") })
        : h("button", { type: "button", "aria-label": label, on: { click: deliver } }, t("choices.deliver")),
      h("button", { type: "button", class: "quiet", "aria-label": t("choices.lose-this", { kind: record.kind ?? "", from, to }), on: { click: lose } }, t("choices.lose")),
    );
  };
  const more = choices.length - shown.length;
  return [
    h("p", { class: "faint", text: t(choices.length > 0 ? "choices.lead" : "choices.none") }),
    h(
      "ul",
      { class: "plain choice-list" },
      shown.map(row),
      more > 0 ? h("li", { class: "faint", text: t("step.more", { count: number(more) }) }) : null,
    ),
    faults(recording, step, fault),
  ];
}

/**
 * Crashes, recoveries and suspicions at the time of the step.
 * @param {import("../recording.js").Recording} recording
 * @param {number} step
 * @param {Fault} fault
 */
function faults(recording, step, fault) {
  const at = formatExact(recording.time(step));
  const global = recording.stateAfter(step);
  const all = Array.from({ length: Math.min(recording.n, PROCESSES_SHOWN) }, (_, it) => it);
  const button = (/** @type {number} */ process) => {
    const kind = global.up[process] === 1 ? "crash" : "recover";
    const label = t(`processes.${kind}`, { process: `p${process}` });
    return h(
      "button",
      { type: "button", class: kind === "crash" ? "" : "down", "aria-label": label, title: label, on: { click: () => fault(kind, `${process}@${at}`) } },
      `${kind === "crash" ? "✕" : "↺"} p${process}`,
    );
  };
  const options = all.map((it) => ({ value: String(it), label: `p${it}` }));
  const observer = select(options, "0", { "aria-label": t("choices.observer") });
  const victim = select(options, "1", { "aria-label": t("choices.victim") });
  const suspect = () => fault("suspect", `${observer.value}-${victim.value}@${at}`);
  return h(
    "div",
    { class: "choice-faults" },
    h("div", { class: "row" }, all.map(button)),
    recording.n > 1
      ? h("div", { class: "row" }, observer, t("choices.suspects"), victim, h("button", { type: "button", on: { click: suspect } }, t("choices.suspect")))
      : null,
  );
}
