// Words with labels: what belongs together is coloured in the text, with its type written beside it.

import { bars } from "../bars.js";
import { element, headline, note } from "../elements.js";

const NUM_COLOURS = 6;

export const entities = {
  title: () => "Tag entities",
  signatures: [{ inputs: ["text"], outputs: ["starts", "ends", "labels"] }],
  fields: () => [
    {
      name: "text",
      label: "Text",
      kind: "text",
      value: "Angela Merkel met the mayor of Paris in Berlin on Monday.",
    },
  ],
  request: (values) => ({ instances: [values] }),
  show: ([example], { text }) => {
    const found = entitiesOf(example);
    if (!found.length) return [headline("Nothing is tagged in this text.")];
    const types = [...new Set(found.map((entity) => entity.type))].sort();
    const characters = Array.from(text); // `starts` and `ends` count code points
    return [markedText(characters, found, types), legend(found, types), ...sureness(characters, found)];
  },
};

/** Joins words to entities: [{type, start, end, probability}]; B- or another type begins a new one. */
function entitiesOf({ starts, ends, labels, probabilities }) {
  const found = [];
  let open = null;
  labels.forEach((label, word) => {
    if (ends[word] === 0) return; // filled up to the longest text: no word ends at 0
    const [, position, type] = /^(?:([A-Z])-)?(.*)$/.exec(label);
    if (label === "O" || label === "") open = null;
    else if (open && open.type === type && "IEL".includes(position ?? "-")) open.end = ends[word];
    else found.push((open = { type, start: starts[word], end: ends[word], probability: 1 }));
    if (open && probabilities) open.probability = Math.min(open.probability, probabilities[word]);
  });
  return found;
}

function markedText(characters, found, types) {
  const text = element("p", { class: "paragraph", dir: "auto" });
  let end = 0;
  for (const entity of found) {
    text.append(
      characters.slice(end, entity.start).join(""),
      element(
        "mark",
        { class: colour(entity, types) },
        characters.slice(entity.start, entity.end).join(""),
        tag(entity.type),
      ),
    );
    end = entity.end;
  }
  text.append(characters.slice(end).join(""));
  return text;
}

function legend(found, types) {
  const count = (type) => found.filter((entity) => entity.type === type).length;
  const entry = (type) =>
    element("li", {}, element("mark", { class: colour({ type }, types) }, type), ` ${count(type)}`);
  return element("ul", { class: "legend", "aria-label": "Types" }, ...types.map(entry));
}

function sureness(characters, found) {
  const rows = found.map((entity) => ({
    name: element("span", {}, characters.slice(entity.start, entity.end).join(""), tag(entity.type)),
    value: entity.probability,
  }));
  return [bars(rows), note("As probable as its least probable word.")];
}

function tag(type) {
  return element("small", {}, ` ${type}`);
}

function colour(entity, types) {
  return `type-${types.indexOf(entity.type) % NUM_COLOURS}`;
}
