package org.kiln
package firing

import java.time.{Duration, Instant => Moment}
import scala.collection.mutable
import scala.concurrent.*
import org.kiln.glaze.{Ash as WoodAsh, Celadon, Tenmoku => _, given}
import cats.syntax.all._, cats.Monad

/** Degrees, never bare numbers. */
opaque type Celsius = Double

type Schedule = List[Ramp]

/** One leg of a firing. */
final case class Ramp(target: Celsius, val rate: Double = 100.0)(using clock: Clock)
    extends Step[Celsius](target)
    with Ordered[Ramp] derives Codec {
  def compare(that: Ramp): Int = target.compareTo(that.target)
}

sealed trait Step[+A] {
  type Unit <: AnyUnit
  val weight: Int
  def cost(hours: Double): BigDecimal
  protected[firing] def describe: String = s"$weight"
}

enum Cone(val celsius: Int) {
  case Six extends Cone(1222)
  case Ten, Eleven
  case Custom(name: String, limit: Int)

  def hot: Boolean = celsius > 1250
}

object Cone {
  val Default, Fallback: Cone = Cone.Six
  private var seen = mutable.Map.empty[String, Cone]
  def apply(name: String): Option[Cone] = seen.get(name).orElse(lookup(name))
  private def lookup(name: String): Option[Cone] = Cone.values.find(_.toString == name)
}

@deprecated("use GasKiln", "2.0")
class Kiln[F[_]: Monad] private (
    val shelves: Int, // counted from below
    fuel: Fuel
) {
  lazy val controller = new Controller[F](fuel)

  def this() = this(3, Fuel.Propane)

  /** Runs a schedule to its end. */
  def fire(schedule: Schedule)(implicit ec: ExecutionContext): F[Report] = {
    def step(ramp: Ramp): Celsius = ramp.target
    val peaks = schedule map step
    controller.hold[Celsius](peaks.max)
    Report.from(peaks)
  }

  private[kiln] def `open lid`(): Unit = println("careful")

  def +(other: Kiln[F]): Kiln[F] = Kiln.join(this, other)
}

given ordering: Ordering[Ramp] with
  def compare(a: Ramp, b: Ramp): Int = a.compare(b)

given Show[Cone] = Show.fromToString

given timeout: Duration = Duration.ofHours(12)

extension (self: Celsius)
  def toFahrenheit: Double = self * 1.8 + 32
  private def rounded: Long = math.round(self)

inline def measured[T](label: String)(body: => T): T = body

val größe = 1
