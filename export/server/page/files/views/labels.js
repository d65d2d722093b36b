// Labels with their probabilities, as bars. Given labels are marked; several labels have thresholds.

import { bars } from "../bars.js";
import { headline, note, percent } from "../elements.js";

export const labels = {
  title: () => "Classify",
  signatures: [
    { inputs: ["text", "text_pair?"], outputs: ["probabilities", "label"] },
    { inputs: ["text", "text_pair?"], outputs: ["probabilities", "labels"] },
  ],
  fields: textFields,
  request: (values) => ({ instances: [values] }),
  show: ([example], values, model) => ("labels" in example ? severalLabels : oneLabel)(example, model),
};

/** Fields for the one or two texts of a signature. */
export function textFields(signature) {
  const isPair = signature.inputs.some((input) => input.name === "text_pair");
  const first = {
    name: "text",
    label: isPair ? "First text" : "Text",
    kind: "text",
    value: "A warm, quiet film that stays with you.",
  };
  const second = { name: "text_pair", label: "Second text", kind: "text", value: "The film is moving." };
  return isPair ? [first, second] : [first];
}

function oneLabel({ probabilities, label }, model) {
  const names = namesOf(probabilities, model);
  const rows = probabilities.map((value, index) => ({
    name: names[index],
    value,
    chosen: names[index] === label,
  }));
  const chosen = rows.find((row) => row.chosen);
  return [
    headline(label, chosen && percent(chosen.value)),
    bars(sorted(rows)),
    ...unnamed(model, probabilities),
  ];
}

// A label without a threshold of its own has kbert's, 0.5.
function severalLabels({ probabilities, labels: given }, model) {
  const names = namesOf(probabilities, model);
  const isNamed = areNamed(model, probabilities);
  const rows = probabilities.map((value, index) => ({
    name: names[index],
    value,
    chosen: given[index] !== "",
    threshold: isNamed ? (model.thresholds?.[names[index]] ?? 0.5) : null,
  }));
  const chosen = given.filter((name) => name !== "");
  return [
    headline(chosen.length ? chosen.join(", ") : "No label is given."),
    bars(sorted(rows)),
    ...(isNamed ? [note("A label is given from its threshold on: the mark on its bar.")] : []),
    ...unnamed(model, probabilities),
  ];
}

function sorted(rows) {
  return rows.sort((a, b) => b.value - a.value);
}

function areNamed(model, probabilities) {
  return model.labels?.length === probabilities.length;
}

function namesOf(probabilities, model) {
  return areNamed(model, probabilities) ? model.labels : probabilities.map((_, index) => `label ${index}`);
}

function unnamed(model, probabilities) {
  return areNamed(model, probabilities)
    ? []
    : [note("The export does not tell the names of its labels, so they have numbers.")];
}
