// Virtual time in nanoseconds, formatted for people and for scenarios.

const UNITS = /** @type {const} */ ([
  ["s", 1e9],
  ["ms", 1e6],
  ["us", 1e3],
  ["ns", 1],
]);

/**
 * Formats a time exactly, in the notation of scenarios: `3ms`, `3200us`.
 * @param {number} nanoseconds
 */
export function formatExact(nanoseconds) {
  if (nanoseconds === 0) return "0";
  const [unit, size] = UNITS.find(([, size]) => nanoseconds % size === 0) ?? ["ns", 1];
  return `${nanoseconds / size}${unit}`;
}

/**
 * Formats a time for people, rounded: `3.2 ms`.
 * @param {number} nanoseconds
 */
export function formatTime(nanoseconds) {
  if (nanoseconds === 0) return "0 ms";
  const [unit, size] = UNITS.find(([, size]) => nanoseconds >= size) ?? ["ns", 1];
  const digits = nanoseconds / size >= 100 ? 1 : nanoseconds / size >= 10 ? 2 : 3;
  return `${Number((nanoseconds / size).toFixed(digits))} ${unit === "us" ? "µs" : unit}`;
}

/**
 * Reads a time in the notation of scenarios, such as `3ms`; 0 if it is none.
 * @param {string} text
 */
export function parseTime(text) {
  const [, value, unit = "ns"] = /^(\d+(?:\.\d+)?)(s|ms|us|ns)?$/.exec(text.trim()) ?? [];
  const size = UNITS.find(([name]) => name === unit)?.[1] ?? 1;
  return value === undefined ? 0 : Math.round(Number(value) * size);
}
