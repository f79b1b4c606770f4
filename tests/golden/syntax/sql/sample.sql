-- Everything a small library needs.
CREATE SCHEMA library;

CREATE TYPE library.state AS ENUM ('in', 'out', 'lost');

-- One physical copy of a book.
CREATE TABLE IF NOT EXISTS library.copy (
    id INTEGER PRIMARY KEY,
    isbn TEXT NOT NULL REFERENCES book (isbn),
    state library.state DEFAULT 'in',
    "shelf mark" VARCHAR(12)
);

CREATE TABLE book (
    isbn TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    CONSTRAINT book_key PRIMARY KEY (title)
);

CREATE SEQUENCE loan_number START WITH 100;

/* Fast look-up by shelf. */
CREATE UNIQUE INDEX copy_by_shelf ON library.copy (isbn, state);

CREATE OR REPLACE VIEW overdue AS
SELECT c.id, upper(b.title) AS title
FROM library.copy AS c
JOIN book AS b ON b.isbn = c.isbn
WHERE days_out(c.id) > 28;

CREATE MATERIALIZED VIEW popular AS
SELECT isbn, count(*) AS loans FROM loan GROUP BY isbn;

CREATE FUNCTION days_out(copy_id INTEGER) RETURNS INTEGER AS $$
    SELECT max(days) FROM loan WHERE copy = copy_id;
$$ LANGUAGE sql;

CREATE TRIGGER copy_touched
BEFORE UPDATE ON library.copy
FOR EACH ROW EXECUTE FUNCTION touch();

ALTER TABLE book ADD COLUMN größe INTEGER;

INSERT INTO book (isbn, title) VALUES ('1', trim(' A '));

CREATE INDEX "loan by day" ON loan ("day");
