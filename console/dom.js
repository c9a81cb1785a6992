// Elements without HTML: nothing that comes from outside is ever parsed as markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Makes an element. `on` are listeners, `class`, `text` and attributes are what they say; an attribute that is false or
 * missing is left out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "text") {
      element.textContent = String(value);
    } else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") {
      /** @type {any} */ (element)[name] = value;
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} parent
 * @param {(Child | Child[])[]} children
 */
export function append(parent, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Puts these children in the place of what was there.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element of a drawing.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number>} attributes
 * @returns {SVGElementTagNameMap[T]}
 */
export function s(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/**
 * A labelled control.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  return h("label", { class: "field", title: hint }, h("span", { text: label }), control);
}

/**
 * A list to choose from.
 * @param {{ value: string, label: string }[]} options
 * @param {string} chosen
 * @param {Record<string, any>} [props]
 */
export function select(options, chosen, props = {}) {
  const option = (/** @type {{ value: string, label: string }} */ it) =>
    h("option", { value: it.value, text: it.label, selected: it.value === chosen });
  return h("select", props, options.map(option));
}
