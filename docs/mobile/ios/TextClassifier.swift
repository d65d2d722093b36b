// Answers texts with a LiteRT file that export_tflite made of a classifier.

import Foundation
import TensorFlowLite

/// A label and its probability.
struct Answer {
  let label: String
  let probability: Float
}

/// Not thread-safe, as the library's interpreter: ask it from one queue.
final class TextClassifier {
  private let interpreter: Interpreter
  private let runners: [Int: SignatureRunner]  // by the length of their inputs
  private let inputs: TextInputs
  private let labels: [String]

  /// - Parameters:
  ///   - folder: with the .tflite file, vocab.txt, labels.txt and kbert.json of the export.
  ///   - model: the name of the .tflite file.
  init(folder: URL, model: String = "model_dynamic_int8.tflite") throws {
    func text(_ name: String) throws -> String {
      String(decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
    }
    interpreter = try Interpreter(modelPath: folder.appendingPathComponent(model).path)
    var found: [Int: SignatureRunner] = [:]
    for name in interpreter.signatureKeys {
      let runner = try interpreter.signatureRunner(with: name)
      // [1, length]
      found[try runner.input(named: "input_ids").shape.dimensions[1]] = runner
    }
    runners = found
    let about = try Data(contentsOf: folder.appendingPathComponent("kbert.json"))
    let vocabulary = try Vocabulary(vocabTxt: text("vocab.txt"), kbertJson: about)
    inputs = try TextInputs(vocabulary, lengths: Array(found.keys))
    labels = try text("labels.txt").split(separator: "\n").map(String.init)
  }

  /// The most probable label of a text, or of a text and its second text.
  func answer(_ text: String, pair: String? = nil) throws -> Answer {
    let row = inputs.row(text, pair: pair)  // as long as the shortest signature that has room
    let runner = runners[row.inputIds.count]!  // the lengths are those of the runners
    try runner.invoke(with: [
      "input_ids": bytes(row.inputIds),
      "input_mask": bytes(row.inputMask),
      "segment_ids": bytes(row.segmentIds),
    ])
    let probabilities = floats(try runner.output(named: "probabilities").data)
    guard probabilities.count == labels.count, let most = probabilities.max() else {
      throw TokenizerError(
        description: "the file gives \(probabilities.count) probabilities, and labels.txt has "
          + "\(labels.count) lines.")
    }
    return Answer(label: labels[probabilities.firstIndex(of: most)!], probability: most)
  }
}

private func bytes(_ numbers: [Int32]) -> Data {
  numbers.withUnsafeBufferPointer { Data(buffer: $0) }
}

private func floats(_ data: Data) -> [Float] {
  data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
}
