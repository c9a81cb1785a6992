// The default scenario of each algorithm, chosen so that the diagram shows some activity.

/** @type {Record<string, Record<string, any>>} */
const BY_FAMILY = {
  "mutual exclusion": { processes: 5, requesters: "all" },
  election: { processes: 6 },
  agreement: { processes: 4 },
  multicast: { processes: 4, requesters: "2", repeat: 2 },
  detector: { processes: 5, faults: { crash: ["3@5ms"] } },
  snapshots: { processes: 3, spread: "2ms" },
  "stable properties": { processes: 4, repeat: 2 },
  time: { processes: 4, requesters: "all", "clock-offset": "250ms" },
  "resource allocation": { processes: 5, requesters: "all" },
  replication: { processes: 5, requesters: "2", repeat: 2, spread: "80ms", think: "10ms" },
};

/**
 * @param {{ name: string, family: string }} algorithm
 * @returns {import("./link.js").Scenario}
 */
export function defaultScenario(algorithm) {
  const scenario = { algorithm: algorithm.name, processes: 5, ...(BY_FAMILY[algorithm.family] ?? {}) };
  return structuredClone(scenario);
}

/** The scenario that the lab shows first. */
export const INITIAL_SCENARIO = { algorithm: "ricart-agrawala", processes: 5, requesters: "all" };
