// A form that checks whether a token is current.

import { ClusterError, postJson } from "../../cluster.js";
import { h } from "../../dom.js";
import { setText } from "../../keyed.js";
import { t } from "../../texts.js";

/**
 * Checks whether a token is current, as a resource would.
 * @param {string} name
 * @param {string} kind
 */
export function tokenCheck(name, kind) {
  const token = h("input", { type: "number", min: "0", step: "1", required: true, inputmode: "numeric" });
  const answer = h("p", { role: "status" });
  const form = h("form", { class: "row" }, h("label", { class: "field" }, h("span", { text: t("lock.token") }), token), h("button", { type: "submit", text: t("lock.check") }), answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const state = await postJson("check-token", { name, kind, token: Number(token.value) }, new AbortController().signal);
      setText(answer, t(state.current ? "lock.token-current" : "lock.token-stale", { greatest: state.greatest }));
      answer.lang = document.documentElement.lang;
    } catch (error) {
      setText(answer, error instanceof ClusterError ? error.message : String(error));
      answer.lang = "en";
    }
  });
  return h("div", {}, h("p", { class: "faint", text: t("lock.tokens-note") }), form);
}
