// Reads the tables of UnicodeTables.swift; tables/compact.py says how they are written.

/// A set of code points as ranges.
struct CodePointSet {
  private var starts: [UInt32] = []
  private var ends: [UInt32] = []  // the last code points

  /// - Parameter table: of UnicodeTables.
  init(_ table: String) {
    var end = 0
    for run in table.split(separator: " ") {
      let parts = run.split(separator: ".").map(base36)
      let start = end + parts[0]
      end = start + (parts.count > 1 ? parts[1] : 1)
      starts.append(UInt32(start))
      ends.append(UInt32(end - 1))
    }
  }

  func contains(_ code: UInt32) -> Bool {
    var low = 0
    var high = starts.count  // the ranges before `low` begin at or before the code, those from `high` on behind
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] <= code { low = middle + 1 } else { high = middle }
    }
    return low > 0 && code <= ends[low - 1]
  }
}

/// Code point -> its numbers, for every character of a table of runs.
func numbers(_ table: String) -> [UInt32: [Int]] {
  var found: [UInt32: [Int]] = [:]
  var end = 0
  for run in table.split(separator: " ") {
    let halves = run.split(separator: ":")
    let parts = halves[0].split(separator: ".").map(base36)
    let length = parts.count > 1 ? parts[1] : 1
    let step = parts.count > 2 ? parts[2] : 1
    let own = halves[1].split(separator: ",").map(base36)
    let start = end + parts[0]
    for place in 0..<length { found[UInt32(start + place * step)] = own }
    end = start + (length - 1) * step + 1
  }
  return found
}

private func base36(_ digits: Substring) -> Int {
  guard let number = Int(digits, radix: 36) else {
    preconditionFailure("UnicodeTables.swift holds \(digits), which is no number; copy the file anew.")
  }
  return number
}
