// The recording of a run: its events, and the global state after each of them. A long run is loaded in segments; the server
// repeats the run for each requested segment.

import { post } from "./api.js";
import { GlobalState, apply } from "./global-state.js";

/**
 * @typedef {import("./global-state.js").Record} Record
 * @typedef {{ states: number[], records: Record[], untold: number, sent: { [kind: string]: number }, lost: number }} Prefix
 * @typedef {{ processes: number, total: number, first: number, earlier: Prefix, steps: number[][], records: Record[],
 *   texts: string[], waits: number[][], permissions: import("./global-state.js").Permission[], left_out: number }} SegmentData
 * @typedef {[number, number]} Moment a time, and the last step at that time
 */

/** Number of steps between checkpoints of the global state. Stepping back starts from a checkpoint, not from the start. */
const CHECKPOINT_INTERVAL = 400;

/** Maximum number of segments kept in memory. */
const SEGMENTS_KEPT = 4;

/** Number of steps ahead of the current one whose segment is requested in advance. */
const PREFETCH_STEPS = 30;

/** A contiguous part of a recording. */
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
    global.waits = data.waits;
    global.permissions = data.permissions;
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
    // Violations are recorded at the end and belong to no step.
    return this.data.records.slice(this.step(step)[3], next).filter((record) => record.type !== "violation");
  }

  /**
   * Returns the global state after a step.
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

  /** Returns the distinct times in this segment. @returns {Moment[]} */
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
   * @param {SegmentData} data the first segment
   * @param {Moment[]} moments the moments of the whole run; if there are many, an even sample of them
   * @param {object} request identifies the run in requests for other segments
   */
  constructor(data, moments, request) {
    this.n = data.processes;
    this.length = data.total;
    this.allMoments = moments;
    this.request = request;
    /** The loaded segments, the latest loaded first. @type {Segment[]} */
    this.segments = [new Segment(data)];
    /** The global state before the first step. */
    this.start = new GlobalState(this.n);
    /** Whether the run proceeds in rounds, in which no message has an arrival of its own. */
    this.hasRounds = data.records.some((record) => record.type === "round-end");
    /** Number of steps in the first segment. */
    this.segmentLength = data.steps.length;
    /** The pending request for a segment. @type {{ step: number, done: Promise<unknown>, stop: AbortController } | null} */
    this.pending = null;
    /** @type {{ segment: Segment | undefined, all: Moment[] } | null} */
    this.momentsCache = null;
  }

  /** Whether the first segment contains the whole run. */
  get isComplete() {
    return this.segmentLength >= this.length;
  }

  /** @param {number} step */
  segment(step) {
    return this.segments.find((it) => it.has(step));
  }

  /** Whether the global state after a step is loaded. @param {number} step */
  has(step) {
    return step < 0 || this.segment(step) !== undefined;
  }

  /** @param {number} step */
  time(step) {
    if (step < 0 || this.length === 0) return 0;
    const segment = this.segment(step);
    return segment ? segment.step(step)[1] : (this.allMoments[momentIndex(this.allMoments, step)]?.[0] ?? 0);
  }

  /** Returns the number of the event of a step; -1 if it is not loaded. @param {number} step */
  event(step) {
    return this.segment(step)?.step(step)[0] ?? -1;
  }

  /** Returns the process of a step; -1 if it is not loaded. @param {number} step */
  process(step) {
    return this.segment(step)?.step(step)[2] ?? -1;
  }

  get end() {
    return this.allMoments[this.allMoments.length - 1]?.[0] ?? 0;
  }

  /**
   * Returns the records of a step.
   * @param {number} step
   * @returns {Record[]}
   */
  records(step) {
    return this.segment(step)?.records(step) ?? [];
  }

  /**
   * Returns the global state after a step, or the initial state if the step is -1 or not loaded.
   * @param {number} step
   * @returns {GlobalState}
   */
  stateAfter(step) {
    return this.segment(step)?.stateAfter(step) ?? this.start;
  }

  /** Loads the segment of a step, unless it is loaded already. @param {number} step */
  async load(step) {
    if (this.has(step)) return;
    if (this.pending?.step === step) return void (await this.pending.done);
    await this.fetchSegment({ step }, step);
  }

  /** Requests the next segment before it is needed. @param {number} step */
  prefetch(step) {
    const next = Math.min(step + PREFETCH_STEPS, this.length - 1);
    if (!this.pending && !this.has(next)) this.fetchSegment({ step: next }, next).catch(() => {});
  }

  /**
   * Finds the first step of an event, or the last step that is not later than a time; -1 is before the first step.
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
   * Returns the first step of an event, or undefined if it is not loaded.
   * @param {number} event
   */
  stepOfEvent(event) {
    for (const segment of this.segments) {
      const index = segment.data.steps.findIndex((step) => step[0] === event);
      // The event may have begun before this segment.
      if (index > 0 || (index === 0 && segment.first === 0)) return segment.first + index;
    }
    return undefined;
  }

  /**
   * Returns the last known step that is not later than a time.
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
   * Returns the moments of the run: exact within the segment of a step, and sampled outside of it.
   * @param {number} step
   * @returns {Moment[]}
   */
  moments(step) {
    const segment = this.segment(step) ?? this.segments[0];
    if (this.momentsCache?.segment !== segment) {
      const before = this.allMoments.filter(([, last]) => last < segment.first);
      const after = this.allMoments.filter(([, last]) => last >= segment.end);
      const inside = segment.moments();
      // A moment may continue after this segment.
      if (after.length > 0 && inside.length > 0 && after[0][0] === inside[inside.length - 1][0]) inside.pop();
      this.momentsCache = { segment, all: [...before, ...inside, ...after] };
    }
    return this.momentsCache.all;
  }

  /**
   * Returns the processes with a step in a window of time, as far as it is loaded, in ascending order.
   * @param {{ from: number, to: number }} window
   */
  activeIn({ from, to }) {
    /** @type {Set<number>} */
    const active = new Set();
    for (const { data } of this.segments) {
      for (const [, time, process] of data.steps) if (time >= from && time <= to) active.add(process);
    }
    return [...active].sort((a, b) => a - b);
  }

  /**
   * Returns a window of time around a step that holds at least `events` events and `moments` moments where the run is long
   * enough. Most of it lies after the step.
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
    // Includes at least the previous moment, however many events it has: messages that arrive now were often sent then.
    while (from > 0 && (from === here || count(from, here) <= events / 5)) from -= 1;
    let to = Math.min(here + 1, last);
    while (to < last && !isEnough(from, to)) to += 1;
    while (from > 0 && !isEnough(from, to)) from -= 1;
    const start = from === 0 ? 0 : all[from][0];
    return { from: start, to: Math.max(all[Math.max(to, 0)]?.[0] ?? 0, start + 1) };
  }
}

/**
 * Returns the index of the moment that contains a step.
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
