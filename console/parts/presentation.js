// Presentation mode: the diagram and the current step fill the screen, in a size for the last row of a lecture hall.

/** @type {((presenting: boolean) => void) | null} */
let onChange = null;

export function isPresenting() {
  return "presenting" in document.documentElement.dataset;
}

/**
 * Calls `act` when the mode begins or ends, until another view calls this.
 * @param {((presenting: boolean) => void) | null} act
 */
export function onPresentation(act) {
  onChange = act;
}

/** @param {boolean} presenting */
export function present(presenting) {
  if (presenting === isPresenting()) return;
  const { dataset } = document.documentElement;
  if (presenting) dataset.presenting = "";
  else delete dataset.presenting;
  // A browser may refuse full screen; then the mode fills the window.
  if (presenting) document.documentElement.requestFullscreen?.().catch(() => {});
  else if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
  onChange?.(presenting);
}

// The browser itself handles Escape in full screen.
document.addEventListener("fullscreenchange", () => {
  if (!document.fullscreenElement) present(false);
});
