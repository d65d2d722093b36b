// Lower case, decomposed, without accents: as the graph's StringLower, NFD and dropping of marks.

/// Folds code points. Its tables are read once, when they are first needed.
enum LowerCasing {
  // Hangul syllables are arithmetic: The Unicode Standard, 3.12, "Conjoining Jamo Behavior".
  private static let syllables: ClosedRange<UInt32> = 0xAC00...0xD7A3
  private static let leading: UInt32 = 0x1100
  private static let vowel: UInt32 = 0x1161
  private static let trailing: UInt32 = 0x11A7
  private static let vowels: UInt32 = 21
  private static let trailings: UInt32 = 28
  private static let capitalSigma: UInt32 = 0x3A3
  private static let smallSigma: UInt32 = 0x3C3
  private static let finalSigma: UInt32 = 0x3C2

  private static let accents = CodePointSet(UnicodeTables.accents)
  private static let fixedAccents = CodePointSet(UnicodeTables.fixedAccents)
  private static let cased = CodePointSet(UnicodeTables.cased)
  private static let caseIgnorable = CodePointSet(UnicodeTables.caseIgnorable)
  private static let folded = numbers(UnicodeTables.folded)
  private static let markOrder = numbers(UnicodeTables.markOrder)

  /// The lower-case text, decomposed and without accents: code points in, code points out.
  static func fold(_ codes: [UInt32]) -> [UInt32] {
    var result: [UInt32] = []
    var runStart = 0  // where the marks begin that may be put into another order
    for (place, code) in codes.enumerated() {
      if accents.contains(code) {
        if fixedAccents.contains(code) { runStart = result.count }
        continue
      }
      let parts = code == capitalSigma ? [sigma(codes, place)] : partsOf(code)
      for part in parts { put(part, &result, &runStart) }
    }
    return result
  }

  /// Appends a code point, a mark at its place in NFD's order; keeps where the run of marks begins.
  private static func put(_ code: UInt32, _ result: inout [UInt32], _ runStart: inout Int) {
    let rank = rankOf(code)
    var place = result.count
    while rank > 0 && place > runStart && rankOf(result[place - 1]) > rank { place -= 1 }
    result.insert(code, at: place)
    if rank == 0 { runStart = result.count }
  }

  private static func rankOf(_ code: UInt32) -> Int {
    markOrder[code]?[0] ?? 0
  }

  private static func partsOf(_ code: UInt32) -> [UInt32] {
    if syllables.contains(code) { return jamo(code - syllables.lowerBound) }
    guard let shifts = folded[code] else { return [code] }
    return shifts.map { UInt32(Int(code) + $0) }
  }

  /// The two or three letters of a Hangul syllable.
  private static func jamo(_ syllable: UInt32) -> [UInt32] {
    let last = syllable % trailings
    let rest = syllable / trailings
    let parts = [leading + rest / vowels, vowel + rest % vowels]
    return last == 0 ? parts : parts + [trailing + last]
  }

  /// At the end of a word a capital sigma becomes the final one: The Unicode Standard, table 3-17.
  private static func sigma(_ codes: [UInt32], _ place: Int) -> UInt32 {
    meetsCased(codes, place, -1) && !meetsCased(codes, place, 1) ? finalSigma : smallSigma
  }

  private static func meetsCased(_ codes: [UInt32], _ from: Int, _ step: Int) -> Bool {
    var place = from + step
    while codes.indices.contains(place) && caseIgnorable.contains(codes[place]) { place += step }
    return codes.indices.contains(place) && cased.contains(codes[place])
  }
}
