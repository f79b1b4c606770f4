"""Traits of Ruby: members of the class around need no receiver."""

from __future__ import annotations

from cairn.syntax.lexis import IN_APOSTROPHES, IN_QUOTES, Lexis
from cairn.syntax.traits import Traits, words

# A regular expression stands where a value may begin; elsewhere a slash divides.
_PATTERN = (
    r"(?:(?<=[=(,:;!&|?{\[\n])|(?<=[=(,:;!&|?{\[~] )|(?<=\b(?:when|then) ))"
    r"/(?![/*=\s])(?:[^/\\\n]|\\.)+/[imxounse]*"
)
_OPENED = r"(?:\((?:[^()\\]|\\.)*\)|\[(?:[^\[\]\\]|\\.)*\]|\{(?:[^{}\\]|\\.)*\}|<[^<>\n]*>|\|[^|\n]*\||![^!\n]*!)"
_IN_PERCENTS = rf"(?<![\w)\]])%(?:[qQwWiIrsx]|(?=[(\[{{])){_OPENED}"

TRAITS = Traits(
    "ruby",
    lexis=Lexis(
        (r"#(?!\{)[^\n]*", r"^=begin\b.*?^=end\b[^\n]*", r"^__END__$.*"),
        (r"(?<!\w)\?[\"'#](?!\w)", _IN_PERCENTS, _PATTERN, IN_QUOTES, IN_APOSTROPHES),
        embeds=r"#\{",
        directives="@|typed:|#:",
        begins_text=r"<<(?:[~-][\"'`]?(?=\w)|[\"'`]?(?=[A-Z_]{2}))(?P<ends>[A-Za-z_]\w*)[\"'`]?",
        lists="%[wWiI]",
    ),
    resolver="ruby",
    constructors=words("initialize"),
    own=words("self"),
    bare_members=True,
    bare_innermost=True,
    common=words("""
add all any? append call clear close collect count delete each each_with_index empty? find first flatten format freeze
get gsub include? index inject insert is_a? join keys last length map match max merge min name new next nil? open
parse pop push puts read reduce reject replace respond_to? reverse run save select send set shift size sort sort_by
split start stop strip sub sum to_a to_h to_i to_s to_sym update upcase uniq values write zip
after allow and_call_original and_raise and_return and_yield around assert assert_empty assert_equal assert_in_delta
assert_includes assert_instance_of assert_kind_of assert_match assert_nil assert_output assert_predicate assert_raises
assert_respond_to assert_same assert_throws be be_a be_an be_empty be_falsey be_kind_of be_nil be_truthy be_within
before context describe eq eql equal expect expects have_received it let match_array must_be must_be_empty must_be_nil
must_be_same_as must_equal must_include must_match must_raise not_to once raise_error receive refute refute_equal
returns should should_not stub stubs subject times to to_not twice with within wont_be wont_equal
"""),
)
