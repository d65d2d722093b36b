// vocab.txt -> ids, special tokens, casing.

package kbert.tokenizer

private val SPECIAL_TOKENS = listOf("[PAD]", "[UNK]", "[CLS]", "[SEP]")

/**
 * The WordPieces of a vocab.txt (one a line, id = line number from 0) and their casing.
 *
 * [tokens]: the pieces in the order of their ids. [doLowerCase]: whether texts are lower-cased and stripped of
 * accents. Throws IllegalArgumentException for a token that stands twice and for a missing special token.
 */
class Vocabulary(val tokens: List<String>, val doLowerCase: Boolean) {
    val ids: Map<String, Int>

    init {
        val found = HashMap<String, Int>(2 * tokens.size)
        tokens.forEachIndexed { id, token ->
            val before = found.put(token, id)
            require(before == null) {
                "vocab.txt: token \"$token\" stands on line ${before!! + 1} and again on line ${id + 1}; " +
                    "each token must be unique."
            }
        }
        val missing = SPECIAL_TOKENS.filter { it !in found }
        require(missing.isEmpty()) {
            "vocab.txt lacks the special tokens ${missing.joinToString()}; a BERT vocabulary has " +
                "${SPECIAL_TOKENS.joinToString()}, each on a line of its own."
        }
        ids = found
    }

    val padId = ids.getValue("[PAD]")
    val unkId = ids.getValue("[UNK]")
    val clsId = ids.getValue("[CLS]")
    val sepId = ids.getValue("[SEP]")

    companion object {
        private val stripped = CodePointSet(UnicodeTables["stripped"])
        private val specialTokens = Regex("\"special_tokens\"\\s*:\\s*\\[([^\\]]*)\\]")
        private val casing = Regex("\"do_lower_case\"\\s*:\\s*(true|false)\\b")

        /** Reads the texts of the two files of an export: vocab.txt, and kbert.json for the casing. */
        fun ofExport(vocabTxt: String, kbertJson: String): Vocabulary {
            // One value of one name: no JSON library is needed, and Android's is not Java's.
            val found = casing.findAll(kbertJson).map { it.groupValues[1] }.toList()
            require(found.size == 1) {
                "kbert.json does not say the casing: expected vocabulary.do_lower_case, true or false."
            }
            val special = specialTokens.find(kbertJson)?.groupValues?.get(1)
            require(special == null || SPECIAL_TOKENS.all { "\"$it\"" in special }) {
                "kbert.json names other special tokens than BERT's: $special. This tokenizer has BERT's alone."
            }
            return Vocabulary(tokensOf(vocabTxt), found[0] == "true")
        }

        /** The tokens of the text of a vocab.txt; lines are stripped, as the original's load_vocab does. */
        fun tokensOf(vocabTxt: String): List<String> {
            val lines = vocabTxt.removePrefix("\uFEFF").split('\n') // "\n" alone ends a line
            val whole = if (lines.last().isEmpty()) lines.dropLast(1) else lines
            return whole.mapIndexed { place, line ->
                require(!line.all { it == ' ' || it == '\t' || it == '\r' }) {
                    "vocab.txt line ${place + 1} is empty; expected one WordPiece a line."
                }
                line.trim { it.code in stripped }
            }
        }
    }
}
