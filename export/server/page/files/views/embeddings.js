// Vectors of texts: how similar two of them are, and which lines are nearest to a question.

import { bars } from "../bars.js";
import { decimal, note } from "../elements.js";
import { cosineBar } from "./number.js";

const SIGNATURES = [{ inputs: ["text"], outputs: ["embedding"] }];

export const compare = {
  title: () => "Compare",
  signatures: SIGNATURES,
  fields: () => [
    { name: "text", label: "First text", kind: "text", value: "A plane is landing." },
    { name: "text_pair", label: "Second text", kind: "text", value: "A jet comes down on the runway." },
  ],
  request: (values) => ({ instances: [{ text: values.text }, { text: values.text_pair }] }),
  show: ([first, second]) => cosineBar(cosine(first.embedding, second.embedding)),
};

export const search = {
  title: () => "Search",
  signatures: SIGNATURES,
  fields: () => [
    { name: "question", label: "Question", kind: "text", value: "How do I get my money back?" },
    {
      name: "lines",
      label: "Lines to search, one text a line",
      kind: "lines",
      value: [
        "Refunds are paid within ten days.",
        "Our shop opens at nine in the morning.",
        "Parcels are sent on the day of the order.",
        "Write to us if something arrives broken.",
      ].join("\n"),
    },
  ],
  request: (values) => ({ instances: [values.question, ...values.lines].map((text) => ({ text })) }),
  show: ([question, ...lines], values) => {
    const rows = lines.map((line, index) => ({
      name: values.lines[index],
      value: cosine(question.embedding, line.embedding),
    }));
    rows.sort((a, b) => b.value - a.value);
    return [
      bars(rows, { low: -1, write: decimal }),
      note("Cosines with the question, the nearest line first. 0 is the mark."),
    ];
  },
};

/** The cosine of two vectors; 0 where one of them has no direction. */
function cosine(a, b) {
  const product = (x, y) => x.reduce((sum, value, index) => sum + value * y[index], 0);
  const length = Math.sqrt(product(a, a) * product(b, b));
  return length === 0 ? 0 : product(a, b) / length;
}
