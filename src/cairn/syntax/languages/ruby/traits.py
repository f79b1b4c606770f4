"""Traits of Ruby: members of the class around need no receiver."""

from __future__ import annotations

from cairn.syntax.lexis import AFTER_HASH, IN_APOSTROPHES, IN_QUOTES, Lexis
from cairn.syntax.traits import Traits, words

TRAITS = Traits(
    "ruby",
    lexis=Lexis(
        (AFTER_HASH, r"^=begin\b.*?^=end\b[^\n]*"), (IN_QUOTES, IN_APOSTROPHES), embeds=r"#\{", directives="@|typed:|#:"
    ),
    constructors=words("initialize"),
    own=words("self"),
    bare_members=True,
    bare_innermost=True,
    common=words("""
add all any? append call clear close collect count delete each each_with_index empty? find first flatten format freeze
get gsub include? index inject insert is_a? join keys last length map match max merge min name new next nil? open
parse pop push puts read reduce reject replace respond_to? reverse run save select send set shift size sort sort_by
split start stop strip sub sum to_a to_h to_i to_s to_sym update upcase uniq values write zip
"""),
)
