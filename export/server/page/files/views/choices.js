// One of several: ends of a beginning, or candidates for a blank.

import { bars } from "../bars.js";
import { headline, percent } from "../elements.js";

export const choices = {
  title: (signature) => (takesCandidates(signature) ? "Try candidates" : "Choose"),
  signatures: [
    { inputs: ["text", "choices"], outputs: ["probabilities", "choice"] },
    { inputs: ["text", "candidates"], outputs: ["probabilities"] },
  ],
  fields: (signature) => (takesCandidates(signature) ? BLANK : BEGINNING),
  request: (values) => ({ instances: [values] }),
  show: ([{ probabilities, choice }], values) => {
    const named = values.choices ?? values.candidates;
    const best = choice ?? probabilities.indexOf(Math.max(...probabilities));
    const rows = probabilities.map((value, index) => ({ name: named[index], value, chosen: index === best }));
    const chosen = headline(named[best], percent(probabilities[best]));
    return [chosen, bars(rows.sort((a, b) => b.value - a.value))];
  },
};

const BEGINNING = [
  { name: "text", label: "Text", kind: "text", value: "She opened the door and" },
  {
    name: "choices",
    label: "Choices, one a line",
    kind: "lines",
    value: "walked into the room.\nate the window.\nis a kind of bread.",
  },
];
const BLANK = [
  { name: "text", label: "Text with one [MASK]", kind: "text", value: "It is a [MASK] day." },
  { name: "candidates", label: "Candidates, one a line", kind: "lines", value: "good\nbad\nrainy" },
];

function takesCandidates(signature) {
  return signature.inputs.some((input) => input.name === "candidates");
}
