// The current position in a recording, and its playback.

/** Playback speeds in steps per second. */
export const SPEEDS = [1, 2, 5, 10, 25];

export class Player extends EventTarget {
  /**
   * @param {number} length number of steps; position -1 is before the first one
   * @param {(position: number) => boolean} [isLoaded] whether the state at a position is loaded
   */
  constructor(length, isLoaded = () => true) {
    super();
    this.length = length;
    this.isLoaded = isLoaded;
    /** Returns the position of the next or previous moment. @type {((direction: 1 | -1) => number) | undefined} */
    this.adjacentMoment = undefined;
    /** Begins or ends presentation mode. Returns whether it did. @type {((presenting?: boolean) => boolean) | undefined} */
    this.present = undefined;
    this.position = -1;
    this.speed = 5;
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  get playing() {
    return this.timer !== undefined;
  }

  get last() {
    return this.length - 1;
  }

  /** @param {number} position */
  go(position) {
    const next = Math.max(-1, Math.min(this.last, Math.round(position)));
    if (next === this.position) return;
    this.position = next;
    this.dispatchEvent(new Event("move"));
  }

  /** @param {number} steps */
  step(steps) {
    this.go(this.position + steps);
  }

  play() {
    if (this.playing || this.length === 0) return;
    if (this.position >= this.last) this.go(-1);
    this.timer = window.setInterval(() => {
      // Playback waits for missing data, so that no step is skipped.
      if (!this.isLoaded(this.position)) return;
      this.step(1);
      if (this.position >= this.last) this.pause();
    }, 1000 / this.speed);
    this.dispatchEvent(new Event("play"));
  }

  pause() {
    if (!this.playing) return;
    window.clearInterval(this.timer);
    this.timer = undefined;
    this.dispatchEvent(new Event("play"));
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.speed = speed;
    if (this.playing) {
      this.pause();
      this.play();
    }
  }

  /**
   * Handles a key and returns whether it had an effect.
   * @param {KeyboardEvent} event
   */
  key(event) {
    const distance = event.shiftKey ? 10 : 1;
    switch (event.key) {
      case " ":
        this.toggle();
        return true;
      case "ArrowRight":
        this.pause();
        this.step(distance);
        return true;
      case "ArrowLeft":
        this.pause();
        this.step(-distance);
        return true;
      case ".":
      case ",":
        if (!this.adjacentMoment) return false;
        this.pause();
        this.go(this.adjacentMoment(event.key === "." ? 1 : -1));
        return true;
      case "p":
      case "P":
        return this.present?.() ?? false;
      case "Escape":
        return this.present?.(false) ?? false;
      case "Home":
        this.pause();
        this.go(-1);
        return true;
      case "End":
        this.pause();
        this.go(this.last);
        return true;
      default:
        return false;
    }
  }
}

/** The player of the current page, which receives the keys. @type {Player | null} */
let current = null;

/** @param {Player | null} player */
export function bindKeys(player) {
  if (current !== player) current?.pause();
  current = player;
}

document.addEventListener("keydown", (event) => {
  if (!current || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = /** @type {Element} */ (event.target);
  if (target.closest("input:not([type=range]), textarea, select, [role=menu], summary")) return;
  // The space bar activates a focused button or link; it must not toggle playback as well.
  if (event.key === " " && target.closest("button, a")) return;
  if (current.key(event)) event.preventDefault();
});
