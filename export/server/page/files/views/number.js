// One number of a text or of two: a similarity, a probability that the second follows, a score.

import { bars } from "../bars.js";
import { decimal, headline, note, percent } from "../elements.js";
import { textFields } from "./labels.js";

export const number = {
  title: (signature) => {
    const answers = (name) => signature.outputs.some((output) => output.name === name);
    return answers("cosine") ? "Compare" : answers("probability") ? "Does it follow?" : "Score";
  },
  signatures: ["cosine", "probability", "prediction"].map((output) => ({
    inputs: ["text", "text_pair?"],
    outputs: [output],
  })),
  fields: textFields,
  request: (values) => ({ instances: [values] }),
  show: ([example], values) => {
    if ("cosine" in example) return cosineBar(example.cosine);
    if ("probability" in example) return followBar(example.probability, "text_pair" in values);
    return [headline(decimal(example.prediction), "predicted")];
  },
};

/** A cosine from -1 to 1. */
export function cosineBar(value) {
  return [
    headline(decimal(value), "cosine"),
    bars([{ name: "similarity", value }], { low: -1, write: decimal }),
    note("1: the same direction. 0, the mark: nothing in common."),
  ];
}

function followBar(value, isPair) {
  const name = isPair ? "the second text follows the first" : "probability";
  return [headline(percent(value)), bars([{ name, value }])];
}
