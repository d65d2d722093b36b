// A .tflite file in the stock LiteRT library, CPU alone. Not thread-safe, as the library's interpreter.

package kbert.sample

import java.io.Closeable
import java.nio.ByteBuffer
import kbert.tokenizer.Row
import org.tensorflow.lite.Interpreter

/** [model]: the file, mapped into memory or in a direct buffer. */
class LiteRTFile(model: ByteBuffer, threads: Int = 1) : ModelFile, Closeable {
    private val interpreter = Interpreter(model, Interpreter.Options().setNumThreads(threads))

    override val signatures: Map<Int, String> =
        interpreter.signatureKeys.associateBy { name ->
            interpreter.getInputTensorFromSignature("input_ids", name).shape().last()
        }

    override fun probabilities(signature: String, row: Row): FloatArray {
        // Each input is [1, length], the output [1, labels].
        val inputs = mapOf<String, Any>(
            "input_ids" to arrayOf(row.inputIds),
            "input_mask" to arrayOf(row.inputMask),
            "segment_ids" to arrayOf(row.segmentIds),
        )
        val labels = interpreter.getOutputTensorFromSignature("probabilities", signature).shape().last()
        val probabilities = arrayOf(FloatArray(labels))
        interpreter.runSignature(inputs, mapOf<String, Any>("probabilities" to probabilities), signature)
        return probabilities[0]
    }

    override fun close() = interpreter.close()
}
