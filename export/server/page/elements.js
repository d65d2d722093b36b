// Elements of the page; texts are always put in as text, never as HTML.

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Bars of numbers from min to max: rows of {name, value, chosen, click}.
export function bars(rows, min = 0, max = 1) {
  return element("ul", { class: "bars" }, ...rows.map(({ name, value, chosen, click }) => {
    const kind = { class: "name", dir: "auto" };
    const shown = click ? element("button", { type: "button", ...kind }, name) : element("span", kind, name);
    if (click) shown.addEventListener("click", click);
    return element("li", chosen ? { class: "chosen" } : {}, shown, element("meter", { min, max, value }),
      element("span", { class: "value", "data-value": value }, value.toFixed(3)));
  }));
}

// A text with marked spans; positions are code points, as the server counts.
export function marked(text, spans) {
  const points = [...text];
  const parts = [];
  let behind = 0;
  for (const { start, end, label } of spans) {
    parts.push(points.slice(behind, start).join(""));
    parts.push(element("mark", {}, points.slice(start, end).join(""), ...(label ? [" ", element("small", {}, label)] : [])));
    behind = end;
  }
  return element("p", { class: "paragraph", dir: "auto" }, ...parts, points.slice(behind).join(""));
}
