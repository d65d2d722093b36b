// vocab.txt -> ids, special tokens, rules.

package kbert.tokenizer

private val SPECIAL_TOKENS = listOf("[PAD]", "[UNK]", "[CLS]", "[SEP]")

/**
 * How a text becomes words, as the arguments of transformers' BertTokenizer say it.
 *
 * [doLowerCase]: lower-case texts. [stripAccents]: decompose characters and drop combining marks.
 * [tokenizeChineseChars]: each ideograph is a word. [maxInputCharsPerWord]: longer words become [UNK].
 */
data class Rules(
    val doLowerCase: Boolean,
    val stripAccents: Boolean = doLowerCase,
    val tokenizeChineseChars: Boolean = true,
    val maxInputCharsPerWord: Int = 200, // of google-research/bert
)

/**
 * The WordPieces of a vocab.txt (one a line, id = line number from 0) and their rules.
 *
 * [tokens]: the pieces in the order of their ids. [rules]: for texts. Throws IllegalArgumentException for a token that
 * stands twice and for a missing special token.
 */
class Vocabulary(val tokens: List<String>, val rules: Rules) {
    val ids: Map<String, Int>

    val doLowerCase get() = rules.doLowerCase

    constructor(tokens: List<String>, doLowerCase: Boolean) : this(tokens, Rules(doLowerCase))

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
        private val string = Regex("\"(?:[^\"\\\\]|\\\\.)*\"") // of JSON; it may hold brackets, as "[PAD]" does
        private val specialTokens = Regex("\"special_tokens\"\\s*:\\s*\\[((?:[^\"\\]]|$string)*)\\]")
        private val describedSize = Regex("\"vocabulary\"\\s*:\\s*\\{[^{}]*?\"size\"\\s*:\\s*(\\d+)")

        /** Reads the texts of the two files of an export: vocab.txt, and kbert.json for the rules. */
        fun ofExport(vocabTxt: String, kbertJson: String): Vocabulary {
            val casing = only("do_lower_case", kbertJson)
            require(casing == "true" || casing == "false") {
                "kbert.json does not say the casing: expected vocabulary.do_lower_case, true or false."
            }
            val special = specialTokens.find(kbertJson)?.let { found ->
                string.findAll(found.groupValues[1]).map { it.value }.toList()
            }
            require(special == null || special.take(SPECIAL_TOKENS.size) == SPECIAL_TOKENS.map { "\"$it\"" }) {
                "kbert.json names other special tokens than BERT's: ${special!!.joinToString()}. " +
                    "This tokenizer has BERT's alone."
            }
            val google = Rules(casing == "true")
            val rules = Rules(
                google.doLowerCase,
                only("strip_accents", kbertJson)?.toBooleanStrict() ?: google.stripAccents,
                only("tokenize_chinese_chars", kbertJson)?.toBooleanStrict() ?: google.tokenizeChineseChars,
                only("max_input_chars_per_word", kbertJson)?.toInt() ?: google.maxInputCharsPerWord,
            )
            val vocabulary = Vocabulary(tokensOf(vocabTxt), rules)
            val size = describedSize.find(kbertJson)?.groupValues?.get(1)?.toInt()
            require(size == null || size == vocabulary.tokens.size) {
                "vocab.txt has ${vocabulary.tokens.size} tokens, but kbert.json describes $size: " +
                    "they are of two exports; give both files of one."
            }
            return vocabulary
        }

        /** The value of a name, or null: no JSON library is needed, and Android's is not Java's. */
        private fun only(name: String, json: String): String? {
            val found = Regex("\"$name\"\\s*:\\s*(true|false|\\d+)\\b").findAll(json).map { it.groupValues[1] }.toList()
            require(found.size < 2) { "kbert.json says $name several times; give that of an export." }
            return found.firstOrNull()
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
