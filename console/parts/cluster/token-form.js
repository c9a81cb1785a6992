// Asks for the token that a node requires.

import { setToken } from "../../cluster.js";
import { h } from "../../dom.js";
import { t } from "../../texts.js";

/** @param {() => void} retry @returns {{ element: HTMLElement, show: (needed: boolean) => void }} */
export function tokenPrompt(retry) {
  const token = h("input", { type: "password", autocomplete: "off", id: "token", required: true });
  const form = h(
    "form",
    { class: "note row", hidden: true },
    h("label", { class: "field" }, h("span", { text: t("cluster.token") }), token),
    h("button", { type: "submit", text: t("cluster.show") }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setToken(token.value);
    retry();
  });
  return {
    element: form,
    show: (needed) => {
      form.hidden = !needed;
    },
  };
}
