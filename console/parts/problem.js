// A page that could not be shown: why, and a way to try again.

import { isUnreachable, whenReachable } from "../api.js";
import { h } from "../dom.js";
import { t } from "../texts.js";

/**
 * Shows why a page could not be shown. If the server does not answer, the page is shown again as soon as it does.
 * @param {unknown} error
 * @param {() => void} retry
 * @returns {{ element: HTMLElement, stop: () => void }}
 */
export function problemNotice(error, retry) {
  const isLost = isUnreachable(error);
  const stop = isLost ? whenReachable(retry) : () => {};
  const again = () => {
    stop();
    retry();
  };
  const message = isLost ? t("problem.unreachable") : /** @type {Error} */ (error)?.message ?? String(error);
  const element = h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, h("span", { lang: isLost ? undefined : "en", text: message })),
    isLost ? h("p", { class: "faint", text: t("problem.waiting") }) : null,
    h("button", { type: "button", on: { click: again } }, t("problem.retry")),
  );
  return { element, stop };
}
