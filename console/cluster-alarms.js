// Problems of the cluster, the worst first.

import { t } from "./texts.js";

/**
 * `short` is for the title of the tab; `detail` are words of the node, in English.
 * @typedef {{ id: string, level: "bad" | "warn", short: string, text: string, detail: string }} Alarm
 */

/** Reasons of a node that have a text of their own, by the keyword at their beginning. */
const REASONS = /** @type {const} */ ({ disk: "bad", lost: "bad", abstaining: "warn", restarted: "warn", leaving: "warn", terms: "bad" });

/**
 * @param {import("./cluster-state.js").Known} known
 * @param {string} endpoint
 * @returns {Alarm[]}
 */
export function alarmsOf(known, endpoint) {
  /** @type {Alarm[]} */
  const alarms = [];
  const add = (/** @type {string} */ id, /** @type {"bad" | "warn"} */ level, /** @type {Record<string, any>} */ values = {}, detail = "") => {
    alarms.push({ id, level, short: t(`alarm.${id}.short`, values), text: t(`alarm.${id}`, values), detail });
  };
  if (known.lostAt) {
    add("contact", "bad", { endpoint });
    // All else that is known is from before.
    return alarms;
  }
  if (known.refused && known.refused.status !== 401) add("refused", "warn", {}, known.refused.message);
  const { status } = known;
  if (!status) return alarms;
  const up = status.members.filter((member) => member.up && !member.suspected).length;
  if (!status.quorum) add("quorum", "bad", { node: status.node, up, all: status.members.length });
  for (const reason of status.reasons) {
    const [, keyword = "", detail = ""] = /^([a-z-]+): (.*)$/s.exec(reason) ?? [];
    const level = REASONS[/** @type {keyof typeof REASONS} */ (keyword)];
    if (level) add(keyword, level, { node: status.node }, detail);
  }
  const down = status.members.filter((member) => !member.up);
  if (down.length > 0) add(down.length > 1 ? "downs" : "down", "bad", nodesOf(down), troubles(down));
  const suspected = status.members.filter((member) => member.up && member.suspected);
  if (suspected.length > 0) add(suspected.length > 1 ? "suspects" : "suspected", "warn", nodesOf(suspected));
  return alarms;
}

/** @typedef {import("./cluster-state.js").Member} Member */

/** @param {Member[]} members */
function nodesOf(members) {
  return { node: members.map(({ node }) => node).join(", ") };
}

/** Each reason once, with its nodes if there are several reasons. @param {Member[]} members */
function troubles(members) {
  /** @type {Map<string, number[]>} */
  const nodes = new Map();
  for (const { node, trouble } of members) if (trouble) nodes.set(trouble, [...(nodes.get(trouble) ?? []), node]);
  const reasons = [...nodes].map(([trouble, of]) => (nodes.size > 1 ? `${of.join(", ")}: ${trouble}` : trouble));
  return reasons.join("; ");
}
