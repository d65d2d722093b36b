// A box for a text, a button, and the answer below.

package kbert.sample

import android.app.Activity
import android.os.Bundle
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.TextView
import java.io.FileInputStream
import java.nio.MappedByteBuffer
import java.nio.channels.FileChannel
import java.util.concurrent.Executors
import kbert.tokenizer.Vocabulary

private const val MODEL = "model_dynamic_int8.tflite"

class MainActivity : Activity() {
    private val background = Executors.newSingleThreadExecutor() // the model takes one call at a time
    private lateinit var file: LiteRTFile
    private lateinit var classifier: TextClassifier

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        val text = EditText(this)
        val ask = Button(this).apply { setText("Ask") }
        val answer = TextView(this)
        setContentView(
            LinearLayout(this).apply {
                orientation = LinearLayout.VERTICAL
                listOf(text, ask, answer).forEach { addView(it) }
            },
        )
        background.execute { load() }
        ask.setOnClickListener {
            val asked = text.text.toString()
            background.execute {
                val (label, probability) = classifier.answer(asked)
                runOnUiThread { answer.text = "%s  %.1f %%".format(label, 100 * probability) }
            }
        }
    }

    override fun onDestroy() {
        background.execute { file.close() }
        background.shutdown()
        super.onDestroy()
    }

    private fun load() {
        file = LiteRTFile(mapped(MODEL))
        val vocabulary = Vocabulary.ofExport(asset("vocab.txt"), asset("kbert.json"))
        classifier = TextClassifier(vocabulary, asset("labels.txt").trimEnd('\n').split('\n'), file)
    }

    private fun asset(name: String): String = assets.open(name).bufferedReader().use { it.readText() }

    /** Asset files that are not compressed can be mapped; see README.md. */
    private fun mapped(name: String): MappedByteBuffer =
        assets.openFd(name).use { asset ->
            FileInputStream(asset.fileDescriptor).channel.use {
                it.map(FileChannel.MapMode.READ_ONLY, asset.startOffset, asset.declaredLength)
            }
        }
}
