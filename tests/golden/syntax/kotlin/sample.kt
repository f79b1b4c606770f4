@file:JvmName("Orchard")

package org.cairn.orchard

import kotlin.math.PI
import kotlin.math.*
import java.time.Instant as Moment
import org.cairn.soil.Bed
import org.cairn.soil.Bed.Companion.dry

/** How many rows fit on the hill. */
const val MAX_ROWS = 24
private var planted: Int = 0
val Bed.area: Double get() = width * PI
val defaultBed by lazy { Bed(1.0) }
internal val ripe = { fruit: Fruit -> fruit.sugar > 12 }

typealias Harvest<T> = (T) -> List<Fruit>

/**
 * Whatever hangs on a tree.
 */
@Serializable
@Named("fruit")
sealed interface Fruit : Comparable<Fruit> {
    val sugar: Int
    fun pick(at: Moment): Basket<out Fruit>
    override fun compareTo(other: Fruit) = sugar.compareTo(other.sugar)
}

data class Apple(
    override val sugar: Int, // in grams
    private var worms: List<Worm>? = null,
    seed: Long,
) : Fruit, Hashed by HashOf(seed), Base.Plain<Apple>(seed) {
    lateinit var label: String
    val sweet: Boolean
        get() = ripe(this)

    init {
        require(sugar >= 0) { "no sour apples" }
    }

    constructor(sugar: Int) : this(sugar, null, 0L) {
        planted++
    }

    override fun pick(at: Moment): Basket<Apple> {
        val basket = Basket.of(this)
        fun weigh(factor: Double = 1.0): Double = basket.weight() * factor
        worms?.forEach { it.flee(weigh()) }
        return basket.also(::println)
    }

    inner class Core {
        fun spit() = this@Apple.toString()
    }

    companion object {
        const val COLOUR = "red"
        fun golden() = Apple(18)
    }
}

// Baskets grow with what is put in.
open class Basket<T : Fruit> private constructor(vararg fruits: T) {
    companion object Factory : Maker<Basket<*>> {
        @JvmStatic
        fun <T : Fruit> of(first: T): Basket<T> where T : Any = Basket(first)
    }

    operator fun plus(other: Basket<T>): Basket<T> = merge(this, other)
    open suspend fun weight(): Double = dry(0.0)
}

enum class Season(val months: IntRange) : Coded {
    /** Blossom. */
    SPRING(3..5) {
        override fun code() = "s"
    },
    WINTER(12..14);

    val cold get() = this == WINTER
    open fun code(): String = name.lowercase()
}

object Gardener : Worker("Ada") {
    @Volatile private var busy = false
    fun work(task: () -> Unit) = task.invoke()
}

fun interface Visitor {
    fun visit(fruit: Fruit)
}

annotation class Named(val value: String)

/** Sorts without copying. */
suspend inline fun <reified T : Fruit> MutableList<T>?.sortByGröße(
    crossinline by: (T) -> Int = Fruit::sugar,
): Harvest<T> = { seed -> this.orEmpty().filterIsInstance<T>().sortedBy { by(it) } }

private fun observer() = object : Visitor {
    override fun visit(fruit: Fruit) = Gardener.work { fruit.pick(Moment.now()) }
}

/** The grammar takes `set` for a setter here and gives the class up. */
class Ledger {
    /** Written so far. */
    val pages = 3
    private val lines = mutableListOf<String>()

    fun close() = seal(lines)

    fun mark(at: Int) {
        val bit = 1 shl at
        set = set or bit
    }
}
