// A film: every event of a run, and the world as it is after each of them.

/**
 * @typedef {{ event: number, time: number, process: number, type: string, message?: number, from?: number, to?: number,
 *   kind?: string, layer?: string, body?: string, why?: string, command?: string, output?: string, timer?: string,
 *   about?: number, crashed?: boolean, memory?: boolean, round?: number, fault?: string, mark?: any, says?: string,
 *   groups?: number[][], property?: string, detail?: string, cause?: number }} Record
 * @typedef {{ processes: number, steps: number[][], records: Record[], texts: string[], left_out: number }} FilmData
 * @typedef {{ record: Record, step: number }} UnderWay
 */

/** A world is kept every so many events, so that stepping back need not begin at the start. */
const EVERY = 400;

/** The world as it is after some event. */
export class Scene {
  /** @param {number} n */
  constructor(n) {
    this.step = -1;
    /** The state of each process, as a place among the texts. */
    this.states = new Int32Array(n).fill(-1);
    /** What the state of the process of this event was before it. */
    this.before = -1;
    this.up = new Uint8Array(n).fill(1);
    /** Whom each process believes to have crashed. @type {Set<number>[]} */
    this.suspects = Array.from({ length: n }, () => new Set());
    /** Messages that have left and not arrived. @type {Map<string, UnderWay>} */
    this.underWay = new Map();
    /** What users last saw of each process. @type {(string | null)[]} */
    this.marks = new Array(n).fill(null);
    /** What users were last told. @type {string[]} */
    this.says = new Array(n).fill("");
    /** How many messages of each kind have left. @type {Map<string, number>} */
    this.sent = new Map();
    this.lost = 0;
  }

  copy() {
    const copy = new Scene(0);
    copy.step = this.step;
    copy.states = this.states.slice();
    copy.before = this.before;
    copy.up = this.up.slice();
    copy.suspects = this.suspects.map((set) => new Set(set));
    copy.underWay = new Map(this.underWay);
    copy.marks = this.marks.slice();
    copy.says = this.says.slice();
    copy.sent = new Map(this.sent);
    copy.lost = this.lost;
    return copy;
  }
}

export class Film {
  /** @param {FilmData} data */
  constructor(data) {
    this.n = data.processes;
    this.steps = data.steps;
    this.data = data;
    this.texts = data.texts;
    this.leftOut = data.left_out;
    /** @type {Scene[]} */
    this.kept = [new Scene(this.n)];
    this.scene = new Scene(this.n);
    /** The first step of each event. @type {Map<number, number>} */
    this.places = new Map();
    data.steps.forEach(([event], step) => {
      if (!this.places.has(event)) this.places.set(event, step);
    });
  }

  get length() {
    return this.steps.length;
  }

  /** @param {number} step */
  time(step) {
    return step < 0 || this.length === 0 ? 0 : this.steps[Math.min(step, this.length - 1)][1];
  }

  /** @param {number} step */
  event(step) {
    return step < 0 ? -1 : this.steps[step][0];
  }

  /** @param {number} step */
  process(step) {
    return step < 0 ? -1 : this.steps[step][2];
  }

  get end() {
    return this.time(this.length - 1);
  }

  /**
   * Everything that happens in a step.
   * @param {number} step
   * @returns {Record[]}
   */
  records(step) {
    if (step < 0 || step >= this.length) return [];
    const next = step + 1 < this.length ? this.steps[step + 1][3] : this.data.records.length;
    // What was broken stands at the end, and belongs to no step.
    return this.data.records.slice(this.steps[step][3], next).filter((record) => record.type !== "violation");
  }

  /**
   * The step in which an event happens.
   * @param {number} event
   */
  stepOf(event) {
    return this.places.get(event) ?? -1;
  }

  /**
   * The last step that is not later than a time.
   * @param {number} time
   */
  stepAt(time) {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.steps[middle][1] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /**
   * The world after a step; -1 is before the first.
   * @param {number} step
   * @returns {Scene}
   */
  at(step) {
    if (step < this.scene.step) {
      const place = Math.min(Math.floor((step + 1) / EVERY), this.kept.length - 1);
      this.scene = this.kept[place].copy();
    }
    while (this.scene.step < step) {
      this.advance(this.scene);
      if ((this.scene.step + 1) % EVERY === 0 && (this.scene.step + 1) / EVERY === this.kept.length) {
        this.kept.push(this.scene.copy());
      }
    }
    return this.scene;
  }

  /** @param {Scene} scene */
  advance(scene) {
    scene.step += 1;
    const [, , process, , state] = this.steps[scene.step];
    scene.before = scene.states[process];
    if (state >= 0) scene.states[process] = state;
    for (const record of this.records(scene.step)) apply(scene, record);
  }
}

/**
 * @param {Scene} scene
 * @param {Record} record
 */
function apply(scene, record) {
  const { process } = record;
  switch (record.type) {
    case "send":
    case "duplicate": {
      scene.underWay.set(name(record), { record, step: scene.step });
      if (record.type === "send") scene.sent.set(record.kind ?? "", (scene.sent.get(record.kind ?? "") ?? 0) + 1);
      break;
    }
    case "lose":
      scene.lost += 1;
      arrive(scene, record);
      break;
    case "deliver":
      arrive(scene, record);
      break;
    case "belief":
      if (record.crashed) scene.suspects[process].add(record.about ?? -1);
      else scene.suspects[process].delete(record.about ?? -1);
      break;
    case "crash":
      scene.up[process] = 0;
      break;
    case "recover":
      scene.up[process] = 1;
      if (!record.memory) scene.suspects[process].clear();
      break;
    case "command":
    case "output":
      if (typeof record.mark === "string") scene.marks[process] = record.mark;
      scene.says[process] = record.says || record.output || record.command || "";
      break;
  }
}

/** @param {Record} record */
function name(record) {
  return record.type === "duplicate" ? `${record.message}+` : `${record.message}`;
}

/**
 * @param {Scene} scene
 * @param {Record} record
 */
function arrive(scene, record) {
  // Both copies of a duplicate have the same number; whichever comes first takes the first away.
  if (!scene.underWay.delete(`${record.message}`)) scene.underWay.delete(`${record.message}+`);
}
