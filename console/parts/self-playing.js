// A run that plays by itself, over and over, as a picture of a page.

import { post } from "../api.js";
import { Diagram } from "../drawing.js";
import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { Player } from "../player.js";
import { Recording } from "../recording.js";
import { t } from "../texts.js";
import { stepLine } from "./step.js";

/** Steps per second: slow enough to read the description of each. */
const SPEED = 1.5;
/** Pause at the end, before the run begins again. */
const REST_MS = 4_000;
/** Height of the process lines and of what is around them. */
const HEIGHT = 300;

/**
 * Shows a run. It does not play where reduced motion is preferred.
 * @param {import("../link.js").Scenario} scenario
 * @returns {Promise<{ element: HTMLElement, stop: () => void }>}
 */
export async function selfPlaying(scenario) {
  const result = await post("run", { scenario });
  const recording = new Recording(result.film, result.moments, { scenario });
  const player = new Player(recording.length, (position) => recording.has(position));
  player.speed = SPEED;
  const diagram = new Diagram();
  diagram.request = { scenario, stamps: false, processes: Array.from({ length: recording.n }, (_, it) => it) };
  diagram.height = HEIGHT;
  const line = h("p", { class: "self-playing-line" });
  const toggle = h("button", { type: "button", class: "key", on: { click: () => player.toggle() } });
  const element = h("div", { class: "self-playing" }, diagram.element, h("div", { class: "row" }, toggle, line));
  let rest = 0;
  const update = () => {
    const step = player.position;
    const label = t(player.playing ? "transport.pause" : "transport.play");
    fill(toggle, icon(player.playing ? "pause" : "play"));
    toggle.setAttribute("aria-label", label);
    line.textContent = step < 0 ? t("step.before") : stepLine(recording.records(step), recording.process(step));
    diagram.move(recording.time(step), step < 0 ? -1 : recording.event(step), step < 0 ? -1 : recording.process(step));
    window.clearTimeout(rest);
    if (step >= player.last && moves()) rest = window.setTimeout(() => player.play(), REST_MS);
  };
  player.addEventListener("move", update);
  player.addEventListener("play", update);
  const draw = () => {
    diagram.window = null;
    diagram.show(recording.windowAround(-1, recording.length, recording.length));
  };
  const resized = new ResizeObserver(draw);
  resized.observe(diagram.element);
  if (moves()) player.play();
  else player.go(player.last);
  update();
  const stop = () => {
    window.clearTimeout(rest);
    resized.disconnect();
    player.pause();
  };
  return { element, stop };
}

function moves() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}
