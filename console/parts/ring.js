// A run as a ring of processes with messages that move between them. It follows the player: between two steps, messages glide.

import { h, s } from "../dom.js";
import { t } from "../texts.js";

/** Maximum number of processes, and of steps: of longer runs only a part is loaded. */
const PROCESSES_MOST = 24;
const STEPS_MOST = 50_000;
/** Size of the drawing, and radius of a process. */
const [WIDTH, HEIGHT] = [760, 420];
const NODE = 22;
/** Maximum time of a glide. Playback that is faster shortens it. */
const GLIDE_MS = 600;
/** Maximum number of messages that have their kind beside them. */
const NAMED_MOST = 14;

/** @typedef {{ from: number, to: number, kind: string, sent: number, end: number, isLost: boolean }} Flight */

export class Ring {
  /** @param {import("../recording.js").Recording} recording */
  constructor(recording) {
    this.recording = recording;
    this.flights = flights(recording);
    this.messages = s("g", { class: "ring-messages" });
    this.nodes = s("g", {});
    const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "ring", role: "img" });
    svg.setAttribute("aria-label", t("ring.label"));
    svg.append(this.messages, this.nodes);
    this.element = h("div", { class: "ring-frame", hidden: true }, svg);
    /** The position that is drawn; between two steps while messages glide. */
    this.shown = -1;
    this.frame = 0;
  }

  /** Whether a run can be shown: all of it is loaded, and its processes have room. @param {import("../recording.js").Recording} recording */
  static fits(recording) {
    return recording.isComplete && recording.n <= PROCESSES_MOST && recording.length > 0 && recording.length <= STEPS_MOST;
  }

  get isShown() {
    return !this.element.hidden;
  }

  /**
   * Goes to a step. Only single steps glide.
   * @param {number} step
   * @param {number} speed steps per second of the player
   */
  move(step, speed) {
    cancelAnimationFrame(this.frame);
    if (!this.isShown) return void (this.shown = step);
    this.drawNodes(step);
    const start = this.shown;
    const glides = Math.abs(step - start) <= 1.01 && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!glides) return this.drawMessages(step);
    const duration = Math.min(GLIDE_MS, 900 / speed);
    /** @type {number | undefined} */
    let begun;
    const glide = (/** @type {number} */ now) => {
      begun ??= now;
      const part = Math.min(1, (now - begun) / duration);
      this.drawMessages(start + (step - start) * part);
      if (part < 1) this.frame = requestAnimationFrame(glide);
    };
    this.frame = requestAnimationFrame(glide);
  }

  stop() {
    cancelAnimationFrame(this.frame);
  }

  /** @param {number} process */
  place(process) {
    const angle = (2 * Math.PI * process) / this.recording.n - Math.PI / 2;
    const [x, y] = [WIDTH / 2 + (WIDTH / 2 - 110) * Math.cos(angle), HEIGHT / 2 + (HEIGHT / 2 - 52) * Math.sin(angle)];
    return this.recording.n === 1 ? { x: WIDTH / 2, y: HEIGHT / 2 } : { x, y };
  }

  /** @param {number} step */
  drawNodes(step) {
    const global = this.recording.stateAfter(step);
    const actor = this.recording.process(step);
    const nodes = Array.from({ length: this.recording.n }, (_, process) => {
      const { x, y } = this.place(process);
      const isUp = global.up[process] === 1;
      const mark = isUp ? (global.marks[process] ?? "") : "down";
      const group = s("g", { class: `ring-node ${mark} ${process === actor ? "actor" : ""}` });
      const name = s("text", { x, y: y + 5, class: "ring-name" });
      name.textContent = `p${process}`;
      const permission = isUp ? global.permission(process) : null;
      const note = s("text", { x, y: y + NODE + 16, class: "ring-note" });
      note.textContent = !isUp ? t("mark.crashed") : Array.isArray(permission) ? t("permission.vote-badge", { holders: permission.map((it) => `p${it}`).join(", ") }) : permission === "token" ? t("permission.token-badge") : "";
      group.append(s("circle", { cx: x, cy: y, r: NODE }), name, note);
      return group;
    });
    this.nodes.replaceChildren(...nodes);
  }

  /** @param {number} position */
  drawMessages(position) {
    this.shown = position;
    const moving = this.flights.filter(({ sent, end }) => sent <= position && position < end);
    const dots = moving.map((flight) => this.dot(flight, position, moving.length <= NAMED_MOST));
    this.messages.replaceChildren(...dots);
  }

  /**
   * @param {Flight} flight
   * @param {number} position
   * @param {boolean} isNamed
   */
  dot({ from, to, kind, sent, end, isLost }, position, isNamed) {
    const part = Number.isFinite(end) ? (position - sent) / (end - sent) : 0.5;
    const [a, b] = [this.place(from), this.place(to)];
    const loop = { x: a.x + (NODE + 14) * Math.sin(2 * Math.PI * part), y: a.y - NODE - 14 * (1 - Math.cos(2 * Math.PI * part)) };
    // A lost message ends half way.
    const along = isLost ? part / 2 : part;
    const at = from === to ? loop : { x: a.x + (b.x - a.x) * along, y: a.y + (b.y - a.y) * along };
    const group = s("g", { class: isLost ? "ring-message lost" : "ring-message" });
    if (from !== to) group.append(s("line", { x1: a.x, y1: a.y, x2: at.x, y2: at.y }));
    group.append(s("circle", { cx: at.x, cy: at.y, r: 6 }));
    const name = s("text", { x: at.x + 9, y: at.y - 7 });
    name.textContent = isNamed ? `${isLost ? "✕ " : ""}${kind}` : "";
    group.append(name);
    return group;
  }
}

/**
 * Collects the messages of a run with the steps at which they are sent and at which they arrive or are lost.
 * @param {import("../recording.js").Recording} recording
 * @returns {Flight[]}
 */
export function flights(recording) {
  /** @type {Flight[]} */
  const all = [];
  /** @type {Map<string, Flight>} */
  const open = new Map();
  for (let step = 0; step < recording.length; step += 1) {
    for (const record of recording.records(step)) {
      const number = record.message ?? -1;
      if (record.type === "send" || record.type === "duplicate") {
        const flight = { from: record.from ?? record.process, to: record.to ?? record.process, kind: record.kind ?? "", sent: step, end: Infinity, isLost: false };
        all.push(flight);
        open.set(record.type === "send" ? `${number}` : `${number}+`, flight);
      } else if (record.type === "deliver" || record.type === "lose") {
        const key = open.has(`${number}`) ? `${number}` : `${number}+`;
        const flight = open.get(key);
        if (!flight) continue;
        // A message that is lost when it is sent has half a step of its own.
        flight.end = Math.max(step, flight.sent + 0.5);
        flight.isLost = record.type === "lose";
        open.delete(key);
      }
    }
  }
  return all;
}
