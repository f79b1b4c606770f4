/* Licensed to nobody in particular. */
package org.cairn.archive;

import java.io.IOException;
import java.util.*;
import java.util.Map.Entry;
import static java.util.Objects.requireNonNull;
import static org.cairn.archive.Codec.*;
import org.cairn.base.Clock;

/**
 * Keeps documents and finds them again.
 *
 * @param <D> what is kept
 */
@Deprecated(since = "2", forRemoval = false)
public abstract class Archive<D extends Document & Comparable<D>> extends Base.Store<D>
    implements AutoCloseable, Iterable<D> {
  /** How many shelves there are. */
  public static final int SHELVES = 12, LAMPS[] = {1, 2};

  static Archive<?> shared;
  protected final Map<String, List<D>> byTitle = new HashMap<>();
  @org.cairn.inject.Inject private Clock clock;

  static {
    register(Archive.class);
  }

  /** Opens it. */
  protected Archive(String name, int... shelves) throws IOException {
    super(requireNonNull(name));
    this.clock = Clock.system().ticking();
  }

  Archive() throws IOException {
    this("unnamed");
  }

  // Titles are compared without their case.
  @Override
  @SuppressWarnings("unchecked")
  public <Q extends Query> List<D> find(
      Q query, // must be closed
      /* nullable */ Map.Entry<String, Integer> limit)
      throws IOException, InterruptedException {
    Comparator<D> order = Comparator.comparing(Document::title).thenComparing(D::compareTo);
    return byTitle.values().stream().flatMap(List::stream).sorted(order).toList();
  }

  protected abstract D load(String title);

  void warm() {
    Runnable work = new Runnable() {
      @Override public void run() { load("first"); }
    };
    new Thread(work).start();
    new Codec.Reader<D>(this::load).readAll();
  }

  private static int größe(Object[] shelves)[] {
    return new int[] {shelves.length};
  }

  /** A page and where it lies. */
  public record Page(int number, @NonNull String text) implements Document {
    static int count;

    public Page {
      if (number < 0) throw new IllegalArgumentException("number");
    }

    @Override public String title() { return text; }
  }

  private class Cursor implements Iterator<D> {
    int at;
    public boolean hasNext() { return at < SHELVES; }
    public D next() { return load(String.valueOf(at++)); }
  }
}

enum Colour implements Coded {
  /** Fire. */
  RED("r") {
    @Override String code() { return "R"; }
  },
  GREEN("g"), BLUE;

  private final String code;

  Colour(String... code) { this.code = code.length > 0 ? code[0] : ""; }

  String code() { return code; }
}

sealed interface Document extends Comparable<Document>, java.io.Serializable permits Archive.Page {
  String EMPTY = "";

  String title();

  default boolean matches(String word) { return title().contains(word); }

  @Override default int compareTo(Document other) { return title().compareTo(other.title()); }
}

@interface Indexed {
  String value() default "title";

  int[] shelves();
}
