// Encodes a scenario as the address of a page: its keys become a query that people can read and edit.
//
//   processes=5&requesters=all&faults.crash=2@3ms
//
// A list is a repeated key. The sets below name the keys that are lists, numbers or booleans; all others are text.

/** @typedef {Record<string, any>} Scenario */

const LISTS = new Set([
  "request",
  "section-of",
  "link-delay",
  "arrival",
  "detection-pair",
  "quorum-sets",
  "quorum-of",
  "ids",
  "identify",
  "clocks",
  "local-clock",
  "values",
  "watch",
  "claim-of",
  "script",
  "faults.crash",
  "faults.crash-mid",
  "faults.recover",
  "faults.omit-send",
  "faults.omit-receive",
  "faults.lose",
  "faults.duplicate",
  "faults.reorder",
  "faults.corrupt",
  "faults.slow",
  "faults.fast",
  "faults.clock",
  "faults.cut",
  "faults.partition",
  "faults.suspect",
  "faults.traitor",
]);
const NUMBERS = new Set([
  "processes",
  "seed",
  "repeat",
  "server",
  "ids",
  "clocks",
  "replies",
  "probes",
  "values",
  "bears",
  "capacity",
  "faults.loss",
  "faults.duplication",
  "faults.reordering",
  "faults.corruption",
]);
const FLAGS = new Set(["fifo", "no-cancel", "hand-over"]);

/** Default values, which are omitted from addresses. */
const DEFAULTS = new Map(Object.entries({ seed: "0", section: "1ms", delay: "constant:1ms", fifo: "true" }));

/**
 * @param {Scenario} scenario
 * @returns {string}
 */
export function encode(scenario) {
  const query = new URLSearchParams();
  for (const [key, value] of flatten(scenario)) {
    if (key === "expect" || key.startsWith("expect.")) continue;
    if (!Array.isArray(value) && DEFAULTS.get(key) === String(value)) continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(key, String(one));
  }
  // These characters are safe in a fragment, and unescaped they keep the address readable.
  return query.toString().replaceAll("%40", "@").replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%3E", ">");
}

/**
 * @param {string} text
 * @returns {Scenario}
 */
export function decode(text) {
  /** @type {Scenario} */
  const scenario = {};
  const query = new URLSearchParams(text);
  for (const key of new Set(query.keys())) {
    const values = query.getAll(key).map((value) => parseValue(key, value));
    setKey(scenario, key, LISTS.has(key) ? values : values[values.length - 1]);
  }
  return scenario;
}

/**
 * @param {string} key
 * @param {string} value
 */
function parseValue(key, value) {
  if (FLAGS.has(key)) return value === "true";
  // A number too large for JavaScript to represent exactly stays text; the server parses it.
  if (NUMBERS.has(key) && value.trim() !== "" && Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER)
    return Number(value);
  return value;
}

/**
 * @param {Scenario} scenario
 * @param {string} key
 * @param {any} value
 */
function setKey(scenario, key, value) {
  const [table, name] = key.split(".");
  if (table === "__proto__" || name === "__proto__") return;
  if (name === undefined) scenario[table] = value;
  else (scenario[table] ??= {})[name] = value;
}

/**
 * @param {Scenario} scenario
 * @returns {[string, any][]}
 */
function flatten(scenario) {
  return Object.entries(scenario).flatMap(([key, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.entries(value).map(([name, inner]) => /** @type {[string, any]} */ ([`${key}.${name}`, inner]))
      : [/** @type {[string, any]} */ ([key, value])],
  );
}

/**
 * Splits an address into the scenario and what to show of the run: the position, 0 before the first step; whether it plays; and
 * the tab.
 * @param {string} rest
 */
export function splitRoute(rest) {
  let scenario = rest;
  const take = (/** @type {RegExp} */ pattern) => {
    const found = pattern.exec(scenario);
    if (found) scenario = scenario.replace(found[0], "");
    return found?.[1];
  };
  const at = Number(take(/(?:^|&)at=(\d{1,12})(?=&|$)/) ?? 0);
  const plays = take(/(?:^|&)play=(1)(?=&|$)/) !== undefined;
  const tab = take(/(?:^|&)tab=([a-z]+)(?=&|$)/);
  return { scenario, at, plays, tab };
}

/**
 * Returns the scenario with one more fault.
 * @param {Scenario} scenario
 * @param {string} kind
 * @param {string} fault
 * @returns {Scenario}
 */
export function withFault(scenario, kind, fault) {
  const faults = scenario.faults ?? {};
  return { ...scenario, faults: { ...faults, [kind]: [...(faults[kind] ?? []), fault] } };
}

/**
 * Returns the scenario without the fault at that index.
 * @param {Scenario} scenario
 * @param {string} kind
 * @param {number} place
 * @returns {Scenario}
 */
export function withoutFault(scenario, kind, place) {
  const left = scenario.faults[kind].filter((/** @type {string} */ _, /** @type {number} */ it) => it !== place);
  const { [kind]: _, ...others } = scenario.faults;
  const faults = left.length > 0 ? { ...others, [kind]: left } : others;
  const { faults: __, ...rest } = scenario;
  return Object.keys(faults).length > 0 ? { ...rest, faults } : rest;
}
