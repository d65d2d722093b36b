// A question about a paragraph: the answer, marked where it stands.

import { element, decimal, headline, note } from "../elements.js";

export const question = {
  title: () => "Ask a paragraph",
  signatures: [{ inputs: ["question", "context"], outputs: ["answer", "start", "end"] }],
  fields: () => [
    {
      name: "question",
      label: "Question",
      kind: "text",
      value: "When did Ada Lovelace translate an article?",
    },
    {
      name: "context",
      label: "Paragraph",
      kind: "text",
      value:
        "Charles Babbage designed a machine that could calculate by itself. Ada Lovelace translated an article " +
        "about it in 1843 and added notes. They hold what is often called the first program, written by her.",
    },
  ],
  request: (values) => ({ instances: [values] }),
  show: ([example], values) => [
    headline(example.answer === "" ? "No answer in this paragraph." : example.answer),
    markedParagraph(values.context, example),
    ...scores(example),
  ],
};

// `start` and `end` count code points, a string's own positions UTF-16 units.
function markedParagraph(context, { answer, start, end }) {
  const characters = Array.from(context);
  const part = (from, to) => characters.slice(from, to).join("");
  const paragraph = element("p", { class: "paragraph", dir: "auto" });
  if (answer === "") paragraph.append(context);
  else paragraph.append(part(0, start), element("mark", {}, part(start, end)), part(end));
  return paragraph;
}

function scores({ score, null_odds: odds }) {
  const written = [];
  if (score != null) written.push(`score ${decimal(score)}: the logits of its first and last piece together`);
  if (odds != null)
    written.push(`no answer minus this one ${decimal(odds)}: the lower, the surer that there is an answer`);
  return written.map(note);
}
