// The form for the keys of a scenario.

import { field, h, select } from "../dom.js";
import { withFault, withoutFault } from "../link.js";
import { t } from "../texts.js";

/** The faults that can be added, with an example of each. */
const FAULTS = /** @type {const} */ ([
  ["crash", "2@1ms"],
  ["crash-mid", "2@1ms:1"],
  ["recover", "2@9ms"],
  ["cut", "0-1@2ms..9ms"],
  ["partition", "0,1|2,3@2ms..9ms"],
  ["lose", "0-1@0"],
  ["duplicate", "0-1@0"],
  ["reorder", "0-1@0"],
  ["corrupt", "0-1@0"],
  ["slow", "2@1ms..9ms:5ms"],
  ["fast", "2@0:4"],
  ["clock", "2@0:1.5"],
  ["suspect", "0-3@2ms..9ms"],
  ["omit-send", "2@1ms..5ms:0.5"],
  ["omit-receive", "2@1ms..5ms:0.5"],
  ["traitor", "2:liar"],
]);

const DETECTORS = ["oracle", "heartbeat", "heartbeat-ring", "adaptive-heartbeat", "vcube", "none"];
const TIMINGS = ["", "synchronous", "asynchronous", "rounds:1ms", "eventually:50ms"];

/**
 * @param {import("../link.js").Scenario} scenario
 * @param {import("../api.js").Card | undefined} card
 * @param {(scenario: import("../link.js").Scenario) => void} change
 * @param {boolean} [withSeed] whether the form has a field for the seed
 * @param {HTMLElement[]} [extraDetails] further collapsible sections
 * @param {boolean} [withChips] whether the form lists the faults
 */
export function setup(scenario, card, change, withSeed = true, extraDetails = [], withChips = true) {
  const set = (/** @type {string} */ key, /** @type {any} */ value) => {
    const { [key]: _, ...rest } = scenario;
    change(value === "" || value === undefined ? rest : { ...rest, [key]: value });
  };
  const number = (/** @type {string} */ key, /** @type {number} */ least, /** @type {number} */ defaultValue) => {
    const input = h("input", { type: "number", min: least, max: 4096, value: scenario[key] ?? defaultValue, "data-key": key });
    input.addEventListener("change", () => set(key, input.value === "" ? defaultValue : Number(input.value)));
    return field(t(`key.${key}`), input, t(`hint.${key}`));
  };
  const text = (/** @type {string} */ key, /** @type {string} */ defaultValue, /** @type {string[]} */ examples = []) => {
    const list = `list-${key}`;
    const input = h("input", {
      type: "text",
      value: scenario[key] ?? defaultValue,
      list: examples.length > 0 ? list : undefined,
      spellcheck: "false",
      autocomplete: "off",
      "data-key": key,
    });
    input.addEventListener("change", () => set(key, input.value.trim()));
    const known =
      examples.length > 0
        ? h(
            "datalist",
            { id: list },
            examples.map((it) => h("option", { value: it })),
          )
        : null;
    const labelled = field(t(`key.${key}`), input, t(`hint.${key}`));
    if (known) labelled.append(known);
    return labelled;
  };
  const list = (/** @type {string} */ key) => {
    const input = h("input", {
      type: "text",
      value: (scenario[key] ?? []).join(", "),
      spellcheck: "false",
      "data-key": key,
    });
    input.addEventListener("change", () => {
      const values = input.value
        .split(",")
        .map((it) => it.trim())
        .filter(Boolean)
        .map(Number);
      set(key, values.length > 0 ? values : undefined);
    });
    return field(t(`key.${key}`), input, t(`hint.${key}`));
  };
  const choice = (/** @type {string} */ key, /** @type {string[]} */ options, /** @type {string} */ defaultValue) => {
    const chosen = scenario[key] ?? defaultValue;
    const all = options.includes(chosen) ? options : [...options, chosen];
    const input = select(
      all.map((value) => ({ value, label: value === "" ? t("setup.usual") : value })),
      chosen,
      { "data-key": key },
    );
    input.addEventListener("change", () => set(key, input.value === defaultValue ? undefined : input.value));
    return field(t(`key.${key}`), input, t(`hint.${key}`));
  };
  const rate = (/** @type {string} */ key) => {
    const input = h("input", {
      type: "number",
      min: 0,
      max: 1,
      step: 0.01,
      value: scenario.faults?.[key] ?? 0,
      "data-key": key,
    });
    input.addEventListener("change", () => {
      const faults = { ...(scenario.faults ?? {}), [key]: Number(input.value) };
      if (Number(input.value) === 0) delete faults[key];
      change({ ...scenario, faults });
    });
    return field(t(`key.${key}`), input, t(`hint.${key}`));
  };
  const fifo = h("input", { type: "checkbox", checked: scenario.fifo ?? true, "data-key": "fifo" });
  fifo.addEventListener("change", () => set("fifo", fifo.checked ? undefined : false));
  const traits = card?.traits;
  const hasRequests = card?.family !== "agreement" && card?.family !== "detector";
  return h(
    "div",
    { class: "setup" },
    h(
      "div",
      { class: "fields" },
      number("processes", 1, 5),
      hasRequests ? text("requesters", "one", ["one", "all", "2", "3"]) : null,
      hasRequests ? number("repeat", 1, 1) : null,
      text("delay", "constant:1ms", ["constant:1ms", "uniform:1ms..5ms", "exponential:2ms", "pareto:1ms,1.5", "log-normal:1ms,1"]),
      withSeed ? number("seed", 0, 0) : null,
      traits && traits.quorums.length > 0 ? choice("quorums", ["", ...traits.quorums], "") : null,
    ),
    faults(scenario, change, withChips),
    h(
      "div",
      { class: "setup-details" },
      h(
        "details",
        { class: "more" },
        h("summary", { text: t("setup.more") }),
        h(
          "div",
          { class: "fields" },
          choice("timing", TIMINGS, ""),
          choice("detector", DETECTORS, "oracle"),
          card?.family === "mutual exclusion" || card?.family === "resource allocation" ? text("section", "1ms") : null,
          text("spread", ""),
          text("handling", ""),
          text("until", ""),
          traits?.tree ? text("tree", "", ["chain", "star", "binary"]) : null,
          traits?.bears ? number("bears", 0, 1) : null,
          card?.family === "election" ? list("ids") : null,
          card?.family === "agreement" ? list("values") : null,
          card?.family === "time" ? text("clock-offset", "") : null,
          card?.family === "time" ? text("clock-drift", "") : null,
          traits?.permits ? number("capacity", 1, 2) : null,
          traits?.conflicts ? choice("conflicts", ["ring", "complete"], "ring") : null,
          rate("loss"),
          rate("duplication"),
          rate("reordering"),
          rate("corruption"),
          h("label", { class: "field check", title: t("hint.fifo") }, fifo, h("span", { text: t("key.fifo") })),
        ),
      ),
      extraDetails,
    ),
  );
}

/**
 * Lists the faults of the scenario, each with a button that removes it.
 * @param {import("../link.js").Scenario} scenario
 * @param {(scenario: import("../link.js").Scenario) => void} change
 */
export function faultChips(scenario, change) {
  return Object.entries(scenario.faults ?? {}).flatMap(([kind, all]) =>
    Array.isArray(all)
      ? all.map((fault, index) => {
          const label = t("faults.remove", { fault: `${kind} ${fault}` });
          const act = () => change(withoutFault(scenario, kind, index));
          return h(
            "span",
            { class: "chip" },
            h("b", { text: t(`fault.${kind}`) }),
            ` ${fault} `,
            h("button", { type: "button", "aria-label": label, title: label, on: { click: act } }, "✕"),
          );
        })
      : [],
  );
}

/**
 * Controls to add faults, and the faults of the scenario.
 * @param {import("../link.js").Scenario} scenario
 * @param {(scenario: import("../link.js").Scenario) => void} change
 * @param {boolean} withChips
 */
function faults(scenario, change, withChips) {
  const chips = faultChips(scenario, change);
  const kind = select(
    FAULTS.map(([value]) => ({ value, label: t(`fault.${value}`) })),
    "crash",
    { "aria-label": t("faults.kind") },
  );
  const what = h("input", {
    type: "text",
    placeholder: FAULTS[0][1],
    "aria-label": t("faults.what"),
    spellcheck: "false",
    size: 14,
  });
  kind.addEventListener("change", () => {
    what.placeholder = FAULTS.find(([known]) => known === kind.value)?.[1] ?? "";
  });
  const add = () => change(withFault(scenario, kind.value, what.value.trim() || what.placeholder));
  what.addEventListener("keydown", (event) => {
    if (event.key === "Enter") add();
  });
  return h(
    "div",
    { class: "faults", role: "group", "aria-label": t("faults.label") },
    h("span", { class: "label", text: t("faults.label") }),
    chips.length > 0 ? (withChips ? chips : null) : h("span", { class: "faint", text: t("faults.none") }),
    h("span", { class: "adder" }, kind, what, h("button", { type: "button", on: { click: add } }, t("faults.add"))),
  );
}
