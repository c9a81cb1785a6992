// The panel that checks every interleaving of a small world.

import { get, post, remove } from "../api.js";
import { field, fill, h } from "../dom.js";
import { encode } from "../link.js";
import { number, t } from "../texts.js";
import { sentence } from "./describe.js";

/** Maximum number of processes of a world, and the number that is proposed for larger ones. */
const PROCESSES_MOST = 8;
const PROCESSES_PROPOSED = 3;
/** Maximum number of faults of a kind, and of requests. */
const BUDGET_MOST = 4;
/** Maximum number of steps of a counterexample that are listed. */
const STEPS = 40;
/** Kinds of faults, with the faults of a scenario from which the first number is taken. */
const BUDGETS = { crashes: ["crash", "crash-mid"], recoveries: ["recover"], losses: ["lose"], suspicions: ["suspect"], timeouts: [] };
/** Keys of a scenario that still have a meaning if it has another number of processes. */
const SIZELESS = ["algorithm", "requesters", "quorums", "fifo", "no-cancel", "hand-over", "capacity", "watch"];

/**
 * @typedef {{ id: number, name: string, state: "running" | "done" | "failed", problem: string | null, states: number,
 *   steps: any, depth: number, queue: number, bytes: number,
 *   expected: null | { states_least: number, states_most: number, depth: number },
 *   report?: { verdict: string, states: number, depth: number, bounded_by: string | null, counterexample_steps: number | null,
 *     properties: { id: string, status: string, detail: string }[] },
 *   scenario?: import("../link.js").Scenario | null }} Check
 * @typedef {{ algorithm: string, family: string, fields: Record<string, number>, job: Check }} Last
 */

/** The check that was started last. It stays when another run is shown. @type {Last | null} */
let last = null;

/** Whether the fields are shown. */
let keepsOpen = false;

/**
 * @param {import("../link.js").Scenario} scenario
 * @param {string} family
 * @returns {{ element: HTMLElement, stop: () => void }}
 */
export function checkPanel(scenario, family) {
  const known = last?.algorithm === scenario.algorithm ? last : null;
  const initial = known?.fields ?? initialFields(scenario);
  /** @type {Map<string, HTMLInputElement>} */
  const inputs = new Map();
  const input = (/** @type {string} */ key, /** @type {number} */ least, /** @type {number} */ most) => {
    const element = h("input", { type: "number", min: least, max: most, value: initial[key], "data-check": key, on: { input: () => describeWorld() } });
    inputs.set(key, element);
    return field(t(`check.${key}`), element);
  };
  const result = h("div", { class: "check-result", "aria-live": "polite" });
  /** @type {EventSource | null} */
  let source = null;
  const begin = h("button", { type: "button", class: "primary", on: { click: () => start() } }, t("check.begin"));

  const world = h("summary");
  const describeWorld = () => {
    world.textContent = Object.entries(fields())
      .filter(([, value]) => value > 0)
      .map(([key, value]) => `${t(`check.${key}`)}: ${number(value)}`)
      .join(" · ");
  };
  const fields = () => Object.fromEntries([...inputs].map(([key, it]) => [key, Math.max(Number(it.min), Math.min(Number(it.max), Number(it.value) || 0))]));
  const problem = (/** @type {string} */ text) => fill(result, h("p", { class: "problem", lang: "en", text }));

  const start = async () => {
    const { processes, ...budget } = fields();
    try {
      const job = await post("checks", { scenario: worldOf(scenario, processes), ...budget });
      last = { algorithm: scenario.algorithm, family, fields: { processes, ...budget }, job };
      follow(job);
    } catch (error) {
      problem(/** @type {Error} */ (error).message);
    }
  };
  const follow = (/** @type {Check} */ job) => {
    source?.close();
    show(job);
    source = new EventSource(`api/checks/${job.id}/progress`);
    source.onmessage = async (event) => {
      const now = JSON.parse(event.data);
      if (now.state === "running") return show(now);
      source?.close();
      try {
        show(await get(`checks/${job.id}`));
      } catch (error) {
        problem(/** @type {Error} */ (error).message);
      }
    };
    source.onerror = () => {
      source?.close();
      problem(t("problem.unreachable"));
    };
  };
  const show = (/** @type {Check} */ job) => {
    if (last?.job.id === job.id) last.job = job;
    begin.disabled = job.state === "running";
    if (job.state === "failed") return problem(job.problem ?? "");
    fill(result, job.state === "running" ? running(job) : outcome(job, family));
  };

  const element = h(
    "div",
    { class: "check" },
    h("div", { class: "row" }, begin),
    h(
      "details",
      { class: "more", open: keepsOpen, on: { toggle: (/** @type {Event} */ event) => (keepsOpen = /** @type {HTMLDetailsElement} */ (event.target).open) } },
      world,
      h(
        "div",
        { class: "fields check-fields" },
        input("processes", 1, PROCESSES_MOST),
        input("requests", 1, BUDGET_MOST),
        Object.keys(BUDGETS).map((key) => input(key, 0, BUDGET_MOST)),
      ),
    ),
    result,
    h("p", { class: "faint", text: t("check.lead") }),
  );
  describeWorld();
  if (known) known.job.state === "running" ? follow(known.job) : show(known.job);
  return { element, stop: () => source?.close() };
}

/**
 * Reads the first values of the fields from the scenario.
 * @param {import("../link.js").Scenario} scenario
 * @returns {Record<string, number>}
 */
function initialFields(scenario) {
  const n = Number(scenario.processes);
  const faults = (/** @type {string[]} */ kinds) => kinds.reduce((sum, kind) => sum + (scenario.faults?.[kind]?.length ?? 0), 0);
  const budgets = Object.entries(BUDGETS).map(([key, kinds]) => [key, Math.min(faults(kinds), BUDGET_MOST)]);
  return {
    processes: n <= PROCESSES_PROPOSED + 1 ? n : PROCESSES_PROPOSED,
    requests: Math.min(Number(scenario.repeat ?? 1), BUDGET_MOST),
    ...Object.fromEntries(budgets),
  };
}

/**
 * The scenario whose world is checked. With another number of processes, the keys that name processes are left out.
 * @param {import("../link.js").Scenario} scenario
 * @param {number} processes
 */
function worldOf(scenario, processes) {
  if (processes === Number(scenario.processes)) return scenario;
  const kept = SIZELESS.filter((key) => key in scenario).map((key) => [key, scenario[key]]);
  const { requesters } = scenario;
  const all = scenario.request?.length > 1 ? { requesters: "all" } : {};
  const few = Number(requesters) > processes ? { requesters: "all" } : {};
  return { ...Object.fromEntries(kept), ...all, ...few, processes };
}

/** @param {Check} job */
function running(job) {
  const cancel = h("button", { type: "button", on: { click: () => remove(`checks/${job.id}`).catch(() => {}) } }, t("run.cancel"));
  const { expected } = job;
  const rough = (/** @type {number} */ value) => Number(value.toPrecision(1));
  return [
    h("div", { class: "row" }, h("span", { class: "check-count", text: t("check.states", { states: number(job.states), depth: number(job.depth) }) }), cancel),
    expected
      ? h("progress", { max: expected.states_most, value: job.states, "aria-label": t("check.running") })
      : h("progress", { "aria-label": t("check.running") }),
    expected
      ? h("p", { class: "faint", text: t("check.expected", { least: number(rough(expected.states_least)), most: number(rough(expected.states_most)) }) })
      : null,
  ];
}

/**
 * @param {Check} job
 * @param {string} family
 */
function outcome(job, family) {
  const { report } = job;
  if (!report) return [];
  const { verdict } = report;
  const states = number(report.states);
  const depth = number(report.depth);
  const glyph = { holds: "✓", violated: "✕" }[verdict] ?? "△";
  const broken = report.properties.filter((it) => it.status === "violated");
  const row = (/** @type {{ id: string, detail: string }} */ it) =>
    h("li", { class: "property violated" }, h("span", { class: "glyph", "aria-hidden": "true", text: "✕" }), h("div", {}, h("strong", { text: it.id }), " ", h("span", { class: "faint", text: sentence("property", it.id, family, "") })));
  const words = t(verdict === "bounded" ? `check.bounded-${report.bounded_by ?? "stopped"}` : `check.${verdict}`, {
    states,
    depth,
    steps: number(report.counterexample_steps ?? 0),
  });
  /** @type {string[]} */
  const steps = Array.isArray(job.steps) ? job.steps : [];
  return [
    h("p", { class: `verdict ${verdict === "bounded" ? "outside-assumptions" : verdict}` }, h("span", { "aria-hidden": "true", text: `${glyph} ` }), words),
    broken.length > 0 ? h("ul", { class: "plain properties" }, broken.map(row)) : null,
    job.scenario ? h("a", { class: "button primary", href: `#/run?${encode(job.scenario)}` }, t("check.show")) : null,
    steps.length > 0
      ? h(
          "details",
          { class: "more", open: !job.scenario },
          h("summary", { text: t("check.steps", { count: number(steps.length) }) }),
          h("ol", { lang: "en", class: "check-steps" }, steps.slice(0, STEPS).map((text) => h("li", { text }))),
          steps.length > STEPS ? h("p", { class: "faint", text: t("step.more", { count: number(steps.length - STEPS) }) }) : null,
        )
      : null,
  ];
}
