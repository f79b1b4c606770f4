// Package ferry plans crossings.
package ferry

import "context"
import (
	"errors"
	"fmt"
	str "strings"

	. "math"
	_ "time/tzdata"
)

// ErrFull says that no lane has room.
var ErrFull = errors.New("ferry: full")

// MaxLanes is what the largest deck has.
const MaxLanes = 6

const (
	// Car is the unit of everything.
	Car Kind = iota
	Truck
	_
	bus, coach = 7, 8
)

var (
	defaults, fallback Timetable
	registry           = map[string]func(ctx context.Context) error{}
)

// Kind says what rolls aboard.
type Kind uint8

type (
	// Lane is one row of vehicles.
	Lane[T Vehicle] struct {
		Name     string `json:"name"`
		len, cap float64
		queue    []T
		*Deck
		str.Builder
	}

	Hook  func(ctx context.Context, v Vehicle) error
	Table = map[Kind][]Timetable
)

type Deck struct{ lanes [MaxLanes]Lane[Vehicle] }

// Vehicle is whatever can drive.
type Vehicle interface {
	fmt.Stringer
	comparable

	// Length is in metres.
	Length() float64
	Board(ctx context.Context, onto *Deck) (seat int, err error)
}

type Timetable struct {
	Departures []struct {
		At   string
		From Port
	}
}

type Port string

// String makes a Kind a fmt.Stringer.
func (k Kind) String() string {
	return [...]string{"car", "truck"}[k]
}

// Push puts a vehicle at the end,
// or says that there is no room.
func (l *Lane[T]) Push(
	v T, // must not be on board yet
	hooks ...Hook,
) (err error) {
	room := func(need float64) bool { return Max(l.cap-l.len, 0) >= need }
	if !room(v.Length()) {
		return fmt.Errorf("%s: %w", str.ToUpper(l.Name), ErrFull)
	}
	defer func() { l.len += v.Length() }()
	for _, hook := range hooks {
		if err = hook(context.Background(), v); err != nil {
			return err
		}
	}
	l.queue = append(l.queue, v)
	go l.notify(v)
	return nil
}

func (Lane[T]) notify(T) {}

// New makes a deck of empty lanes.
func New(names ...string) *Deck {
	deck := &Deck{}
	for i, name := range names {
		deck.lanes[i] = Lane[Vehicle]{Name: name, Builder: str.Builder{}}
	}
	return deck
}

func largest[K comparable, V ~float64 | ~int](of map[K]V) (best V) {
	for _, v := range of {
		best = max(best, v)
	}
	return best
}

func Größe(d *Deck) Port { return Port(fmt.Sprint(Sum[int](d), largest(map[string]int{}))) }
