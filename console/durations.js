// Durations of real time, formatted for people. The symbols of the units are the same in all languages of the page.

import { language } from "./texts.js";

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

/**
 * Formats a duration with at most two units: `850 ms`, `12 s`, `3 min 5 s`, `2 h 14 min`, `3 d 4 h`.
 * @param {number} ms
 */
export function formatDuration(ms) {
  const two = (/** @type {number} */ size, /** @type {string} */ unit, /** @type {number} */ below, /** @type {string} */ lesser) => {
    const [whole, rest] = [Math.floor(ms / size), Math.floor((ms % size) / below)];
    return rest > 0 ? `${whole} ${unit} ${rest} ${lesser}` : `${whole} ${unit}`;
  };
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return two(MINUTE, "min", SECOND, "s");
  if (ms < DAY) return two(HOUR, "h", MINUTE, "min");
  return two(DAY, "d", HOUR, "h");
}

/** Formats a time of the day; with the date if it is not today. @param {Date} at */
export function formatMoment(at) {
  const time = at.toLocaleTimeString(language);
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString(language)} ${time}`;
}
