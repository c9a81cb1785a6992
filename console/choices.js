// What could happen instead of the next step: another message in flight is delivered first.
//
// A choice becomes part of the scenario: the chosen message arrives one nanosecond after the current step, and messages that
// would have arrived at the time of this step arrive one nanosecond later. Everything before stays the same, because the arrival
// of a message does not change the delays of others.

import { formatExact } from "./time.js";

/** Maximum number of messages that a choice may postpone. */
const POSTPONED_MOST = 200;

/**
 * @typedef {import("./global-state.js").Record} Record
 * @typedef {{ record: Record, isNext: boolean }} Choice
 * @typedef {{ choices: Choice[], postponed: number[] }} Alternatives `postponed`: messages that arrive later at the same time
 */

/**
 * Returns the messages that could be delivered next; null if this part of the run is not loaded, or arrivals cannot be chosen.
 * @param {import("./recording.js").Recording} recording
 * @param {number} step
 * @param {boolean} fifo whether links keep the order of messages
 * @returns {Alternatives | null}
 */
export function alternatives(recording, step, fifo) {
  if (!recording.has(step) || recording.hasRounds) return null;
  const now = recording.time(step);
  /** @type {number[]} */
  const postponed = [];
  let next = -1;
  for (let later = step + 1; later < recording.length; later += 1) {
    if (!recording.has(later)) return null;
    const delivered = recording.records(later).find((record) => record.type === "deliver" && record.from !== record.to);
    if (later === step + 1) next = delivered?.message ?? -1;
    if (recording.time(later) > now) break;
    if (delivered?.message !== undefined) postponed.push(delivered.message);
    if (postponed.length > POSTPONED_MOST) return null;
  }
  const global = recording.stateAfter(step);
  /** @type {Map<string, Record>} */
  const deliverable = new Map();
  for (const record of global.inFlight.values()) {
    if (record.from === record.to || record.message === undefined || global.up[record.to ?? -1] !== 1) continue;
    const link = fifo ? `${record.from}-${record.to}` : `${record.message}`;
    const known = deliverable.get(link);
    if (!known || (known.message ?? 0) > record.message) deliverable.set(link, record);
  }
  const choices = [...deliverable.values()].map((record) => ({ record, isNext: record.message === next }));
  choices.sort((a, b) => Number(b.isNext) - Number(a.isNext) || (a.record.message ?? 0) - (b.record.message ?? 0));
  return { choices, postponed };
}

/**
 * Returns the scenario in which a message is delivered next.
 * @param {import("./link.js").Scenario} scenario
 * @param {number} message
 * @param {number[]} postponed
 * @param {number} now
 * @returns {import("./link.js").Scenario}
 */
export function withArrival(scenario, message, postponed, now) {
  const arrivals = new Map((scenario.arrival ?? []).map((/** @type {string} */ it) => [Number(it.split("@")[0]), it]));
  for (const other of postponed) arrivals.set(other, `${other}@${formatExact(now + 2)}`);
  arrivals.set(message, `${message}@${formatExact(now + 1)}`);
  return { ...scenario, arrival: [...arrivals.values()] };
}
