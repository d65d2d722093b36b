// Which views a signature has. The names of its inputs and outputs decide, never the name of a task.

import { attention } from "./attention.js";
import { choices } from "./choices.js";
import { compare, search } from "./embeddings.js";
import { entities } from "./entities.js";
import { labels } from "./labels.js";
import { masks } from "./masks.js";
import { number } from "./number.js";
import { plain } from "./plain.js";
import { question } from "./question.js";

/*
 * A view has
 *   title(signature): what to do with it, in a word or two.
 *   signatures: [{inputs, outputs}], those that it fits. `inputs`: all names that the signature takes; one that
 *       ends in "?" may be missing. `outputs`: names that it must answer with; it may have more.
 *   readsMasks: whether [MASK] in a text is the mask, not six letters and marks; false where it is left out.
 *   fields(signature): [{name, label, kind, value}] of the form. `kind`: "text", "lines" (one entry a line),
 *       "number" or "check"; `value` is what stands there first.
 *   request(values, signature): `instances` or `inputs` of the request.
 *   show(examples, values, model, form): elements that tell the answer. `form` writes into fields.
 */
// The first that fits is taken: labels of words would also fit labels of a text.
const VIEWS = [
  [masks],
  [question],
  [entities],
  [choices],
  [labels],
  [number],
  [search, compare],
  [attention],
];

/** The views of a signature; `plain` where no other fits. */
export function viewsOf(signature) {
  return VIEWS.find(([view]) => fits(view, signature)) ?? [plain];
}

function fits(view, signature) {
  const given = new Set(signature.inputs.map((input) => input.name));
  const answered = new Set(signature.outputs.map((output) => output.name));
  return view.signatures.some(({ inputs, outputs }) => {
    const allowed = new Set(inputs.map((name) => name.replace("?", "")));
    const needed = inputs.filter((name) => !name.endsWith("?"));
    return (
      needed.every((name) => given.has(name)) &&
      [...given].every((name) => allowed.has(name)) &&
      outputs.every((name) => answered.has(name))
    );
  });
}
