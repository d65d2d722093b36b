// Answers texts with a LiteRT file that export_tflite made of a classifier.

package kbert.sample

import kbert.tokenizer.Row
import kbert.tokenizer.TextInputs
import kbert.tokenizer.Vocabulary

/** What is asked of a .tflite file; LiteRTFile has it from the LiteRT library. */
interface ModelFile {
    /** The length of a signature's inputs -> its name. */
    val signatures: Map<Int, String>

    /** One call: the probabilities of the labels. */
    fun probabilities(signature: String, row: Row): FloatArray
}

/** A label and its probability. */
data class Answer(val label: String, val probability: Float)

/** [labels]: the lines of labels.txt. */
class TextClassifier(vocabulary: Vocabulary, private val labels: List<String>, private val file: ModelFile) {
    private val inputs = TextInputs(vocabulary, file.signatures.keys.toList())

    /** The most probable label of a text, or of a text and its second text. */
    fun answer(text: String, pair: String? = null): Answer {
        val row = inputs.row(text, pair) // as long as the shortest signature that has room
        val probabilities = file.probabilities(file.signatures.getValue(row.inputIds.size), row)
        check(probabilities.size == labels.size) {
            "the file gives ${probabilities.size} probabilities, and labels.txt has ${labels.size} lines."
        }
        val best = probabilities.indices.maxByOrNull { probabilities[it] }!!
        return Answer(labels[best], probabilities[best])
    }
}
