<?php

declare(strict_types=1);

namespace Orchard\Press;

use DateTimeImmutable;
use Orchard\Fruit\{Apple, Pear as Perry, function weigh};
use Psr\Log\LoggerInterface;
use function Orchard\Units\litres as toLitres;
use const Orchard\Units\LITRES_PER_CRATE;

require_once __DIR__ . '/bootstrap.php';
include 'legacy/labels.php';

define('PRESS_MODE', 'gentle');
\define("PRESS_LIMIT", 3);
const YIELD_LOW = 0.4, YIELD_HIGH = 0.75;

/** How far a batch has come. */
enum Stage: string implements HasLabel
{
    case Crushed = 'crushed';
    case Pressed = 'pressed';

    const FIRST = self::Crushed;

    public function label(): string
    {
        return match ($this) {
            self::Crushed => 'in the mill',
            self::Pressed => \ucfirst($this->value),
        };
    }
}

interface HasLabel
{
    public function label(): string;
}

trait Weighs
{
    protected ?float $grams = null, $tare;

    abstract public function net(): float;

    public static function zero(): static
    {
        return new static();
    }
}

/**
 * One pressing of one kind of fruit.
 */
#[Entity(table: 'batch'), \Orchard\Meta\Audited]
final class Batch extends Base\Record implements HasLabel, \Countable
{
    use Weighs, Keeps {
        Weighs::zero as protected blank;
    }

    public const MAX_CRATES = 40;
    private static int $counter = 0;

    public function __construct(
        private readonly LoggerInterface $log, // where the story goes
        public Stage $stage = Stage::FIRST,
        Apple|Perry ...$fruit,
    ) {
        parent::__construct();
        self::$counter++;
        $this->grams = array_sum(array_map(fn ($one) => weigh($one), $fruit));
    }

    /** Juice in litres. */
    #[Pure]
    public function net(): float
    {
        $this->log?->info('pressing');
        return toLitres($this->grams * YIELD_LOW);
    }

    public function label(): string
    {
        return $this->stage->label() . ' ' . namespace\stamp(new DateTimeImmutable());
    }

    private function größe(): int
    {
        return count($this) * LITRES_PER_CRATE;
    }
}

# Turns a moment into a label.
function stamp(\DateTimeInterface $at, string $format = 'Y-m-d'): string
{
    function pad(string $text): string
    {
        return str_pad($text, 12);
    }

    return pad($at->format($format));
}

$report = static function (Batch $batch): void {
    echo $batch->label();
};
