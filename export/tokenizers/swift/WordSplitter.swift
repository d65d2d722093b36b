// Text -> the words and marks that WordPiece sees: the graph's split_words, character by character.

/// A word as its code points. Swift's strings are equal where Unicode calls them equivalent, "é" and "e" with an
/// accent, and a vocabulary has both.
public typealias Word = [UInt32]

public enum WordSplitter {
  private static let space: UInt32 = 0x20
  private static let spaces = CodePointSet(UnicodeTables.spaces)
  private static let dropped = CodePointSet(UnicodeTables.dropped)
  private static let alone = CodePointSet(UnicodeTables.alone)

  /// The words and marks of a text, normalized.
  ///
  /// - Parameter doLowerCase: lower-case and strip accents.
  public static func splitWords(_ text: String, doLowerCase: Bool) -> [Word] {
    let cleaned = clean(text)
    var words: [Word] = [[]]
    for code in doLowerCase ? LowerCasing.fold(cleaned) : cleaned {
      if code == space {
        words.append([])
      } else if alone.contains(code) {
        words += [[code], []]
      } else {
        words[words.count - 1].append(code)
      }
    }
    return words.filter { !$0.isEmpty }
  }

  private static func clean(_ text: String) -> [UInt32] {
    let codes = text.unicodeScalars.map(\.value).filter { !dropped.contains($0) }
    return codes.map { spaces.contains($0) ? space : $0 }
  }
}
