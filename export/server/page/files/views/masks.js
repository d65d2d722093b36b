// Fill in the blank: the most probable words of each [MASK]; a click puts one into the text.

import { bars } from "../bars.js";
import { button, element, headline, note } from "../elements.js";

const MASK = "[MASK]";

export const masks = {
  title: () => "Fill in the blank",
  readsMasks: true,
  signatures: [
    { inputs: ["text", "top_k", "whole_words?"], outputs: ["tokens", "probabilities", "num_masks"] },
  ],
  fields: (signature) => [
    {
      name: "text",
      label: `Text with ${MASK}`,
      kind: "text",
      value: `It was a ${MASK} day, and we went to the ${MASK}.`,
    },
    { name: "top_k", label: `Words for each ${MASK}`, kind: "number", value: 5 },
    ...(signature.inputs.some((input) => input.name === "whole_words")
      ? [{ name: "whole_words", label: "Whole words only", kind: "check", value: true }]
      : []),
  ],
  // top_k and whole_words are one value for the whole request: the column form.
  request: (values) => ({ inputs: { ...values, text: [values.text] } }),
  show: ([example], { text }, model, form) => {
    if (!example.num_masks) return [headline(`This text has no ${MASK}.`)];
    const blanks = new Blanks(text, form);
    const lists = example.tokens
      .slice(0, example.num_masks)
      .map((tokens, mask) => blanks.list(mask, tokens, example.probabilities[mask]));
    return [blanks.shown, ...lists, note("A click puts the word into the text above.")];
  },
};

/** The blanks of one text, and the words that were put into them. */
class Blanks {
  constructor(text, form) {
    this.parts = text.split(MASK);
    this.words = this.parts.slice(1).map(() => null);
    this.form = form;
    this.written = text;
    this.shown = element("p", { class: "paragraph", dir: "auto" });
    this.draw();
  }

  list(mask, tokens, probabilities) {
    const buttons = tokens.map((token) =>
      button(token, () => this.fill(mask, token, buttons), { "aria-pressed": "false" }),
    );
    const rows = probabilities.map((value, index) => ({ name: buttons[index], value }));
    const title = `${MASK} ${this.words.length > 1 ? mask + 1 : ""}`.trim();
    return element("div", { class: "blank" }, element("h3", {}, title), bars(rows));
  }

  fill(mask, token, buttons) {
    if (this.form.read("text") !== this.written) {
      this.form.say("The text has changed since. Ask again.");
      return;
    }
    this.words[mask] = token;
    buttons.forEach((each) => each.setAttribute("aria-pressed", String(each.textContent === token)));
    this.draw();
    this.written = this.shownText();
    this.form.write("text", this.written);
  }

  // A piece that continues a word (##ing) stands right behind what is before it.
  shownText() {
    return this.parts.reduce((text, part, index) => {
      const word = this.words[index - 1];
      return (word?.startsWith("##") ? text.trimEnd() + word.slice(2) : text + (word ?? MASK)) + part;
    });
  }

  draw() {
    this.shown.replaceChildren(this.parts[0]);
    this.parts
      .slice(1)
      .forEach((part, mask) => this.shown.append(element("mark", {}, this.words[mask] ?? MASK), part));
  }
}
