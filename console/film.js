// A film: every event of a run, and the world as it is after each of them. Of a long run there are parts; the server
// makes the run again for each part that somebody wants to see.

import { post } from "./api.js";
import { Scene, apply } from "./scene.js";

/**
 * @typedef {import("./scene.js").Record} Record
 * @typedef {{ states: number[], records: Record[], untold: number, sent: { [kind: string]: number }, lost: number }} Earlier
 * @typedef {{ processes: number, total: number, first: number, earlier: Earlier, steps: number[][], records: Record[],
 *   texts: string[], left_out: number }} ReelData
 * @typedef {[number, number]} Moment a time, and the last step at that time
 */

/** A world is kept every so many events, so that stepping back need not begin at the start. */
const EVERY = 400;

/** So many parts of a long run are kept. */
const REELS = 4;

/** So far ahead of where we are the next part is asked for. */
const AHEAD = 30;

/** A part of a film. */
class Reel {
  /** @param {ReelData} data */
  constructor(data) {
    this.data = data;
    this.first = data.first;
    this.end = data.first + data.steps.length;
    const scene = new Scene(data.processes);
    scene.step = data.first - 1;
    for (const record of data.earlier.records) apply(scene, record);
    scene.states.set(data.earlier.states);
    scene.untold = data.earlier.untold;
    scene.sent = new Map(Object.entries(data.earlier.sent));
    scene.lost = data.earlier.lost;
    scene.texts = data.texts;
    /** @type {Scene[]} */
    this.kept = [scene];
    this.scene = scene.copy();
  }

  /** @param {number} step */
  has(step) {
    return step >= this.first && step < this.end;
  }

  /**
   * @param {number} step
   * @returns {number[]} event, time, process, first record, state
   */
  step(step) {
    return this.data.steps[step - this.first];
  }

  /**
   * @param {number} step
   * @returns {Record[]}
   */
  records(step) {
    const next = step + 1 < this.end ? this.step(step + 1)[3] : this.data.records.length;
    // What was broken stands at the end, and belongs to no step.
    return this.data.records.slice(this.step(step)[3], next).filter((record) => record.type !== "violation");
  }

  /**
   * The world after a step.
   * @param {number} step
   * @returns {Scene}
   */
  at(step) {
    if (step < this.scene.step) {
      const place = Math.min(Math.floor((step - this.first + 1) / EVERY), this.kept.length - 1);
      this.scene = this.kept[place].copy();
    }
    while (this.scene.step < step) {
      this.advance(this.scene);
      const passed = this.scene.step - this.first + 1;
      if (passed % EVERY === 0 && passed / EVERY === this.kept.length) this.kept.push(this.scene.copy());
    }
    return this.scene;
  }

  /** @param {Scene} scene */
  advance(scene) {
    scene.step += 1;
    const [, , process, , state] = this.step(scene.step);
    scene.before = scene.states[process];
    if (state >= 0) scene.states[process] = state;
    for (const record of this.records(scene.step)) apply(scene, record);
  }

  /** The different times in it. @returns {Moment[]} */
  moments() {
    /** @type {Moment[]} */
    const found = [];
    this.data.steps.forEach(([, time], place) => {
      const last = found[found.length - 1];
      if (last && last[0] === time) last[1] = this.first + place;
      else found.push([time, this.first + place]);
    });
    return found;
  }
}

export class Film {
  /**
   * @param {ReelData} data its beginning
   * @param {Moment[]} moments when anything happens in all of it; of many moments an even choice
   * @param {object} subject what the server is asked for other parts of
   */
  constructor(data, moments, subject) {
    this.n = data.processes;
    this.length = data.total;
    this.whole = moments;
    this.subject = subject;
    /** The parts that are here, the latest used first. @type {Reel[]} */
    this.reels = [new Reel(data)];
    /** The beginning of everything. */
    this.start = new Scene(this.n);
    /** How many events are here at once. */
    this.shown = data.steps.length;
    /** A request for a part that is under way. @type {{ step: number, done: Promise<unknown>, stop: AbortController } | null} */
    this.asking = null;
    /** @type {{ reel: Reel | undefined, all: Moment[] } | null} */
    this.known = null;
  }

  /** Whether all of it is here. */
  get isWhole() {
    return this.shown >= this.length;
  }

  /** @param {number} step */
  reel(step) {
    return this.reels.find((it) => it.has(step));
  }

  /** Whether the world after a step is known. @param {number} step */
  has(step) {
    return step < 0 || this.reel(step) !== undefined;
  }

  /** @param {number} step */
  time(step) {
    if (step < 0 || this.length === 0) return 0;
    const reel = this.reel(step);
    return reel ? reel.step(step)[1] : (this.whole[momentOf(this.whole, step)]?.[0] ?? 0);
  }

  /** The number of its event; -1 if it is not known. @param {number} step */
  event(step) {
    return this.reel(step)?.step(step)[0] ?? -1;
  }

  /** Whose it is; -1 if that is not known. @param {number} step */
  process(step) {
    return this.reel(step)?.step(step)[2] ?? -1;
  }

  get end() {
    return this.whole[this.whole.length - 1]?.[0] ?? 0;
  }

  /**
   * Everything that happens in a step.
   * @param {number} step
   * @returns {Record[]}
   */
  records(step) {
    return this.reel(step)?.records(step) ?? [];
  }

  /**
   * The world after a step that is here; -1 is before the first.
   * @param {number} step
   * @returns {Scene}
   */
  at(step) {
    return this.reel(step)?.at(step) ?? this.start;
  }

  /** Brings a part that is not here. @param {number} step */
  async load(step) {
    if (this.has(step)) return;
    if (this.asking?.step === step) return void (await this.asking.done);
    await this.ask({ step }, step);
  }

  /** Asks for what comes next before it is needed. @param {number} step */
  prefetch(step) {
    const next = Math.min(step + AHEAD, this.length - 1);
    if (!this.asking && !this.has(next)) this.ask({ step: next }, next).catch(() => {});
  }

  /**
   * The first step of an event, or the last one that is not later than a time; -1 is before everything.
   * @param {{ event: number } | { time: number }} what
   * @returns {Promise<number>}
   */
  async find(what) {
    const step = "event" in what ? this.stepOf(what.event) : this.stepAt(what.time);
    if (step !== undefined && this.has(step)) return step;
    if (this.length === 0) return -1;
    return this.ask(what, -2);
  }

  /**
   * @param {object} what
   * @param {number} step
   * @returns {Promise<number>}
   */
  async ask(what, step) {
    this.asking?.stop.abort();
    const stop = new AbortController();
    const done = post("film", { ...this.subject, ...what }, stop.signal);
    const mine = { step, done, stop };
    this.asking = mine;
    try {
      const answer = await done;
      this.reels = [new Reel(answer.film), ...this.reels].slice(0, REELS);
      return answer.step;
    } finally {
      if (this.asking === mine) this.asking = null;
    }
  }

  /**
   * The first step of an event, if it is here.
   * @param {number} event
   */
  stepOf(event) {
    for (const reel of this.reels) {
      const place = reel.data.steps.findIndex((step) => step[0] === event);
      // The event may have begun before this part.
      if (place > 0 || (place === 0 && reel.first === 0)) return reel.first + place;
    }
    return undefined;
  }

  /**
   * The last step that is not later than a time, as far as that is known.
   * @param {number} time
   * @returns {number}
   */
  stepAt(time) {
    const moments = this.moments(-1);
    let [low, high] = [0, moments.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (moments[middle][0] <= time) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? -1 : moments[low - 1][1];
  }

  /**
   * When anything happens: exactly around a step, for what is here, and else as it was told.
   * @param {number} step
   * @returns {Moment[]}
   */
  moments(step) {
    const reel = this.reel(step) ?? this.reels[0];
    if (this.known?.reel !== reel) {
      const before = this.whole.filter(([, last]) => last < reel.first);
      const after = this.whole.filter(([, last]) => last >= reel.end);
      const inside = reel.moments();
      // A moment may go on after this part.
      if (after.length > 0 && inside.length > 0 && after[0][0] === inside[inside.length - 1][0]) inside.pop();
      this.known = { reel, all: [...before, ...inside, ...after] };
    }
    return this.known.all;
  }

  /**
   * A stretch of time around a step, with at least so many events and moments in it; more of what comes than of what was.
   * @param {number} step
   * @param {number} events
   * @param {number} moments
   * @returns {{ from: number, to: number }}
   */
  around(step, events, moments) {
    const all = this.moments(step);
    const here = momentOf(all, Math.max(step, 0));
    const last = all.length - 1;
    const count = (/** @type {number} */ from, /** @type {number} */ to) =>
      (all[to]?.[1] ?? 0) - (from > 0 ? all[from - 1][1] : -1);
    const is = (/** @type {number} */ from, /** @type {number} */ to) =>
      count(from, to) > events && to - from >= moments;
    let from = here;
    // What has just arrived was sent a moment ago, however much there is of it.
    while (from > 0 && (from === here || count(from, here) <= events / 5)) from -= 1;
    let to = Math.min(here + 1, last);
    while (to < last && !is(from, to)) to += 1;
    while (from > 0 && !is(from, to)) from -= 1;
    const start = from === 0 ? 0 : all[from][0];
    return { from: start, to: Math.max(all[Math.max(to, 0)]?.[0] ?? 0, start + 1) };
  }
}

/**
 * The place of the moment in which a step is.
 * @param {Moment[]} moments
 * @param {number} step
 */
export function momentOf(moments, step) {
  let [low, high] = [0, moments.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle][1] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}
