// A signature that no other view knows: an input a field, and the outputs as JSON.

import { element } from "../elements.js";
import { Refused } from "../server.js";

export const plain = {
  title: () => "By name",
  signatures: [],
  fields: (signature) => signature.inputs.map(fieldOf),
  // Scalars have no place in the row form.
  request: (values, signature) => ({
    inputs: Object.fromEntries(
      signature.inputs.map((input) => [input.name, valueOf(values[input.name], input)]),
    ),
  }),
  show: (examples) => [element("pre", { tabindex: "0" }, JSON.stringify(examples, null, 1))],
};

function fieldOf(input) {
  const label = `${input.name}: ${input.dtype} [${input.shape.map((size) => size ?? "any").join(", ")}]`;
  if (isText(input)) return { name: input.name, label, kind: "text", value: "a text" };
  const one = { string: "a text", bool: true }[input.dtype] ?? 1;
  const nested = input.shape.reduceRight((inner, size) => Array(size ?? 1).fill(inner), one);
  return { name: input.name, label: `${label}, as JSON`, kind: "text", value: JSON.stringify(nested) };
}

function isText(input) {
  return input.dtype === "string" && input.shape.length === 1;
}

function valueOf(text, input) {
  if (isText(input)) return [text];
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused(
      `${input.name} is no JSON (${error.message}). Expected ${input.dtype}, for example ${fieldOf(input).value}`,
    );
  }
}
