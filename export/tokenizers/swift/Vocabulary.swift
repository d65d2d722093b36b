// vocab.txt -> ids, special tokens, casing.

import Foundation

/// What is wrong with what was given, in a sentence.
public struct TokenizerError: Error, CustomStringConvertible {
  public let description: String
}

/// The WordPieces of a vocab.txt (one a line, id = line number from 0) and their casing.
public struct Vocabulary {
  public let ids: [Word: Int32]
  public let doLowerCase: Bool
  public let padId, unkId, clsId, sepId: Int32

  private static let specialTokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
  private static let stripped = CodePointSet(UnicodeTables.stripped)

  /// - Parameters:
  ///   - tokens: the pieces in the order of their ids, as code points.
  ///   - doLowerCase: whether texts are lower-cased and stripped of accents.
  /// - Throws: `TokenizerError` for a token that stands twice and for a missing special token.
  public init(tokens: [Word], doLowerCase: Bool) throws {
    var found: [Word: Int32] = [:]
    for (id, token) in tokens.enumerated() {
      if let before = found.updateValue(Int32(id), forKey: token) {
        throw TokenizerError(
          description: "vocab.txt: the token of line \(before + 1) stands again on line \(id + 1); "
            + "every token may stand once.")
      }
    }
    let special = Self.specialTokens.map { found[$0.unicodeScalars.map(\.value)] }
    let missing = zip(Self.specialTokens, special).filter { $0.1 == nil }.map { $0.0 }
    guard missing.isEmpty else {
      throw TokenizerError(
        description: "vocab.txt lacks the special tokens \(missing.joined(separator: ", ")); a BERT vocabulary "
          + "has \(Self.specialTokens.joined(separator: ", ")), each on a line of its own.")
    }
    padId = special[0]!
    unkId = special[1]!
    clsId = special[2]!
    sepId = special[3]!
    ids = found
    self.doLowerCase = doLowerCase
  }

  /// Reads the texts of the two files of an export: vocab.txt, and kbert.json for the casing.
  public init(vocabTxt: String, kbertJson: Data) throws {
    let about = try JSONSerialization.jsonObject(with: kbertJson) as? [String: Any]
    let recorded = about?["vocabulary"] as? [String: Any]
    guard let doLowerCase = recorded?["do_lower_case"] as? Bool else {
      throw TokenizerError(
        description: "kbert.json does not say the casing: expected vocabulary.do_lower_case, true or false.")
    }
    try self.init(tokens: Self.tokens(of: vocabTxt), doLowerCase: doLowerCase)
  }

  /// The tokens of the text of a vocab.txt; lines are stripped, as the original's load_vocab does.
  static func tokens(of vocabTxt: String) throws -> [Word] {
    var codes = vocabTxt.unicodeScalars.map(\.value)
    if codes.first == 0xFEFF { codes.removeFirst() }
    // "\n" alone ends a line; as a Character, "\r\n" would be another one.
    var lines = codes.split(separator: 0x0A, omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return try lines.enumerated().map { (place, line) -> Word in
      guard !line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) else {
        throw TokenizerError(description: "vocab.txt line \(place + 1) is empty; expected one WordPiece a line.")
      }
      let start = line.drop(while: stripped.contains)
      let end = start.lastIndex { !stripped.contains($0) }
      return end.map { Word(start[...$0]) } ?? []
    }
  }
}
