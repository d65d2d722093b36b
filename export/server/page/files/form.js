// The form of a view: its fields, and what stands in them.

import { element, linesOf } from "./elements.js";
import { Refused } from "./server.js";

export class Form {
  /** place: the element that holds the fields; say(text) tells the reader something. */
  constructor(place, say) {
    this.place = place;
    this.say = say;
    this.edited = new Map(); // what was typed, by field name: it stays when another view has the same field
    this.controls = new Map();
    this.below = new Map(); // what redraws the line below a control
  }

  /** Shows the fields of a view; see views/table.js. lineOf(text): what stands below a text; or null. */
  show(fields, lineOf = null) {
    this.below.clear();
    this.controls = new Map(fields.map((field) => [field, this.control(field)]));
    const rows = [...this.controls].map(([field, control]) => {
      const label = element("label", { for: control.id }, field.label);
      const pair = field.kind === "check" ? [control, " ", label] : [label, control];
      const line = lineOf && field.kind === "text" ? [this.line(control, lineOf)] : [];
      return element("div", { class: `field ${field.kind}` }, ...pair, ...line);
    });
    this.place.replaceChildren(...rows);
  }

  line(control, lineOf) {
    const line = element("p", { class: "pieces", dir: "auto" });
    const draw = () => line.replaceChildren(...lineOf(control.value));
    control.addEventListener("input", draw);
    this.below.set(control, draw);
    draw();
    return line;
  }

  /** All values by name, as their kinds say. */
  values() {
    return Object.fromEntries(
      [...this.controls].map(([field, control]) => [field.name, valueOf(field, control)]),
    );
  }

  read(name) {
    return this.named(name).value;
  }

  write(name, text) {
    const control = this.named(name);
    control.value = text;
    this.edited.set(name, text);
    this.below.get(control)?.();
  }

  named(name) {
    return [...this.controls].find(([field]) => field.name === name)[1];
  }

  control(field) {
    const { name, kind, value } = field;
    const attributes = { id: `field-${name}`, name };
    if (kind === "check") return element("input", { ...attributes, type: "checkbox", checked: value });
    if (kind === "number")
      return element("input", {
        ...attributes,
        type: "number",
        min: 1,
        max: 100,
        step: 1,
        required: true,
        value,
      });
    const text = this.edited.get(name) ?? value;
    const rows = kind === "lines" || name === "context" ? 6 : 3;
    const control = element("textarea", { ...attributes, rows, dir: "auto" }, text);
    control.addEventListener("input", () => this.edited.set(name, control.value));
    control.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) control.form.requestSubmit();
    });
    return control;
  }
}

function valueOf({ kind, label }, control) {
  if (kind === "check") return control.checked;
  if (kind === "number") return Number(control.value);
  if (kind !== "lines") return control.value;
  const lines = linesOf(control.value);
  if (!lines.length) throw new Refused(`“${label}” is empty. Write at least one line.`);
  return lines;
}
