// Numbers as bars, with the number written beside each: nothing is told by length or colour alone.

import { details, element, percent } from "./elements.js";

const MOST_ROWS = 20; // the others are shown on demand

/**
 * A list of bars.
 *
 * rows: [{name, value, chosen, threshold}] in the order to show. `name` is a text or an element; `chosen` marks
 *     the row that the model gives; `threshold` is where a tick stands.
 * low: the least value, 0 of probabilities and -1 of cosines. Bars begin at 0.
 * write: value -> text.
 */
export function bars(rows, { low = 0, write = percent } = {}) {
  const list = (some) => element("ol", { class: "bars" }, ...some.map((row) => bar(row, low, write)));
  if (rows.length <= MOST_ROWS) return list(rows);
  const shown = element("div", {}, list(rows.slice(0, MOST_ROWS)));
  shown.append(details(`${rows.length - MOST_ROWS} more`, list(rows.slice(MOST_ROWS))));
  return shown;
}

function bar(row, low, write) {
  const place = (value) => (Math.min(Math.max(value, low), 1) - low) / (1 - low);
  const [from, to] = [place(0), place(row.value)].sort((a, b) => a - b);
  const fill = element("span", { class: "fill" });
  fill.style.left = `${100 * from}%`;
  fill.style.width = `${100 * (to - from)}%`;
  const track = element("span", { class: "track", "aria-hidden": "true" }, fill);
  for (const value of low < 0 ? [0] : row.threshold == null ? [] : [row.threshold]) {
    const tick = element("span", { class: "tick" });
    tick.style.left = `${100 * place(value)}%`;
    track.append(tick);
  }
  const name = element("span", { class: "name", dir: "auto" }, row.name);
  if (row.chosen) name.prepend(element("span", { class: "sign", role: "img", "aria-label": "chosen" }, "✓ "));
  const value = element("span", { class: "value", "data-value": row.value }, write(row.value));
  if (row.threshold != null) value.append(element("small", {}, ` from ${percent(row.threshold)}`));
  return element("li", { class: row.chosen ? "chosen" : null }, name, track, value);
}
