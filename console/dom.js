// Builds elements without HTML: external input is never parsed as markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Creates an element. `on` holds event listeners, `text` the text content, and other keys are properties or attributes.
 * An attribute that is false, null or undefined is omitted.
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
 * Replaces the children of an element.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * Creates an SVG element.
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
 * Wraps a control in a label.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  return h("label", { class: "field", title: hint }, h("span", { text: label }), control);
}

/**
 * Creates a drop-down list.
 * @param {{ value: string, label: string }[]} options
 * @param {string} chosen
 * @param {Record<string, any>} [props]
 */
export function select(options, chosen, props = {}) {
  const option = (/** @type {{ value: string, label: string }} */ it) =>
    h("option", { value: it.value, text: it.label, selected: it.value === chosen });
  return h("select", props, options.map(option));
}
