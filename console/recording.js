// A film: every event of a run, and the world as it is after each of them. Of a long run there are parts; the server
// makes the run again for each part that somebody wants to see.

import { post } from "./api.js";
import { GlobalState, apply } from "./global-state.js";

/**
 * @typedef {import("./global-state.js").Record} Record
 * @typedef {{ states: number[], records: Record[], untold: number, sent: { [kind: string]: number }, lost: number }} Prefix
 * @typedef {{ processes: number, total: number, first: number, earlier: Prefix, steps: number[][], records: Record[],
 *   texts: string[], left_out: number }} SegmentData
 * @typedef {[number, number]} Moment a time, and the last step at that time
 */

/** A world is kept every so many events, so that stepping back need not begin at the start. */
const CHECKPOINT_INTERVAL = 400;

/** So many parts of a long run are kept. */
const SEGMENTS_KEPT = 4;

/** So far ahead of where we are the next part is asked for. */
const PREFETCH_STEPS = 30;

/** A part of a film. */
class Segment {
  /** @param {SegmentData} data */
  constructor(data) {
    this.data = data;
    this.first = data.first;
    this.end = data.first + data.steps.length;
    const global = new GlobalState(data.processes);
    global.step = data.first - 1;
    for (const record of data.earlier.records) apply(global, record);
    global.states.set(data.earlier.states);
    global.omittedMessages = data.earlier.untold;
    global.sent = new Map(Object.entries(data.earlier.sent));
    global.lost = data.earlier.lost;
    global.texts = data.texts;
    /** @type {GlobalState[]} */
    this.checkpoints = [global];
    this.global = global.copy();
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
   * @returns {GlobalState}
   */
  stateAfter(step) {
    if (step < this.global.step) {
      const index = Math.min(Math.floor((step - this.first + 1) / CHECKPOINT_INTERVAL), this.checkpoints.length - 1);
      this.global = this.checkpoints[index].copy();
    }
    while (this.global.step < step) {
      this.advance(this.global);
      const passed = this.global.step - this.first + 1;
      if (passed % CHECKPOINT_INTERVAL === 0 && passed / CHECKPOINT_INTERVAL === this.checkpoints.length) this.checkpoints.push(this.global.copy());
    }
    return this.global;
  }

  /** @param {GlobalState} global */
  advance(global) {
    global.step += 1;
    const [, , process, , state] = this.step(global.step);
    global.previousState = global.states[process];
    if (state >= 0) global.states[process] = state;
    for (const record of this.records(global.step)) apply(global, record);
  }

  /** The different times in it. @returns {Moment[]} */
  moments() {
    /** @type {Moment[]} */
    const found = [];
    this.data.steps.forEach(([, time], index) => {
      const last = found[found.length - 1];
      if (last && last[0] === time) last[1] = this.first + index;
      else found.push([time, this.first + index]);
    });
    return found;
  }
}

export class Recording {
  /**
   * @param {SegmentData} data its beginning
   * @param {Moment[]} moments when anything happens in all of it; of many moments an even choice
   * @param {object} request what the server is asked for other parts of
   */
  constructor(data, moments, request) {
    this.n = data.processes;
    this.length = data.total;
    this.allMoments = moments;
    this.request = request;
    /** The parts that are here, the latest used first. @type {Segment[]} */
    this.segments = [new Segment(data)];
    /** The beginning of everything. */
    this.start = new GlobalState(this.n);
    /** How many events are here at once. */
    this.segmentLength = data.steps.length;
    /** A request for a part that is under way. @type {{ step: number, done: Promise<unknown>, stop: AbortController } | null} */
    this.pending = null;
    /** @type {{ segment: Segment | undefined, all: Moment[] } | null} */
    this.momentsCache = null;
  }

  /** Whether all of it is here. */
  get isComplete() {
    return this.segmentLength >= this.length;
  }

  /** @param {number} step */
  segment(step) {
    return this.segments.find((it) => it.has(step));
  }

  /** Whether the world after a step is known. @param {number} step */
  has(step) {
    return step < 0 || this.segment(step) !== undefined;
  }

  /** @param {number} step */
  time(step) {
    if (step < 0 || this.length === 0) return 0;
    const segment = this.segment(step);
    return segment ? segment.step(step)[1] : (this.allMoments[momentIndex(this.allMoments, step)]?.[0] ?? 0);
  }

  /** The number of its event; -1 if it is not known. @param {number} step */
  event(step) {
    return this.segment(step)?.step(step)[0] ?? -1;
  }

  /** Whose it is; -1 if that is not known. @param {number} step */
  process(step) {
    return this.segment(step)?.step(step)[2] ?? -1;
  }

  get end() {
    return this.allMoments[this.allMoments.length - 1]?.[0] ?? 0;
  }

  /**
   * Everything that happens in a step.
   * @param {number} step
   * @returns {Record[]}
   */
  records(step) {
    return this.segment(step)?.records(step) ?? [];
  }

  /**
   * The world after a step that is here; -1 is before the first.
   * @param {number} step
   * @returns {GlobalState}
   */
  stateAfter(step) {
    return this.segment(step)?.stateAfter(step) ?? this.start;
  }

  /** Brings a part that is not here. @param {number} step */
  async load(step) {
    if (this.has(step)) return;
    if (this.pending?.step === step) return void (await this.pending.done);
    await this.fetchSegment({ step }, step);
  }

  /** Asks for what comes next before it is needed. @param {number} step */
  prefetch(step) {
    const next = Math.min(step + PREFETCH_STEPS, this.length - 1);
    if (!this.pending && !this.has(next)) this.fetchSegment({ step: next }, next).catch(() => {});
  }

  /**
   * The first step of an event, or the last one that is not later than a time; -1 is before everything.
   * @param {{ event: number } | { time: number }} target
   * @returns {Promise<number>}
   */
  async find(target) {
    const step = "event" in target ? this.stepOfEvent(target.event) : this.stepAtTime(target.time);
    if (step !== undefined && this.has(step)) return step;
    if (this.length === 0) return -1;
    return this.fetchSegment(target, -2);
  }

  /**
   * @param {object} target
   * @param {number} step
   * @returns {Promise<number>}
   */
  async fetchSegment(target, step) {
    this.pending?.stop.abort();
    const stop = new AbortController();
    const done = post("film", { ...this.request, ...target }, stop.signal);
    const current = { step, done, stop };
    this.pending = current;
    try {
      const response = await done;
      this.segments = [new Segment(response.film), ...this.segments].slice(0, SEGMENTS_KEPT);
      return response.step;
    } finally {
      if (this.pending === current) this.pending = null;
    }
  }

  /**
   * The first step of an event, if it is here.
   * @param {number} event
   */
  stepOfEvent(event) {
    for (const segment of this.segments) {
      const index = segment.data.steps.findIndex((step) => step[0] === event);
      // The event may have begun before this part.
      if (index > 0 || (index === 0 && segment.first === 0)) return segment.first + index;
    }
    return undefined;
  }

  /**
   * The last step that is not later than a time, as far as that is known.
   * @param {number} time
   * @returns {number}
   */
  stepAtTime(time) {
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
    const segment = this.segment(step) ?? this.segments[0];
    if (this.momentsCache?.segment !== segment) {
      const before = this.allMoments.filter(([, last]) => last < segment.first);
      const after = this.allMoments.filter(([, last]) => last >= segment.end);
      const inside = segment.moments();
      // A moment may go on after this part.
      if (after.length > 0 && inside.length > 0 && after[0][0] === inside[inside.length - 1][0]) inside.pop();
      this.momentsCache = { segment, all: [...before, ...inside, ...after] };
    }
    return this.momentsCache.all;
  }

  /**
   * A stretch of time around a step, with at least so many events and moments in it; more of what comes than of what was.
   * @param {number} step
   * @param {number} events
   * @param {number} moments
   * @returns {{ from: number, to: number }}
   */
  windowAround(step, events, moments) {
    const all = this.moments(step);
    const here = momentIndex(all, Math.max(step, 0));
    const last = all.length - 1;
    const count = (/** @type {number} */ from, /** @type {number} */ to) =>
      (all[to]?.[1] ?? 0) - (from > 0 ? all[from - 1][1] : -1);
    const isEnough = (/** @type {number} */ from, /** @type {number} */ to) =>
      count(from, to) > events && to - from >= moments;
    let from = here;
    // What has just arrived was sent a moment ago, however much there is of it.
    while (from > 0 && (from === here || count(from, here) <= events / 5)) from -= 1;
    let to = Math.min(here + 1, last);
    while (to < last && !isEnough(from, to)) to += 1;
    while (from > 0 && !isEnough(from, to)) from -= 1;
    const start = from === 0 ? 0 : all[from][0];
    return { from: start, to: Math.max(all[Math.max(to, 0)]?.[0] ?? 0, start + 1) };
  }
}

/**
 * The place of the moment in which a step is.
 * @param {Moment[]} moments
 * @param {number} step
 */
export function momentIndex(moments, step) {
  let [low, high] = [0, moments.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle][1] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}
