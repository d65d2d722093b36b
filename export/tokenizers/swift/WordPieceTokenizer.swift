// Words -> WordPiece ids: greedy longest match first.

public struct WordPieceTokenizer {
  // tokenization.py, WordpieceTokenizer(max_input_chars_per_word=200): longer words become [UNK].
  private static let maxCharactersPerWord = 200

  private let vocabulary: Vocabulary
  private let inner: [Word: Int32]  // pieces within a word, without their ##
  private let longest: Int

  /// - Parameter vocabulary: its casing decides lower-casing and accents.
  public init(_ vocabulary: Vocabulary) {
    let marks: Word = [0x23, 0x23]  // no word begins with ##: it is punctuation, and so split off
    self.vocabulary = vocabulary
    inner = Dictionary(
      uniqueKeysWithValues: vocabulary.ids.filter { $0.key.starts(with: marks) }.map { token, id in
        (Word(token.dropFirst(marks.count)), id)
      })
    longest = vocabulary.ids.keys.map(\.count).max() ?? 0
  }

  /// The ids of a text, without [CLS] and [SEP].
  public func ids(_ text: String) -> [Int32] {
    WordSplitter.splitWords(text, doLowerCase: vocabulary.doLowerCase).flatMap(pieces)
  }

  private func pieces(_ word: Word) -> [Int32] {
    guard word.count <= Self.maxCharactersPerWord else { return [vocabulary.unkId] }
    var ids: [Int32] = []
    var start = 0
    while start < word.count {
      let known = start == 0 ? vocabulary.ids : inner
      var end = min(word.count, start + longest)
      while end > start && known[Word(word[start..<end])] == nil { end -= 1 }
      guard end > start, let id = known[Word(word[start..<end])] else { return [vocabulary.unkId] }
      ids.append(id)
      start = end
    }
    return ids
  }
}
