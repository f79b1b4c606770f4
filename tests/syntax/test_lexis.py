"""Comments and strings are told from code by the text alone, in every language that has uses."""

from __future__ import annotations

import pytest

from cairn.syntax.languages import traits_of
from cairn.syntax.lexis import Quiet

# A text of each language: `code` in code, `note` in comments, `text` in strings; nothing else holds these words.
SAMPLES = {
    "bash": r"""code=$code # note
echo 'text # text' "text ${code}" ${#code} code#code
code <<EOF | code # note
text "text # text ${code} text
EOF
code <<-'END' <<< code
	text 'text
	END
code
""",
    "c": r"""int code = '"'; /* note " */ code("text // text\" text"); // note
code++;
""",
    "cpp": r"""auto code = R"x(text " // text)x"; code(); // note '
code('\'', code);
""",
    "csharp": r"""var code = @"text \"; code(); var b = $"text {code} text"; // note
/* note */ code();
""",
    "elixir": r'''code = "text #{code} text" # note
code(<<?", code>>, ?#, ?')
"""
text # text
"""
code
''',
    "go": r"""code := `text // text
 text` // note
code('"', code) /* note */
""",
    "haskell": r"""code' = code -- note
{- note -} f = code "text -- text" '"' code --> code
""",
    "java": r'''code("text", '"'); // note
String s = """
  text // text
  """; code();
''',
    "javascript": r"""code(/[/"]text/.test(code)); // note
let a = `text ${code} text // text`; code('text');
""",
    "kotlin": r'''code("text $code text ${code} text") // note
val a = """text // text
text"""
code()
''',
    "lua": r"""code = [[text -- text
text]] -- note
--[[ note
note ]] code('text')
""",
    "php": r"""<?php code('text # text'); # note
#[code]
code("text $code text"); // note
code(<<<'SQL'
text ' text // text
  SQL, code);
code(<<<HTML
text {$code} text
HTML);
code();
""",
    "python": r"""code = f'text {code} text'  # note
'''text
# text
''' ; code(b"text")
""",
    "ruby": r"""code = "text #{code} text" # note
=begin
note
=end
code('text')
code(<<~ONE, <<-'TWO', code) # note
text #{code} "text
  # text
  ONE
text TWO text
TWO
code << code
code = <<-SQL.code if code =~ /text "text/
ONE text
SQL
code(%q(text 'text), %w[text text], code % (code)) / code
code(%(text "text))
code(?", code, ?#) # note
__END__
note
""",
    "rust": r"""fn code<'a>() { code(r#"text " // text"#); code(r"text\"); } // note
/* note */ code('"')
""",
    "scala": r'''code(s"text $code text") // note
val a = """text // text
text"""; code
''',
    "sql": r"""SELECT code FROM code -- note
WHERE a = 'text -- text' /* note */ AND code
""",
    "swift": r'''code("text \(code) text") // note
let a = """
text // text
"""
code
''',
    "zig": r"""const code = \\text // text
; code("text"); // note
""",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_words_of_code_comments_and_strings_are_told_apart(language: str) -> None:
    text = SAMPLES[language].encode()
    quiet = Quiet(text, traits_of(language).lexis)
    for word, is_comment, is_string in ((b"code", False, False), (b"note", True, False), (b"text", False, True)):
        at = text.find(word)
        while at >= 0:
            said = quiet.is_comment(at), quiet.string(at) is not None
            assert said == (is_comment, is_string), text[: at + len(word)].decode()
            at = text.find(word, at + 1)


def test_places_may_be_asked_for_in_any_order() -> None:
    text = b"a = 'b' # c\nd = 'e' # f\n"
    lexis = traits_of("python").lexis
    forwards, backwards = Quiet(text, lexis), Quiet(text, lexis)
    places = range(len(text))
    there = [(forwards.is_comment(at), forwards.string(at)) for at in places]
    back = [(backwards.is_comment(at), backwards.string(at)) for at in reversed(places)]
    assert there == back[::-1]


def test_comments_are_blanked_and_nothing_moves() -> None:
    text = b"for x in y: # for z\n    f('# no')\n"
    quiet = Quiet(text, traits_of("python").lexis)
    assert quiet.without_comments(0, len(text)) == b"for x in y:        \n    f('# no')\n"
    assert quiet.without_comments(14, 18) == b"    "


def test_a_text_of_lines_needs_its_last_line_and_a_hostile_file_does_not_look_for_thousands() -> None:
    lexis = traits_of("ruby").lexis
    quiet = Quiet(b"a = <<NONE\nb # c\n", lexis)
    assert (quiet.string(11), quiet.is_comment(15)) == (None, True)
    hostile = b"".join(b"a <<A%d\n" % number for number in range(20_000)) + b"A1\nb # c\n"
    assert Quiet(hostile, lexis).is_comment(len(hostile) - 2)


def test_a_string_that_never_ends_costs_one_line() -> None:
    quiet = Quiet(b"a = 'it\nb # c\n", traits_of("python").lexis)
    assert quiet.string(5) is not None
    assert quiet.string(8) is None
    assert quiet.is_comment(12)
