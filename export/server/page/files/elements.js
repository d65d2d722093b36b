// Elements of the page. What is given as a string becomes text, never HTML.

/** Makes an element. `attributes`: name -> value, true for one without a value; false and null leave it out. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(attribute, "");
    else if (value !== false && value != null) made.setAttribute(attribute, value);
  }
  made.append(...children);
  return made;
}

/** A button that does something other than to send the form. */
export function button(text, action, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

/** The main result, in large letters. */
export function headline(text, more = "") {
  return element(
    "p",
    { class: "headline", dir: "auto" },
    text,
    " ",
    element("span", { class: "note" }, more),
  );
}

export function note(text) {
  return element("p", { class: "note" }, text);
}

/** A part that is shown on demand. */
export function details(summary, ...children) {
  return element("details", {}, element("summary", {}, summary), ...children);
}

export function percent(probability) {
  const number = 100 * probability;
  return `${number >= 0.1 || number === 0 ? number.toFixed(1) : number.toPrecision(2)}%`;
}

/** A number of unknown size: a score, a cosine. */
export function decimal(number) {
  return Math.abs(number) < 1e6 ? number.toFixed(3) : number.toExponential(2);
}

/** The lines of a text that are not empty. */
export function linesOf(text) {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
