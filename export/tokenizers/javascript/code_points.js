// Reads the tables of unicode_tables.js; tables/compact.py says how they are written.

/** The [first, last] code points of the ranges of a set, ascending. */
export function ranges(table) {
  let end = 0;
  return table.split(" ").map((run) => {
    const [gap, length] = run.split(".").map(base36);
    const start = end + gap;
    end = start + (length ?? 1);
    return [start, end - 1];
  });
}

/** Map: code point -> its numbers, for every character of a table of runs. */
export function numbers(table) {
  const found = new Map();
  let end = 0;
  for (const run of table.split(" ")) {
    const [where, values] = run.split(":");
    const [gap, length = 1, step = 1] = where.split(".").map(base36);
    const own = values.split(",").map(base36);
    const start = end + gap;
    for (let place = 0; place < length; place++) found.set(start + place * step, own);
    end = start + (length - 1) * step + 1;
  }
  return found;
}

/** A set of code points as ranges. */
export class CodePointSet {
  /** table: of unicode_tables.js. */
  constructor(table) {
    this.ranges = ranges(table);
  }

  has(code) {
    let low = 0;
    let high = this.ranges.length; // the ranges before `low` begin at or before the code, those from `high` on behind
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ranges[middle][0] <= code) low = middle + 1;
      else high = middle;
    }
    return low > 0 && code <= this.ranges[low - 1][1];
  }
}

function base36(digits) {
  return parseInt(digits, 36);
}
