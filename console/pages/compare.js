// Compare: two runs side by side, moving together in virtual time.

import { catalogue, post } from "../api.js";
import { FIRST } from "../defaults.js";
import { fill, h } from "../dom.js";
import { Diagram } from "../drawing.js";
import { Film } from "../film.js";
import { decode, encode, withFault } from "../link.js";
import { deeds } from "../parts/deeds.js";
import { menu } from "../parts/menu.js";
import { familyName, say } from "../parts/say.js";
import { setup } from "../parts/setup.js";
import { transport } from "../parts/transport.js";
import { verdict } from "../parts/verdicts.js";
import { Player, takeKeys } from "../player.js";
import { formula, number, t } from "../texts.js";
import { readable } from "../time.js";

/**
 * @typedef {import("../link.js").Scenario} Scenario
 * @typedef {{ result: import("../parts/stage.js").Result, film: Film, diagram: Diagram, now: HTMLElement }} Side
 */

/** @type {import("../main.js").Page} */
export async function page(main, rest, kept) {
  const known = await catalogue();
  const [left, right] = rest.split("/");
  /** @type {[Scenario, Scenario]} */
  const scenarios =
    left && right ? [decode(left), decode(right)] : [{ ...FIRST }, { ...FIRST, algorithm: "maekawa", processes: 5 }];
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
  const desk = h("div", { class: "desk" });
  const problem = h("div", { role: "alert" });
  const pair = h("div", { class: "pair" });
  const controls = h("div");
  fill(main, head, desk, problem, controls, pair);
  /** @type {Player | null} */
  let player = null;
  /** What is shown, and where in time we are. @type {{ results: import("../parts/stage.js").Result[], films: Film[] } | null} */
  let shown = null;
  let now = () => -1;

  const choose = (/** @type {0 | 1} */ which) => {
    const families = [...new Set(known.algorithms.map((it) => it.family))];
    const input = h(
      "select",
      { "aria-label": t("compare.algorithm", { which: which + 1 }), "data-side": which },
      families.map((family) =>
        h(
          "optgroup",
          { label: familyName(family) },
          known.algorithms
            .filter((it) => it.family === family)
            .map((it) =>
              h("option", { value: it.name, text: it.name, selected: it.name === scenarios[which].algorithm }),
            ),
        ),
      ),
    );
    input.addEventListener("change", () => {
      const { quorums: _, tree: __, ...others } = scenarios[which];
      scenarios[which] = { ...others, algorithm: input.value };
      start();
    });
    const seed = h("input", {
      type: "number",
      min: 0,
      value: scenarios[which].seed ?? 0,
      "aria-label": t("compare.seed", { which: which + 1 }),
    });
    seed.addEventListener("change", () => {
      scenarios[which] = { ...scenarios[which], seed: Number(seed.value) };
      start();
    });
    return h("div", { class: "row" }, input, h("label", { class: "row" }, t("key.seed"), seed));
  };

  /** The workload is the same for both: what is set is set for both. @param {Scenario} next */
  const both = (next) => {
    for (const which of /** @type {const} */ ([0, 1])) {
      const { algorithm, seed, quorums } = scenarios[which];
      const mine = { ...next, algorithm, seed, quorums };
      if (seed === undefined) delete mine.seed;
      if (quorums === undefined) delete mine.quorums;
      scenarios[which] = mine;
    }
    start();
  };

  const drawDesk = () =>
    fill(desk, h("div", { class: "pair" }, choose(0), choose(1)), setup(scenarios[0], undefined, both, false));

  /** Runs both; says whether that was possible. */
  const start = async () => {
    drawDesk();
    fill(problem);
    try {
      const results = await Promise.all(scenarios.map((scenario) => post("run", { scenario })));
      scenarios[0] = results[0].scenario;
      scenarios[1] = results[1].scenario;
      history.replaceState(null, "", `#/compare/${encode(scenarios[0])}/${encode(scenarios[1])}`);
      const films = results.map((it) => new Film(it.film, it.moments, { scenario: it.scenario }));
      show(results, films, now());
      return true;
    } catch (error) {
      fill(problem, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
      return false;
    }
  };

  /**
   * What goes wrong on one side goes wrong on the other too: the workload stays the same.
   * @param {string} kind
   * @param {string} fault
   */
  const fault = async (kind, fault) => {
    const before = [...scenarios];
    for (const which of /** @type {const} */ ([0, 1])) scenarios[which] = withFault(scenarios[which], kind, fault);
    if (await start()) return;
    // What one of them cannot run is not asked of the other.
    [scenarios[0], scenarios[1]] = before;
    drawDesk();
  };

  /**
   * @param {import("../parts/stage.js").Result[]} results
   * @param {Film[]} films
   * @param {number} at the time at which to be; -1 is before everything
   */
  const show = (results, films, at) => {
    shown = { results, films };
    const sides = results.map((result, place) => side(result, films[place]));
    fill(
      pair,
      sides.map((it) => it.element),
    );
    // Every moment at which anything happens in either.
    const times = [...new Set(films.flatMap((film) => film.whole.map(([time]) => time)))].sort((a, b) => a - b);
    const end = times[times.length - 1] ?? 0;
    player?.pause();
    const steps = (/** @type {number} */ position) =>
      films.map((film) => (position < 0 ? -1 : film.stepAt(times[position])));
    const mover = new Player(times.length, (position) => steps(position).every((step, it) => films[it].has(step)));
    player = mover;
    takeKeys(mover);
    now = () => (mover.position < 0 ? -1 : times[mover.position]);
    const go = (/** @type {number} */ time) => mover.go(times.findLastIndex((it) => it <= time));
    for (const { film, diagram } of sides) {
      diagram.clicked = async (spot) => {
        const step = await film.find({ time: spot.time }).catch(() => -1);
        const isUp = spot.process === null || film.at(step).up[spot.process] === 1;
        const { title, items } = deeds(spot, isUp, { go, fault });
        menu(diagram.element, spot, title, items);
      };
    }
    const span = Math.max(...films.map(windowOf));
    const update = () => {
      const time = Math.max(0, now());
      const begun = mover.position >= 0;
      // The end belongs to the last window, and does not begin another.
      const first = Math.floor(Math.max(0, Math.min(time, end - 1)) / span) * span;
      for (const it of sides) {
        const step = begun ? it.film.stepAt(time) : -1;
        it.diagram.move(time, begun ? it.film.event(step) : -1);
        it.diagram.show({ from: first, to: Math.max(1, Math.min(first + span, Math.max(end, first + 1))) });
        if (!it.film.has(step)) {
          const position = mover.position;
          const again = () => mover.position === position && update();
          it.film.load(step).then(again, () => {});
          fill(it.now, h("p", { class: "faint", text: t("step.loading") }));
          continue;
        }
        const scene = it.film.at(step);
        let sent = 0;
        for (const count of scene.sent.values()) sent += count;
        const here = begun ? it.film.records(step).filter((record) => record.time === time) : [];
        fill(
          it.now,
          h(
            "p",
            {},
            h("b", { text: number(sent) }),
            ` ${t("compare.sent")} · ${number(scene.messages)} ${t("compare.under-way")}`,
          ),
          h("p", {
            class: "faint",
            text: here.length > 0 ? `p${it.film.process(step)} ${here.map(say).slice(0, 2).join("; ")}` : "\u00a0",
          }),
        );
      }
    };
    mover.addEventListener("move", update);
    fill(
      controls,
      transport(mover, () => `${readable(Math.max(0, now()))} / ${readable(end)}`),
    );
    if (at >= 0) go(at);
    requestAnimationFrame(update);
  };

  if (kept) {
    drawDesk();
    show(kept.results, kept.films, kept.at);
  } else await start();
  return { leave: () => player?.pause(), keep: () => shown && { ...shown, at: now() } };
}

/**
 * How much time a window shows: all of a short run.
 * @param {Film} film
 */
function windowOf(film) {
  const end = Math.max(1, film.end);
  if (film.length <= 160) return end;
  // Where much happens at once, not too few moments; and windows that begin at round times.
  const wanted = Math.max(1, (end * 120) / film.length, (end * 10) / film.whole.length);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 2, 5].find((it) => it * power >= wanted) ?? 10) * power;
}

/**
 * @param {import("../parts/stage.js").Result} result
 * @param {Film} film
 */
function side(result, film) {
  const diagram = new Diagram();
  diagram.subject = { scenario: result.scenario };
  if (film.n <= 64) diagram.subject.processes = Array.from({ length: film.n }, (_, it) => it);
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
        figure(readable(report.virtual_time), t("compare.duration")),
      ),
      now,
    ),
    film.isWhole
      ? null
      : h("p", { class: "note", text: t("note.parts", { shown: number(film.shown), all: number(film.length) }) }),
    h("div", { class: "board" }, diagram.element),
    h("a", { href: `#/run?${encode(result.scenario ?? {})}` }, t("compare.open")),
  );
  return { result, film, diagram, now, element };
}
