// What happened before what, drawn over the diagram: the past and the future of the current step, the order of a pair of steps, and a
// cut that can be dragged.

import { CAUSALITY_MOST, Causality } from "../causality.js";
import { fill, h, s } from "../dom.js";
import { number, t } from "../texts.js";

/** Maximum number of process lines. With more, the marks would hide each other. */
const LANES_MOST = 32;
/** Radius of the mark of a step, and of the handle of a cut. */
const MARK = 4.5;
const HANDLE = 8;

/**
 * @typedef {"off" | "order" | "cut"} Mode
 */

export class CausalityLayer {
  /**
   * @param {import("../recording.js").Recording} recording
   * @param {import("../drawing.js").Diagram} diagram
   */
  constructor(recording, diagram) {
    this.recording = recording;
    this.diagram = diagram;
    /** @type {Mode} */
    this.mode = "off";
    /** @type {Causality | null} */
    this.causality = null;
    this.step = -1;
    /** The first step of a pair. @type {number | null} */
    this.pinned = null;
    /** Number of steps of each process in the cut. @type {number[]} */
    this.cut = [];
    this.text = h("div", { class: "causality-text", "aria-live": "polite" });
    /** Buttons and no drop-down list, which would take the arrow keys from the player. @type {Map<Mode, HTMLButtonElement>} */
    this.buttons = new Map();
    for (const mode of /** @type {Mode[]} */ (["order", "cut"])) {
      const press = () => this.choose(this.mode === mode ? "off" : mode);
      this.buttons.set(mode, h("button", { type: "button", class: "toggle", "aria-pressed": "false", "data-key": `causality-${mode}`, on: { click: press } }, t(`causality.${mode}`)));
    }
    this.element = h("div", { class: "causality" }, [...this.buttons.values()], this.text);
    /** Called when the texts below the diagram may have another height. @type {(() => void) | undefined} */
    this.onChoose = undefined;
  }

  /** Whether a run can have this layer: all of it is loaded, and its lines are apart. @param {import("../recording.js").Recording} recording */
  static fits(recording) {
    return recording.isComplete && recording.n <= LANES_MOST && recording.length > 0 && recording.length <= CAUSALITY_MOST;
  }

  /** @param {Mode} mode */
  choose(mode) {
    this.mode = mode;
    if (mode !== "off") this.causality ??= new Causality(this.recording);
    if (mode === "cut" && this.causality) this.cut = this.causality.cutAfter(this.step);
    for (const [own, button] of this.buttons) button.setAttribute("aria-pressed", String(own === mode));
    this.draw();
    this.onChoose?.();
  }

  /** @param {number} step */
  update(step) {
    this.step = step;
    if (this.mode === "order") this.draw();
  }

  draw() {
    this.diagram.overlay.replaceChildren();
    fill(this.text);
    const { causality } = this;
    if (this.mode === "off" || !causality || !this.diagram.geometry) return;
    if (this.mode === "order") this.drawOrder(causality);
    else this.drawCut(causality);
  }

  /** Places of the steps that are drawn, by step. @returns {Map<number, { x: number, y: number }>} */
  places() {
    const { steps, lanes } = /** @type {import("../drawing.js").Geometry} */ (this.diagram.geometry);
    const lines = new Map(lanes.map((lane) => [lane.process, lane.y]));
    const known = new Map(steps.map((it) => [`${it.event} ${it.process}`, it.x]));
    const places = new Map();
    for (let step = 0; step < this.recording.length; step += 1) {
      const process = this.recording.process(step);
      const [x, y] = [known.get(`${this.recording.event(step)} ${process}`), lines.get(process)];
      if (x !== undefined && y !== undefined) places.set(step, { x, y });
    }
    return places;
  }

  /** @param {Causality} causality */
  drawOrder(causality) {
    if (this.step < 0) return fill(this.text, h("p", { class: "faint", text: t("causality.before-start") }));
    const [past, future] = [causality.past(this.step), causality.future(this.step)];
    for (const [step, { x, y }] of this.places()) {
      const kind = step === this.step ? "own" : past.has(step) ? "past" : future.has(step) ? "future" : "concurrent";
      // Shapes differ as well as colours: a square, a diamond, a ring.
      this.diagram.overlay.append(mark(kind, x, y));
    }
    const concurrent = causality.length - past.size - future.size - 1;
    const counts = t("causality.counts", { past: number(past.size), future: number(future.size), concurrent: number(concurrent) });
    const pin = h("button", { type: "button", on: { click: () => this.pin() } }, t("causality.pin"));
    const pair = this.pinned === null ? null : h("span", { class: "pair", text: this.pairText(causality, this.pinned) });
    fill(this.text, h("p", { text: counts }), h("div", { class: "row" }, pin, pair));
    if (this.pinned !== null) this.drawChain(causality, this.pinned);
  }

  pin() {
    this.pinned = this.step;
    this.draw();
  }

  /** @param {number} step */
  name(step) {
    const process = this.recording.process(step);
    return t("causality.step", { process: `p${process}`, event: number(step + 1) });
  }

  /**
   * @param {Causality} causality
   * @param {number} pinned
   */
  pairText(causality, pinned) {
    const [first, second] = [Math.min(pinned, this.step), Math.max(pinned, this.step)];
    const names = { a: this.name(first), b: this.name(second) };
    if (first === second) return t("causality.same", names);
    const chain = causality.chain(first, second);
    return chain.length === 0 ? t("causality.pair-concurrent", names) : t("causality.pair-before", { ...names, steps: number(chain.length - 1) });
  }

  /**
   * Draws the chain between the pinned step and the current one.
   * @param {Causality} causality
   * @param {number} pinned
   */
  drawChain(causality, pinned) {
    const places = this.places();
    const chain = causality.chain(Math.min(pinned, this.step), Math.max(pinned, this.step));
    const points = chain.map((step) => places.get(step)).filter((place) => place !== undefined);
    const path = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
    if (points.length > 1) this.diagram.overlay.append(s("path", { class: "chain", d: path }));
    const own = places.get(pinned);
    if (own) this.diagram.overlay.append(s("circle", { class: "pinned", cx: own.x, cy: own.y, r: 10 }));
  }

  /** @param {Causality} causality */
  drawCut(causality) {
    const { lanes, left, right } = /** @type {import("../drawing.js").Geometry} */ (this.diagram.geometry);
    const places = this.places();
    const { wrong, inTransit } = causality.judge(this.cut);
    const isConsistent = wrong.length === 0;
    const place = (/** @type {number} */ process) => {
      const own = causality.ofProcess[process];
      const [last, next] = [own[this.cut[process] - 1], own[this.cut[process]]];
      const from = last === undefined ? left : (places.get(last)?.x ?? left);
      const to = next === undefined ? right : (places.get(next)?.x ?? right);
      return (from + to) / 2;
    };
    const points = lanes.map(({ process, y }) => ({ process, x: place(process), y }));
    const line = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
    const group = s("g", { class: isConsistent ? "cut" : "cut wrong" });
    group.append(s("path", { class: "cut-line", d: line }));
    for (const { sent, received } of wrong) {
      const [a, b] = [places.get(sent), places.get(received)];
      if (a && b) group.append(s("path", { class: "cut-message", d: `M${a.x} ${a.y}L${b.x} ${b.y}` }));
    }
    for (const point of points) group.append(this.handle(causality, point, places));
    this.diagram.overlay.append(group);
    const key = isConsistent ? "causality.consistent" : "causality.inconsistent";
    fill(this.text, h("p", { class: isConsistent ? "holds" : "violated", text: `${isConsistent ? "✓" : "✕"} ${t(key, { wrong: number(wrong.length), transit: number(inTransit) })}` }));
  }

  /**
   * Returns the handle of the cut on a process line. It is dragged, or moved by the arrow keys.
   * @param {Causality} causality
   * @param {{ process: number, x: number, y: number }} point
   * @param {Map<number, { x: number, y: number }>} places
   */
  handle(causality, { process, x, y }, places) {
    const own = causality.ofProcess[process];
    const handle = s("circle", { class: "cut-handle", cx: x, cy: y, r: HANDLE, tabindex: 0, role: "slider", "data-process": process });
    const values = { "aria-valuemin": 0, "aria-valuemax": own.length, "aria-valuenow": this.cut[process], "aria-label": t("causality.handle", { process: `p${process}` }) };
    for (const [name, value] of Object.entries(values)) handle.setAttribute(name, String(value));
    const move = (/** @type {number} */ count) => {
      const next = Math.max(0, Math.min(own.length, count));
      if (next === this.cut[process]) return;
      this.cut[process] = next;
      this.draw();
      const same = this.diagram.overlay.querySelector(`[data-process="${process}"]`);
      if (same instanceof SVGElement) same.focus();
    };
    handle.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      move(this.cut[process] + step);
    });
    handle.addEventListener("click", (event) => event.stopPropagation());
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const drag = (/** @type {PointerEvent} */ now) => {
        const at = this.diagram.pointAt(now);
        if (at) move(own.filter((step) => (places.get(step)?.x ?? -Infinity) <= at.x).length);
      };
      const drop = () => {
        document.removeEventListener("pointermove", drag);
        document.removeEventListener("pointerup", drop);
      };
      document.addEventListener("pointermove", drag);
      document.addEventListener("pointerup", drop);
    });
    return handle;
  }
}

/**
 * Draws the mark of a step: a disc for the step itself, a square for the past, a diamond for the future, a ring for the rest.
 * @param {string} kind
 * @param {number} x
 * @param {number} y
 */
function mark(kind, x, y) {
  const r = MARK;
  const shapes = {
    own: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
    concurrent: `M${x - r + 1} ${y}a${r - 1} ${r - 1} 0 1 0 ${2 * r - 2} 0a${r - 1} ${r - 1} 0 1 0 ${-2 * r + 2} 0`,
    past: `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    future: `M${x} ${y - r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z`,
  };
  return s("path", { class: `step-mark ${kind}`, d: shapes[/** @type {keyof typeof shapes} */ (kind)] });
}
