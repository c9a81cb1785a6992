// Reads the text of OpenMetrics and computes rates.

/** @typedef {{ at: number, values: Map<string, number> }} Sample */

/**
 * Returns the values by name. The values of a name with several labels are added up, except those of histogram buckets.
 * @param {string} text
 * @returns {Map<string, number>}
 */
export function parseMetrics(text) {
  /** @type {Map<string, number>} */
  const values = new Map();
  for (const line of text.split("\n")) {
    const [, name, value] = /^quorate_([a-z_]+)(?:\{.*\})? (\S+)$/.exec(line) ?? [];
    if (!name || name.endsWith("_bucket")) continue;
    values.set(name, (values.get(name) ?? 0) + Number(value));
  }
  return values;
}

/**
 * Returns a value at each sample.
 * @param {Sample[]} samples
 * @param {string} name
 */
export function gauge(samples, name) {
  return samples.map(({ at, values }) => ({ at, value: values.get(name) ?? 0 }));
}

/**
 * Returns the growth per second between samples. A value that falls belongs to a node that was restarted.
 * @param {Sample[]} samples
 * @param {string[]} names counters that are added up
 */
export function rate(samples, names) {
  const total = (/** @type {Sample} */ sample) => names.reduce((sum, name) => sum + (sample.values.get(name) ?? 0), 0);
  return samples.slice(1).map((sample, index) => {
    const before = samples[index];
    const grown = Math.max(0, total(sample) - total(before));
    return { at: sample.at, value: grown / Math.max(1, (sample.at - before.at) / 1000) };
  });
}
