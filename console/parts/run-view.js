// The view of a run: its diagram, the playback controls, and the global state after each event.

import { catalogue, postForText } from "../api.js";
import { Diagram } from "../drawing.js";
import { field, fill, h } from "../dom.js";
import { savePng, saveText } from "../download.js";
import { Recording, momentIndex } from "../recording.js";
import { icon } from "../icons.js";
import { encode, withFault } from "../link.js";
import { Player, bindKeys } from "../player.js";
import { number, t } from "../texts.js";
import { formatExact, formatTime } from "../time.js";
import { menuItems } from "./menu-items.js";
import { CausalityLayer } from "./causality-layer.js";
import { checkPanel } from "./check.js";
import { choicesPanel } from "./choices.js";
import { menu } from "./menu.js";
import { beliefs, messages } from "./messages.js";
import { Processes } from "./processes.js";
import { isPresenting, onPresentation, present } from "./presentation.js";
import { pseudoCode } from "./pseudo-code.js";
import { Ring } from "./ring.js";
import { statesInvolved, stepLine, stepRecords } from "./step.js";
import { tabList } from "./tabs.js";
import { waiting } from "./waiting.js";
import { playbackControls } from "./playback-controls.js";
import { assumptions, counts, properties, verdict } from "./verdicts.js";

/**
 * @typedef {{ scenario?: import("../link.js").Scenario, toml?: string, report?: import("./verdicts.js").Report,
 *   film: import("../recording.js").SegmentData, moments: import("../recording.js").Moment[], differences?: string[] | null,
 *   stopped_at?: number | null, trace?: number }} Result
 * @typedef {{ position: number, events: number, lanes: string, stamps: boolean, tab: string,
 *   recording: Recording }} SavedView the position in a run
 */

/**
 * Minimum numbers of events and of distinct times in a window before zooming. A window that reaches the second number later
 * shows more events than `EVENTS`.
 */
const EVENTS = 60;
const MOMENTS = 10;
const EVENTS_LEAST = 4;
const LANES_MOST = 64;
/** Number of processes up to which idle ones need not be folded. */
const FEW_LANES = 6;
/** Maximum number of processes for which the server draws stamps. */
const STAMPS_MOST = 16;
/** Delay before a segment is loaded, so that dragging the slider does not load every segment it passes. */
const LOAD_DELAY_MS = 80;
/** Maximum width of a view whose panels are below the diagram; style.css has the same limit. */
const NARROW = 920;
/** Room below the diagram, and the least height of the diagram. */
const BELOW_DIAGRAM = 54;
/** Room below the diagram in presentation mode, for the description of the step and the controls. */
const BELOW_PRESENTED = 200;
/** Number of events in a window in presentation mode, where all is larger. */
const EVENTS_PRESENTED = 24;
/** Width and height of a picture for a slide. A PNG has twice as many pixels in each direction. */
const SLIDE = { width: 960, height: 540 };
const DIAGRAM_LEAST = 260;

/** Space above the step of the algorithm that is scrolled to. */
const CODE_ABOVE = 24;

/** Families that depend on time, so that there are no interleavings to check. */
const NOT_CHECKED = ["detector", "time"];

/** The tab that was chosen last; it stays chosen in the next run. */
let chosenTab = "states";

/** Shows this tab in the next run. @param {string} tab */
export function chooseTab(tab) {
  chosenTab = tab;
}

export class RunView {
  /**
   * @param {Result} result
   * @param {{ change?: (scenario: import("../link.js").Scenario, at: { event: number } | { time: number }) => void,
   *   saved?: SavedView, stamps?: boolean, concealed?: boolean }} [options] `stamps`: whether logical times are shown at first;
   *   `concealed`: whether the verdict, the totals and the future are not shown
   */
  constructor(result, options = {}) {
    this.result = result;
    this.change = result.scenario ? options.change : undefined;
    this.report = options.concealed ? undefined : result.report;
    const { saved } = options;
    const request = result.trace === undefined ? { scenario: result.scenario } : { trace: result.trace };
    this.recording = saved?.recording ?? new Recording(result.film, result.moments, request);
    this.player = new Player(this.recording.length, (position) => this.recording.has(position));
    this.player.adjacentMoment = (direction) => this.adjacentMoment(direction);
    this.player.present = (presenting = !isPresenting()) => {
      const changes = presenting !== isPresenting();
      present(presenting);
      return changes;
    };
    onPresentation(() => this.resize());
    this.diagram = new Diagram((target) => this.openMenu(target));
    this.diagram.request = { ...request, stamps: saved?.stamps ?? options.stamps ?? false };
    this.diagram.concealed = options.concealed ?? false;
    /** Whether processes without a step in the window have no line. */
    this.foldsIdle = false;
    this.laneText = saved?.lanes ?? "";
    this.selectAllLanes();
    /** @type {number | undefined} */
    this.loadTimer = undefined;
    this.lanes = h("p", { class: "faint lanes", hidden: true });
    this.diagram.onDrawn = (shown) => {
      this.lanes.hidden = shown >= this.recording.n;
      this.causality?.draw();
      this.lanes.textContent = t("note.lanes", { shown: number(shown), all: number(this.recording.n) });
    };
    this.causality = CausalityLayer.fits(this.recording) ? new CausalityLayer(this.recording, this.diagram) : null;
    this.ring = Ring.fits(this.recording) ? new Ring(this.recording) : null;
    if (this.causality) this.causality.onChoose = () => this.resize();
    this.events = saved?.events ?? EVENTS;
    const crash = (/** @type {number} */ process) => this.addFault("crash", `${process}@${formatExact(this.now)}`);
    const recover = (/** @type {number} */ process) => this.addFault("recover", `${process}@${formatExact(this.now)}`);
    this.processes = new Processes(this.recording, this.change ? { crash, recover } : {});
    /** The current step in one line, for small screens. */
    this.line = h("p", { class: "event-line", "aria-hidden": "true" });
    this.panels = {
      step: h("div", { class: "step" }),
      states: h("div", { class: "states" }),
      waiting: h("div"),
      messages: h("div"),
      choices: h("div"),
      code: h("div"),
      beliefs: h("div"),
      properties: h("div"),
      counts: h("div"),
    };
    const { scenario, report } = result;
    this.check = this.change && scenario && report && !NOT_CHECKED.includes(report.family) ? checkPanel(scenario, report.family) : null;
    this.tabs = tabList(
      t("stage.tabs"),
      [
        { key: "states", label: t("stage.states"), content: this.panels.states },
        { key: "waiting", label: t("stage.waiting"), content: this.panels.waiting },
        { key: "messages", label: t("stage.messages"), content: this.panels.messages },
        { key: "code", label: t("stage.code"), content: this.panels.code },
        ...(this.change ? [{ key: "choices", label: t("stage.choices"), content: this.panels.choices }] : []),
        ...(this.check ? [{ key: "check", label: t("stage.check"), content: this.check.element }] : []),
      ],
      saved?.tab ?? chosenTab,
      (key) => {
        chosenTab = key;
        this.updateChoices();
        this.updateCode();
      },
    );
    /** The card of the algorithm, once it is there. @type {import("../api.js").Card | undefined} */
    this.card = undefined;
    this.element = this.build();
    this.player.addEventListener("move", () => this.update());
    // Screen readers announce single steps, but not automatic playback.
    const updateAriaLive = () => this.panels.step.setAttribute("aria-live", this.player.playing ? "off" : "polite");
    this.player.addEventListener("play", updateAriaLive);
    updateAriaLive();
    catalogue().then(
      ({ algorithms }) => {
        this.card = algorithms.find((it) => it.name === result.scenario?.algorithm);
        this.updateCode();
      },
      () => {},
    );
    bindKeys(this.player);
    this.player.go(saved?.position ?? -1);
    this.update();
    // The width is known only after the element was added to the page.
    requestAnimationFrame(() => this.redraw(true));
    this.resized = new ResizeObserver(() => this.redraw(true));
    this.resized.observe(this.diagram.element);
  }

  get now() {
    return this.recording.time(this.player.position);
  }

  /** Returns the current position, for a view that replaces this one. @returns {SavedView} */
  save() {
    const { stamps } = this.diagram.request;
    const [position, tab] = [this.player.position, this.tabs.chosen()];
    return { position, events: this.events, lanes: this.laneText, stamps, tab, recording: this.recording };
  }

  destroy() {
    window.clearTimeout(this.loadTimer);
    this.player.pause();
    this.check?.stop();
    this.ring?.stop();
    onPresentation(null);
    this.resized.disconnect();
    bindKeys(null);
  }

  build() {
    const panel = (/** @type {string} */ name, /** @type {Element} */ content, wide = false) =>
      h(
        "section",
        // Beside the diagram a panel may scroll, also by keys.
        { class: wide ? "panel wide" : "panel", "data-panel": name, "aria-label": t(`panel.${name}`), tabindex: wide ? undefined : "0" },
        h("h2", { class: "label", text: t(`panel.${name}`) }),
        content,
      );
    const { report } = this;
    const where = () => {
      const [event, all] = [number(this.player.position + 1), number(this.recording.length)];
      return `${t("transport.event", { event, all })} · ${formatTime(this.now)}`;
    };
    return h(
      "div",
      { class: "run-view" },
      this.notes(),
      h(
        "div",
        { class: "stage" },
        h(
          "div",
          { class: "stage-main" },
          playbackControls(this.player, where, { zoom: (factor) => this.zoom(factor), event: this.line, more: this.foldToggle() }),
          h("div", { class: "board" }, this.diagram.element, this.ring?.element, this.lanes, this.laneField(), h("div", { class: "board-options" }, this.ringToggle(), this.stampsField(), this.causality?.element)),
        ),
        h(
          "div",
          { class: "stage-side" },
          panel("step", this.panels.step),
          report ? panel("properties", this.panels.properties) : null,
          h("section", { class: "panel", "data-panel": "details", "aria-label": t("stage.tabs") }, this.tabs.element),
        ),
      ),
      h(
        "div",
        { class: "panels" },
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
    const { recording, result } = this;
    if (!recording.isComplete) notes.push(t("note.parts", { shown: number(recording.segmentLength), all: number(recording.length) }));
    if (result.stopped_at) notes.push(t("note.stopped", { events: number(result.stopped_at) }));
    for (const difference of result.differences ?? []) notes.push(t("note.difference", { difference }));
    return notes.map((note) => h("p", { class: "note", role: "status", text: note }));
  }

  files() {
    const { scenario, toml } = this.result;
    const name = scenario?.algorithm ?? "trace";
    const link = (/** @type {string} */ key, /** @type {() => void} */ act) =>
      h("button", { type: "button", on: { click: act }, "data-file": key }, t(`file.${key}`));
    const save = (/** @type {string} */ text) => saveText(`${name}.jsonl`, text, "application/x-ndjson");
    const lines = () => this.result.film.records.map((record) => JSON.stringify(record)).join("\n") + "\n";
    // A long run is repeated on the server, so that the file contains all of it.
    const trace = async () => save(this.recording.isComplete ? lines() : await postForText("trace-file", { scenario }));
    return h(
      "div",
      { class: "files" },
      toml ? link("scenario", () => saveText(`${name}.toml`, toml, "application/toml")) : null,
      this.recording.isComplete || scenario ? link("trace", trace) : null,
      link("svg", () => saveText(`${name}.svg`, this.diagram.text, "image/svg+xml")),
      link("png", () => this.downloadPng(name)),
      link("slide-svg", () => this.downloadSlide(name, false)),
      link("slide-png", () => this.downloadSlide(name, true)),
    );
  }

  /**
   * Draws the window that is shown in the size of a slide, and saves it.
   * @param {string} name
   * @param {boolean} asPng
   */
  async downloadSlide(name, asPng) {
    const svg = await this.diagram.slide(SLIDE.width, SLIDE.height);
    if (asPng) await savePng(`${name}.png`, svg, SLIDE.width, SLIDE.height);
    else saveText(`${name}.svg`, svg, "image/svg+xml");
  }

  /** @param {string} name */
  downloadPng(name) {
    const box = this.diagram.svg?.viewBox.baseVal;
    if (box) savePng(`${name}.png`, this.diagram.text, box.width, box.height);
  }

  /** Shows the global state after the current step. If it is not loaded yet, loads it first. */
  update() {
    const step = this.player.position;
    window.clearTimeout(this.loadTimer);
    const here = this.recording.has(step);
    this.element.toggleAttribute("data-loading", !here);
    if (!here) {
      this.diagram.move(this.now, 0, -1);
      this.redraw();
      fill(this.panels.step, h("p", { class: "faint", text: t("step.loading") }));
      this.loadTimer = window.setTimeout(() => this.load(step), LOAD_DELAY_MS);
      return;
    }
    this.recording.prefetch(step);
    const global = this.recording.stateAfter(step);
    const actor = this.recording.process(step);
    const [time, event] = [this.now, this.recording.event(step)];
    this.diagram.move(time, event, actor);
    this.redraw();
    this.processes.update(global, actor);
    this.updateStep(global, step, actor);
    this.updateCode();
    this.causality?.update(step);
    this.ring?.move(step, this.player.speed);
    this.updateChoices();
    fill(
      this.panels.messages,
      messages(global, this.change && ((record) => this.cut(record.from, record.to))),
    );
    fill(this.panels.beliefs, beliefs(global));
    const { children, cycle, mayEnd } = waiting(global);
    fill(this.panels.waiting, children);
    this.tabs.mark("waiting", cycle.length > 0 ? t("waiting.has-cycle") : "", !mayEnd);
    const { report } = this;
    if (!report) return;
    const atEnd = step >= this.recording.length - 1;
    fill(
      this.panels.properties,
      properties(report, { time, event, atEnd }, (it) => this.goTo(it)),
    );
    fill(this.panels.counts, counts(report, global));
  }

  /** Marks the step of the algorithm that the current event has executed. */
  updateCode() {
    const { card, recording, player } = this;
    if (!card || card.steps.length === 0) return fill(this.panels.code, h("p", { class: "faint", text: t("code.missing") }));
    const step = player.position;
    if (!recording.has(step)) return;
    fill(this.panels.code, pseudoCode(card, recording.records(step), recording.process(step)));
    const [panel, marked] = [this.panels.code.parentElement, this.panels.code.querySelector(".executed")];
    if (this.tabs.chosen() !== "code" || !panel || !marked) return;
    // Scrolls the panel and not the page.
    const [frame, line] = [panel.getBoundingClientRect(), marked.getBoundingClientRect()];
    if (line.top < frame.top || line.bottom > frame.bottom) panel.scrollTop += line.top - frame.top - CODE_ABOVE;
  }

  /** Lists what could happen next, if that is shown. */
  updateChoices() {
    const { change, recording, player } = this;
    const { scenario } = this.result;
    if (!change || !scenario || this.tabs.chosen() !== "choices" || !recording.has(player.position)) return;
    /** @type {import("./choices.js").Fault} */
    const fault = (kind, what, at) => this.addFault(kind, what, at);
    fill(this.panels.choices, choicesPanel(recording, player.position, scenario, { branch: change, fault }));
  }

  /** @param {number} step */
  async load(step) {
    try {
      await this.recording.load(step);
      if (this.player.position === step) this.update();
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name !== "AbortError") fill(this.panels.step, h("p", { class: "problem", lang: "en", text: message }));
    }
  }

  /**
   * @param {import("../global-state.js").GlobalState} global
   * @param {number} step
   * @param {number} actor
   */
  updateStep(global, step, actor) {
    if (step < 0) {
      fill(
        this.panels.step,
        h("p", { class: "faint", text: t("step.before") }),
        h("p", { class: "faint hint", text: t("step.keys") }),
      );
      fill(this.panels.states, h("p", { class: "faint", text: t("state.before") }));
      this.line.textContent = t("step.before");
      return;
    }
    const records = this.recording.records(step);
    fill(this.panels.step, stepRecords(records, actor, this.now));
    fill(this.panels.states, statesInvolved(global, records, actor));
    this.line.textContent = stepLine(records, actor);
  }

  /** @param {number} event */
  goTo(event) {
    this.player.pause();
    if (event < 0) this.player.go(this.player.last);
    else this.jump({ event });
  }

  /**
   * Goes to an event, or to a time.
   * @param {{ event: number } | { time: number }} where
   */
  async jump(where) {
    const step = await this.recording.find(where).catch(() => undefined);
    if (step !== undefined) this.player.go(step);
  }

  /** Returns the last step of the next or of the previous moment. @param {1 | -1} direction */
  adjacentMoment(direction) {
    const moments = this.recording.moments(this.player.position);
    const here = momentIndex(moments, Math.max(this.player.position, 0));
    const ended = this.player.position >= (moments[here]?.[1] ?? 0);
    const next = direction < 0 ? here - 1 : ended ? here + 1 : here;
    return next < 0 ? -1 : (moments[Math.min(next, moments.length - 1)]?.[1] ?? -1);
  }

  /** Returns the input field for choosing process lines; null if all of them are drawn. */
  laneField() {
    if (this.recording.n <= LANES_MOST) return null;
    const input = h("input", {
      type: "text",
      value: this.laneText,
      placeholder: "0-9, 37",
      spellcheck: "false",
      "data-key": "lanes",
    });
    input.addEventListener("change", () => {
      this.laneText = input.value;
      this.selectLanes(this.laneText);
      this.diagram.window = null;
      this.redraw();
    });
    return h("div", { class: "lane-field" }, field(t("lanes.choose"), input, t("lanes.hint")));
  }

  /** Returns the check box that shows the stamps of events; null if there are too many processes. */
  stampsField() {
    if (this.recording.n > STAMPS_MOST) return null;
    const input = h("input", { type: "checkbox", checked: this.diagram.request.stamps, "data-key": "stamps" });
    input.addEventListener("change", () => {
      this.diagram.request.stamps = input.checked;
      this.diagram.window = null;
      this.redraw();
    });
    return h("label", { class: "field check stamps-field", title: t("stamps.hint") }, input, h("span", { text: t("stamps.show") }));
  }

  /** Returns the button that folds the lines of processes without a step in the window; null if there are few processes. */
  foldToggle() {
    if (this.recording.n <= FEW_LANES) return null;
    const button = h("button", { type: "button", class: "key", "aria-pressed": "false", "data-key": "fold-idle", "aria-label": t("lanes.fold"), title: t("lanes.fold") }, icon("fold"));
    button.addEventListener("click", () => {
      this.foldsIdle = !this.foldsIdle;
      button.setAttribute("aria-pressed", String(this.foldsIdle));
      if (!this.foldsIdle) this.selectAllLanes();
      this.diagram.window = null;
      this.redraw();
    });
    return button;
  }

  /** Returns the button that shows the ring of processes in place of the diagram; null if the run is too large. */
  ringToggle() {
    const { ring } = this;
    if (!ring) return null;
    const button = h("button", { type: "button", class: "toggle", "aria-pressed": "false", "data-key": "ring" }, t("ring.show"));
    button.addEventListener("click", () => {
      ring.element.hidden = !ring.element.hidden;
      this.diagram.element.hidden = ring.isShown;
      button.setAttribute("aria-pressed", String(ring.isShown));
      ring.move(this.player.position, this.player.speed);
      if (!ring.isShown) this.resize();
    });
    return button;
  }

  /** Draws all lines if they are at most LANES_MOST. Of more, the server selects some unless the user does. */
  selectAllLanes() {
    if (this.recording.n <= LANES_MOST) this.diagram.request.processes = Array.from({ length: this.recording.n }, (_, it) => it);
    else this.selectLanes(this.laneText);
  }

  /** Selects the process lines to draw, given a text such as `0-9, 37`. @param {string} text */
  selectLanes(text) {
    if (this.recording.n <= LANES_MOST) return;
    const lanes = new Set();
    for (const [, from, to] of text.matchAll(/(\d+)(?:\s*-\s*p?(\d+))?/g)) {
      const last = Math.min(Number(to ?? from), this.recording.n - 1);
      for (let lane = Number(from); lane <= last && lanes.size < LANES_MOST; lane += 1) lanes.add(lane);
    }
    this.diagram.request.processes = lanes.size > 0 ? [...lanes] : undefined;
  }

  /**
   * Draws a new window if the current time has left the one that is shown.
   * @param {boolean} [isResized]
   */
  redraw(isResized = false) {
    if (!this.diagram.element.isConnected) return;
    const height = this.roomForDiagram();
    const isTaller = Math.abs((height ?? 0) - (this.diagram.height ?? 0)) > 24;
    if (isResized && (isTaller || Math.abs(Math.max(this.diagram.element.clientWidth, 560) - this.diagram.drawnWidth) > 8)) {
      this.diagram.window = null;
      this.diagram.height = height;
    }
    const inside = this.diagram.window && this.now >= this.diagram.window.from && this.now <= this.diagram.window.to;
    if (inside) return;
    const events = isPresenting() ? Math.min(this.events, EVENTS_PRESENTED) : this.events;
    const moments = Math.ceil((events / EVENTS) * MOMENTS);
    const shown = this.recording.windowAround(this.player.position, events, moments);
    if (this.foldsIdle) this.diagram.request.processes = this.recording.activeIn(shown).slice(0, LANES_MOST);
    this.diagram.show(shown);
  }

  /** Draws the diagram again in the size that it has now. */
  resize() {
    this.diagram.window = null;
    this.diagram.height = this.roomForDiagram();
    this.redraw();
  }

  /** Returns the height that the diagram may have so that it is on the screen together with the panels beside it. */
  roomForDiagram() {
    const top = this.diagram.element.getBoundingClientRect().top + window.scrollY;
    if (isPresenting()) return Math.max(innerHeight - top - BELOW_PRESENTED, DIAGRAM_LEAST);
    const room = innerHeight - top - BELOW_DIAGRAM - (this.causality?.text.offsetHeight ?? 0);
    return this.element.clientWidth <= NARROW ? undefined : Math.max(room, DIAGRAM_LEAST);
  }

  /** @param {number} factor */
  zoom(factor) {
    this.events = Math.max(EVENTS_LEAST, Math.min(this.recording.length, Math.round(this.events * factor)));
    this.diagram.window = null;
    this.redraw();
  }

  /** @param {import("../drawing.js").ClickTarget} target */
  async openMenu(target) {
    let isUp = true;
    if (target.process !== null && !target.message && this.change) {
      const step = await this.recording.find({ time: target.time }).catch(() => -1);
      isUp = this.recording.stateAfter(step).up[target.process] === 1;
    }
    /** @type {import("./menu-items.js").MenuActions["fault"]} */
    const fault = this.change && ((kind, what, at) => this.addFault(kind, what, at));
    const { title, items } = menuItems(target, isUp, { go: (time) => this.jump({ time }), fault });
    menu(this.diagram.element, target, title, items);
  }

  /**
   * @param {number | undefined} from
   * @param {number | undefined} to
   */
  cut(from, to) {
    this.addFault("cut", `${from}-${to}@${formatExact(this.now)}`);
  }

  /**
   * Runs the scenario again with one more fault. All events before the fault stay the same.
   * @param {string} kind
   * @param {string} fault
   * @param {{ event: number } | { time: number }} [at] the position to go to afterwards; default: the current event
   */
  addFault(kind, fault, at) {
    if (!this.change || !this.result.scenario) return;
    this.change(withFault(this.result.scenario, kind, fault), at ?? { event: this.recording.event(this.player.position) });
  }
}

/** @param {Result} result */
export function address(result) {
  return result.scenario ? `#/run?${encode(result.scenario)}` : "";
}

export { verdict };
