// Shapes on a canvas, and what may be asked of them.
#include <cmath>
#include <memory>
#include <vector>
#include "canvas.hpp"
#include "geometry/point.hpp"

using std::vector;
using namespace geometry::literals;

#define CANVAS_VERSION 3
#define CHECK(cond) \
  do { if (!(cond)) fail(#cond); } while (0)

extern "C" {
int canvas_open(const char *name);
}

namespace canvas::detail {
constexpr double EPSILON = 1e-9;
static int opened = 0, *last = nullptr;

template <typename T>
concept Measurable = requires(const T &shape) { shape.area(); };
}  // namespace canvas::detail

namespace canvas {

class Renderer;

/// How a shape is filled.
enum class Fill : unsigned char { None, Solid = 1, Hatched };

using Points = std::vector<geometry::Point>;
template <class T> using Owned = std::unique_ptr<T>;
typedef void (*Callback)(Renderer &, int);

/**
 * Everything that has an outline.
 */
template <typename Number = double>
class Shape : public geometry::Bounded<Number>, private Cloneable {
 public:
  using number_type = Number;
  enum Side { Left, Right };

  /// Places it.
  explicit Shape(geometry::Point at, Number scale = 1)
      : at_(at), scale_(round(scale)) {}
  Shape(const Shape &) = delete;
  virtual ~Shape();

  virtual Number area() const noexcept = 0;
  const Points &outline() const { return outline_; }
  Shape &operator+=(const Shape &other);
  bool operator==(const Shape &) const = default;
  explicit operator bool() const { return area() > detail::EPSILON; }
  static Owned<Shape> parse(
      const std::string &text,  // one per line
      Fill fill = Fill::None);

  template <typename Visitor>
  auto accept(Visitor &&visitor) { return visitor.template visit<Shape>(*this); }

  friend bool operator<(const Shape &a, const Shape &b) { return a.area() < b.area(); }
  friend class Renderer;

 protected:
  struct Node {
    Node *next;
    int depth = 0;
  };

 private:
  geometry::Point at_;
  Number scale_{1}, *cache_;
  Points outline_;
  static constexpr int kLimit = 8;
  std::function<void(int)> changed_;
};

template <typename Number>
Shape<Number>::~Shape() { detail::release(this); }

template <typename Number>
Shape<Number> &Shape<Number>::operator+=(const Shape &other) {
  outline_.insert(outline_.end(), other.outline_.begin(), other.outline_.end());
  return *this;
}

// Circles are the only shapes we ship.
struct Circle final : Shape<> {
  Circle();
  double area() const noexcept override;
  union { float r; int bits; } radius;
};

Circle::Circle() : Shape({0, 0}), radius{1} {}

double Circle::area() const noexcept { return M_PI * std::pow(radius.r, 2); }

[[nodiscard]] inline vector<int> *tally(const Points &points) {
  auto near = [&](const geometry::Point &p) { return p.norm() < 1; };
  auto *counts = new vector<int>(points.size());
  auto shape = std::make_unique<Circle>();
  CHECK(near(points.front()));
  geometry::transform<int>(points, near);
  return counts;
}

template <>
struct Hash<Circle> {
  size_t operator()(const Circle &circle) const { return Key{circle.radius.bits}.value(); }
};

int Renderer::Cache::größe = 0;

void Renderer::Cache::flush(int level) { render::gl::finish(level); }

}  // namespace canvas

template <>
struct std::hash<canvas::Circle> {
  typedef canvas::Circle &argument;
  typedef std::ostream &(*Printer)(std::ostream &);
  size_t operator()(const canvas::Circle &circle) const noexcept;
};

int canvas::Renderer::frames_;
const char *Palette::names[] = {"red", "green"};
const canvas::Fill &fallback = canvas::Fill::Solid;
void canvas_open(const wchar_t *name) = delete;

// What a macro hides from the grammar.
CANVAS_BEGIN
namespace export_layer {
/// A canvas that others link to.
class CANVAS_API Surface {
 public:
  Surface();
  ~Surface();
  explicit Surface(int width);
  virtual void draw(const Shape &shape) = 0;
  Surface(int width, int height);
  Surface &operator=(const Surface &other) = default;

 private:
  int width_ = 0;
};

class CANVAS_API Layer final : public canvas::Base {
 public:
  void flatten();
};

struct CANVAS_API Extent : Range { int left, right; };

CANVAS_INLINE Layer::~Layer() = default;
size_t CANVAS_INLINE Layer::depth() { return count(); }
CANVAS_API std::string describe(const Surface &surface);
CANVAS_API Result store(const Surface &surface, int level);
}  // namespace export_layer
CANVAS_END
