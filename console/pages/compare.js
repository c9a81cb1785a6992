// Compare: two runs side by side, moving together in virtual time.

import { catalogue, post } from "../api.js";
import { INITIAL_SCENARIO } from "../defaults.js";
import { fill, h } from "../dom.js";
import { Diagram } from "../drawing.js";
import { Recording } from "../recording.js";
import { decode, encode, withFault } from "../link.js";
import { menuItems } from "../parts/menu-items.js";
import { menu } from "../parts/menu.js";
import { familyName, describe } from "../parts/describe.js";
import { setup } from "../parts/setup.js";
import { playbackControls } from "../parts/playback-controls.js";
import { verdict } from "../parts/verdicts.js";
import { Player, bindKeys } from "../player.js";
import { formula, number, t } from "../texts.js";
import { formatTime } from "../time.js";

/**
 * @typedef {import("../link.js").Scenario} Scenario
 * @typedef {{ result: import("../parts/run-view.js").Result, recording: Recording, diagram: Diagram, now: HTMLElement }} Side
 */

/** @type {import("../main.js").Page} */
export async function page(main, rest, saved) {
  const known = await catalogue();
  const [left, right] = rest.split("/");
  /** @type {[Scenario, Scenario]} */
  const scenarios =
    left && right ? [decode(left), decode(right)] : [{ ...INITIAL_SCENARIO }, { ...INITIAL_SCENARIO, algorithm: "maekawa", processes: 5 }];
  const head = h(
    "div",
    { class: "title-row" },
    h(
      "div",
      { class: "heading" },
      h("h1", { text: t("page.compare") }),
      h("p", { class: "lead", text: t("compare.lead") }),
    ),
  );
  const setupPanel = h("div", { class: "setup-panel" });
  const problem = h("div", { role: "alert" });
  const pair = h("div", { class: "pair" });
  const controls = h("div");
  fill(main, head, setupPanel, problem, controls, pair);
  /** @type {Player | null} */
  let player = null;
  /** The results and recordings shown. @type {{ results: import("../parts/run-view.js").Result[], recordings: Recording[] } | null} */
  let shown = null;
  let now = () => -1;

  const choose = (/** @type {0 | 1} */ side) => {
    const families = [...new Set(known.algorithms.map((it) => it.family))];
    const input = h(
      "select",
      { "aria-label": t("compare.algorithm", { which: side + 1 }), "data-side": side },
      families.map((family) =>
        h(
          "optgroup",
          { label: familyName(family) },
          known.algorithms
            .filter((it) => it.family === family)
            .map((it) =>
              h("option", { value: it.name, text: it.name, selected: it.name === scenarios[side].algorithm }),
            ),
        ),
      ),
    );
    input.addEventListener("change", () => {
      const { quorums: _, tree: __, ...others } = scenarios[side];
      scenarios[side] = { ...others, algorithm: input.value };
      start();
    });
    const seed = h("input", {
      type: "number",
      min: 0,
      value: scenarios[side].seed ?? 0,
      "aria-label": t("compare.seed", { which: side + 1 }),
    });
    seed.addEventListener("change", () => {
      scenarios[side] = { ...scenarios[side], seed: Number(seed.value) };
      start();
    });
    return h("div", { class: "row" }, input, h("label", { class: "row" }, t("key.seed"), seed));
  };

  /** Applies a setting to both sides, so that the workload stays the same. @param {Scenario} next */
  const setBoth = (next) => {
    for (const side of /** @type {const} */ ([0, 1])) {
      const { algorithm, seed, quorums } = scenarios[side];
      const scenario = { ...next, algorithm, seed, quorums };
      if (seed === undefined) delete scenario.seed;
      if (quorums === undefined) delete scenario.quorums;
      scenarios[side] = scenario;
    }
    start();
  };

  const drawSetup = () =>
    fill(setupPanel, h("div", { class: "pair" }, choose(0), choose(1)), setup(scenarios[0], undefined, setBoth, false));

  /** Runs both scenarios and returns whether that succeeded. */
  const start = async () => {
    drawSetup();
    fill(problem);
    try {
      const results = await Promise.all(scenarios.map((scenario) => post("run", { scenario })));
      scenarios[0] = results[0].scenario;
      scenarios[1] = results[1].scenario;
      history.replaceState(null, "", `#/compare/${encode(scenarios[0])}/${encode(scenarios[1])}`);
      const recordings = results.map((it) => new Recording(it.film, it.moments, { scenario: it.scenario }));
      show(results, recordings, now());
      return true;
    } catch (error) {
      fill(problem, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
      return false;
    }
  };

  /**
   * Adds a fault to both sides, so that the workload stays the same.
   * @param {string} kind
   * @param {string} fault
   */
  const addFault = async (kind, fault) => {
    const before = [...scenarios];
    for (const side of /** @type {const} */ ([0, 1])) scenarios[side] = withFault(scenarios[side], kind, fault);
    if (await start()) return;
    // If one side cannot run with the fault, it is removed from both.
    [scenarios[0], scenarios[1]] = before;
    drawSetup();
  };

  /**
   * @param {import("../parts/run-view.js").Result[]} results
   * @param {Recording[]} recordings
   * @param {number} at the time to go to; -1 is before the first event
   */
  const show = (results, recordings, at) => {
    shown = { results, recordings };
    const sides = results.map((result, index) => buildSide(result, recordings[index]));
    fill(
      pair,
      sides.map((it) => it.element),
    );
    // Every time at which an event happens in either run.
    const times = [...new Set(recordings.flatMap((recording) => recording.allMoments.map(([time]) => time)))].sort((a, b) => a - b);
    const end = times[times.length - 1] ?? 0;
    player?.pause();
    const steps = (/** @type {number} */ position) =>
      recordings.map((recording) => (position < 0 ? -1 : recording.stepAtTime(times[position])));
    const sharedPlayer = new Player(times.length, (position) => steps(position).every((step, it) => recordings[it].has(step)));
    player = sharedPlayer;
    bindKeys(sharedPlayer);
    now = () => (sharedPlayer.position < 0 ? -1 : times[sharedPlayer.position]);
    const go = (/** @type {number} */ time) => sharedPlayer.go(times.findLastIndex((it) => it <= time));
    for (const { recording, diagram } of sides) {
      diagram.onClick = async (target) => {
        const step = await recording.find({ time: target.time }).catch(() => -1);
        const isUp = target.process === null || recording.stateAfter(step).up[target.process] === 1;
        const { title, items } = menuItems(target, isUp, { go, fault: addFault });
        menu(diagram.element, target, title, items);
      };
    }
    const span = Math.max(...recordings.map(windowLength));
    const update = () => {
      const time = Math.max(0, now());
      const begun = sharedPlayer.position >= 0;
      // The end time belongs to the last window and does not start a new one.
      const first = Math.floor(Math.max(0, Math.min(time, end - 1)) / span) * span;
      for (const it of sides) {
        const step = begun ? it.recording.stepAtTime(time) : -1;
        it.diagram.move(time, begun ? it.recording.event(step) : -1, it.recording.process(step));
        it.diagram.show({ from: first, to: Math.max(1, Math.min(first + span, Math.max(end, first + 1))) });
        if (!it.recording.has(step)) {
          const position = sharedPlayer.position;
          const again = () => sharedPlayer.position === position && update();
          it.recording.load(step).then(again, () => {});
          fill(it.now, h("p", { class: "faint", text: t("step.loading") }));
          continue;
        }
        const global = it.recording.stateAfter(step);
        let sent = 0;
        for (const count of global.sent.values()) sent += count;
        const here = begun ? it.recording.records(step).filter((record) => record.time === time) : [];
        fill(
          it.now,
          h(
            "p",
            {},
            h("b", { text: number(sent) }),
            ` ${t("compare.sent")} · ${number(global.messagesInFlight)} ${t("compare.under-way")}`,
          ),
          h("p", {
            class: "faint",
            text: here.length > 0 ? `p${it.recording.process(step)} ${here.map(describe).slice(0, 2).join("; ")}` : "\u00a0",
          }),
        );
      }
    };
    sharedPlayer.addEventListener("move", update);
    fill(
      controls,
      playbackControls(sharedPlayer, () => `${formatTime(Math.max(0, now()))} / ${formatTime(end)}`),
    );
    if (at >= 0) go(at);
    requestAnimationFrame(update);
  };

  if (saved) {
    drawSetup();
    show(saved.results, saved.recordings, saved.at);
  } else await start();
  return { leave: () => player?.pause(), save: () => shown && { ...shown, at: now() } };
}

/**
 * Returns the length of a window in virtual time. A short run fits into one window.
 * @param {Recording} recording
 */
function windowLength(recording) {
  const end = Math.max(1, recording.end);
  if (recording.length <= 160) return end;
  // About 120 events and at least 10 distinct times per window, rounded up to 1, 2 or 5 times a power of ten.
  const wanted = Math.max(1, (end * 120) / recording.length, (end * 10) / recording.allMoments.length);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 2, 5].find((it) => it * power >= wanted) ?? 10) * power;
}

/**
 * @param {import("../parts/run-view.js").Result} result
 * @param {Recording} recording
 */
function buildSide(result, recording) {
  const diagram = new Diagram();
  diagram.request = { scenario: result.scenario };
  if (recording.n <= 64) diagram.request.processes = Array.from({ length: recording.n }, (_, it) => it);
  const now = h("div", { class: "now-line" });
  const report = /** @type {import("../parts/verdicts.js").Report} */ (result.report);
  const figure = (/** @type {string} */ value, /** @type {string} */ label) =>
    h("div", { class: "figure" }, h("b", { text: value }), h("span", { text: label }));
  const per = report.cost.per_entry;
  const element = h(
    "section",
    { class: "side" },
    h("h2", {}, report.algorithm, verdict(report)),
    h(
      "div",
      { class: "sheet" },
      h(
        "div",
        { class: "figures" },
        figure(number(report.messages.total), t("compare.messages")),
        figure(
          per === null ? "–" : number(Number(per.toFixed(2))),
          t("counts.measured", { per: t(`per.${report.cost.per}`) }),
        ),
        figure(formula(report.cost.formula), t("compare.formula")),
        figure(formatTime(report.virtual_time), t("compare.duration")),
      ),
      now,
    ),
    recording.isComplete
      ? null
      : h("p", { class: "note", text: t("note.parts", { shown: number(recording.segmentLength), all: number(recording.length) }) }),
    h("div", { class: "board" }, diagram.element),
    h("a", { href: `#/run?${encode(result.scenario ?? {})}` }, t("compare.open")),
  );
  return { result, recording, diagram, now, element };
}
