// Answers the questions of languages.py with the tokenizer in Kotlin.
//
//   java -cp tokenizer.jar:export/tokenizers AnswerKt VOCAB_TXT KBERT_JSON LENGTH,LENGTH < questions > answers

import java.io.File
import kbert.sample.ModelFile
import kbert.sample.TextClassifier
import kbert.tokenizer.Row
import kbert.tokenizer.TextInputs
import kbert.tokenizer.Vocabulary
import kbert.tokenizer.WordSplitter

private fun textOf(codes: String): String {
    val text = StringBuilder()
    for (code in codes.split(" ")) if (code.isNotEmpty()) text.appendCodePoint(code.toInt(16))
    return text.toString()
}

private fun codesOf(word: String) =
    word.codePoints().toArray().joinToString(" ") { Integer.toHexString(it) }

/** Stands for a .tflite file; remembers what it was asked. */
private class FixedAnswers(lengths: List<Int>) : ModelFile {
    override val signatures = lengths.associateWith { "length_$it" }
    var asked = ""

    override fun probabilities(signature: String, row: Row): FloatArray {
        asked = "$signature ${row.inputIds.size} ${row.inputMask.sum()} ${row.segmentIds.sum()}"
        return floatArrayOf(.25f, .625f, .125f)
    }
}

private fun classified(text: String, pair: String?, vocabulary: Vocabulary, lengths: List<Int>): String {
    val file = FixedAnswers(lengths)
    val found = TextClassifier(vocabulary, listOf("first", "second", "third"), file).answer(text, pair)
    return "${file.asked} ${found.label} ${found.probability}"
}

private fun answer(question: String, vocabulary: Vocabulary, inputs: TextInputs): String {
    val parts = question.split("\t")
    val text = textOf(parts[1])
    if (parts[0] == "words")
        return WordSplitter.splitWords(text, vocabulary.rules).joinToString(" 20 ", transform = ::codesOf)
    if (parts[0] == "ids") return inputs.tokenizer.ids(text).joinToString(" ")
    val pair = parts.getOrNull(2)?.let(::textOf)
    if (parts[0] == "classify") return classified(text, pair, vocabulary, inputs.lengths)
    val row = inputs.row(text, pair)
    return listOf(row.inputIds, row.inputMask, row.segmentIds).joinToString("\t") { it.joinToString(" ") }
}

fun main(arguments: Array<String>) {
    val (vocabTxt, kbertJson, lengths) = arguments
    try {
        val vocabulary = Vocabulary.ofExport(File(vocabTxt).readText(), File(kbertJson).readText())
        val inputs = TextInputs(vocabulary, lengths.split(",").map(String::toInt))
        val output = System.out.bufferedWriter()
        for (question in System.`in`.bufferedReader().lineSequence())
            output.write(answer(question, vocabulary, inputs) + "\n")
        output.flush()
    } catch (error: IllegalArgumentException) {
        System.err.println("error: ${error.message}")
        System.exit(1)
    }
}
