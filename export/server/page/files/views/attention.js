// What each token of a text attends to: a click on a token shows it, for one layer and head or the mean of all.

import { bars } from "../bars.js";
import { button, element, note } from "../elements.js";
import { textFields } from "./labels.js";

const MEAN = "mean of all";

export const attention = {
  title: () => "Attention",
  signatures: [{ inputs: ["text", "text_pair?"], outputs: ["tokens", "attention"] }],
  fields: textFields,
  request: (values) => ({ instances: [values] }),
  show: ([example]) => new Heads(example).parts,
};

/** The attention of one text; `attention` is [layers][heads][from][to]. */
class Heads {
  constructor({ tokens, attention: layers }) {
    this.layers = layers;
    this.tokens = tokens.filter((token) => token !== ""); // padding is filled up behind
    this.from = 0;
    this.layer = this.choice("Layer", layers.length);
    this.head = this.choice("Head", layers[0].length);
    this.buttons = this.tokens.map((token, place) => button(token, () => this.choose(place)));
    this.list = element("div", { class: "attended" });
    this.parts = [
      element("p", { class: "heads" }, this.layer.label, this.head.label),
      element("p", { class: "tokens", dir: "auto" }, ...this.buttons),
      this.list,
      note("The stronger its colour, the more the chosen token attends to a token. Together they have 100%."),
    ];
    this.choose(0);
  }

  choice(name, number) {
    const options = [MEAN, ...Array.from({ length: number }, (_, index) => String(index + 1))];
    const list = element("select", {}, ...options.map((option) => element("option", {}, option)));
    list.addEventListener("change", () => this.choose(this.from));
    return { list, label: element("label", {}, `${name} `, list) };
  }

  choose(from) {
    this.from = from;
    const values = this.attended();
    const most = Math.max(...values);
    this.buttons.forEach((each, place) => {
      each.setAttribute("aria-pressed", String(place === from));
      each.style.setProperty("--strength", `${Math.round((100 * values[place]) / most)}%`);
    });
    const rows = values.map((value, place) => ({ name: this.tokens[place], value }));
    rows.sort((a, b) => b.value - a.value);
    this.list.replaceChildren(element("h3", {}, `${this.tokens[from]} attends to`), bars(rows));
  }

  // The numbers of the chosen token, over the chosen layers and heads.
  attended() {
    const rows = chosen(this.layers, this.layer).flatMap((layer) => chosen(layer, this.head));
    return this.tokens.map(
      (_, to) => rows.reduce((sum, head) => sum + head[this.from][to], 0) / rows.length,
    );
  }
}

function chosen(all, { list }) {
  return list.value === MEAN ? all : [all[Number(list.value) - 1]];
}
