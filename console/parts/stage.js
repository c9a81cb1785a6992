// A run on the stage: its diagram, the buttons to step through it, and the world after each event.

import { Diagram } from "../drawing.js";
import { h, fill } from "../dom.js";
import { savePng, saveText } from "../download.js";
import { Film } from "../film.js";
import { encode, withFault } from "../link.js";
import { Player, takeKeys } from "../player.js";
import { number, t } from "../texts.js";
import { exactly, readable } from "../time.js";
import { menu } from "./menu.js";
import { beliefs, messages } from "./messages.js";
import { Processes } from "./processes.js";
import { say } from "./say.js";
import { stateTable } from "./state.js";
import { transport } from "./transport.js";
import { assumptions, counts, properties, verdict } from "./verdicts.js";

/**
 * @typedef {{ scenario?: import("../link.js").Scenario, toml?: string, report?: import("./verdicts.js").Report,
 *   film: import("../film.js").FilmData, differences?: string[] | null, stopped_at?: number | null, trace?: number }} Result
 */

/** How many events a window shows at first, and how many moments: where much happens at once, more events. */
const EVENTS = 60;
const MOMENTS = 10;
/** More than so many times as many events are not shown for the sake of moments. */
const CROWD = 8;
const EVENTS_LEAST = 4;
const LANES = 64;

export class Stage {
  /**
   * @param {Result} result
   * @param {{ change?: (scenario: import("../link.js").Scenario, event: number) => void, start?: number }} [options]
   */
  constructor(result, options = {}) {
    this.result = result;
    this.change = result.scenario ? options.change : undefined;
    this.film = new Film(result.film);
    this.player = new Player(this.film.length);
    this.diagram = new Diagram((spot) => this.clicked(spot));
    this.diagram.subject = result.trace === undefined ? { scenario: result.scenario } : { trace: result.trace };
    // Up to so many lines are all drawn; of more, the drawing chooses.
    if (this.film.n <= LANES) this.diagram.subject.processes = Array.from({ length: this.film.n }, (_, it) => it);
    this.lanes = h("p", { class: "faint lanes", hidden: true });
    this.diagram.drawn = (shown) => {
      this.lanes.hidden = shown >= this.film.n;
      this.lanes.textContent = t("note.lanes", { shown: number(shown), all: number(this.film.n) });
    };
    this.events = EVENTS;
    const crash = (/** @type {number} */ process) => this.fault("crash", `${process}@${exactly(this.now)}`);
    const recover = (/** @type {number} */ process) => this.fault("recover", `${process}@${exactly(this.now)}`);
    this.processes = new Processes(this.film, this.change ? { crash, recover } : {});
    this.panels = {
      step: h("div", { class: "step" }),
      messages: h("div"),
      beliefs: h("div"),
      properties: h("div"),
      counts: h("div"),
    };
    this.element = this.build();
    this.player.addEventListener("move", () => this.update());
    // Steps are read out; a film that runs by itself is not.
    const tell = () => this.panels.step.setAttribute("aria-live", this.player.playing ? "off" : "polite");
    this.player.addEventListener("play", tell);
    tell();
    takeKeys(this.player);
    this.player.go(options.start ?? -1);
    this.update();
    // The width is known only once the page has the stage.
    requestAnimationFrame(() => this.redraw(true));
    this.resized = new ResizeObserver(() => this.redraw(true));
    this.resized.observe(this.diagram.element);
  }

  get now() {
    return this.film.time(this.player.position);
  }

  destroy() {
    this.player.pause();
    this.resized.disconnect();
    takeKeys(null);
  }

  build() {
    const panel = (/** @type {string} */ name, /** @type {HTMLElement} */ content, wide = false) =>
      h(
        "section",
        { class: wide ? "panel wide" : "panel", "data-panel": name, "aria-label": t(`panel.${name}`) },
        h("h3", { text: t(`panel.${name}`) }),
        content,
      );
    const { report } = this.result;
    const where = () => {
      const [event, all] = [number(this.player.position + 1), number(this.film.length)];
      return `${t("transport.event", { event, all })} · ${readable(this.now)}`;
    };
    return h(
      "div",
      { class: "stage" },
      this.notes(),
      transport(this.player, where, (factor) => this.zoom(factor)),
      h("div", { class: "board" }, this.diagram.element, this.lanes),
      h(
        "div",
        { class: "panels" },
        panel("step", this.panels.step),
        report ? panel("properties", this.panels.properties) : null,
        panel("messages", this.panels.messages),
        report ? panel("counts", this.panels.counts) : null,
        panel("processes", this.processes.element, true),
        panel("beliefs", this.panels.beliefs),
        report && report.assumptions.length > 0 ? panel("assumptions", h("div", {}, assumptions(report))) : null,
      ),
      this.files(),
    );
  }

  notes() {
    const notes = [];
    const { film, result } = this;
    if (film.leftOut > 0) {
      const values = { shown: number(film.length), all: number(film.length + film.leftOut) };
      notes.push(t("note.left-out", values));
    }
    if (result.stopped_at) notes.push(t("note.stopped", { events: number(result.stopped_at) }));
    for (const difference of result.differences ?? []) notes.push(t("note.difference", { difference }));
    return notes.map((note) => h("p", { class: "note", role: "status", text: note }));
  }

  files() {
    const { scenario, toml, film } = this.result;
    const name = scenario?.algorithm ?? "trace";
    const link = (/** @type {string} */ key, /** @type {() => void} */ act) =>
      h("button", { type: "button", on: { click: act }, "data-file": key }, t(`file.${key}`));
    const trace = () => film.records.map((record) => JSON.stringify(record)).join("\n") + "\n";
    return h(
      "div",
      { class: "files" },
      toml ? link("scenario", () => saveText(`${name}.toml`, toml, "application/toml")) : null,
      link("trace", () => saveText(`${name}.jsonl`, trace(), "application/x-ndjson")),
      link("svg", () => saveText(`${name}.svg`, this.diagram.text, "image/svg+xml")),
      link("png", () => this.png(name)),
    );
  }

  /** @param {string} name */
  png(name) {
    const box = this.diagram.svg?.viewBox.baseVal;
    if (box) savePng(`${name}.png`, this.diagram.text, box.width, box.height);
  }

  update() {
    const step = this.player.position;
    const scene = this.film.at(step);
    const actor = this.film.process(step);
    const [time, event] = [this.now, this.film.event(step)];
    this.diagram.move(time, event);
    this.redraw();
    this.processes.update(scene, actor);
    this.updateStep(scene, step, actor);
    fill(
      this.panels.messages,
      messages(this.film, scene, this.change && ((record) => this.cut(record.from, record.to))),
    );
    fill(this.panels.beliefs, beliefs(scene));
    const { report } = this.result;
    if (!report) return;
    const atEnd = step >= this.film.length - 1;
    fill(
      this.panels.properties,
      properties(report, { time, event, atEnd }, (it) => this.goTo(it)),
    );
    fill(this.panels.counts, counts(report, scene));
  }

  /**
   * @param {import("../film.js").Scene} scene
   * @param {number} step
   * @param {number} actor
   */
  updateStep(scene, step, actor) {
    if (step < 0) {
      fill(
        this.panels.step,
        h("p", { class: "faint", text: t("step.before") }),
        h("p", { class: "faint hint", text: t("step.keys") }),
      );
      return;
    }
    const records = this.film.records(step);
    const item = (/** @type {import("../film.js").Record} */ record) =>
      h("li", { class: `did ${record.type}` }, say(record), record.body ? h("code", { text: record.body }) : null);
    const first = records.slice(0, 12);
    const more = records.length - first.length;
    const before = scene.before >= 0 ? this.film.texts[scene.before] : undefined;
    fill(
      this.panels.step,
      h("p", { class: "moment" }, h("strong", { text: `p${actor}` }), ` · ${readable(this.now)}`),
      h(
        "ul",
        { class: "plain deeds" },
        first.map(item),
        more > 0 ? h("li", { class: "faint", text: t("step.more", { count: number(more) }) }) : null,
      ),
      stateTable(this.film.texts[scene.states[actor]], before),
    );
  }

  /** @param {number} event */
  goTo(event) {
    this.player.pause();
    const step = this.film.stepOf(event);
    this.player.go(step >= 0 ? step : this.player.last);
  }

  /**
   * Shows the window in which we are, and a new one if we have left it.
   * @param {boolean} [anew]
   */
  redraw(anew = false) {
    if (!this.diagram.element.isConnected) return;
    if (anew && Math.abs(Math.max(this.diagram.element.clientWidth, 560) - this.diagram.room) > 8) {
      this.diagram.window = null;
    }
    const inside = this.diagram.window && this.now >= this.diagram.window.from && this.now <= this.diagram.window.to;
    if (inside) return;
    // A little of what came before, and more of what comes.
    const first = Math.max(0, this.player.position - Math.floor(this.events / 5));
    const last = this.reach(first, 1);
    const from = this.reach(last, -1) < first ? this.reach(last, -1) : first;
    const start = from <= 0 ? 0 : this.film.time(from);
    this.diagram.show({ from: start, to: Math.max(this.film.time(last), start + 1) });
  }

  /**
   * As far from a step as a window goes.
   * @param {number} step
   * @param {1 | -1} way
   */
  reach(step, way) {
    const moments = Math.ceil((this.events / EVENTS) * MOMENTS);
    let [seen, moment] = [0, -1];
    let at = step;
    for (let count = 0; at + way >= 0 && at + way < this.film.length && count < this.events * CROWD; count += 1) {
      if (this.film.time(at) !== moment) [seen, moment] = [seen + 1, this.film.time(at)];
      if (count >= this.events && seen > moments) break;
      at += way;
    }
    return at;
  }

  /** @param {number} factor */
  zoom(factor) {
    this.events = Math.max(EVENTS_LEAST, Math.min(this.film.length, Math.round(this.events * factor)));
    this.diagram.window = null;
    this.redraw();
  }

  /** @param {import("../drawing.js").Spot} spot */
  clicked(spot) {
    const go = {
      label: t("menu.go", { time: readable(spot.time) }),
      act: () => this.player.go(this.film.stepAt(spot.time)),
    };
    const items = [go];
    const at = exactly(spot.time);
    let title = readable(spot.time);
    const letter =
      spot.message === null
        ? undefined
        : this.result.film.records.find((it) => it.type === "send" && it.message === spot.message);
    if (letter) {
      const [from, to] = [letter.from ?? 0, letter.to ?? 0];
      title = `${letter.kind} p${from} → p${to}`;
      const route = { from: `p${from}`, to: `p${to}`, time: readable(letter.time) };
      if (this.change && from !== to) {
        items.push({
          label: t("menu.lose", route),
          act: () => this.fault("lose", `${from}-${to}@${exactly(letter.time)}`, letter.event),
        });
        items.push({
          label: t("menu.cut", route),
          act: () => this.fault("cut", `${from}-${to}@${exactly(letter.time)}`, letter.event),
        });
      }
    } else if (spot.process !== null) {
      const process = `p${spot.process}`;
      title = `${process} · ${readable(spot.time)}`;
      const up = this.film.at(this.film.stepAt(spot.time)).up[spot.process] === 1;
      this.film.at(this.player.position);
      if (this.change) {
        const event = this.film.event(this.film.stepAt(spot.time));
        const crash = {
          label: t("menu.crash", { process, time: readable(spot.time) }),
          act: () => this.fault("crash", `${spot.process}@${at}`, event),
        };
        const back = {
          label: t("menu.recover", { process, time: readable(spot.time) }),
          act: () => this.fault("recover", `${spot.process}@${at}`, event),
        };
        items.push(up ? crash : back);
      }
    }
    menu(this.diagram.element, spot, title, items);
  }

  /**
   * @param {number | undefined} from
   * @param {number | undefined} to
   */
  cut(from, to) {
    this.fault("cut", `${from}-${to}@${exactly(this.now)}`);
  }

  /**
   * Runs the same again with one more fault; everything before it stays as it was.
   * @param {string} kind
   * @param {string} fault
   * @param {number} [event]
   */
  fault(kind, fault, event) {
    if (!this.change || !this.result.scenario) return;
    this.change(withFault(this.result.scenario, kind, fault), event ?? this.film.event(this.player.position));
  }
}

/** @param {Result} result */
export function address(result) {
  return result.scenario ? `#/run?${encode(result.scenario)}` : "";
}

export { verdict };
