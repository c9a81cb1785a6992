// Children of an element, updated by key: an element stays the same while its item is shown, so that focus and selection survive.

/**
 * An element for an item, which can show a newer version of the item.
 * @template T
 * @typedef {{ element: HTMLElement | SVGElement, update: (item: T) => void }} View
 */

/**
 * Returns a function that shows items as the children of an element.
 * @template T
 * @param {Element} parent
 * @param {(item: T) => string} keyOf items with equal keys are told apart by their order
 * @param {(item: T) => View<T>} create
 * @returns {(items: T[]) => void}
 */
export function keyedChildren(parent, keyOf, create) {
  /** @type {Map<string, View<T>>} */
  let views = new Map();
  return (items) => {
    /** @type {Map<string, View<T>>} */
    const next = new Map();
    for (const item of items) {
      let key = keyOf(item);
      while (next.has(key)) key += "'";
      const view = views.get(key) ?? create(item);
      view.update(item);
      next.set(key, view);
    }
    for (const [key, view] of views) if (!next.has(key)) view.element.remove();
    // Only an element that is out of place is moved, because moving takes the focus away.
    let place = parent.firstElementChild;
    for (const { element } of next.values()) {
      if (element === place) place = place.nextElementSibling;
      else parent.insertBefore(element, place);
    }
    views = next;
  };
}

/**
 * Shows a text without touching the element if it already shows it.
 * @param {Element} element
 * @param {string | number} text
 */
export function setText(element, text) {
  const shown = String(text);
  if (element.textContent === shown) return;
  // Changing the data of the text node keeps selections that begin or end elsewhere.
  if (element.childNodes.length === 1 && element.firstChild instanceof Text) element.firstChild.data = shown;
  else element.textContent = shown;
}
