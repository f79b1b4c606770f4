; Rules: each selector of a list is a name of its own, so that `.button` is found in `.button, .link`.
(rule_set (selectors (_) @name)) @def.rule
(keyframes_statement (keyframes_name) @name) @def.rule
(media_statement . (_) @name) @def.rule
(supports_statement . (_) @name) @def.rule
(at_rule . (at_keyword) . (keyword_query) @name) @def.rule
(at_rule . (at_keyword) @name . (block)) @def.rule
(declaration (property_name) @name ":" @value (#match? @name "^--")) @def.variable

(comment) @comment

; Uses: `var(--accent)`.
(call_expression (function_name) @_function (arguments . (plain_value) @ref.call) (#eq? @_function "var"))

; Imports.
(import_statement (string_value) @module) @import
(import_statement (call_expression (function_name) (arguments [(string_value) (plain_value)] @module))) @import
