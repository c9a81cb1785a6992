// Playback controls of a diagram: play, pause, step, and a slider over all events.

import { h, select } from "../dom.js";
import { icon } from "../icons.js";
import { SPEEDS } from "../player.js";
import { t } from "../texts.js";

/**
 * @param {import("../player.js").Player} player
 * @param {() => string} positionText returns the current position for the label
 * @param {{ zoom?: (factor: number) => void, event?: HTMLElement, more?: HTMLElement | null }} [options] `zoom` multiplies the number of events shown by
 *   a factor; `event` describes the current event, for screens on which its panel is far away; `more` is one more button
 */
export function playbackControls(player, positionText, { zoom, event, more } = {}) {
  const button = (/** @type {string} */ glyph, /** @type {string} */ label, /** @type {() => void} */ act) =>
    h("button", { type: "button", class: "key", "aria-label": label, title: label, on: { click: act } }, icon(glyph));
  const play = button("play", t("transport.play"), () => player.toggle());
  play.classList.add("primary");
  const slider = h("input", {
    type: "range",
    min: -1,
    max: Math.max(player.last, 0),
    value: player.position,
    "aria-label": t("transport.position"),
    class: "scrubber",
  });
  slider.addEventListener("input", () => {
    player.pause();
    player.go(Number(slider.value));
  });
  const speeds = SPEEDS.map((speed) => ({ value: String(speed), label: t("transport.speed", { speed }) }));
  const speed = select(speeds, String(player.speed), { "aria-label": t("transport.speed-label") });
  speed.addEventListener("change", () => player.setSpeed(Number(speed.value)));
  const label = h("output", { class: "where", "aria-live": "off" });

  const update = () => {
    slider.value = String(player.position);
    slider.setAttribute("aria-valuetext", positionText());
    label.textContent = positionText();
    play.replaceChildren(icon(player.playing ? "pause" : "play"));
    const name = t(player.playing ? "transport.pause" : "transport.play");
    play.setAttribute("aria-label", name);
    play.title = name;
  };
  player.addEventListener("move", update);
  player.addEventListener("play", update);
  update();

  const stop = (/** @type {() => void} */ act) => () => {
    player.pause();
    act();
  };
  return h(
    "div",
    { class: "transport", role: "group", "aria-label": t("transport.label") },
    h(
      "div",
      { class: "keys" },
      button(
        "first",
        t("transport.first"),
        stop(() => player.go(-1)),
      ),
      button(
        "back",
        t("transport.back"),
        stop(() => player.step(-1)),
      ),
      play,
      button(
        "forward",
        t("transport.forward"),
        stop(() => player.step(1)),
      ),
      button(
        "last",
        t("transport.last"),
        stop(() => player.go(player.last)),
      ),
      speed,
    ),
    slider,
    label,
    event ?? null,
    zoom
      ? h(
          "div",
          { class: "zoom", role: "group", "aria-label": t("zoom.label") },
          button("closer", t("zoom.in"), () => zoom(0.5)),
          button("wider", t("zoom.out"), () => zoom(2)),
          button("all", t("zoom.all"), () => zoom(Infinity)),
          more,
          player.present ? button("present", t("present.toggle"), () => player.present?.()) : null,
        )
      : null,
  );
}
