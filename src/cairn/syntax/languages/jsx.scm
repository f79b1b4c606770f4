; Elements that stand for a component are calls of it; the tags of the browser are small letters.
(jsx_opening_element name: (identifier) @ref.call (#match? @ref.call "^[^a-z]"))
(jsx_opening_element name: (member_expression object: (_) @receiver property: (_) @ref.call))
(jsx_self_closing_element name: (identifier) @ref.call (#match? @ref.call "^[^a-z]"))
(jsx_self_closing_element name: (member_expression object: (_) @receiver property: (_) @ref.call))
