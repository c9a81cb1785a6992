// SVG drawings from the server. They are parsed and validated before they are inserted into the page.

import { post } from "./api.js";
import { h, s } from "./dom.js";
import { isPresenting } from "./parts/presentation.js";
import { language, t } from "./texts.js";

const ELEMENTS = new Set([
  "svg",
  "g",
  "path",
  "rect",
  "circle",
  "ellipse",
  "line",
  "polyline",
  "polygon",
  "text",
  "tspan",
  "title",
  "desc",
  "defs",
  "marker",
  "clipPath",
]);

// The only place that turns text into nodes. The text is an SVG document, and `parse` validates it before it is used.
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("drawing", {
  createHTML: (/** @type {string} */ text) => text,
});

/**
 * Parses a drawing. Elements and attributes that could run code or load a resource are rejected.
 * @param {string} text
 * @returns {SVGSVGElement}
 */
export function parse(text) {
  const plain = adoptStyles(text);
  const trusted = policy ? policy.createHTML(plain) : plain;
  const parsed = new DOMParser().parseFromString(trusted, "image/svg+xml").documentElement;
  if (parsed.localName !== "svg") throw new Error("this is no drawing");
  for (const element of [parsed, ...parsed.querySelectorAll("*")]) {
    if (!ELEMENTS.has(element.localName)) throw new Error(`a drawing has no <${element.localName}>`);
    for (const { localName, value } of element.attributes) {
      const loads = localName === "href" || localName === "src" || (value.includes("url(") && !value.includes("url(#"));
      if (localName.startsWith("on") || localName === "style" || loads)
        throw new Error(`a drawing has no ${localName}`);
    }
  }
  return /** @type {any} */ (document.importNode(parsed, true));
}

/** Style rules of drawings that the page has already adopted. @type {Set<string>} */
const sheets = new Set();

/**
 * Moves the style rules of a drawing into a style sheet of the page. Inside the drawing they would count as inline styles,
 * which the content security policy forbids. Returns the drawing without them.
 * @param {string} text
 */
function adoptStyles(text) {
  return text.replace(/<style>([^<]*)<\/style>/g, (_, /** @type {string} */ rules) => {
    if (!sheets.has(rules) && !/@import|url\(/i.test(rules)) {
      sheets.add(rules);
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(rules);
      document.adoptedStyleSheets.push(sheet);
    }
    return "";
  });
}

/**
 * @typedef {{ from: number, to: number }} Window
 * @typedef {{ event: number, process: number, time: number, x: number }} StepColumn
 * @typedef {{ from: number, to: number, left: number, right: number, top: number, bottom: number, steps: StepColumn[],
 *   lanes: { process: number, y: number }[] }} Geometry
 * @typedef {{ from: number, to: number, event: number, sent: number, title: string }} MessageInfo
 * @typedef {{ time: number, process: number | null, message: MessageInfo | null, x: number, y: number }} ClickTarget
 */

/** Space around the lanes of a drawing: the times above, the legend below, and the violations that it names. */
const AROUND_LANES = 118;
/** Minimum distance between the names of two lanes. */
const NAME_DISTANCE = 14;

/** Space-time diagram of a window of a run, with a playhead at the current position. */
export class Diagram {
  /** @param {(target: ClickTarget) => void} [onClick] */
  constructor(onClick) {
    this.scroller = h("div", { class: "diagram", role: "group", tabindex: "0", "aria-label": t("panel.diagram") });
    /** Names of the processes, which stay where they are while the drawing is scrolled. */
    this.names = h("div", { class: "lane-names off", "aria-hidden": "true", hidden: true });
    this.element = h("div", { class: "diagram-frame" }, this.scroller, this.names);
    this.onClick = onClick;
    /** Body of the diagram request, without the window. @type {any} */
    this.request = null;
    /** @type {Window | null} */
    this.window = null;
    /** Called with the number of process lines after each drawing. @type {((lanes: number) => void) | undefined} */
    this.onDrawn = undefined;
    /** Height that the drawing may have on the page. @type {number | undefined} */
    this.height = undefined;
    /** Width of the drawing on the page, and the width of its visible part. */
    this.drawnWidth = 0;
    this.visibleWidth = 0;
    /** The last drawing as received from the server, for downloads. */
    this.text = "";
    /** Coordinates of the time axis and of the process lines. @type {Geometry | null} */
    this.geometry = null;
    /** @type {SVGSVGElement | null} */
    this.svg = null;
    /** @type {AbortController | null} */
    this.pending = null;
    /** Whether the drawing tells nothing of the outcome, and the shade covers the future completely. */
    this.concealed = false;
    this.now = { time: 0, event: -1, process: -1 };
    this.playhead = s("path", { class: "playhead" });
    this.future = s("rect", { class: "future" });
    this.here = s("circle", { class: "here", r: 9 });
    /** Copies of what the current step does, in front of the shade that covers the future. */
    this.current = s("g", { class: "current" });
    /** What the view draws over the diagram, in its coordinates. */
    this.overlay = s("g", { class: "overlay" });
    this.scroller.addEventListener("click", (event) => this.click(event));
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("scroll", () => this.names.classList.toggle("off", this.scroller.scrollLeft < 4), { passive: true });
  }

  /**
   * Draws a window. The previous drawing stays visible until the new one is ready.
   * @param {Window} window
   */
  async show(window) {
    // Before the element has a layout its width is 0, and there is nothing to draw.
    const drawnWidth = Math.max(this.scroller.clientWidth, 560);
    const known = this.window;
    if (this.scroller.clientWidth === 0) return;
    if (known && known.from === window.from && known.to === window.to && this.drawnWidth === drawnWidth) return;
    this.window = window;
    this.drawnWidth = drawnWidth;
    this.visibleWidth = this.scroller.clientWidth;
    this.pending?.abort();
    this.pending = new AbortController();
    // On a large screen, such as a projector, the drawing is enlarged because the reader sits further away.
    const scale = isPresenting()
      ? Math.max(1, Math.min(2.6, drawnWidth / 640))
      : Math.max(1, Math.min(1.6, drawnWidth / 1150, innerHeight / 850));
    const width = Math.round(drawnWidth / scale);
    const height = this.height === undefined ? undefined : Math.max(120, Math.round(this.height / scale - AROUND_LANES));
    try {
      const body = { ...this.request, ...window, width, height, legend: true, spread: true, language };
      const response = await post("diagram", body, this.pending.signal);
      this.text = response.svg;
      this.geometry = response.geometry;
      this.svg = parse(this.text);
      if (this.concealed) conceal(this.svg);
      this.scroller.classList.toggle("concealed", this.concealed);
      this.svg.append(this.future, this.playhead, this.current, this.here, this.overlay);
      this.svg.style.width = `${drawnWidth}px`;
      this.svg.style.height = "auto";
      this.scroller.replaceChildren(this.svg);
      this.drawNames(drawnWidth / width);
      this.updatePlayhead();
      this.onDrawn?.(this.geometry?.lanes.length ?? 0);
    } catch (error) {
      if (/** @type {Error} */ (error).name === "AbortError") return;
      this.scroller.replaceChildren(h("p", { class: "problem", text: /** @type {Error} */ (error).message }));
    }
  }

  /**
   * Draws the window that is shown as a picture of this size.
   * @param {number} width
   * @param {number} height
   * @returns {Promise<string>}
   */
  async slide(width, height) {
    const body = { ...this.request, ...this.window, width, height: height - AROUND_LANES, legend: true, spread: true, language };
    const { svg } = await post("diagram", body);
    return /** @type {string} */ (svg).replace(
      /width="\d+" height="(\d+)" viewBox="0 0 \d+ \d+"/,
      (_, drawn) => `width="${width}" height="${height}" viewBox="0 ${Math.min(0, (drawn - height) / 2)} ${width} ${Math.max(drawn, height)}"`,
    );
  }

  /** Shows the names of the processes beside a drawing that is wider than its frame. @param {number} scale */
  drawNames(scale) {
    const isScrolled = this.drawnWidth > this.visibleWidth;
    this.names.hidden = !isScrolled;
    if (!isScrolled || !this.geometry) return;
    let last = -Infinity;
    const names = this.geometry.lanes.flatMap(({ process, y }) => {
      if (y * scale - last < NAME_DISTANCE) return [];
      last = y * scale;
      const name = h("span", { text: `p${process}` });
      name.style.top = `${y * scale}px`;
      return [name];
    });
    this.names.replaceChildren(...names);
  }

  /**
   * Moves the playhead.
   * @param {number} time
   * @param {number} event
   * @param {number} process
   */
  move(time, event, process) {
    this.now = { time, event, process };
    this.updatePlayhead();
  }

  /** Returns the column of the current step, and whether the drawing contains it. @param {Geometry} geometry */
  columnOfStep({ steps, from, to, left, right }) {
    const { time, event, process } = this.now;
    const step = steps.find((it) => it.event === event && it.process === process);
    if (step) return { x: step.x, isDrawn: true };
    const first = steps[0]?.event ?? Infinity;
    const linear = left + ((time - from) / Math.max(to - from, 1)) * (right - left);
    const x = steps.length === 0 ? linear : event < first ? left - 10 : right + 10;
    return { x: Math.max(left - 10, Math.min(right + 10, x)), isDrawn: steps.length === 0 };
  }

  /** Returns the time of a column. @param {Geometry} geometry @param {number} x */
  timeAt({ steps, from, to, left, right }, x) {
    const known = [{ time: from, x: left }, ...steps, { time: to, x: right }];
    const after = known.findIndex((it) => it.x > x);
    if (after <= 0) return after === 0 ? from : to;
    const [a, b] = [known[after - 1], known[after]];
    return a.time + ((x - a.x) / (b.x - a.x)) * (b.time - a.time);
  }

  updatePlayhead() {
    if (!this.svg || !this.geometry) return;
    const { left, right, top, bottom, lanes } = this.geometry;
    const column = this.columnOfStep(this.geometry);
    const x = this.now.event < 0 ? left - 10 : column.x;
    this.playhead.setAttribute("d", `M${x} ${top}V${bottom}`);
    // The shade ends where the drawing ends.
    const wide = Math.max(0, right + 15 - x);
    for (const [name, value] of Object.entries({ x, y: top, width: wide, height: Math.max(0, bottom - top) })) {
      this.future.setAttribute(name, String(value));
    }
    this.scroller.classList.toggle("moving", this.now.event >= 0);
    const lane = lanes.find((it) => it.process === this.now.process);
    const isHere = this.now.event >= 0 && column.isDrawn && lane !== undefined;
    this.here.classList.toggle("off", !isHere);
    if (isHere) {
      this.here.setAttribute("cx", String(x));
      this.here.setAttribute("cy", String(lane.y));
    }
    this.current.replaceChildren();
    if (this.now.event < 0) return;
    this.scrollToPlayhead(x);
    const { event, process } = this.now;
    const parts = [
      `[data-event="${event}"][data-process="${process}"]`,
      `[data-event="${event}"][data-from="${process}"]`,
      `[data-arrival="${event}"][data-to="${process}"]`,
    ];
    const copies = [...this.svg.querySelectorAll(parts.join(", "))].map((element) => element.cloneNode(true));
    this.current.append(...copies);
  }

  /** Scrolls a drawing that is wider than the screen so that the playhead is visible. @param {number} x */
  scrollToPlayhead(x) {
    // `visibleWidth` is cached: reading the layout here would take as much time as a whole step may take.
    const visibleWidth = this.visibleWidth;
    if (!this.svg || this.drawnWidth <= visibleWidth) return;
    const left = this.scroller.scrollLeft;
    const position = (x / this.svg.viewBox.baseVal.width) * this.drawnWidth;
    if (position < left + 40 || position > left + visibleWidth - 40) this.scroller.scrollLeft = position - visibleWidth / 2;
  }

  /** Enter does what a click on the current step does. @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Enter" || event.target !== this.scroller || !this.svg || !this.onClick || !this.geometry) return;
    event.preventDefault();
    const { time, process } = this.now;
    const own = process >= 0 ? process : (this.geometry.lanes[0]?.process ?? null);
    const lane = this.geometry.lanes.find((it) => it.process === own);
    const scale = this.drawnWidth / this.svg.viewBox.baseVal.width;
    const message = this.current.querySelector("[data-message]");
    const x = this.columnOfStep(this.geometry).x * scale;
    this.onClick({ time, message: message && messageInfo(message), process: own, x, y: (lane?.y ?? 0) * scale });
  }

  /** Returns the place of the pointer in the coordinates of the drawing. @param {MouseEvent} event */
  pointAt(event) {
    const matrix = this.svg?.getScreenCTM();
    return matrix ? new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()) : null;
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (!this.svg || !this.onClick || !this.geometry) return;
    const at = this.pointAt(event);
    if (!at) return;
    const { from, to, left, right } = this.geometry;
    // Rounds to the precision of one pixel: 5.49 ms instead of 5.490153 ms.
    const grain = 10 ** Math.max(0, Math.floor(Math.log10((to - from) / (right - left))));
    const exact = this.timeAt(this.geometry, at.x);
    const time = Math.max(from, Math.min(to, Math.round(exact / grain) * grain));
    const target = /** @type {Element} */ (event.target).closest("[data-message]");
    const box = this.scroller.getBoundingClientRect();
    this.onClick({
      time,
      message: target && messageInfo(target),
      process: this.nearestLane(at.y),
      x: event.clientX - box.left + this.scroller.scrollLeft,
      y: event.clientY - box.top,
    });
  }

  /**
   * Returns the process whose line is nearest to `y`.
   * @param {number} y
   */
  nearestLane(y) {
    let [best, distance] = [/** @type {number | null} */ (null), Infinity];
    for (const lane of this.geometry?.lanes ?? []) {
      if (Math.abs(lane.y - y) < distance) [best, distance] = [lane.process, Math.abs(lane.y - y)];
    }
    return best;
  }
}

/**
 * Removes what a drawing tells of the outcome of the run: violations, the legend with its counts, and the description.
 * @param {SVGSVGElement} svg
 */
function conceal(svg) {
  for (const element of svg.querySelectorAll(".violation, .ring, .legend, desc, text.wrong:not(.name)")) element.remove();
  for (const name of svg.querySelectorAll("text.name.wrong")) {
    name.classList.remove("wrong");
    name.textContent = (name.textContent ?? "").replace("! ", "");
  }
  for (const element of svg.querySelectorAll(".guilty, .culprit")) element.classList.remove("guilty", "culprit");
}

/**
 * Reads the data attributes of a message in a drawing.
 * @param {Element} element
 * @returns {MessageInfo}
 */
function messageInfo(element) {
  const [from, to, event, sent] = ["from", "to", "event", "sent"].map((key) =>
    Number(element.getAttribute(`data-${key}`)),
  );
  // The title starts with the kind and the route.
  const title = (element.querySelector("title")?.textContent ?? "").split(": ")[0];
  return { from, to, event, sent, title };
}
