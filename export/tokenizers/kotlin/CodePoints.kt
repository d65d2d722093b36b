// Reads the tables of unicode_tables.json; tables/compact.py says how they are written.

package kbert.tokenizer

/** The tables by name: the resource unicode_tables.json, an object of plain texts, without a JSON library. */
internal object UnicodeTables {
    private val tables: Map<String, String>

    init {
        val file = javaClass.getResource("/unicode_tables.json")
        checkNotNull(file) { "unicode_tables.json is not among the resources; copy it from kbert/tokenization/core_ops." }
        val entry = Regex("\"(\\w+)\": \"([^\"]*)\"")
        tables = entry.findAll(file.readText()).associate { it.groupValues[1] to it.groupValues[2] }
    }

    operator fun get(name: String) = tables.getValue(name)
}

/** A set of code points as ranges. [table]: one of UnicodeTables. */
internal class CodePointSet(table: String) {
    private val starts: IntArray
    private val ends: IntArray // the last code points

    init {
        var end = 0
        val ranges = table.split(" ").map { run ->
            val parts = run.split(".").map(::base36)
            val start = end + parts[0]
            end = start + (parts.getOrNull(1) ?: 1)
            start to end - 1
        }
        starts = IntArray(ranges.size) { ranges[it].first }
        ends = IntArray(ranges.size) { ranges[it].second }
    }

    operator fun contains(code: Int): Boolean {
        val found = starts.binarySearch(code)
        val place = if (found >= 0) found else -found - 2 // -(insertion point) - 1: the range before it
        return place >= 0 && code <= ends[place]
    }
}

/** Code point -> its numbers, for every character of a table of runs. */
internal fun numbers(table: String): Map<Int, IntArray> {
    val found = HashMap<Int, IntArray>()
    var end = 0
    for (run in table.split(" ")) {
        val (where, values) = run.split(":")
        val parts = where.split(".").map(::base36)
        val length = parts.getOrNull(1) ?: 1
        val step = parts.getOrNull(2) ?: 1
        val own = values.split(",").map(::base36).toIntArray()
        val start = end + parts[0]
        for (place in 0 until length) found[start + place * step] = own
        end = start + (length - 1) * step + 1
    }
    return found
}

private fun base36(digits: String) = digits.toInt(36)
