// A text or a pair -> encoder inputs: [CLS] a [SEP] b [SEP] and padding.

/// The inputs of one row, named as the model's: input_ids, input_mask and segment_ids.
public struct Row {
  public let inputIds, inputMask, segmentIds: [Int32]
}

/// Tokenizes and packs one text or a pair.
public struct TextInputs {
  private static let shortest = 4

  public let lengths: [Int]
  public let tokenizer: WordPieceTokenizer
  private let vocabulary: Vocabulary

  /// - Parameters:
  ///   - vocabulary: with its casing.
  ///   - lengths: those of the model's signatures, each at least 4; texts are cut at the longest, and padded to
  ///     the shortest that has room.
  public init(_ vocabulary: Vocabulary, lengths: [Int]) throws {
    guard let least = lengths.min(), least >= Self.shortest else {
      throw TokenizerError(
        description: "lengths \(lengths): expected one or more whole numbers of at least \(Self.shortest).")
    }
    self.lengths = lengths.sorted()
    self.vocabulary = vocabulary
    tokenizer = WordPieceTokenizer(vocabulary)
  }

  /// The row of a text, or of a text and its second text, as long as the signature that has room.
  public func row(_ text: String, pair: String? = nil) -> Row {
    let (first, second) = segments(text, pair)
    let used = first.count + second.count
    let length = lengths.first(where: { $0 >= used })!  // the segments were cut to fit the longest
    return Row(
      inputIds: first + second + Array(repeating: vocabulary.padId, count: length - used),
      inputMask: (0..<length).map { $0 < used ? 1 : 0 },
      segmentIds: (0..<length).map { $0 >= first.count && $0 < used ? 1 : 0 })
  }

  /// [CLS] a [SEP], and b [SEP] or nothing, cut to fit.
  private func segments(_ text: String, _ pair: String?) -> ([Int32], [Int32]) {
    let (cls, sep) = ([vocabulary.clsId], [vocabulary.sepId])
    let longest = lengths[lengths.count - 1]
    let first = tokenizer.ids(text)
    guard let pair else { return (cls + first.prefix(longest - 2) + sep, []) }
    let second = tokenizer.ids(pair)
    let (keptFirst, keptSecond) = truncatedLengths(first.count, second.count, room: longest - 3)
    return (cls + first.prefix(keptFirst) + sep, Array(second.prefix(keptSecond)) + sep)
  }
}

/// Lengths of two texts after popping from the longer (on a tie, from the second) until they fit:
/// `_truncate_seq_pair` of the original's run_classifier.py, in closed form.
func truncatedLengths(_ first: Int, _ second: Int, room: Int) -> (Int, Int) {
  let keptFirst = min(first, max((room + 1) / 2, room - second))
  return (keptFirst, min(second, room - keptFirst))
}
